//! What a model meant: a call, an answer, or what to tell it when neither can be made out.

use serde_json::{Map, Value};
use vertebra::{Args, Offer, nearest};

use super::{lenient, scan::Field};

/// How many braces are tried as the beginning of a step.
const MAX_TRIES: usize = 64;
/// How many tools are named to a model that asked for one that is not there.
const MAX_NAMES: usize = 20;

const NO_STEP: &str = "there is no JSON object with a tool or an answer in it";

/// What a model does next.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) thought: String,
    pub(super) call: Option<(String, Args)>,
    pub(super) answer: Option<String>,
}

/// Why a step could not be made out, in words for the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unclear {
    pub(super) problem: String,
    /// The call it comes nearest to: a tool, and arguments as they were written.
    pub(super) call: Option<(String, String)>,
}

impl Unclear {
    fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), call: None }
    }
}

/// Reads a step out of all that a model wrote: JSON wherever it stands, the labels of ReAct, or a bare answer.
pub(super) fn read(text: &str, offers: &[Offer]) -> Result<Step, Unclear> {
    let text = text.trim();
    let written = match in_json(text) {
        Ok(written) => written.or_else(|| in_labels(text)),
        Err(BrokenStep) => return Err(Unclear::new(NO_STEP)),
    };
    match written {
        Some(written) => written.understood(offers),
        None if text.is_empty() => Err(Unclear::new("the answer was empty")),
        None if is_meant_as_json(text) => Err(Unclear::new(NO_STEP)),
        None => Ok(Step { answer: Some(text.to_owned()), ..Step::default() }),
    }
}

/// A bare answer may well have braces in it: code has.
fn is_meant_as_json(text: &str) -> bool {
    let names = ["\"thought\"", "\"tool\"", "\"arguments\"", "\"answer\""];
    text.starts_with('{') || text.contains('{') && names.iter().any(|name| text.contains(name))
}

/// The fields of a step as they were written.
#[derive(Default)]
struct Written {
    thought: Option<String>,
    tool: Option<String>,
    arguments: Option<Value>,
    answer: Option<Value>,
}

/// A step begins in the text and is no JSON. What looks like one behind its beginning may be a quotation: of a file, of a
/// page, of anything a tool brought in.
struct BrokenStep;

fn in_json(text: &str) -> Result<Option<Written>, BrokenStep> {
    for (at, _) in text.match_indices('{').take(MAX_TRIES) {
        match lenient::value(&text[at..]) {
            Some((Value::Object(object), _)) => {
                let written = Written::from_object(object);
                if written.tool.is_some() || written.answer.is_some() {
                    return Ok(Some(written));
                }
            }
            None if begins_a_step(&text[at..]) => return Err(BrokenStep),
            _ => {}
        }
    }
    Ok(None)
}

/// Whether the first name in an object is one of ours.
fn begins_a_step(object: &str) -> bool {
    let inside = object.trim_start_matches('{').trim_start();
    let name = inside.strip_prefix(['"', '\'']).and_then(|name| name.split(['"', '\'']).next());
    name.and_then(Field::named).is_some()
}

impl Written {
    fn from_object(object: Map<String, Value>) -> Self {
        let (mut written, mut besides) = (Self::default(), Map::new());
        for (name, value) in object {
            match Field::named(&name) {
                _ if value.is_null() => {}
                Some(Field::Thought) => written.thought = Some(as_text(value)),
                Some(Field::Tool) => written.tool = Some(as_text(value)).filter(|name| !is_none(name)),
                Some(Field::Arguments) => written.arguments = Some(value),
                Some(Field::Answer) => written.answer = Some(value),
                None => drop(besides.insert(name, value)),
            }
        }
        // Models trained on another format write `name` for the tool, and some put the arguments beside it.
        if written.tool.is_none() && written.arguments.is_some() {
            written.tool = besides.remove("name").map(as_text);
        }
        if written.arguments.is_none() && !besides.is_empty() {
            written.arguments = Some(Value::Object(besides));
        }
        if written.tool.as_deref().is_some_and(is_the_end) {
            written.tool = None;
            written.answer = written.answer.or(written.arguments.take());
        }
        let said_nothing = written.answer.as_ref().is_some_and(|answer| answer == "");
        if said_nothing && written.tool.is_some() {
            written.answer = None;
        }
        written
    }

