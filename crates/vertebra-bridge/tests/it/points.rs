//! `sdk/points.json`: what each point is, for whoever writes hooks in another language.
//!
//! After a change: `UPDATE_EXPECTED=1 cargo nextest run -p vertebra-bridge points`.

use std::{fs, path::PathBuf};

use serde_json::{Map, Value, json};
use vertebra::{Kind, POINT_ALIASES, POINTS, ToolResult, Verdict as _};
use vertebra_bridge::wire::{Happened, Open, Outside, Reply, Visit, at_point};

#[test]
fn the_list_of_points_for_other_languages_says_what_the_types_say() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../sdk/points.json");
    let points: Vec<Value> = POINTS.iter().map(|name| at_point(name, Describe).expect("a point")).collect();
    let wanted = serde_json::to_string_pretty(&json!({ "points": points })).expect("JSON") + "\n";
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, &wanted).expect("sdk/points.json can be written");
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == wanted, "sdk/points.json is not what the types say: UPDATE_EXPECTED=1 writes it anew");
}

/// A point in words.
struct Describe;

impl Visit for Describe {
    type Out = Value;

    fn at<P: Outside>(self, _: P) -> Value {
        let aliases: Vec<&str> =
            POINT_ALIASES.iter().filter(|(_, point)| *point == P::NAME).map(|(alias, _)| *alias).collect();
        let changes = match P::OPEN {
            Open::Nothing => json!([]),
            Open::Args => json!("args"),
            Open::Fields(fields) => json!(fields),
        };
        let has = |key| P::ATTRIBUTES.iter().any(|attribute| attribute.key == key);
        let about = if has("tool") { Some("call") } else { has("step").then_some("step") };
        let kinds = || [Kind::Proceed, Kind::Skip].iter().chain(P::Verdict::POWERS);
        let answers: Vec<Value> = kinds().map(|kind| answer::<P>(*kind)).collect();
        let event = Happened::at(P::NAME, &telling(P::NAME)).unwrap_or_else(|error| panic!("{}: {error}", P::NAME));
        json!({
            "name": P::NAME, "aliases": aliases, "verdicts": kinds().collect::<Vec<_>>(), "guards": P::DECIDES,
            "changes": changes, "about": about, "answers": answers, "event": event.event,
        })
    }
}

/// An answer of this kind, whole: the first of those that can be written which the point takes.
fn answer<P: Outside>(kind: Kind) -> Value {
    let more = [
        json!({}),
        json!({ "reason": "force is for humans" }),
        json!({ "instruction": "run the tests" }),
        json!({ "after_ms": 100 }),
        json!({ "with": "done by hand" }),
        json!({ "with": ToolResult::done("done by hand") }),
        json!({ "with": response() }),
    ];
    let answers = more.into_iter().map(|more| {
        let mut answer = Map::from_iter([("verdict".to_owned(), json!(kind))]);
        answer.extend(more.as_object().cloned().into_iter().flatten());
        Value::Object(answer)
    });
    let fits = |answer: &Value| {
        let verdict = Reply::from_value(answer.clone()).and_then(|reply| reply.verdict_at::<P>());
        // What is read and not written again was read over.
        verdict.is_ok_and(|verdict| serde_json::to_value(verdict).is_ok_and(|written| written == *answer))
    };
    let mut taken = answers.filter(fits);
    taken.next().unwrap_or_else(|| panic!("nobody knows how to write `{kind:?}` at {}", P::NAME))
}

