//! Claude Code's contract for one handler of ours: `contract = "claude-code"`.
//!
//! What it reads and what its answers mean is as with Claude Code. How it fails is ours: what is no answer is a failure,
//! which counts as the hook says.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use vertebra::{
    Call, ToolResult,
    events::{PermissionAsked, ToolAsked, ToolFailed, ToolUsed},
};

use super::{
    effect::Effect,
    event::Event,
    handler::{Handler, Level, Origin},
    in_loop::{about, fields, names, trigger},
    matcher::Matcher,
    output::Written,
    rule::{Ground, PermissionRules},
    run::{Ended, Said},
    settings::{Declared, Settings},
    verdict::Heard,
};
use crate::{
    handler::refusal,
    wire::{Decision, End, Exchange, Judgement, Reply},
};

/// Whether Claude Code has an event at this point of ours.
pub(crate) fn has_event(point: &str) -> bool {
    event_at(point, false).is_some()
}

fn event_at(point: &str, failed: bool) -> Option<&'static Event> {
    Event::named(match point {
        "PromptSubmit" => "UserPromptSubmit",
        "BeforeToolUse" => "PreToolUse",
        "AfterToolUse" if failed => "PostToolUseFailure",
        "ToolUseFailed" => "PostToolUseFailure",
        "AfterToolUse" => "PostToolUse",
        "ShouldContinue" => "Stop",
        "BeforeCompact" => "PreCompact",
        "AfterCompact" => "PostCompact",
        "SessionStart" | "SessionEnd" | "PermissionRequest" | "SubagentStart" | "SubagentStop" | "Notification" => {
            point
        }
        _ => return None,
    })
}

/// An event of ours as Claude Code's hooks read it.
pub(crate) fn input(point: &str, event: &Value) -> Result<Map<String, Value>, String> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let cwd = text("working_directory");
    let mut failed = false;
    let own = match point {
        "BeforeToolUse" => about(&typed::<ToolAsked>(event)?.call, cwd),
        "PermissionRequest" => about(&typed::<PermissionAsked>(event)?.call, cwd),
        "AfterToolUse" => {
            let used: ToolUsed = typed(event)?;
            failed = !used.result.success;
            after(&used.call, &used.result, cwd)
        }
        "ToolUseFailed" => {
            let mut own = about(&typed::<ToolFailed>(event)?.call, cwd);
            own.insert("error".to_owned(), text("error").into());
            own
        }
        "PromptSubmit" => fields(json!({ "prompt": text("prompt") })),
        "ShouldContinue" => {
            let again = event.get("continuations").and_then(Value::as_u64).is_some_and(|count| count > 0);
            fields(json!({ "stop_hook_active": again, "last_assistant_message": text("text") }))
        }
        "SubagentStart" => fields(json!({ "agent_type": text("subagent") })),
        "SubagentStop" => fields(json!({
            "agent_type": text("subagent"), "stop_hook_active": false, "last_assistant_message": text("text"),
        })),
        "BeforeCompact" => {
            fields(json!({ "trigger": trigger(text("reason")), "custom_instructions": text("instructions") }))
        }
        "AfterCompact" => fields(json!({ "trigger": trigger(text("reason")) })),
        "SessionStart" => fields(json!({ "source": "startup" })),
        "SessionEnd" => fields(json!({ "reason": "other" })),
        "Notification" => fields(json!({ "message": text("message"), "notification_type": text("kind") })),
        _ => Map::new(),
    };
    let event = event_at(point, failed).ok_or_else(|| format!("Claude Code has no event at {point}"))?;
    let mut input = fields(json!({
        "session_id": text("session_id"), "transcript_path": "", "cwd": cwd, "permission_mode": "default",
        "hook_event_name": event.name,
    }));
    input.extend(own);
    Ok(input)
}

fn after(call: &Call, result: &ToolResult, cwd: &str) -> Map<String, Value> {
    let mut own = about(call, cwd);
    if result.success {
        own.insert("tool_response".to_owned(), names::tool_response(call, result, cwd));
    } else {
        own.insert("error".to_owned(), result.output.clone().into());
    }
    own
}

