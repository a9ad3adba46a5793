//! One context to read and to change: arguments, messages, permissions. Whatever hooks make of a call, deny wins.
//!
//! Run it with `cargo run -p vertebra-examples --bin mutable_context`.

use std::error::Error;

use vertebra::{
    Kind,
    prelude::*,
    testing::{RecordingTool, Script},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .say("I will not repeat it.")
        .calls([
            ("bash", r#"{"command": "rm -rf /"}"#),
            ("read_file", r#"{"file_path": "/notes.txt"}"#),
            ("read_file", r#"{"file_path": "/.env"}"#),
            ("write_file", r#"{"file_path": "/notes.txt"}"#),
            ("grep", r#"{"pattern": "milk"}"#),
        ])
        .say("I read the notes.");
    let files = |name: &str, alias: &'static str| RecordingTool::new(name).with(|spec| spec.alias(alias));

    let agent = Agent::builder(model.clone())
        .tool(RecordingTool::new("bash"))
        .tool(files("read_file", "Read").replying("buy milk"))
        .tool(files("write_file", "Write"))
        .tool(files("grep", "Grep"))
        .on(BeforeToolUse.tool("Bash").named("no-rm-rf").priority(1), async |cx| match cx.command() {
            Some(command) if command.contains("rm -rf") => deny("dangerous command"),
            _ => proceed(),
        })
        // Rewrite paths: what a hook writes is what the tool gets.
        .on(BeforeToolUse.tool("Read|Write|Edit").named("remote-paths").priority(60), async |cx| {
            if let Some(path) = cx.args.text("file_path").map(|path| format!("/mnt/remote{path}")) {
                cx.args_mut().set("file_path", path);
            }
            proceed()
        })
        // Read tools need no permission.
        .on(BeforeToolUse.tool("Read|Glob|Grep").named("auto-approve").priority(70), async |_cx| allow())
        // Everything else does. Nobody is there to give it, and then the answer is no.
        .on(BeforeToolUse.named("ask-first").priority(80), async |cx| {
            let allowed = cx.record().verdicts().any(|(_, kind)| kind == Kind::Allow);
            if allowed { proceed() } else { ask("this changes something") }
        })
        // A deny wins over an allow, and a guard sees the path that hooks have rewritten.
        .guard(BeforeToolUse.path("/mnt/remote/**/.env").named("no-secrets"), async |_cx| deny("secrets stay secret"))
        // Filter messages: the model does not read what is taken out of the request. The conversation keeps it.
        .on(BeforeInference.named("filter-messages"), async |cx| {
            cx.messages.retain(|message| !message.text().contains("password="));
            proceed()
        })
        .watch(BeforeToolUse.named("audit"), async |cx| {
            println!("{} {}", cx.tool, cx.args.to_value());
            println!("  {}", cx.record());
            Ok(())
        })
        .build()?;

    let mut session = agent.session().await?;
    session.prompt("By the way, password=hunter2.").await?;
    let run = session.prompt("Read the notes.").await?;
    println!("{}: {}", run.status, run.text);

    println!("\nin the conversation, and (+) read by the model:");
    let shown = model.requests().pop().map(|request| request.messages).unwrap_or_default();
    for message in session.state().await.messages().iter() {
        let mark = if shown.iter().any(|other| other == message) { '+' } else { ' ' };
        println!("  {mark} {:?}", message.text());
    }
    session.close().await;
    Ok(())
}
