//! When things fail: a model that is asked again, another model, a tool that is tried again or stopped, a limit, and an
//! answer that costs nothing the second time.
//!
//! Run it with `cargo run -p vertebra-examples --bin retries`.

use std::{
    error::Error,
    future::pending,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use vertebra::{
    ModelError, ModelId, News, ToolSpec,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script, SequentialIds},
};
use vertebra_kit::resilience::{
    CachePolicy, CacheScope, ModelFallback, ModelRetry, ResponseCache, Router, ToolCallLimit, ToolRetry, ToolTimeout,
};

fn busy(seconds: u64) -> ModelError {
    ModelError::Busy { message: "too many requests".to_owned(), wait: Some(Duration::from_secs(seconds)) }
}

/// Fails once, then answers.
fn flaky_search() -> RecordingTool {
    let calls = AtomicU32::new(0);
    RecordingTool::new("search").with(ToolSpec::read_only).by(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Err(ToolError::new("connection reset")),
        _ => Ok("three results".into()),
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = FakeClock::new();
    // The first provider is down all the time; the second has a hiccup.
    let first = Script::of(ModelId::new("north", "large")).fail(busy(5)).fail(busy(20)).fail(busy(60));
    let second = Script::of(ModelId::new("south", "small"))
        .fail(ModelError::Network { message: "no route".to_owned() })
        .calls([("search", "{}"), ("search", "{}")])
        .calls([("dream", "{}"), ("search", "{}")])
        .say("Three results, and no dream.");
    let dream = tool("dream", "Never wakes up", async |_: serde_json::Value, _| pending::<Result<String, _>>().await);

    let agent = Agent::builder(Router::new(first.clone()).with(second.clone()))
        .clock(clock.clone())
        .ids(SequentialIds::default())
        .tool(flaky_search())
        .tool(dream)
        .with(ModelRetry { patience: Duration::from_secs(30), ..ModelRetry::default() })
        .with(ModelFallback::to([ModelId::new("south", "small")]))
        .with(ToolRetry::default())
        .with(ToolTimeout::all(Duration::from_secs(30)))
        .with(ToolCallLimit::per_run(3).tool("search"))
        .build()?;

    let mut stream = agent.stream("Search, then dream.");
    while let Some(event) = stream.next().await {
        match event.news {
            News::Retry { message, wait_ms, .. } => println!("retry in {wait_ms} ms: {message}"),
            News::Notice { kind, message } => println!("{kind}: {message}"),
            News::ToolEnded { call, result } => println!("{} {}: {}", call.tool, result.status, result.output),
            News::Ended { report } => println!("{}: {}", report.status, report.text),
            _ => {}
        }
    }
    let asked: Vec<_> = first.requests().into_iter().chain(second.requests()).map(|asked| asked.model.name).collect();
    println!("asked {}", asked.join(", "));
    println!("waited {:?}", clock.sleeps());

    // The same question again, in another session.
    let model = Script::new().say("Four.").costing(1000, 10);
    let agent = Agent::builder(model.clone())
        .with(ResponseCache::new(CachePolicy { scope: CacheScope::Shared, ..CachePolicy::default() }))
        .build()?;
    for _ in 0..2 {
        let run = agent.run("What is two and two?").await?;
        println!("{} for {} tokens", run.text, run.usage.total_tokens());
    }
    Ok(())
}
