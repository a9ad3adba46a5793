//! What a collector is told of a run.

use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use vertebra::RunStatus;

use super::{
    collector::{Series, series},
    *,
};

#[tokio::test]
async fn an_answer_that_output_changed_is_exported_as_it_left_the_run() {
    let collector = Collector::that(Manner::Takes);
    let telemetry = start(&Settings { contents: true, ..Settings::to(&collector.url()).expect("an address") });
    let mut builder = Agent::builder(Script::new().call("ls", "{}").saying("Let me look.").say("It is SECRET."));
    builder.journal(telemetry.beside(MemoryJournal::default())).tool(RecordingTool::new("ls"));
    builder.on(Output, async |cx| {
        cx.text = cx.text.replace("SECRET", "***");
        proceed()
    });
    builder.build().expect("an agent").run("go").await.expect("a run");
    telemetry.finish(PATIENCE).await;
    let spans = collector.spans();
    let all: Vec<String> = spans.iter().flat_map(|span| texts(&span.attributes).into_values()).collect();
    assert!(all.iter().any(|text| text.contains("It is ***.")), "{all:?}");
    assert!(all.iter().any(|text| text.contains("Let me look.")), "{all:?}");
    assert!(!all.iter().any(|text| text.contains("SECRET")), "{all:?}");
}

#[tokio::test]
async fn a_run_is_a_tree_of_spans_that_says_who_decided_what() {
    let collector = Collector::that(Manner::Takes);
    let (report, delivered) = watched(&collector, false).await;
    assert_eq!(report.status, RunStatus::Failed);
    let spans = collector.spans();
    assert_eq!((delivered.spans, delivered.lost), (spans.len() as u64, 0), "{delivered}");
    let label = |span: &Span| {
        let attributes = texts(&span.attributes);
        let told = ["vertebra.hook.verdict", "vertebra.hook.decided_by", "vertebra.approval.decision", "error.type"];
        told.iter().filter_map(|name| attributes.get(*name)).cloned().collect::<Vec<_>>().join(" ")
    };
    let expected = "\
session
  invoke_agent lead error
    step
      chat script-1
      execute_tool read
      execute_tool read
      hooks BeforeToolUse deny no-rm
      hooks BeforeToolUse ask careful
      approval deploy approve
      execute_tool deploy failed
      hooks AfterStep proceed
    step
      chat script-1
      execute_tool helper
        invoke_agent helper
          step
            chat script-1
            execute_tool ls
            hooks AfterStep proceed
          step
            chat script-1
            hooks AfterStep proceed
      hooks AfterStep proceed
    step
      chat script-1 model_rejected
";
    assert_eq!(tree(&spans, label), expected);
}

#[tokio::test]
async fn spans_carry_the_attributes_of_the_conventions() {
    let collector = Collector::that(Manner::Takes);
    watched(&collector, false).await;
    let spans = collector.spans();
    let check = |name: &str, index: usize, expected: &[(&str, &str)]| {
        let (_, attributes) = &named(&spans, name)[index];
        for (key, value) in expected {
            assert_eq!(attributes.get(*key).map(String::as_str), Some(*value), "{name}, {key}: {attributes:?}");
        }
    };
    check("session", 0, &[("gen_ai.agent.name", "lead")]);
    check(
        "invoke_agent lead",
        0,
        &[
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", "lead"),
            ("vertebra.run.status", "failed"),
            ("vertebra.run.depth", "0"),
            ("vertebra.run.steps", "3"),
            ("gen_ai.usage.input_tokens", "10"),
        ],
    );
    check("invoke_agent helper", 0, &[("vertebra.run.depth", "1"), ("vertebra.run.status", "completed")]);
    let chat = [("gen_ai.operation.name", "chat"), ("gen_ai.provider.name", "script"), ("vertebra.purpose", "step")];
    let used = [("gen_ai.usage.input_tokens", "10"), ("gen_ai.usage.output_tokens", "20")];
    check("chat script-1", 0, &[&chat[..], &used].concat());
    check("execute_tool read", 0, &[("gen_ai.operation.name", "execute_tool"), ("vertebra.tool.status", "done")]);
    check("execute_tool deploy", 0, &[("gen_ai.tool.name", "deploy"), ("error.type", "failed")]);
    let asked = [("vertebra.approval.asked_by", "careful"), ("vertebra.approval.reason", "it is Friday")];
    check(
        "approval deploy",
        0,
        &[&[("gen_ai.tool.name", "deploy"), ("vertebra.approval.decision", "approve")], &asked[..]].concat(),
    );
    let reads = named(&spans, "execute_tool read");
    let ids: std::collections::BTreeSet<_> = reads.iter().map(|(_, about)| &*about["gen_ai.tool.call.id"]).collect();
    assert_eq!(ids, ["call-1", "call-2"].into());
    let (one, other) = (reads[0].0, reads[1].0);
    let latest_begin = one.start_time_unix_nano.max(other.start_time_unix_nano);
    assert!(latest_begin <= one.end_time_unix_nano.min(other.end_time_unix_nano), "they ran at the same time");
    let conversations = named(&spans, "invoke_agent lead").into_iter().chain(named(&spans, "chat script-1"));
    let session = &named(&spans, "session")[0].1["gen_ai.conversation.id"];
    assert!(conversations.into_iter().all(|(_, about)| about["gen_ai.conversation.id"] == *session));

    let failed = named(&spans, "chat script-1").into_iter().find(|(_, about)| about.contains_key("error.type"));
    let (span, about) = failed.expect("the model failed");
    assert_eq!(about["error.type"], "model_rejected");
    let status = span.status.clone().expect("a status");
    assert_eq!(status.code(), StatusCode::Error);
    assert!(status.message.contains("too rude"), "{status:?}");
    assert_eq!(collector.resource()["service.name"], "vertebra");
}

