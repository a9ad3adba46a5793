//! The agent: parallel tools, a child, people who answer now and later, retries, hooks that change things, a compaction, an
//! answer in pieces.

use std::{fs::File, io::Write, path::Path, sync::Arc, time::Duration};

use serde_json::json;
use vertebra::{
    Agent, AgentTool, Approval, Approver, Compactor, Decision, Deltas, InferenceReport, Invocation, Journal, Message,
    Messages, Model, ModelError, ModelId, Reconciled, Request, Response, Run, Tool, ToolCall, ToolOutput, ToolSpec,
    prelude::*,
};
use vertebra_journal::Inbox;

use super::subject::appending;

/// What the agent is told, one run after the other.
pub(crate) const PROMPTS: [&str; 2] = ["first", "second"];

/// The calls of each step: tool and what, after a prompt.
type Steps = &'static [&'static [(&'static str, &'static str)]];

const FIRST: Steps = &[
    &[("write", "a"), ("write", "b"), ("ask", "now")],
    &[("helper", "dig"), ("write", "c")],
    &[("pay", "d"), ("touch", "e"), ("flaky", "f")],
    &[("ask", "later"), ("write", "g")],
    &[("ask", "never"), ("forbidden", "h")],
    &[("write", "i")],
];
const SECOND: Steps = &[&[("write", "j"), ("touch", "k")]];
const DIG: Steps = &[&[("dig", "deep"), ("dig", "wide")], &[("ask", "deeper")]];

/// After so many messages the conversation is made shorter.
const LONG: usize = 12;

/// What a conversation says, without times.
pub(crate) fn told(messages: &Messages) -> String {
    let line = |message: &Message| match message {
        Message::User { text, .. } => format!("user: {text}\n"),
        Message::Instruction { text, from } => format!("{from}: {text}\n"),
        Message::Assistant { text, calls, .. } => {
            let calls: Vec<String> =
                calls.iter().map(|call| format!("{} {}", call.tool, call.args.to_value())).collect();
            format!("model: {text} {calls:?}\n")
        }
        Message::Tool { tool, result, .. } => format!("{tool}: {:?} {}\n", result.status, result.output),
    };
    messages.iter().map(line).collect()
}

pub(crate) fn agent(folder: &Path, journal: impl Journal, inbox: Inbox) -> Agent {
    let effects = Arc::new(appending(&folder.join("effects")));
    let effect = |name: &'static str| Effect { name, file: effects.clone(), folder: folder.into() };
    let mut child = Agent::builder(Plan);
    child.name("child").tool(effect("dig")).tool(effect("ask"));
    let child = child.build().expect("a child");

    let mut builder = Agent::builder(Plan);
    builder.journal(journal).approver(Person(inbox)).compactor(Shorter);
    for name in ["write", "ask", "pay", "touch", "flaky", "forbidden"] {
        builder.tool(effect(name));
    }
    builder.tool(AgentTool::new("helper", "helps", child));
    builder.on(BeforeToolUse.tool("ask"), async |_| ask("sure?"));
    builder.guard(BeforeToolUse.tool("forbidden"), async |_| deny("never"));
    builder.on(BeforeToolUse.tool("write"), async |cx| {
        let seen = cx.state().metadata().get("seen").and_then(serde_json::Value::as_u64).unwrap_or_default();
        cx.state_mut().metadata_mut().set("seen", json!(seen + 1));
        cx.args_mut().set("number", json!(seen));
        proceed()
    });
    builder.on(AfterToolUse.tool("write"), async |cx| {
        cx.result.output.push_str(", and seen");
        proceed()
    });
    builder.on(ToolUseFailed.tool("flaky"), async |_| retry(Duration::ZERO));
    builder.on(InferenceDelta, async |cx| {
        cx.text = cx.text.replace("done", "finished");
        proceed()
    });
    builder.on(AfterInference, async |cx| {
        if cx.text == "all finished" && cx.state().metadata().get("again").is_none() {
            cx.state_mut().metadata_mut().set("again", json!(true));
            return retry(Duration::ZERO);
        }
        proceed()
    });
    let ends = Arc::new(appending(&folder.join("ends")));
    builder.on(ExecutionEnd, async move |cx| {
        let line = format!("{}\n", cx.at.run.run_id);
        (&*ends).write_all(line.as_bytes())?;
        proceed()
    });
    builder.build().expect("an agent")
}

/// Says yes to what can be answered now; all else is for the inbox.
struct Person(Inbox);

