//! The smallest agent: a model, a tool, and one look at what happens.
//!
//! Run it with `cargo run -p vertebra-examples --bin hello`.

use std::error::Error;

use vertebra::{prelude::*, testing::Script};

/// Adds two numbers.
#[tool(read_only)]
async fn add(a: i64, b: i64) -> String {
    (a + b).to_string()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A driver for a provider stands here in earnest. A script says the same every time, which suits a manual.
    let model = Script::new().call("add", r#"{"a": 2, "b": 40}"#).say("It is 42.");

    let agent = Agent::builder(model)
        .tool(Add)
        .watch(AfterToolUse, async |cx| {
            println!("{}({}) = {}", cx.tool, cx.args.to_value(), cx.result.output);
            Ok(())
        })
        .build()?;

    let run = agent.run("What is 2 + 40?").await?;
    println!("{}", run.text);
    println!("{} after {} steps and {} tool call", run.status, run.steps, run.tool_calls);
    Ok(())
}
