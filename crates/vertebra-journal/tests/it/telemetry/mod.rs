//! Telemetry, as a collector sees it.

mod collector;
mod failing;
mod page;
mod resumed;
mod traces;

use std::{collections::BTreeMap, time::Duration};

use opentelemetry_proto::tonic::trace::v1::Span;
use vertebra::{
    Agent, AgentBuilder, AgentTool, Journal, MemoryJournal, ModelError, RunReport,
    prelude::*,
    testing::{FixedApprover, RecordingTool, Script},
};
use vertebra_journal::telemetry::{Delivered, Settings, Telemetry};

use self::collector::{Collector, Manner, texts};

/// Long enough for a machine that is busy with other tests; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_mins(1);

fn to(collector: &Collector) -> Telemetry {
    start(&Settings::to(&collector.url()).expect("an address"))
}

fn start(settings: &Settings) -> Telemetry {
    Telemetry::start(settings).expect("threads")
}

/// A lead that reads two files at once, is kept from removing one, asks before it deploys, has a helper, and fails once.
fn busy(journal: impl Journal) -> AgentBuilder {
    let helper = Agent::builder(Script::new().call("ls", "{}").say("three files").costing(5, 6))
        .name("helper")
        .tool(RecordingTool::new("ls"))
        .build()
        .expect("a helper");
    let model = Script::new()
        .calls([("read", r#"{"path": "SECRET-ARGUMENT"}"#), ("read", "{}"), ("rm", "{}"), ("deploy", "{}")])
        .costing(10, 20)
        .call("helper", r#"{"prompt": "look around"}"#)
        .fail(ModelError::Rejected { message: "too rude".to_owned() });
    let mut builder = Agent::builder(model);
    builder.name("lead").journal(journal).approver(FixedApprover::yes());
    // Neither ends before both have begun.
    let both = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    let read = tool("read", "reads", async move |_: serde_json::Value, _| {
        both.wait().await;
        Ok("SECRET-OUTPUT")
    });
    builder.tool(read.with(vertebra::ToolSpec::read_only));
    builder.tool(RecordingTool::new("rm"));
    builder.tool(RecordingTool::new("deploy").failing("no luck"));
    builder.tool(AgentTool::new("helper", "helps", helper));
    builder.guard(BeforeToolUse.tool("rm").named("no-rm"), async |_| deny("deletions are for humans"));
    builder.on(BeforeToolUse.tool("rm").named("gentle"), async |cx| {
        cx.args_mut().set("force", false);
        proceed()
    });
    builder.on(BeforeToolUse.tool("deploy").named("careful"), async |_| ask("it is Friday"));
    builder.on(AfterStep.named("broken").fail_open(), async |_| Err(HookError::new("out of order")));
    builder
}

/// Runs it beside a collector.
async fn watched(collector: &Collector, contents: bool) -> (RunReport, Delivered) {
    let settings = Settings { contents, ..Settings::to(&collector.url()).expect("an address") };
    let telemetry = start(&settings);
    let agent = busy(telemetry.beside(MemoryJournal::default())).build().expect("an agent");
    let report = agent.run("SECRET-PROMPT").await.unwrap_or_else(|failed| *failed.0);
    (report, telemetry.finish(PATIENCE).await)
}

/// The spans of a name.
fn named<'s>(spans: &'s [Span], name: &str) -> Vec<(&'s Span, BTreeMap<String, String>)> {
    spans.iter().filter(|span| span.name == name).map(|span| (span, texts(&span.attributes))).collect()
}

/// All spans as a tree of names, and of what `label` says of them.
fn tree(spans: &[Span], label: impl Fn(&Span) -> String) -> String {
    let mut out = String::new();
    branch(spans, &[], 0, &label, &mut out);
    out
}

fn branch(spans: &[Span], parent: &[u8], depth: usize, label: &impl Fn(&Span) -> String, out: &mut String) {
    let mut inner: Vec<&Span> = spans.iter().filter(|span| span.parent_span_id == parent).collect();
    // A dispatch is told of when it has ended, and its beginning is worked out.
    inner.sort_by_key(|span| {
        let is_dispatch = span.name.starts_with("hooks ");
        (if is_dispatch { span.end_time_unix_nano } else { span.start_time_unix_nano }, &span.name)
    });
    for span in inner {
        out.push_str(format!("{}{} {}", "  ".repeat(depth), span.name, label(span)).trim_end());
        out.push('\n');
        branch(spans, &span.span_id, depth + 1, label, out);
    }
}
