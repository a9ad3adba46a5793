//! Every event is complete: nothing is empty because nobody filled it in.

use serde_json::{Value, json};
use vertebra::{
    AgentTool,
    prelude::*,
    testing::{FakeClock, FixedApprover, RecordingTool, Script},
};

use super::support::*;

/// A run that passes all points there are.
async fn full_life() -> (Everything, vertebra::SessionReport) {
    let clock = FakeClock::new();
    let child = agent_on(&Script::new().call("ls", "{}").say("seen").costing(5, 5), &clock)
        .name("child")
        .tool(RecordingTool::new("ls").taking(secs(1), &clock))
        .build()
        .expect("a child");
    let model = Script::new()
        .call("helper", r#"{"prompt": "look"}"#)
        .costing(10, 2)
        .taking(secs(2), &clock)
        .calls([("bad", r#"{"path": "a"}"#), ("ls", "{}")])
        .costing(10, 2)
        .fail(busy())
        .stream(["all ", "done"])
        .costing(10, 2)
        .taking(secs(3), &clock);
    let mut builder = agent_on(&model, &clock);
    builder
        .tool(RecordingTool::new("bad").failing("no luck").taking(secs(1), &clock))
        .tool(RecordingTool::new("ls").taking(secs(1), &clock))
        .tool(AgentTool::new("helper", "helps", child))
        .approver(FixedApprover::yes())
        .compactor(KeepLast { over: 4 })
        .on(BeforeToolUse.tool("bad"), async |_| ask("sure?"));
    let seen = watch_all(&mut builder);
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    let report = report(session.prompt("go").await);
    assert_eq!(report.text, "all done");
    (seen, session.close().await)
}

#[tokio::test]
async fn every_point_fires_in_a_full_life() {
    let (seen, _) = full_life().await;
    for point in vertebra::POINT_TABLE.iter().map(|point| point.name) {
        assert!(seen.count(point) > 0, "{point} never fired");
    }
}

#[tokio::test]
async fn every_event_says_who_where_and_when_and_has_an_identifier_of_its_own() {
    let (seen, _) = full_life().await;
    let mut ids = std::collections::HashSet::new();
    for sighting in seen.seen() {
        let Sighting { point, event, survives_the_wire, .. } = &sighting;
        assert!(ids.insert(sighting.text("event_id").to_owned()), "{point}: {} twice", event["event_id"]);
        assert!(survives_the_wire, "{point} changes on the wire: {event}");
        assert_eq!(sighting.text("point"), *point);
        assert_eq!(sighting.text("session_id"), "session-1", "{point}");
        assert!(sighting.text("run_id").starts_with(if point.starts_with("Session") { "session-" } else { "run-" }));
        assert_eq!(sighting.text("working_directory"), "/repo", "{point}");
        assert_eq!(sighting.text("agent"), if event["depth"] == 0 { "tester" } else { "child" }, "{point}");
        let in_a_step = !["SessionStart", "PromptSubmit", "ExecutionStart", "SessionEnd"].contains(point);
        assert_eq!(event["step"] != 0, in_a_step, "{point}: {}", event["step"]);
        assert!(event["timestamp"].is_string(), "{point}");
    }
}

#[tokio::test]
async fn tool_events_of_one_call_are_paired_and_complete() {
    let (seen, _) = full_life().await;
    let calls = |point: &str| -> Vec<(String, String)> {
        let mut calls: Vec<_> = seen
            .at(point)
            .iter()
            .map(|one| (format!("{}/{}", one.text("run_id"), one.text("call_id")), one.text("tool").to_owned()))
            .collect();
        calls.sort();
        calls
    };
    assert_eq!(calls("BeforeToolUse").len(), 4);
    assert_eq!(calls("BeforeToolUse"), calls("AfterToolUse"));
    for after in seen.at("AfterToolUse") {
        assert!(after.event["result"]["duration_ms"].as_u64() >= Some(1000), "{}", after.event);
        assert!(!after.event["result"]["output"].as_str().unwrap_or_default().is_empty());
    }
    let failed = &seen.at("ToolUseFailed")[0].event;
    assert_eq!((&failed["error"], &failed["attempts"]), (&json!("no luck"), &json!(1)));
    assert_eq!((&failed["args"], &failed["duration_ms"]), (&json!({"path": "a"}), &json!(1000)));
    let asked = &seen.at("PermissionRequest")[0].event;
    assert_eq!(
        (&asked["tool"], &asked["args"], &asked["reason"]),
        (&json!("bad"), &json!({"path": "a"}), &json!("sure?"))
    );
    let second = seen.at("BeforeToolUse").into_iter().rfind(|one| one.event["depth"] == 0).expect("calls").event;
    assert_eq!(second["recent_tools"], json!(["helper", "bad"]));
}

#[tokio::test]
async fn inference_step_and_session_events_are_complete() {
    let (seen, closed) = full_life().await;
    for asked in seen.at("BeforeInference") {
        let event = asked.event;
        assert_eq!(event["model"], json!({"provider": "script", "name": "script-1"}));
        assert_eq!(event["system_prompt"], "be brief");
        assert!(event["messages"].as_array().is_some_and(|all| !all.is_empty()));
        assert!(event["tools"].as_array().is_some_and(|all| !all.is_empty()));
    }
    let top = |point: &str| -> Vec<Value> {
        let events = seen.at(point).into_iter().map(|one| one.event);
        events.filter(|event| event["depth"] == 0).collect()
    };
    let answered = &top("AfterInference")[2];
    assert_eq!((&answered["response"]["text"], &answered["duration_ms"]), (&json!("all done"), &json!(3000)));
    assert_eq!(answered["response"]["usage"]["input_tokens"], 10);
    let step = &top("AfterStep")[0];
    assert_eq!((&step["kind"], &step["tools"]), (&json!("tool_execution"), &json!(["helper"])));
    // Model and tool count: 2 s and the child's 1 s.
    assert_eq!((&step["duration_ms"], &step["usage"]["output_tokens"]), (&json!(3000), &json!(2)));
    let failed = &top("OnError")[0];
    assert_eq!((&failed["class"], &failed["attempts"]), (&json!("model_busy"), &json!(1)));
    let child = &top("SubagentStop")[0];
    assert_eq!((&child["subagent"], &child["steps"], &child["text"]), (&json!("child"), &json!(2), &json!("seen")));
    let ended = &top("ExecutionEnd")[0];
    assert_eq!((&ended["status"], &ended["usage"]["input_tokens"]), (&json!("completed"), &json!(30)));
    // The totals are the whole session's: the child's tokens and its call count too.
    let total = &top("SessionEnd")[0];
    assert_eq!((&total["total_tokens"], &total["total_tool_calls"]), (&json!(46), &json!(4)));
    assert_eq!((&total["runs"], &total["duration_ms"]), (&json!(1), &json!(closed.duration_ms)));
    assert!(closed.duration_ms >= 8000, "{closed:?}");
    let compacted = (&top("BeforeCompact")[0], &top("AfterCompact")[0]);
    assert!(compacted.0["messages"].as_u64() > compacted.1["messages"].as_u64());
    assert!(!compacted.1["reason"].as_str().unwrap_or_default().is_empty());
}
