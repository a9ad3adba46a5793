//! The page about telemetry names exactly what is exported.

use std::collections::BTreeSet;

use vertebra::{Response, ToolCall, Usage};

use super::{collector::series, *};

/// Names in back quotes that begin as ours or as those of the conventions do.
fn documented() -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let quoted = page.split('`').skip(1).step_by(2);
    let ours = |word: &&str| ["gen_ai.", "vertebra.", "error."].iter().any(|start| word.starts_with(start));
    quoted.filter(ours).map(str::to_owned).collect()
}

/// A run with all that is rare: a cache, a price, an exit code, an answer in place of a tool, a hook in the shadow, a
/// stream that is halted.
async fn rare(collector: &Collector) {
    let telemetry = to(collector);
    let usage =
        Usage { input_tokens: 1, output_tokens: 1, cache_read_tokens: 1, cache_write_tokens: 1, cost_micros: 1 };
    let calls = ["false", "shelf"].map(|tool| ToolCall::from_text(tool, tool, "{}")).into();
    let asks = Response { calls, usage, finish: "tool_calls".to_owned(), ..Response::default() };
    let mut builder = Agent::builder(Script::new().turn(asks).say("goodbye"));
    builder.journal(telemetry.beside(MemoryJournal::default()));
    builder.tool(tool("false", "fails", async |_: serde_json::Value, _| {
        Ok(ToolOutput { text: String::new(), exit_code: Some(1), data: serde_json::Value::Null })
    }));
    builder.tool(RecordingTool::new("shelf"));
    builder.around(ToolUse, async |cx, next| match &*cx.call.tool {
        "shelf" => Ok(ToolResult::done("was there already")),
        _ => next.run(cx).await,
    });
    builder.guard(BeforeToolUse.named("ghost").shadow(), async |_| deny("only a thought"));
    builder.on(InferenceDelta.named("quiet"), async |cx| if cx.text.is_empty() { proceed() } else { halt("enough") });
    builder.build().expect("an agent").run("go").await.expect("a run");
    telemetry.finish(PATIENCE).await;
    let spans = collector.spans();
    let halted =
        named(&spans, "chat script-1").into_iter().find_map(|(_, mut about)| about.remove("vertebra.halted_by"));
    assert_eq!(halted.as_deref(), Some("quiet"));
    assert_eq!(named(&spans, "execute_tool false")[0].1["vertebra.tool.exit_code"], "1");
    let left_out = spans.iter().flat_map(|span| &span.events).find(|event| event.name == "tool left out");
    assert_eq!(texts(&left_out.expect("an event").attributes)["gen_ai.tool.call.id"], "shelf");
}

#[tokio::test]
async fn the_page_names_every_attribute_and_metric_and_no_other() {
    let collector = Collector::that(Manner::Takes);
    watched(&collector, true).await;
    rare(&collector).await;
    let spans = collector.spans();
    let of_spans = spans.iter().flat_map(|span| span.attributes.iter());
    let of_events = spans.iter().flat_map(|span| span.events.iter().flat_map(|event| event.attributes.iter()));
    let mut exported: BTreeSet<String> = of_spans.chain(of_events).map(|attribute| attribute.key.clone()).collect();
    for metric in collector.metrics() {
        exported.extend(series(&metric).into_iter().flat_map(|series| series.about.into_keys()));
        exported.insert(metric.name);
    }
    let page = documented();
    let (missing, unknown): (Vec<_>, Vec<_>) =
        (exported.difference(&page).collect(), page.difference(&exported).collect());
    assert!(missing.is_empty() && unknown.is_empty(), "not on the page: {missing:?}; only on the page: {unknown:?}");
}
