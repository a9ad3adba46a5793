//! Where texts pass: the prompt, arguments, results, requests, answers, and whatever leaves a run.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;
use vertebra::{Request, ToolCall, prelude::*};

use super::{
    Invisible,
    kinds::is_configuration,
    marks::first_mark,
    redactor::{More, Redactor},
};

/// How much of a growing secret a stream keeps back before it is ended.
const LONGEST_SECRET: usize = 16 * 1024;

/// A redactor for each place; places that look for the same share one.
pub(crate) struct Places {
    pub(crate) prompt: Arc<Redactor>,
    pub(crate) arguments: Arc<Redactor>,
    pub(crate) results: Arc<Redactor>,
    /// For what commands show of configuration files.
    pub(crate) configuration: Redactor,
    pub(crate) requests: Arc<Redactor>,
    pub(crate) answers: Arc<Redactor>,
    pub(crate) record: Arc<Redactor>,
    pub(crate) invisible: Invisible,
}

/// What a text is refused for.
type Refused = Arc<str>;

/// Most run among the first, so that other hooks see what is left.
const FIRST: i32 = 5;

/// Requests are searched when other hooks have put into them what they want.
const LATE: i32 = 900;

pub(crate) fn install(kit: &mut Kit, places: &Arc<Places>) {
    let here = places.clone();
    kit.on(PromptSubmit.named("redaction/prompt").priority(FIRST), async move |cx| {
        match here.prompt.whole(&cx.prompt) {
            Ok(Cow::Borrowed(_)) => proceed(),
            Ok(Cow::Owned(redacted)) => {
                cx.prompt = redacted;
                proceed()
            }
            Err(kind) => deny(found(&kind)),
        }
    });

    let here = places.clone();
    kit.on(BeforeToolUse.named("redaction/arguments").priority(FIRST), async move |cx| {
        let mut args = cx.args.to_value();
        match in_value(&here.arguments, &mut args) {
            Ok(Touched::No) => proceed(),
            Ok(Touched::Yes) => {
                *cx.args_mut() = args.try_into()?;
                proceed()
            }
            Err(kind) => deny(found(&kind)),
        }
    });

    let here = places.clone();
    // A check and no guard: in a record, the same mark may stand for a secret that the model wrote itself.
    kit.check("redaction/marks", move |asked, spec| {
        let is_harmless = spec.is_some_and(|spec| spec.restores || spec.read_only || spec.delegates);
        let folder = &asked.at.run.working_directory;
        let acts = asked.call.command().is_some() || asked.call.paths(folder).next().is_some();
        match in_args(&here.results, &asked.call.args.to_value()) {
            Some(mark) if acts && !is_harmless => Err(ToolError::new(marked(&mark))),
            Some(_) | None => Ok(()),
        }
    });

    let here = places.clone();
    kit.on(AfterToolUse.named("redaction/results").priority(FIRST).fail_closed(), async move |cx| {
        let seen = here.invisible.treat(&cx.result.output).into_owned();
        let redactor = if shows_configuration(&cx.call) { &here.configuration } else { &*here.results };
        let redacted = match redactor.whole(&seen) {
            Ok(redacted) => redacted.into_owned(),
            Err(kind) => format!("[the result is withheld: {}]", found(&kind)),
        };
        if redacted != cx.result.output {
            cx.result.output = redacted;
        }
        proceed()
    });

    let here = places.clone();
    kit.on(BeforeInference.named("redaction/requests").priority(LATE), async move |cx| {
        let mut request = cx.request.clone();
        match in_request(&here.requests, &mut request) {
            Ok(Touched::No) => proceed(),
            Ok(Touched::Yes) => {
                cx.request = request;
                proceed()
            }
            Err(kind) => deny(found(&kind)),
        }
    });

    let here = places.clone();
    kit.on(InferenceDelta.named("redaction/answers").priority(FIRST).fail_closed(), async move |cx| {
        let more = if cx.last { More::No } else { More::MayCome };
        let redacted = here.answers.piece(cx.follows, &cx.text, more);
        if let Some(kind) = redacted.blocked {
            return halt(found(&kind));
        }
        let kept = &cx.text[redacted.open..];
        if kept.len() > LONGEST_SECRET {
            return halt(format!("something that may be a secret is longer than {LONGEST_SECRET} bytes"));
        }
        if redacted.text != cx.text {
            let (shown, text) = (redacted.text.len(), redacted.text + kept);
            cx.text = text;
            cx.keep_from(shown);
        }
        proceed()
    });

    let here = places.clone();
    kit.veil(move |text| here.record.veil(text));
}

