//! Claude Code's contract for one handler of ours: `contract = "claude-code"`.
//!
//! What it reads and what its answers mean is as with Claude Code. How it fails is ours: what is no answer is a failure,
//! which counts as the hook says.

use std::{path::PathBuf, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use vertebra::{
    PointInfo, ToolCall, ToolResult, ToolStatus,
    events::{PermissionAsked, ToolAsked, ToolFailed, ToolUsed},
};

use super::{
    effect::Effect,
    event::Event,
    handler::{Handler, Level, Origin},
    in_loop::{about, fields, names, trigger},
    matcher::Matcher,
    output::Written,
    rule::{ClaudeCall, Ground, PermissionRules, condition_holds},
    run::{Ended, Said},
    settings::{Declared, Settings},
    verdict::Heard,
};
use crate::{
    handler::refusal,
    host::HOSTS,
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
        "ToolUseFailed" => failure(&typed(event)?, cwd),
        "PromptSubmit" => fields(json!({ "prompt": text("prompt") })),
        "ShouldContinue" => {
            let again = event.get("continuations").and_then(Value::as_u64).is_some_and(|count| count > 0);
            fields(json!({ "stop_hook_active": again, "last_assistant_message": text("text") }))
        }
        "SubagentStart" => fields(json!({ "agent_type": text("subagent") })),
        // A child that hooks make go on is not told of here, so nobody knows whether it is again.
        "SubagentStop" => fields(json!({
            "agent_type": text("subagent"), "stop_hook_active": false, "last_assistant_message": text("text"),
        })),
        "BeforeCompact" => {
            fields(json!({ "trigger": trigger(text("reason")), "custom_instructions": text("instructions") }))
        }
        "AfterCompact" => fields(json!({ "trigger": trigger(text("reason")) })),
        "SessionStart" => {
            let source = if event.get("resumed") == Some(&Value::Bool(true)) { "resume" } else { "startup" };
            let model = event.pointer("/model/name").and_then(Value::as_str).unwrap_or_default();
            fields(json!({ "source": source, "model": model }))
        }
        "SessionEnd" => fields(json!({ "reason": "other" })),
        "Notification" => fields(json!({ "message": text("message"), "notification_type": text("kind") })),
        _ => Map::new(),
    };
    let at = event_at(point, failed).ok_or_else(|| format!("Claude Code has no event at {point}"))?;
    let mut input = of_every_event(at, event);
    input.extend(own);
    Ok(input)
}

/// What every event of Claude Code has. Which mode holds and where a transcript is, no event of ours tells: scripts find
/// the keys with what is usual.
fn of_every_event(at: &Event, event: &Value) -> Map<String, Value> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    // A call begins where the agent has gone.
    let cwd = Some(text("folder")).filter(|folder| !folder.is_empty()).unwrap_or(text("working_directory"));
    let mut input = fields(json!({
        "session_id": text("session_id"), "transcript_path": "", "cwd": cwd,
        "hook_event_name": at.name,
    }));
    let mut set = |key: &str, value: &str| drop(input.insert(key.to_owned(), value.into()));
    let of_session = matches!(at.name, "SessionStart" | "SessionEnd");
    if !of_session {
        set("prompt_id", text("run_id"));
    }
    if !of_session && at.name != "Notification" {
        set("permission_mode", "default");
    }
    // Events about a child are its parent's, and do not know which of its runs the child is.
    let in_child = event.get("depth").and_then(Value::as_u64).is_some_and(|depth| depth > 0);
    if in_child && !at.name.starts_with("Subagent") {
        set("agent_id", text("run_id"));
        // Of another program only the program is known.
        if HOSTS.iter().all(|host| host.name != text("agent")) {
            set("agent_type", text("agent"));
        }
    }
    input
}

fn after(call: &ToolCall, result: &ToolResult, cwd: &str) -> Map<String, Value> {
    let mut own = about(call, cwd);
    if result.success {
        own.insert("tool_response".to_owned(), names::tool_response(&with_our_path(call), result, cwd));
    } else {
        own.insert("error".to_owned(), result.output.clone().into());
        own.insert("is_interrupt".to_owned(), (result.status == ToolStatus::Cancelled).into());
    }
    own.insert("duration_ms".to_owned(), result.duration_ms.into());
    own
}

