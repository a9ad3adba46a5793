//! A hook asks, a person answers: yes, no, or yes with other arguments, which the guards judge anew.
//!
//! Run it with `cargo run -p vertebra-examples --bin approval`.

use std::error::Error;

use vertebra::{
    Approval, Approver, Decision,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};

/// A person in a hurry, as a program.
struct Person;

impl Approver for Person {
    async fn decide(&self, approval: &Approval) -> Decision {
        println!("{} asks: {}? {}", approval.asked_by, approval.reason, approval.args.to_value());
        let with = |branch: &str| {
            let mut args = approval.args.clone();
            args.set("branch", branch);
            Decision::Edit { args }
        };
        match approval.args.text("branch") {
            Some("feature") => approval.approve(),
            Some("main") => with("release"),
            Some("hotfix") => with("main --force"),
            _ => Decision::Deny { reason: "not on a Friday".to_owned() },
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .call("push", r#"{"branch": "docs"}"#)
        .call("push", r#"{"branch": "feature"}"#)
        .call("push", r#"{"branch": "main"}"#)
        .call("push", r#"{"branch": "hotfix"}"#)
        .call("push", r#"{"branch": "experiment"}"#)
        .say("Pushed what I could.");
    let push = RecordingTool::new("push").replying("pushed");

    let agent = Agent::builder(model)
        .clock(FakeClock::new())
        .approver(Person)
        .tool(push.clone())
        .on(BeforeToolUse.tool("push").named("ask-before-push"), async |cx| {
            ask(format!("push {}", cx.args.text("branch").unwrap_or_default()))
        })
        // Some questions need no person: a hook answers first.
        .on(PermissionRequest.arg("/branch", Test::Matches("^docs$".into())).named("docs-are-fine"), async |_cx| {
            allow()
        })
        // A guard holds for what a person wrote, too.
        .guard(BeforeToolUse.arg("/branch", Test::Matches("--force".into())).named("no-force"), async |_cx| {
            deny("force is for nobody")
        })
        .watch(AfterToolUse, async |cx| {
            println!("  {}: {}", cx.args.to_value(), cx.result.output);
            Ok(())
        })
        .build()?;

    let run = agent.run("Push everything.").await?;
    println!("{}: {}", run.status, run.text);

    let reached: Vec<_> = push.calls().iter().filter_map(|args| args.text("branch").map(str::to_owned)).collect();
    println!("reached the tool: {reached:?}");
    Ok(())
}