/// Whether a command names a configuration file.
fn shows_configuration(call: &ToolCall) -> bool {
    let is_between = |letter: char| letter.is_whitespace() || "'\"`;|&()<>=:,*".contains(letter);
    call.command().is_some_and(|command| command.split(is_between).any(is_configuration))
}

/// The first mark among the arguments of a call.
fn in_args(redactor: &Redactor, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => first_mark(redactor, text).map(str::to_owned),
        Value::Array(items) => items.iter().find_map(|item| in_args(redactor, item)),
        Value::Object(map) => map.values().find_map(|value| in_args(redactor, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn marked(mark: &str) -> String {
    format!(
        "`{mark}` stands for a secret that is hidden from you, and only write_file and edit_file put it back, into the file \
         that read_file showed it in. Edit that file with edit_file, or write the command so that it does not need the \
         secret, for example with `sed -i` on other lines"
    )
}

fn found(kind: &Refused) -> String {
    format!("there is something of kind `{kind}` in it")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    No,
    Yes,
}

fn in_text(redactor: &Redactor, text: &mut String) -> Result<Touched, Refused> {
    match redactor.whole(text)? {
        Cow::Borrowed(_) => Ok(Touched::No),
        Cow::Owned(redacted) => {
            *text = redacted;
            Ok(Touched::Yes)
        }
    }
}

fn in_value(redactor: &Redactor, value: &mut Value) -> Result<Touched, Refused> {
    match value {
        Value::String(text) => in_text(redactor, text),
        Value::Array(items) => all(items.iter_mut().map(|item| in_value(redactor, item))),
        Value::Object(map) => all(map.values_mut().map(|value| in_value(redactor, value))),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(Touched::No),
    }
}

/// The system prompt and every message. A message in which nothing is found stays the very same.
fn in_request(redactor: &Redactor, request: &mut Request) -> Result<Touched, Refused> {
    let mut touched = Touched::No;
    let mut system_prompt = request.system_prompt.to_string();
    if in_text(redactor, &mut system_prompt)? == Touched::Yes {
        request.system_prompt = system_prompt.into();
        touched = Touched::Yes;
    }
    for index in 0..request.messages.len() {
        let Some(mut message) = request.messages.get(index).cloned() else { break };
        if in_message(redactor, &mut message)? == Touched::Yes {
            request.messages.set(index, message);
            touched = Touched::Yes;
        }
    }
    Ok(touched)
}

fn in_message(redactor: &Redactor, message: &mut Message) -> Result<Touched, Refused> {
    match message {
        Message::User { text, .. } | Message::Instruction { text, .. } => in_text(redactor, text),
        Message::Assistant { text, reasoning, calls, .. } => {
            let said = [in_text(redactor, text)?, in_text(redactor, reasoning)?];
            let asked = calls.iter_mut().map(|call| {
                let mut args = call.args.to_value();
                let touched = in_value(redactor, &mut args)?;
                if let (Touched::Yes, Ok(args)) = (touched, args.try_into()) {
                    call.args = args;
                }
                let malformed = call.malformed.as_mut().map_or(Ok(Touched::No), |text| in_text(redactor, text));
                all([Ok(touched), malformed])
            });
            all(said.map(Ok).into_iter().chain(asked))
        }
        Message::Tool { result, .. } => {
            all([in_text(redactor, &mut result.output), in_value(redactor, &mut result.data)])
        }
    }
}

/// Whether any was touched. All are gone through, unless one is refused.
fn all(parts: impl IntoIterator<Item = Result<Touched, Refused>>) -> Result<Touched, Refused> {
    parts
        .into_iter()
        .try_fold(Touched::No, |before, part| Ok(if part? == Touched::Yes { Touched::Yes } else { before }))
}