fn typed<E: DeserializeOwned>(event: &Value) -> Result<E, String> {
    serde_json::from_value(event.clone()).map_err(|error| error.to_string())
}

/// What an exchange means there, as an answer of ours.
pub(crate) fn reply(point: &str, event: &Value, exchange: &Exchange) -> Result<Reply, String> {
    let input = input(point, event)?;
    let name = input.get("hook_event_name").and_then(Value::as_str).and_then(Event::named);
    let at = name.ok_or_else(|| format!("Claude Code has no event at {point}"))?;
    let failed = || match exchange.stderr.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{}: {}", exchange.end, line.trim()),
        None => exchange.end.to_string(),
    };
    let code = if exchange.end == End::Answered { Some(0) } else { exchange.end.exit_code() };
    let code = code.ok_or_else(failed)?;
    let written = Written::read(&exchange.stdout, at);
    match (code, &written) {
        (0, Written::Invalid(error)) => return Err(format!("its answer is none of {}: {error}", at.name)),
        (0 | 2, _) | (_, Written::Answer(_)) => {}
        _ => return Err(failed()),
    }
    let said = Said::Exited { code, written, stderr: exchange.stderr.clone() };
    let judgement = judged(at, &input, &Ended { place: 0, order: 0, exchange: exchange.clone(), said })?;
    Ok(answer(point, event, judgement))
}

/// What the one handler comes to, with no rules beside it.
fn judged(event: &'static Event, input: &Map<String, Value>, ended: &Ended) -> Result<Judgement, String> {
    let declared = Declared {
        event,
        matcher: Matcher::new(None, event.matched),
        written: String::new(),
        handler: Handler::read(&json!({ "type": "command", "command": ended.exchange.handler }))?,
        origin: Arc::new(Origin { file: "vertebra.toml".into(), level: Level::Project }),
        bringer: None,
        spot: String::new(),
    };
    let ground = Ground { cwd: ".".into(), project: ".".into(), home: None };
    let rules = PermissionRules::new(&Settings::default(), &ground);
    let effects = vec![Effect::of(event, &declared, ended)];
    Ok(Heard { event, input, effects, rules: &rules, ground: &ground, may_defer: false }.judge())
}

/// A judgement in our own words, as far as the point takes them.
fn answer(point: &str, event: &Value, judgement: Judgement) -> Reply {
    let reason = judgement.reason.clone().or_else(|| judgement.user_sees.clone());
    let reason = reason.unwrap_or_else(|| "a hook says so".to_owned());
    let mut context = judgement.model_context;
    let mut reply = match judgement.decision {
        Some(Decision::Deny | Decision::Block) => {
            let words = judgement.model_sees.as_deref().unwrap_or(&reason);
            refusal(point, words).unwrap_or_else(|| {
                // What has happened cannot be refused any more; the model reads what is wrong with it.
                context.push(words.to_owned());
                Reply::default()
            })
        }
        Some(Decision::Ask) => Reply::verdict("ask", "reason", &reason),
        Some(Decision::Allow) => Reply { verdict: Some(fields(json!({ "verdict": "allow" }))), ..Reply::default() },
        None if !judgement.goes_on => Reply::verdict("stop", "reason", &reason),
        None => Reply::default(),
    };
    let tool = event.get("tool").and_then(Value::as_str).unwrap_or_default();
    if let (Some(Value::Object(input)), "BeforeToolUse") = (&judgement.tool_input, point) {
        reply.modified = Some(names::args(tool, input).into());
    }
    let replaced = judgement
        .effects
        .get("tool_result")
        .filter(|result| !matches!(result.as_str(), Some("kept" | "original kept")));
    if let (Some(replaced), Some(Value::Object(result))) = (replaced, event.get("result")) {
        let mut result = result.clone();
        result.insert("output".to_owned(), names::result_text(replaced).into());
        reply.modified = Some(json!({ "result": result }));
    }
    reply.context = context;
    reply
}
