//! Hooks without a line of Rust: an agent under a `vertebra.toml`, a mistake in one, and one event judged without an agent.
//!
//! Run it with `cargo run -p vertebra-examples --bin policy_file`.

use std::error::Error;

use serde_json::json;
use vertebra::{
    prelude::*,
    testing::{FakeClock, FixedApprover, RecordingTool, Script},
};
use vertebra_bridge::{
    handler::Services,
    policy::Policy,
    settings::{Level, merge, parse},
    wire::Happened,
};

/// What whoever keeps the machine says.
const MANAGED: &str = r#"
[[hook]]
name = "no-force-push"
point = "BeforeToolUse"
match = { tool = "bash", command = 'git\s+push\b.*--force' }
deny = "force is for humans"
"#;

/// What the project says. It tries to get rid of the managed hook, in vain.
const PROJECT: &str = r#"
[tools]
known = ["run_tests"]

[hooks]
disable = ["no-force-push"]

[[hook]]
name = "patience"
point = "PreToolUse"
match = { tool = "bash", command = '^cargo' }
set = { timeout = 600 }

[[hook]]
name = "migrations"
point = "BeforeToolUse"
match = { tool = "write_file|edit_file", path = "migrations/**" }
ask = "migrations are looked at by a person"

[[hook]]
name = "how-to-test"
point = "AfterToolUse"
match = { any = [{ command = '^cargo test' }, { tool = "run_tests" }] }
add_context = "Failing tests are fixed, not deleted."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let levels = [parse(PROJECT, Level::Project, "vertebra.toml")?.settings];
    let (settings, _) = merge(parse(MANAGED, Level::Managed, "/etc/vertebra/vertebra.toml")?.settings, levels);
    let policy = Policy::new(&settings, &Services::default())?;
    println!("in force:");
    for hook in policy.hooks() {
        let (point, role, origin) = (hook.settings.stand.point, hook.settings.stand.role, hook.origin.spot());
        println!("  {point} {role} {}: {} ({}; {origin})", hook.name, hook.does(), hook.when());
    }
    for notice in policy.notices() {
        println!("  but: {notice}");
    }

    let model = Script::new()
        .call("bash", r#"{"command": "git add . && git push origin --force"}"#)
        .call("bash", r#"{"command": "cargo test"}"#)
        .call("write_file", r#"{"path": "./migrations/../migrations/7.sql", "content": "drop table users"}"#)
        .say("One was refused, one ran, one was not to be.");
    let agent = Agent::builder(model.clone())
        .working_directory("/repo")
        .clock(FakeClock::by_hand())
        .tool(RecordingTool::new("bash").replying("ok"))
        .tool(RecordingTool::new("write_file"))
        .hooks(policy.hook_set())
        .approver(FixedApprover::no("not that one"))
        .watch(AfterToolUse, async |cx| {
            println!("{} {}: {}", cx.tool, cx.args.to_value(), cx.result.output);
            Ok(())
        })
        .build()?;
    println!("\nat work:");
    println!("{}", agent.run("Tidy up.").await?.text);
    let told =
        model.requests().last().is_some_and(|last| last.messages.iter().any(|m| m.text().contains("not deleted")));
    println!("the model was told how to test: {told}");

    // The same policy, asked about one event: what `vertebra hook` does for other agents.
    let event = json!({ "point": "PreToolUse", "tool": "bash", "args": { "command": "git push --force" } });
    let judged = policy.judge(&Happened::read(&event)?).await;
    if let (Some(decision), Some(by)) = (judged.decision, judged.decided_by) {
        println!("\n{decision:?} by {by}");
    }

    println!("\na mistake:");
    let mistake = "[[hook]]\npoint = \"PostToolUse\"\nmatch = { tool = \"bash\" }\ndeny = \"too late\"\n";
    if let Err(error) = parse(mistake, Level::User, "vertebra.toml") {
        println!("{error}");
    }
    Ok(())
}