#[tokio::test]
async fn the_dispatch_of_a_denied_call_names_who_decided_and_what_each_hook_did() {
    let collector = Collector::that(Manner::Takes);
    watched(&collector, false).await;
    let spans = collector.spans();
    let dispatches = named(&spans, "hooks BeforeToolUse");
    let (span, about) = dispatches.iter().find(|(_, about)| about["vertebra.hook.verdict"] == "deny").expect("a deny");
    assert_eq!(about["vertebra.hook.decided_by"], "no-rm");
    assert_eq!(about["vertebra.hook.reason"], "deletions are for humans");
    assert_eq!(about["gen_ai.tool.name"], "rm");
    assert_eq!((&*about["vertebra.hook.count"], &*about["vertebra.hook.failures"]), ("2", "0"));
    let hooks: Vec<String> = span
        .events
        .iter()
        .map(|event| {
            let about = texts(&event.attributes);
            let told = ["name", "role", "ran", "verdict", "changed"]
                .map(|name| about[&format!("vertebra.hook.{name}")].clone());
            assert!(about["vertebra.hook.seconds"].parse::<f64>().expect("seconds") >= 0.0);
            told.join(" ")
        })
        .collect();
    assert_eq!(hooks, ["gentle hook answered proceed true", "no-rm guard answered deny false"]);
    assert!(named(&spans, "execute_tool rm").is_empty(), "it was not executed");
    let (broken, about) = &named(&spans, "hooks AfterStep")[0];
    assert_eq!(about["vertebra.hook.failures"], "1");
    assert_eq!(texts(&broken.events[0].attributes)["error.type"], "error");
}

#[tokio::test]
async fn what_was_said_is_exported_only_if_somebody_wants_it() {
    for wanted in [false, true] {
        let collector = Collector::that(Manner::Takes);
        watched(&collector, wanted).await;
        let spans = format!("{:?}", collector.spans());
        for said in ["SECRET-PROMPT", "SECRET-ARGUMENT", "SECRET-OUTPUT", "three files", "no luck"] {
            assert_eq!(spans.contains(said), wanted, "{said}");
        }
    }
}

#[tokio::test]
async fn tokens_models_tools_hooks_and_the_journal_are_measured() {
    let collector = Collector::that(Manner::Takes);
    watched(&collector, false).await;
    let metrics = collector.metrics();
    let of = |name: &str, wanted: &[(&str, &str)]| {
        let metric = metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"));
        let is_wanted = |series: &Series| {
            wanted.iter().all(|(key, value)| series.about.get(*key).map(String::as_str) == Some(*value))
        };
        let all = series(metric);
        all.iter().find(|one| is_wanted(one)).cloned().unwrap_or_else(|| panic!("{name} {wanted:?}: {all:?}"))
    };
    let is = |one: f64, other: f64| (one - other).abs() < f64::EPSILON;
    let model = ("gen_ai.request.model", "script-1");
    let tokens = of("gen_ai.client.token.usage", &[("gen_ai.token.type", "output"), model]);
    assert!(is(tokens.sum, 26.0), "20 of the lead, 6 of its helper: {tokens:?}");
    assert!(is(tokens.borders[0], 1.0) && is(tokens.borders[13], 67_108_864.0), "{tokens:?}");
    let chat = of("gen_ai.client.operation.duration", &[("error.type", "model_rejected"), model]);
    assert!(is(chat.borders[0], 0.01) && is(chat.borders[13], 81.92), "{chat:?}");
    of("vertebra.tool.duration", &[("gen_ai.tool.name", "deploy"), ("vertebra.tool.status", "failed")]);
    of("vertebra.hook.duration", &[("vertebra.hook.name", "no-rm"), ("vertebra.hook.role", "guard")]);
    let verdict = of("vertebra.hook.verdicts", &[("vertebra.hook.name", "no-rm"), ("vertebra.hook.verdict", "deny")]);
    assert!(is(verdict.sum, 1.0), "{verdict:?}");
    of("vertebra.hook.verdicts", &[("vertebra.hook.name", "broken"), ("error.type", "error")]);
    of("vertebra.journal.append.duration", &[("vertebra.journal.entry", "tool_started")]);
}