/// An event of a point that tells something in every field it can have.
fn telling(point: &str) -> Map<String, Value> {
    let model = json!({ "provider": "anthropic", "name": "claude-sonnet" });
    let call = json!({
        "call_id": "call-1", "tool": "bash", "aliases": ["Bash"], "args": { "command": "git push --force" },
        "recent_tools": ["read_file"],
    });
    let request = json!({
        "model": model, "system_prompt": "You are a careful engineer.",
        "messages": [{ "role": "user", "text": "Release it." }],
        "tools": [{ "name": "bash", "description": "Runs a command.", "schema": { "type": "object" } }],
        "max_output_tokens": 4096, "temperature": 0.5, "options": { "seed": 7 },
    });
    let usage = json!({
        "input_tokens": 1200, "output_tokens": 80, "cache_read_tokens": 1000, "cache_write_tokens": 0, "cost_micros": 900,
    });
    let stop = json!({ "reason": "finished", "message": "no tool was asked for", "source": "model", "hard": false });
    let with = |one: &Value, other: Value| {
        let both = [one.clone(), other];
        Value::Object(both.iter().filter_map(Value::as_object).flatten().map(|(k, v)| (k.clone(), v.clone())).collect())
    };
    let own = match point {
        "SessionStart" => json!({ "system_prompt": "You are a careful engineer.", "model": model, "resumed": false }),
        "PromptSubmit" => json!({
            "prompt": "Release it.", "images": [{ "media_type": "image/png", "data": "iVBORw0KGgo=" }],
            "context": ["The tests are run with `just test`."],
        }),
        "ExecutionStart" => json!({ "prompt": "Release it." }),
        "BeforeStep" => json!({ "messages": 2, "usage": usage }),
        "BeforeInference" => with(&request, json!({ "purpose": "step" })),
        "InferenceDelta" => json!({
            "model": model, "channel": "call", "call": { "index": 0, "tool": "bash" }, "text": "{\"command\":", "follows": "a",
            "last": false,
        }),
        "AfterInference" => {
            json!({ "purpose": "step", "request": request, "response": response(), "duration_ms": 2100 })
        }
        "BeforeToolUse" => call,
        "PermissionRequest" => {
            with(&call, json!({ "reason": "a push cannot be taken back", "asked_by": "careful-push" }))
        }
        "AfterToolUse" => with(
            &call,
            json!({
                "result": { "status": "done", "success": true, "output": "ok", "exit_code": 0, "duration_ms": 40, "data": { "lines": 1 } },
                "blocked_by": "no-force-push",
            }),
        ),
        "ToolUseFailed" => {
            with(&call, json!({ "error": "the remote hung up", "reached": true, "attempts": 1, "duration_ms": 40 }))
        }
        "AfterStep" => json!({
            "kind": "tool_execution", "text": "I push it.", "tools": ["bash"], "usage": usage, "duration_ms": 2300,
        }),
        "ShouldContinue" => json!({ "kind": "final_response", "text": "Done.", "stops": [stop], "continuations": 0 }),
        "OnError" => json!({
            "class": "model_busy", "message": "too many requests", "attempts": 2, "wait": { "secs": 2, "nanos": 0 },
        }),
        "ExecutionEnd" => json!({
            "status": "completed", "stop": stop, "text": "Done.", "steps": 2, "usage": usage, "duration_ms": 4200,
        }),
        "SessionEnd" => json!({
            "usage": usage, "total_tokens": 1280, "total_tool_calls": 1, "runs": 1, "steps": 2, "duration_ms": 60_000,
        }),
        "SubagentStart" => json!({ "subagent": "reviewer", "prompt": "Review the change.", "metadata": {} }),
        "SubagentStop" => json!({
            "subagent": "reviewer", "status": "completed", "stop": stop, "text": "It is fine.", "usage": usage, "steps": 1,
        }),
        "BeforeCompact" | "AfterCompact" => json!({
            "reason": "the conversation is long", "messages": 40, "tokens": 30_000, "instructions": "Keep the decisions.",
        }),
        "Notification" => {
            json!({ "kind": "waiting", "message": "A call waits for a yes.", "data": { "call_id": "call-1" } })
        }
        other => panic!("there is no example of {other} yet: write one"),
    };
    let head = json!({
        "agent": "main", "working_directory": "/project", "timestamp": "2026-01-02T03:04:05Z", "step": 1, "event_id": "run-1.7",
    });
    with(&head, own).as_object().cloned().unwrap_or_default()
}

fn response() -> Value {
    json!({
        "text": "I push it.", "reasoning": "It was asked for.",
        "calls": [{ "id": "call-1", "tool": "bash", "args": { "command": "git push --force" } }],
        "usage": {
            "input_tokens": 1200, "output_tokens": 80, "cache_read_tokens": 1000, "cache_write_tokens": 0, "cost_micros": 900,
        },
        "finish": "tool_use", "request_id": "req-1",
    })
}

#[test]
fn whoever_refuses_need_not_say_why() {
    for word in ["deny", "block", "ask"] {
        let reply = Reply::from_value(json!({ "verdict": word })).expect("an answer");
        let verdict = reply.verdict_at::<vertebra::BeforeToolUse>().expect("a verdict");
        assert_eq!(verdict.reason(), Some("the hook gives no reason"), "{word}");
    }
}

#[test]
fn an_answer_that_says_one_thing_twice_is_none() {
    let twice = r#"{"verdict": "deny", "reason": "x", "verdict": "allow"}"#;
    let error = Reply::read(twice).expect_err("no answer").to_string();
    assert!(error.contains("duplicate field `verdict`"), "{error}");
}
