//! The smallest agent: a model, a tool, and one look at what happens.
//!
//! Run it with `cargo run -p vertebra-examples --bin hello`.

use std::error::Error;

use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{prelude::*, testing::Script};

/// What the tool takes. The model is shown the schema of this type.
#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A driver for a provider stands here in earnest. A script says the same every time, which suits a manual.
    let model = Script::new().call("add", r#"{"a": 2, "b": 40}"#).say("It is 42.");

    let agent = Agent::builder(model)
        .tool(tool("add", "Adds two numbers", async |input: Add, _| Ok((input.a + input.b).to_string())))
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
