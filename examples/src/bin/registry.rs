//! Two hundred tools, of which the model is offered those that it looked up. A guard stands before all of them.
//!
//! Run it with `cargo run -p vertebra-examples --bin registry`.

use std::error::Error;

use vertebra::{
    ToolSpec,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::registry::ToolRegistry;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .call("tools", r#"{"action": "search", "query": "convert money"}"#)
        .call("tools", r#"{"action": "help", "tool": "currency_convert"}"#)
        .call("currency_convert", "{}")
        // Not in the context, and called all the same.
        .call("report_007", "{}")
        .call("currency_transfer", "{}")
        .say("100 francs are 107 euros.");

    let mut builder = Agent::builder(model.clone());
    for number in 0..200 {
        builder.tool(RecordingTool::new(&format!("report_{number:03}")));
    }
    for (name, about) in [
        ("currency_convert", "Converts money from one currency to another"),
        ("currency_transfer", "Moves money to an account"),
        ("clock", "Tells the time"),
    ] {
        let described = |spec| ToolSpec { description: about.into(), ..spec };
        builder.tool(RecordingTool::new(name).replying("107.00 EUR").with(described));
    }
    let agent = builder
        .with(ToolRegistry { max_active: 3, ..ToolRegistry::default() }.always("clock"))
        .guard(BeforeToolUse.tool("*_transfer").named("no-transfers"), async |_cx| deny("money is moved by people"))
        .watch(BeforeInference, async |cx| {
            let names: Vec<&str> = cx.request.tools.iter().map(|offer| &*offer.name).collect();
            println!("offered: {}", names.join(", "));
            Ok(())
        })
        .watch(AfterToolUse, async |cx| {
            println!("  {} {}\n    {}", cx.tool, cx.args.to_value(), cx.result.output.replace('\n', "\n    "));
            Ok(())
        })
        .build()?;

    println!("{} tools in all", agent.tools().count());
    let run = agent.run("How much are 100 francs?").await?;
    println!("{}", run.text);
    Ok(())
}
