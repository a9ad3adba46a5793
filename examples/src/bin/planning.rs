//! A task list that the model keeps: refused when it makes no sense, shown again after a while, and reminded of.
//!
//! Run it with `cargo run -p vertebra-examples --bin planning`.

use std::error::Error;

use vertebra::{
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::planning::TaskPlanning;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let both = r#"{"todos": [{"content": "Read the code", "status": "in_progress"},
                             {"content": "Fix the bug", "status": "in_progress"}]}"#;
    let begun = r#"{"todos": [{"content": "Read the code", "status": "in_progress", "activeForm": "Reading the code"},
                              {"content": "Fix the bug"}]}"#;
    let done = r#"{"todos": [{"content": "Read the code", "status": "completed"},
                             {"content": "Fix the bug", "status": "completed"}]}"#;
    let model = Script::new()
        .call("todo_write", both)
        .call("todo_write", begun)
        .call("read", "{}")
        .call("read", "{}")
        .call("read", "{}")
        .call("todo_write", done)
        .say("The bug is fixed.");

    let agent = Agent::builder(model.clone())
        .with(TaskPlanning { render_every_steps: 2, remind_every_steps: 3, ..TaskPlanning::default() })
        .tool(RecordingTool::new("read").replying("fn main() {}"))
        .build()?;
    agent.run("Fix the bug.").await?;

    // The conversation as the model read it in the end.
    let requests = model.requests();
    let messages = requests.last().map(|request| request.messages.clone()).unwrap_or_default();
    for message in messages.iter() {
        let who = match message {
            Message::User { .. } => "user",
            Message::Assistant { .. } => continue,
            Message::Instruction { from, .. } => from,
            Message::Tool { tool, .. } => tool,
        };
        println!("{who}: {}", message.text().replace('\n', "\n    "));
    }
    Ok(())
}
