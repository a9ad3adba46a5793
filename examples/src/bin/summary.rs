//! A conversation that stays short: long results go to files, old ones are cleared, then a summary is kept up to date.
//!
//! Run it with `cargo run -p vertebra-examples --bin summary`.

use std::error::Error;

use vertebra::{
    Limits, Messages, ToolSpec,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::summary::{Material, Offload, Summarisation, Summariser, Trigger};

/// Who said what, each in a line.
fn show(messages: &Messages) {
    for message in messages.iter() {
        let (who, text) = match message {
            Message::User { text, .. } => ("user".to_owned(), text.clone()),
            Message::Instruction { text, from } => (from.clone(), text.clone()),
            Message::Assistant { text, calls, .. } => {
                let calls: Vec<_> = calls.iter().map(|call| format!("{}{}", call.tool, call.args.to_value())).collect();
                ("model".to_owned(), format!("{text}{}", calls.join(" ")))
            }
            Message::Tool { tool, result, .. } => (tool.to_string(), result.output.clone()),
        };
        let line: String = text.replace('\n', " ").chars().take(72).collect();
        println!("  {who}: {line}");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .call("read_log", r#"{"day": 1}"#)
        .call("read_offloaded", r#"{"id": "off-1", "offset": 20000, "limit": 44}"#);
    let model = (1..=9).fold(model, |model, note| {
        model.call("read_note", &format!(r#"{{"note": {note}}}"#)).saying("Nothing about the vase so far. ".repeat(9))
    });
    let model = model.say("It was the cat.");
    let log = RecordingTool::new("read_log")
        .by(|_| Ok((0..2000).map(|n| format!("event {n}\n")).collect::<Vec<_>>().concat().into()));
    let note = RecordingTool::new("read_note").with(ToolSpec::read_only).by(|args| {
        let number = args.get("note").map(ToString::to_string).unwrap_or_default();
        Ok(format!("note {number}: {}", "the cat was seen. ".repeat(60)).into())
    });

    let summarisation = Summarisation {
        // Or `Trigger::Share { window: 200_000, share: 0.85 }`.
        trigger: Trigger::Tokens(1500),
        target: 0.7,
        keep_tool_results: Some(2),
        keep_recent: 4,
        offload: Some(Offload { preview_chars: 60, ..Offload::default() }),
        // Without this line the agent's own model writes the summary, between the same hooks and out of the same budget.
        summariser: Summariser::by(async |material: Material| {
            let before = material.before.map(|before| format!("{before}; then ")).unwrap_or_default();
            Ok(format!("{before}{} lines ({})", material.since.lines().count(), material.instructions))
        }),
        ..Summarisation::default()
    };
    let agent = Agent::builder(model.clone())
        .limits(Limits::none())
        .tool(log)
        .tool(note)
        .with(summarisation)
        .on(BeforeCompact, async |cx| {
            println!("{}: {} messages", cx.reason, cx.messages);
            cx.instructions.push_str("who was seen");
            proceed()
        })
        .watch(AfterCompact, async |cx| {
            println!("now {} messages, about {} tokens", cx.messages, cx.tokens);
            show(cx.state().messages());
            Ok(())
        })
        .build()?;

    let run = agent.run("Who knocked the vase over?").await?;
    println!("{}", run.text);
    let most = model.requests().iter().map(|request| request.messages.estimated_tokens()).max().unwrap_or_default();
    println!("the model never read more than about {most} tokens");
    Ok(())
}
