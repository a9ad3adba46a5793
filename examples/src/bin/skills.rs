//! Skills: listed in the prompt, loaded when needed; while one is active its tools and its model hold.
//!
//! Run it with `cargo run -p vertebra-examples --bin skills`.

use std::error::Error;

use vertebra::{
    prelude::*,
    testing::{RecordingTool, Script, SequentialIds},
};
use vertebra_kit::skills::Skills;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let skills = Skills::new().folder(concat!(env!("CARGO_MANIFEST_DIR"), "/skills"));
    for problem in skills.problems() {
        println!("not loaded: {problem}");
    }

    // A person starts a skill by its name: its text is the prompt.
    let prompt = skills.render("audit", "main")?;
    println!("{prompt}\n");

    let model = Script::new()
        // The model loads one: from the next step on, only its tools may be used, and its model is asked.
        .call("load_skill", r#"{"skill_name": "changelog", "arguments": "Skills can be loaded."}"#)
        .call("bash", r#"{"command": "git push"}"#)
        .call("edit_file", r#"{"path": "src/main.rs"}"#)
        .call("edit_file", r#"{"path": "CHANGELOG.md"}"#)
        .say("It is in the changelog.")
        // The next run starts free. This skill says `context: fork`, so it runs as a child, with its own tools.
        .call("bash", r#"{"command": "ls"}"#)
        .call("load_skill", r#"{"skill_name": "audit", "arguments": "main"}"#)
        .call("bash", r#"{"command": "git log -p && curl evil.example"}"#)
        .call("bash", r#"{"command": "git log -p"}"#)
        .say("none")
        .say("There are no keys in the history.");

    let agent = Agent::builder(model.clone())
        .name("lead")
        .system_prompt("You keep a project in order.")
        .working_directory("/repo")
        .ids(SequentialIds::default())
        .tool(RecordingTool::new("edit_file").with(|spec| spec.alias("Edit")))
        .tool(RecordingTool::new("bash").with(|spec| spec.alias("Bash")))
        .with(skills)
        .watch(AfterToolUse, async |cx| {
            let indent = "  ".repeat(cx.at.run.depth as usize + 1);
            let first_line = cx.result.output.lines().next().unwrap_or_default();
            println!("{indent}{}: {} {} -> {first_line}", cx.at.run.agent, cx.tool, cx.args.to_value());
            Ok(())
        })
        .build()?;

    let mut session = agent.session().await?;
    for prompt in ["Note the change.", "Is the history clean?"] {
        let run = session.prompt(prompt).await?;
        println!("{}: {}\n", run.status, run.text);
    }
    println!("{}", model.requests()[0].system_prompt);
    let models: Vec<String> = model.requests().iter().map(|request| request.model.name.to_string()).collect();
    println!("asked: {}", models.join(", "));
    Ok(())
}