fn failure(failed: &ToolFailed, cwd: &str) -> Map<String, Value> {
    let mut own = about(&failed.call, cwd);
    own.insert("error".to_owned(), failed.error.clone().into());
    own.insert("is_interrupt".to_owned(), false.into());
    own.insert("duration_ms".to_owned(), failed.duration_ms.into());
    own
}

/// A call of another agent has its path under that agent's name.
fn with_our_path(call: &ToolCall) -> ToolCall {
    let mut call = call.clone();
    if let (None, Some(path)) = (call.args.get("path"), call.args.text("file_path").map(str::to_owned)) {
        call.args.set("path", path);
    }
    call
}

fn typed<E: DeserializeOwned>(event: &Value) -> Result<E, String> {
    serde_json::from_value(event.clone()).map_err(|error| error.to_string())
}

/// The permission rule under which a handler is asked.
pub(crate) struct Condition {
    /// The rule as Claude Code writes it.
    pub(crate) rule: String,
    /// What `/` stands for in it.
    pub(crate) project: PathBuf,
    /// What `~` stands for in it.
    pub(crate) home: Option<PathBuf>,
}

impl Condition {
    /// Whether calls are made at a point of ours.
    pub(crate) fn is_about(point: &str) -> bool {
        event_at(point, false).is_some_and(Event::is_about_a_tool)
    }

    /// Whether the rule is about this call. A call that cannot be read is one that it is about.
    pub(crate) fn holds(&self, point: &str, event: &Value) -> bool {
        let Ok(input) = input(point, event) else { return true };
        let cwd = input.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let tool = input.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        let Some(Value::Object(of_tool)) = input.get("tool_input") else { return true };
        let ground = Ground { cwd: cwd.into(), project: self.project.clone(), home: self.home.clone() };
        let origin = Origin { file: self.project.join("vertebra.toml"), level: Level::Project };
        condition_holds(&self.rule, &origin, ClaudeCall { tool, input: of_tool }, &ground)
    }
}

/// What an exchange means there, as an answer of ours.
pub(crate) fn reply(point: &PointInfo, event: &Value, exchange: &Exchange) -> Result<Reply, String> {
    let input = input(point.name, event)?;
    let name = input.get("hook_event_name").and_then(Value::as_str).and_then(Event::named);
    let at = name.ok_or_else(|| format!("Claude Code has no event at {}", point.name))?;
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
fn answer(point: &PointInfo, event: &Value, judgement: Judgement) -> Reply {
    let message = judgement.user_sees.clone();
    let reason = judgement.reason.clone().or_else(|| message.clone());
    let reason = reason.unwrap_or_else(|| "a hook says so".to_owned());
    let mut context = judgement.model_context;
    let mut reply = match judgement.decision {
        Some(Decision::Deny | Decision::Block) => {
            let words = judgement.model_sees.as_deref().unwrap_or(&reason);
            refusal(point, &with_message(words, message.as_deref())).unwrap_or_else(|| {
                // What has happened cannot be refused any more; the model reads what is wrong with it.
                context.push(with_message(words, message.as_deref()));
                Reply::default()
            })
        }
        Some(Decision::Ask) => Reply::verdict("ask", "reason", &with_message(&reason, message.as_deref())),
        None if !judgement.goes_on => Reply::verdict("stop", "reason", &with_message(&reason, message.as_deref())),
        decision => {
            let verdict = decision.map(|_| fields(json!({ "verdict": "allow" })));
            Reply { verdict, aside: message, ..Reply::default() }
        }
    };
    let tool = event.get("tool").and_then(Value::as_str).unwrap_or_default();
    if let (Some(Value::Object(input)), "BeforeToolUse") = (&judgement.tool_input, point.name) {
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

/// A reason, and what the person is told besides.
fn with_message(reason: &str, message: Option<&str>) -> String {
    match message {
        Some(message) if message.contains(reason) => message.to_owned(),
        Some(message) if !reason.contains(message) => format!("{reason}\n{message}"),
        Some(_) | None => reason.to_owned(),
    }
}
