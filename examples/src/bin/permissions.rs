//! Rules in the syntax people know, a mode for the rest, and a person at a terminal who says yes, no or always.
//!
//! Here the terminal is two pipes, and what the person types is known before. `TerminalApprover::open()` asks a real one.
//!
//! Run it with `cargo run -p vertebra-examples --bin permissions`.

use std::{error::Error, io::Write as _};

use vertebra::{
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};
use vertebra_kit::permissions::{Mode, Permissions, RuleTexts, TerminalApprover};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .call("bash", r#"{"command": "git status && git diff"}"#)
        .call("bash", r#"{"command": "git status; rm -rf build"}"#)
        .call("bash", r#"{"command": "cargo test --workspace"}"#)
        .call("bash", r#"{"command": "cargo test -p engine"}"#)
        .call("read_file", r#"{"path": "./config/../.env"}"#)
        .call("edit_file", r#"{"path": "src/lib.rs", "old_string": "let a = 1;", "new_string": "let a = 2;"}"#)
        .call("edit_file", r#"{"path": "src/main.rs", "old_string": "a", "new_string": "b"}"#)
        .say("That is all I was allowed to do.")
        .call("edit_file", r#"{"path": "src/lib.rs", "old_string": "2", "new_string": "3"}"#)
        .say("I would make it 3.");

    // Who denies and where it stands is in every refusal.
    let settings = RuleTexts { deny: vec!["Bash(rm *)".into(), "Read(.env)".into()], ..RuleTexts::default() };
    let permissions =
        Permissions::default().texts("user settings", &settings)?.allow("Bash(git *)")?.allow("Edit(src/main.rs)")?;
    let rules = permissions.rules();

    let (input, mut keyboard) = std::io::pipe()?;
    // "Always" for the tests; no to the edit.
    keyboard.write_all(b"a\nn 2 is too much\n")?;
    let person = TerminalApprover::on(input, std::io::stdout()).learning(rules.clone());

    let agent = Agent::builder(model)
        .working_directory("/repo")
        .clock(FakeClock::by_hand())
        .tool(RecordingTool::new("bash"))
        .tool(RecordingTool::new("read_file").with(|spec| spec.alias("Read").read_only()))
        .tool(RecordingTool::new("edit_file").with(|spec| spec.alias("Edit")))
        .with(permissions)
        .approver(person)
        .watch(AfterToolUse, async |cx| {
            let what = cx.args.text("command").or(cx.args.text("path")).unwrap_or_default();
            println!("{} {what}: {}", cx.tool, cx.result.output);
            Ok(())
        })
        .build()?;

    let mut session = agent.session().await?;
    let run = session.prompt("Tidy up and test.").await?;
    println!("{}\n\nrules in force:", run.text);
    for rule in rules.list() {
        println!("  {:?} {rule}", rule.effect);
    }

    // A person can change the mode; no model and no tool can.
    rules.set_mode(session.id(), Mode::Plan)?;
    let run = session.prompt("Make it 3.").await?;
    println!("{}", run.text);
    session.close().await;
    Ok(())
}