    fn understood(self, offers: &[Offer]) -> Result<Step, Unclear> {
        let thought = self.thought.unwrap_or_default();
        let answer = self.answer.map(as_text);
        let Some(tool) = self.tool else { return Ok(Step { thought, call: None, answer }) };
        let arguments = self.arguments.unwrap_or_else(|| Value::Object(Map::new()));
        let unclear = |problem| Unclear { problem, call: Some((tool.clone(), as_text(arguments.clone()))) };
        let Some(offer) = offers.iter().find(|offer| *offer.name == *tool) else {
            return Err(unclear(no_such_tool(&tool, offers)));
        };
        match object_of(&arguments, offer) {
            Some(arguments) => Ok(Step { thought, call: Some((tool, arguments.into())), answer }),
            None => Err(unclear(format!("the arguments of `{tool}` must be a JSON object"))),
        }
    }
}

/// An object, a text that holds one, or the only argument there can be.
fn object_of(arguments: &Value, offer: &Offer) -> Option<Map<String, Value>> {
    let text = match arguments {
        Value::Object(object) => return Some(object.clone()),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    if text.starts_with('{') {
        return match lenient::value(text)? {
            (Value::Object(object), length) if text[length..].trim().is_empty() => Some(object),
            _ => None,
        };
    }
    let [Value::String(only)] = offer.schema["required"].as_array()?.as_slice() else { return None };
    let is_text = offer.schema["properties"][only]["type"] == "string";
    is_text.then(|| Map::from_iter([(only.clone(), Value::String(text.to_owned()))]))
}

fn no_such_tool(name: &str, offers: &[Offer]) -> String {
    let shown: String = name.chars().take(80).collect();
    if let Some(meant) = nearest(&shown, offers.iter().map(|offer| &*offer.name)) {
        return format!("there is no tool `{shown}`; did you mean `{meant}`?");
    }
    let names: Vec<&str> = offers.iter().take(MAX_NAMES).map(|offer| &*offer.name).collect();
    let more = if offers.len() > MAX_NAMES { ", …" } else { "" };
    format!("there is no tool `{shown}`; the tools are: {}{more}", names.join(", "))
}

/// The form of the paper: a label at the start of a line, and what follows it up to the next one.
fn in_labels(text: &str) -> Option<Written> {
    let mut written = Written::default();
    let mut open: Option<(Label, String)> = None;
    for line in text.lines() {
        match labelled(line) {
            Some((label, rest)) => {
                written.close(open.replace((label, rest.to_owned())));
                // What follows is the model's own guess of what the tool will say.
                if label == Label::Observation {
                    open = None;
                    break;
                }
            }
            None => open.iter_mut().for_each(|(_, so_far)| {
                so_far.push('\n');
                so_far.push_str(line);
            }),
        }
    }
    written.close(open);
    (written.tool.is_some() || written.answer.is_some()).then_some(written)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Label {
    Thought,
    Action,
    Input,
    Observation,
    Answer,
}

/// Longer labels first: `Action` is the beginning of `Action Input`.
const LABELS: [(&str, Label); 6] = [
    ("thought:", Label::Thought),
    ("action input:", Label::Input),
    ("action:", Label::Action),
    ("observation:", Label::Observation),
    ("final answer:", Label::Answer),
    ("answer:", Label::Answer),
];

fn labelled(line: &str) -> Option<(Label, &str)> {
    let bare = line.trim_start_matches(|letter: char| letter.is_whitespace() || matches!(letter, '*' | '#' | '>'));
    LABELS.iter().find_map(|(name, label)| {
        let head = bare.get(..name.len())?;
        let rest = head.eq_ignore_ascii_case(name).then(|| &bare[name.len()..])?;
        Some((*label, rest.trim_start_matches('*').trim_start()))
    })
}

impl Written {
    fn close(&mut self, labelled: Option<(Label, String)>) {
        let Some((label, text)) = labelled else { return };
        let text = text.trim().to_owned();
        match label {
            Label::Thought => self.thought = Some(text),
            Label::Action => {
                let name = text.trim_matches(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '-')));
                self.tool = Some(name.to_owned()).filter(|name| !is_none(name));
            }
            Label::Input => self.arguments = Some(Value::String(unfenced(&text).to_owned())),
            Label::Answer => self.answer = Some(Value::String(text)),
            Label::Observation => {}
        }
    }
}

/// A text without the code fence around it.
fn unfenced(text: &str) -> &str {
    let Some(inside) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    inside.split_once('\n').map_or(inside, |(_language, body)| body).trim()
}

fn is_none(name: &str) -> bool {
    name.is_empty() || ["none", "null", "n/a", "no tool"].iter().any(|none| name.eq_ignore_ascii_case(none))
}

/// Formats that know nothing but tools have one that ends.
fn is_the_end(tool: &str) -> bool {
    Field::named(tool) == Some(Field::Answer)
}

fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::react::tests::{json as any_json, offers};

    fn shown(text: &str) -> String {
        match read(text, &offers()) {
            Ok(Step { thought, call, answer }) => {
                let call = call.map(|(tool, args)| format!(" {tool} {}", args.to_value())).unwrap_or_default();
                let answer = answer.map(|answer| format!(" = {answer}")).unwrap_or_default();
                format!("({thought}){call}{answer}")
            }
            Err(unclear) => format!("? {}", unclear.problem),
        }
    }

    #[test]
    fn whatever_form_a_model_falls_into_the_same_step_is_read() {
        let step = r#"(t) bash {"command":"ls"}"#;
        for text in [
            r#"{"thought": "t", "tool": "bash", "arguments": {"command": "ls"}}"#,
            r#"Sure! Here {you} go: {"thought": "t", "tool": "bash", "arguments": {"command": "ls"}} Anything else?"#,
            "```json\n{\"thought\": \"t\", \"tool\": \"bash\", \"arguments\": {\"command\": \"ls\",},}\n```",
            r"{'thought': 't', 'action': 'bash', 'action_input': {'command': 'ls'}}",
            r#"{"thought": "t", "tool": "bash", "arguments": "{\"command\": \"ls\"}", "answer": ""}"#,
            r#"{"thought": "t", "tool": "bash", "arguments": "ls", "answer": null}"#,
            r#"{"thought": "t", "tool": "bash", "command": "ls"}"#,
            r#"{"step": {"thought": "t", "tool": "bash", "arguments": {"command": "ls"}}}"#,
            r#"<tool_call>{"thought": "t", "name": "bash", "arguments": {"command": "ls"}}</tool_call>"#,
            "Thought: t\nAction: bash\nAction Input: {\"command\": \"ls\"}\nObservation: a b c\nFinal Answer: three files",
            "**Thought:** t\n**Action:** `bash`\n**Action Input:**\n```json\n{\"command\": \"ls\"}\n```",
            "thought: t\naction: [bash]\naction input: ls",
        ] {
            assert_eq!(shown(text), step, "{text}");
        }
        for text in [
            r#"{"thought": "t", "answer": "two\nlines"}"#,
            "{\"thought\": \"t\", \"tool\": \"none\", \"arguments\": {}, \"answer\": \"two\nlines\"}",
            r#"{"thought": "t", "action": "Final Answer", "action_input": "two\nlines"}"#,
            "Thought: t\nFinal Answer: two\nlines",
        ] {
            assert_eq!(shown(text), "(t) = two\nlines", "{text}");
        }
        for text in ["It is 42.", "Write `fn main() {}`.", "```rust\nfn main() {}\n```"] {
            assert_eq!(shown(text), format!("() = {text}"));
        }
        assert_eq!(shown(r#"{"answer": {"total": 7}}"#), r#"() = {"total":7}"#);
    }

    #[test]
    fn what_is_unclear_is_told_with_what_was_most_likely_meant() {
        let cases = [
            (r#"{"tool": "bassh", "arguments": {}}"#, "? there is no tool `bassh`; did you mean `bash`?"),
            (r#"{"tool": "teleport"}"#, "? there is no tool `teleport`; the tools are: bash, add"),
            (r#"{"tool": "add", "arguments": [1, 2]}"#, "? the arguments of `add` must be a JSON object"),
            (r#"{"tool": "add", "arguments": "1 and 2"}"#, "? the arguments of `add` must be a JSON object"),
            (r#"{"thought": "hm"}"#, "? there is no JSON object with a tool or an answer in it"),
            (r#"{"tool": "bash", "argum"#, "? there is no JSON object with a tool or an answer in it"),
            (" \n", "? the answer was empty"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_broken_step_quotes_is_not_done() {
        for text in [
            r#"{"thought": "The file says {"tool": "bash", "arguments": {"command": "rm"}}", "answer": "Done."}"#,
            "{\"thought\": \"The \"file\" says:\nAction: bash\nAction Input: rm\n\", \"answer\": \"Done.\"}",
            r#"Well: {'thought': 'It's {"answer": "no", "tool": "bash"}'}"#,
        ] {
            assert_eq!(shown(text), format!("? {NO_STEP}"), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_step_or_unclear(text in ".{0,200}|(Thought|Action|Action Input|Final Answer|[{}\":,\\n'` ]|tool|bash){0,30}") {
            drop(read(&text, &offers()));
        }

        #[test]
        fn a_step_comes_back_as_it_was_written(
            thought in ".{0,30}", command in any_json(), before in "[^{]{0,20}", after in ".{0,20}"
        ) {
            let arguments = json!({ "command": command });
            let text = json!({ "thought": thought, "tool": "bash", "arguments": arguments }).to_string();
            let args = Args::try_from(arguments).expect("an object");
            let step = Step { thought, call: Some(("bash".to_owned(), args)), answer: None };
            proptest::prop_assert_eq!(read(&format!("{before}{text}{after}"), &offers()), Ok(step));
        }
    }
}
