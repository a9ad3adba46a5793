//! A critic reads each final answer: it approves, or sends the model back with what is wrong, so often and no more.
//!
//! Run it with `cargo run -p vertebra-examples --bin critique`.

use std::error::Error;

use vertebra::{
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::critique::{AtLimit, Case, Critic, LAST, Review, SelfCritique};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("the model judges:");
    let model = Script::new()
        .call("run_tests", "{}")
        .say("All tests pass.")
        // Asked as `critique`, with the task, the answer and what the tools said.
        .say(
            r#"{"approved": false, "summary": "one test fails", "weaknesses": ["says that all pass"],
                "suggestions": ["name the test that fails"]}"#,
        )
        .say("All tests pass but `login`.")
        .say(r#"{"approved": true, "summary": "true to the evidence"}"#);
    let agent = Agent::builder(model)
        .tool(RecordingTool::new("run_tests").replying("login ... FAILED, 41 passed"))
        .with(SelfCritique::default())
        .watch(AfterInference, async |cx| {
            println!("  {:?}: {:?}", cx.purpose, cx.response.text.split_whitespace().collect::<Vec<_>>().join(" "));
            Ok(())
        })
        .watch(Notification, async |cx| {
            println!("  -> {}", cx.message);
            Ok(())
        })
        .build()?;
    let run = agent.run("Do the tests pass?").await?;
    println!("  {}: {}", run.status, run.text);

    println!("a function judges, each run anew:");
    let rhymes = Critic::by(async |case: Case| {
        if case.answer.ends_with("blue") {
            return Ok(Review::approve("it rhymes"));
        }
        Ok(Review::reject(format!("answer {} to {:?} does not rhyme", case.attempt, case.task)))
    });
    let critique =
        SelfCritique { critic: rhymes, max_iterations: 1, at_limit: AtLimit::Stop, ..SelfCritique::default() };
    let model = Script::new().say("red").say("green").say("grey").say("violets are blue");
    let agent = Agent::builder(model).with(critique).build()?;
    let mut session = agent.session().await?;
    for prompt in ["A poem.", "Another."] {
        let run = session.prompt(prompt).await?;
        println!("  {}: {} ({})", run.status, run.text, run.stop);
        println!("  {}", session.state().await.metadata().get(LAST).unwrap_or_default()["review"]["summary"]);
    }
    session.close().await;
    Ok(())
}
