//! What a model wants to remember: values of its own, within limits, and none of the values that hooks keep.
//!
//! Run it with `cargo run -p vertebra-examples --bin metadata`.

use std::error::Error;

use vertebra::{prelude::*, testing::Script};
use vertebra_kit::metadata::MetadataTools;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        // Calls of one answer take effect in their order.
        .calls([
            ("store_metadata", r#"{"key": "customer", "value": {"name": "Ada", "since": 1843}}"#),
            ("store_metadata", r#"{"key": "language", "value": "French"}"#),
            ("read_metadata", r#"{"key": "language"}"#),
        ])
        // What hooks keep is out of reach.
        .calls([
            ("read_metadata", r#"{"key": "audit/calls"}"#),
            ("store_metadata", r#"{"key": "audit/calls", "value": 0}"#),
            ("list_metadata", "{}"),
        ])
        // The third key is one too many, until another is forgotten.
        .call("store_metadata", r#"{"key": "mood", "value": "good"}"#)
        .calls([
            ("store_metadata", r#"{"key": "language", "value": null}"#),
            ("store_metadata", r#"{"key": "mood", "value": "good"}"#),
        ])
        .say("Noted.")
        // In the next prompt of the session everything is still there.
        .calls([("read_metadata", r#"{"key": "customer"}"#), ("read_metadata", r#"{"key": "language"}"#)])
        .say("I remember.");

    let agent = Agent::builder(model)
        .with(MetadataTools { max_keys: 2, ..MetadataTools::default() })
        .on(AfterToolUse.named("count-calls"), async |cx| {
            let calls: u64 = cx.state().metadata().read("audit/calls")?.unwrap_or_default();
            cx.state_mut().metadata_mut().set("audit/calls", calls + 1);
            proceed()
        })
        .watch(AfterToolUse, async |cx| {
            println!("  {} {}\n    {}: {}", cx.tool, cx.args.to_value(), cx.result.status, cx.result.output);
            Ok(())
        })
        .build()?;

    let mut session = agent.session().await?;
    for prompt in ["Remember Ada.", "Whom do you know?"] {
        println!("{prompt}");
        println!("{}", session.prompt(prompt).await?.text);
    }
    println!("calls, as a hook counted them: {:?}", session.state().await.metadata().get("audit/calls"));
    Ok(())
}
