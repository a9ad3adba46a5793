//! The runs that are shown.

use std::{fs, path::Path};

use serde_json::json;
use vertebra::{
    Agent, AgentBuilder, Limits, ModelError, RunEvent, Usage,
    prelude::*,
    testing::{FakeClock, FixedApprover, Script, SequentialIds},
};
use vertebra_kit::{
    bash::Bash,
    files::Files,
    planning::TaskPlanning,
    resilience::ModelRetry,
    subagents::{Subagent, Subagents},
};

use super::steady;

/// A folder with a small project.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("src")).expect("a folder");
    let lines: Vec<String> = (1..=40).map(|number| format!("    let line_{number} = {number};")).collect();
    let code = format!(
        "fn main() {{\n    let greeting = \"helo\";\n    println!(\"{{greeting}}\");\n{}\n}}\n",
        lines.join("\n")
    );
    fs::write(folder.path().join("src/main.rs"), code).expect("a file");
    fs::write(folder.path().join("notes.txt"), "buy milk\ncall the dentist\n").expect("a file");
    folder
}

async fn play(model: Script, set_up: impl FnOnce(&mut AgentBuilder, &Path)) -> Vec<RunEvent> {
    let folder = project();
    let mut builder = Agent::builder(model);
    builder.name("coder").ids(SequentialIds::default()).with(Bash::in_dir(folder.path()));
    builder.with(Files::new(folder.path()).expect("files")).with(TaskPlanning::default());
    set_up(&mut builder, folder.path());
    let mut stream = builder.build().expect("an agent").stream("Fix the greeting.");
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(steady(event));
    }
    events
}

fn usage(input: u64, output: u64, cost_micros: u64) -> Usage {
    Usage { cost_micros, ..Usage::tokens(input, output) }
}

/// A person's task, done: everything a coding agent does in a few steps.
pub(super) async fn task() -> Vec<RunEvent> {
    let tasks = |first: &str, rest: &str| {
        let task = |content: &str, status: &str| json!({ "content": content, "status": status });
        let tasks = [task("Find the greeting", first), task("Fix it", rest), task("Run the tests", rest)];
        json!({ "todos": tasks }).to_string()
    };
    let many_lines =
        json!({ "command": "for i in $(seq 1 30); do\n  echo \"test number $i ... ok\"\ndone" }).to_string();
    let changes = "# Changes\n\n- The greeting is spelled right.\n- Nothing else changed.\n";
    let changes = json!({ "path": "CHANGES.md", "content": changes }).to_string();
    let model = Script::new()
        .call("todo_write", &tasks("in_progress", "pending"))
        .saying("I look for the greeting **first**, then I fix it.")
        .using(usage(2_100, 80, 7_500))
        .calls([
            ("grep", r#"{"pattern": "greeting", "path": "src"}"#),
            ("read_file", r#"{"path": "src/main.rs", "limit": 3}"#),
        ])
        .call("edit_file", r#"{"path": "src/main.rs", "old_string": "\"helo\"", "new_string": "\"hello\""}"#)
        .saying("There it is.")
        .call("bash", &many_lines)
        .call("bash", r#"{"command": "echo 'error: no such test' >&2; exit 101"}"#)
        .calls([("bash", r#"{"command": "rm -rf src"}"#), ("write_file", &changes)])
        .call("todo_write", &tasks("completed", "completed"))
        .stream([
            "The greeting is **fixed**",
            ": `helo` is now `hello`.\n\n| file | change |\n|---|---|\n",
            "| src/main.rs | spelling |\n| CHANGES.md | new |\n\n",
            "Run it with:\n\n```sh\ncargo run\n```\n",
        ])
        .using(usage(12_300, 640, 41_000));
    play(model, |builder, _| {
        builder.on(BeforeToolUse.tool("bash").named("every-command-has-a-timeout"), async |cx| {
            cx.args_mut().entry("timeout_ms").or_insert(5_000);
            proceed()
        });
        builder
            .guard(BeforeToolUse.command(r"^rm\b").named("no-deletions"), async |_cx| deny("deletions are for humans"));
    })
    .await
}

/// Questions, a hook that fails, a notice, and a limit.
pub(super) async fn trouble() -> Vec<RunEvent> {
    let model = Script::new()
        .may_end_early()
        .call("bash", r#"{"command": "echo asked"}"#)
        .call("bash", r#"{"command": "echo again"}"#)
        .call("read_file", r#"{"path": "missing.txt"}"#)
        .call("frobnicate", r#"{"level": 11, "where": "everywhere"}"#)
        .saying("One \u{1b}[31mmore\u{1b}[0m \u{202e}thing.")
        .say("never said");
    play(model, |builder, _| {
        let answers = FixedApprover::yes().then(FixedApprover::no("not twice"));
        builder.approver(answers).limits(Limits { steps: Some(4), ..Limits::none() });
        builder.guard(BeforeToolUse.tool("bash").named("careful"), async |_| ask("commands are asked about"));
        builder.watch(AfterToolUse.named("log"), async |_| Err(HookError::new("the log is full")));
        builder.on(BeforeStep.named("weather"), async |cx| {
            let run = cx.scope();
            run.notify(cx.state_mut(), "weather", "it rains").await?;
            proceed()
        });
    })
    .await
}

/// Two agents at work under a third, one after the other.
pub(super) async fn delegation() -> Vec<RunEvent> {
    let child = |name: &str, path: &str| {
        let model =
            Script::new().call("read_file", &format!(r#"{{"path": "{path}"}}"#)).say(format!("{path} is fine."));
        Subagent::new(name, "reads").prompt("You read.").setup(move |builder| {
            builder.model(model.clone());
        })
    };
    let model = Script::new()
        .call("spawn_subagent", r#"{"agent": "scout", "prompt": "Read the code and say whether it is fine."}"#)
        .call("spawn_subagent", r#"{"agent": "clerk", "prompt": "Read the notes."}"#)
        .say("Both are fine.");
    play(model, |builder, _| {
        let agents = Subagents::new().agent(child("scout", "src/main.rs")).expect("an agent");
        builder.with(agents.agent(child("clerk", "notes.txt")).expect("an agent"));
    })
    .await
}

/// A model that cannot be reached.
pub(super) async fn failure() -> Vec<RunEvent> {
    let error = ModelError::Unauthorised { message: "no such key".to_owned() };
    play(Script::new().fail(error), |_, _| {}).await
}

/// A provider that breaks off in the middle of an answer, is away, and comes back.
pub(super) async fn away() -> Vec<RunEvent> {
    let broken = ModelError::Broken { message: "connection reset".to_owned() };
    let model = Script::new()
        .stream(["The greeting is"])
        .breaking_off(broken)
        .fail(ModelError::Network { message: "connection refused".to_owned() })
        .say("The greeting is fine.");
    play(model, |builder, _| {
        builder.clock(FakeClock::new()).with(ModelRetry::default());
    })
    .await
}
