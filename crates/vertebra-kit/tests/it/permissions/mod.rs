//! Rules, modes and people: who may do what.

mod lattice;
mod modes;
mod paths;
mod rules;
mod suggestions;
mod terminal;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use vertebra::{
    AgentBuilder, ToolSpec,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};
use vertebra_kit::permissions::{Mode, Permissions};

use super::{
    sheet::Sheet,
    support::{built, run},
};

pub(crate) fn sheet() -> Sheet {
    Sheet {
        name: "Permissions",
        purpose: "Rules that allow, ask or deny, in the syntax of other agents, and a mode for calls that no rule matches.",
        install: |builder| {
            builder.with(Permissions::default());
        },
        knobs: vec![
            ("mode", format!("{:?}", Mode::default())),
            ("rules", "none".to_owned()),
            ("file", "none".to_owned()),
        ],
    }
}

/// The usual tools, none of which does anything.
fn tools() -> Vec<RecordingTool> {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let reads = |spec: ToolSpec| spec.schema(path.clone()).read_only();
    let writes = |spec: ToolSpec| spec.schema(path.clone());
    vec![
        RecordingTool::new("bash").with(|spec| spec.alias("Shell")),
        RecordingTool::new("read_file").with(|spec| reads(spec).alias("Read")),
        RecordingTool::new("grep").with(reads),
        RecordingTool::new("edit_file").with(|spec| writes(spec).alias("Edit")),
        RecordingTool::new("write_file").with(|spec| writes(spec).alias("Write")),
        RecordingTool::new("delete_file").with(writes),
        RecordingTool::new("web").with(|spec| spec.alias("WebFetch")),
        RecordingTool::new("mcp__git__log"),
        RecordingTool::new("mcp__mail__send"),
    ]
}

fn with_tools(builder: &mut AgentBuilder) {
    for tool in tools() {
        builder.tool(tool);
    }
}

/// An agent in `/repo` with the usual tools, whose person lives in `/home/me`.
fn agent(model: &Script, permissions: Permissions) -> AgentBuilder {
    let mut builder = Agent::builder(model.clone());
    builder.clock(FakeClock::new()).working_directory("/repo").with(permissions.home("/home/me"));
    with_tools(&mut builder);
    builder
}

/// Lines that hooks and tests write together.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    /// Writes down what the model reads of each call.
    fn results(builder: &mut AgentBuilder) -> Self {
        let told = Self::default();
        let results = told.clone();
        builder.watch(AfterToolUse, async move |cx| {
            results.0.lock().unwrap_or_else(PoisonError::into_inner).push(cx.result.output.clone());
            Ok(())
        });
        told
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the model reads after one call, with nobody there to ask.
async fn reads(permissions: Permissions, tool: &str, args: Value) -> String {
    reads_of(permissions, tool, args, |_| {}).await
}

async fn reads_of(permissions: Permissions, tool: &str, args: Value, also: impl FnOnce(&mut AgentBuilder)) -> String {
    let model = Script::new().call(tool, &args.to_string()).say("done");
    let mut builder = agent(&model, permissions);
    also(&mut builder);
    let told = Told::results(&mut builder);
    run(&built(&mut builder), "go").await;
    told.lines().join("\n")
}

/// The same in a word: `ran`, `asked` or `denied`.
async fn comes_to(permissions: Permissions, tool: &str, args: Value) -> &'static str {
    in_a_word(&reads(permissions, tool, args).await)
}

fn in_a_word(read: &str) -> &'static str {
    match read {
        "ok" => "ran",
        read if read.contains("no approver is configured") => "asked",
        read if read.starts_with("blocked by") => "denied",
        read => panic!("neither yes nor no: {read}"),
    }
}

/// Rules, as they would stand in settings.
fn allowing(rules: &[&str]) -> Permissions {
    rules.iter().fold(Permissions::default(), |permissions, rule| permissions.allow(rule).expect("a rule"))
}

fn denying(rules: &[&str]) -> Permissions {
    rules.iter().fold(Permissions::default(), |permissions, rule| permissions.deny(rule).expect("a rule"))
}

fn command(line: &str) -> Value {
    json!({ "command": line })
}

fn path(path: &str) -> Value {
    json!({ "path": path })
}
