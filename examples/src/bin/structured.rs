//! Answers as typed values: for a program, and for the model as a tool. What does not fit goes back with what is wrong.
//!
//! Run it with `cargo run -p vertebra-examples --bin structured`.

use std::error::Error;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vertebra::{
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::structured::{Extract, ExtractError, Extraction, Maybe, Schema, StructuredOutput};

#[derive(Debug, Deserialize, JsonSchema)]
struct Invoice {
    /// Who wants the money.
    from: String,
    /// How much, in cents.
    total: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    for_a_program().await?;
    for_the_model().await
}

async fn for_a_program() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        // The model may use tools before it answers.
        .call("read_mail", "{}")
        .say(r#"{"from": "Acme", "total": "7 dollars"}"#)
        .say("Sorry! Here it is:\n```json\n{\"from\": \"Acme\", \"total\": 700}\n```")
        .say(r#"{"nothing": "the mail is a poem"}"#)
        .say("I would rather not.")
        .say("No.");
    let agent = Agent::builder(model)
        .tool(RecordingTool::new("read_mail").replying("Dear customer, please pay Acme 7 dollars."))
        .watch(ShouldContinue.step("final_response"), async |cx| {
            println!("  {:?} -> {}", cx.text, cx.record());
            Ok(())
        })
        .build()?;

    println!("an invoice:");
    let invoice = agent.extract::<Invoice>("What do we owe?").await?;
    println!("  {} cents for {}, after {} steps", invoice.value.total, invoice.value.from, invoice.report.steps);

    println!("an invoice, if there is one:");
    println!("  {:?}", agent.extract::<Maybe<Invoice>>("And in the other mail?").await?.value);

    println!("never a default:");
    let once = Extraction { max_retries: 1, ..Extraction::default() };
    match agent.extract_with::<Invoice>("And now?", once).await {
        Err(ExtractError::NoFit { answer, problems, .. }) => println!("  {answer:?}: {problems:?}"),
        other => println!("  {other:?}"),
    }
    Ok(())
}

async fn for_the_model() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .call("structured_output", r#"{"input": "Bolt, 1 dollar", "schema": "invoice", "store_as": "bill"}"#)
        // The tool asks the model too: between the same hooks, out of the same budget.
        .say(r#"{"from": "Bolt", "total": 100}"#)
        .call("structured_output", r#"{"input": "x", "schema": "invoice", "store_as": "planning/tasks"}"#)
        .say("One invoice, kept.");
    let invoice = Schema::of::<Invoice>()?
        .named("invoice")
        .description("a bill that we have to pay")
        .example("Acme: 7 dollars", json!({"from": "Acme", "total": 700}))?
        .max_retries(1);
    let agent = Agent::builder(model)
        .with(StructuredOutput::new([invoice]))
        .watch(AfterToolUse, async |cx| {
            println!("  {}: {}", cx.result.status, cx.result.output);
            Ok(())
        })
        .build()?;

    println!("as a tool:");
    let mut session = agent.session().await?;
    let run = session.prompt("Keep the bill.").await?;
    println!("  {}", run.text);
    println!("  bill = {}", session.state().await.metadata().get("bill").unwrap_or_default());
    session.close().await;
    Ok(())
}