impl Approver for Person {
    async fn decide(&self, approval: &Approval) -> Decision {
        match approval.call.args.text("what") {
            Some("now") => approval.approve(),
            _ => self.0.decide(approval).await,
        }
    }
}

/// A tool whose uses are seen from outside.
struct Effect {
    name: &'static str,
    file: Arc<File>,
    folder: Box<Path>,
}

impl Effect {
    fn uses(&self) -> String {
        std::fs::read_to_string(self.folder.join("effects")).unwrap_or_default()
    }
}

impl Tool for Effect {
    fn spec(&self) -> ToolSpec {
        let spec = ToolSpec::new(self.name, "has an effect");
        if self.name == "touch" { spec.idempotent() } else { spec }
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let effect = format!("{} {}", self.name, args.text("what").unwrap_or_default());
        tokio::task::yield_now().await;
        let fails = self.name == "flaky" && !self.uses().contains(&effect);
        let line = format!("{effect} {}\n", invocation.key());
        (&*self.file).write_all(line.as_bytes()).map_err(|error| ToolError::new(error.to_string()))?;
        tokio::task::yield_now().await;
        if fails { Err(ToolError::new("not yet")) } else { Ok(format!("{effect} is done").into()) }
    }

    async fn reconcile(&self, args: Args, invocation: Invocation) -> Result<Reconciled, ToolError> {
        if self.name != "pay" {
            return Ok(Reconciled::Unknown);
        }
        let effect = format!("pay {}", args.text("what").unwrap_or_default());
        let done = self.uses().lines().any(|line| line == format!("{effect} {}", invocation.key()));
        Ok(if done { Reconciled::Done(format!("{effect} is done").into()) } else { Reconciled::NotDone })
    }
}

/// A model whose answers depend on nothing but how far the conversation has come.
struct Plan;

/// How many answers there were since the latest prompt, also those that are only counted any more.
fn answers(messages: &Messages) -> usize {
    let since = messages.iter().rev().take_while(|message| !matches!(message, Message::User { .. }));
    since
        .map(|message| match message {
            Message::Assistant { .. } => 1,
            Message::Instruction { text, .. } => {
                text.strip_suffix(" answers").and_then(|count| count.parse().ok()).unwrap_or(0)
            }
            Message::User { .. } | Message::Tool { .. } => 0,
        })
        .sum()
}

impl Model for Plan {
    fn id(&self) -> ModelId {
        ModelId::new("plan", "plan")
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let step = answers(&request.messages);
        if &*request.system_prompt == "shorten" {
            return Ok(Response::text(format!("{step} answers")));
        }
        let prompt = request.messages.iter().rev().find(|message| matches!(message, Message::User { .. }));
        let prompt = prompt.map(Message::text).unwrap_or_default();
        let steps = match prompt {
            "first" => FIRST,
            "second" => SECOND,
            _ => DIG,
        };
        let Some(calls) = steps.get(step) else {
            for piece in ["all ", "done"] {
                if out.text(piece).await.is_err() {
                    break;
                }
            }
            return Ok(Response::text("all done"));
        };
        let call = |(number, (tool, what)): (usize, &(&str, &str))| {
            let args = if *tool == "helper" { json!({ "prompt": what }) } else { json!({ "what": what }) };
            ToolCall::from_text(format!("{prompt}-{step}-{number}"), *tool, &args.to_string())
        };
        Ok(Response { calls: calls.iter().enumerate().map(call).collect(), ..Response::default() })
    }
}

/// Makes a conversation shorter with the help of the model.
struct Shorter;

impl Compactor for Shorter {
    fn due(&self, state: &AgentState) -> Option<String> {
        (state.messages().len() > LONG).then(|| "it is long".to_owned())
    }

    async fn compact(&self, run: &Run, state: &mut AgentState, _told: &str) -> Result<Messages, HookError> {
        let prompt = state.messages().iter().rev().find(|message| matches!(message, Message::User { .. })).cloned();
        let request = Request {
            model: Plan.id(),
            system_prompt: "shorten".into(),
            messages: state.messages().clone(),
            tools: Arc::from([]),
            max_output_tokens: None,
            temperature: None,
            options: serde_json::Value::Null,
        };
        let InferenceReport::Answered(answer) = run.infer(state, "shorten", request).await else {
            return Err(HookError::new("no answer"));
        };
        Ok(prompt.into_iter().chain([Message::instruction(answer.text, "shorter")]).collect())
    }
}
