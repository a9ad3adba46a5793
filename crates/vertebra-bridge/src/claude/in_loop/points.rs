//! Where each event of Claude Code stands in our loop.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vertebra::{
    ErrorClass, RunStatus, StepKind, StopReason, ToolStatus,
    events::{Compacting, Continuing},
    prelude::*,
};
use vertebra_kit::{permissions::Effect, summary::summary_in};

use super::{BROUGHT, NEWS, Place, about, end, ending, fields, names, trigger};
use crate::{
    claude::{
        at_work::{Bringer, Remembered},
        rule::ClaudeCall,
        settings::Declared,
    },
    wire::{Decision, Judgement, deliver_context, later_context},
};

/// How often in a row a stop may be prevented, unless a variable says.
const BLOCK_CAP: u32 = 8;

/// The variable that says how often.
const CAP_VARIABLE: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

/// Stands the events into the loop: those that something is declared for.
pub(super) fn install(place: Arc<Place>, kit: &mut Kit) {
    session(&place, kit);
    prompts(&place, kit);
    calls(&place, kit);
    after_calls(&place, kit);
    skills(&place, kit);
    stops(&place, kit);
    compaction(&place, kit);
    if place.follow.is_some() {
        let place = place.clone();
        kit.on(BeforeStep.named("claude-code/settings").no_timeout(), async move |cx| {
            let at = cx.at.clone();
            place.look_again(cx, &at).await?;
            proceed()
        });
    }
    // What handlers say for later reaches the model at the next step.
    kit.on(BeforeStep.named("claude-code/context"), async move |cx| {
        let at = cx.at.clone();
        for text in place.beside.news(&at.run.session_id) {
            let run = cx.scope();
            let _ = run.notify(cx.state_mut(), NEWS, text).await;
        }
        place.tell_of_beside(cx, &at).await;
        let heard = place.beside.take(&at.run.session_id);
        for text in heard.contexts.into_iter().chain(heard.wakes) {
            later_context(cx.state_mut(), text);
        }
        deliver_context(cx.state_mut(), NEWS);
        proceed()
    });
}

fn session(place: &Arc<Place>, kit: &mut Kit) {
    if place.may_have("SessionStart") {
        let place = place.clone();
        kit.on(SessionStart.named("claude-code/SessionStart").no_timeout().fail_open(), async move |cx| {
            let at = cx.at.clone();
            let source = if cx.resumed { "resume" } else { "startup" };
            let of = fields(json!({ "source": source, "model": cx.model.name }));
            let judgement = place.fire(cx, &at, "SessionStart", of).await?;
            if !judgement.goes_on {
                return deny(ending("SessionStart", &judgement));
            }
            place.leave_variables(cx.state_mut()).await;
            for text in judgement.model_context {
                later_context(cx.state_mut(), text);
            }
            proceed()
        });
    }
    let ending = place.clone();
    kit.on(SessionEnd.named("claude-code/SessionEnd").no_timeout(), async move |cx| {
        let at = cx.at.clone();
        if ending.has("SessionEnd") {
            ending.fire(cx, &at, "SessionEnd", fields(json!({ "reason": "other" }))).await?;
        }
        if let Some(file) = &ending.hooks().session().env_file {
            // What was in it has been taken over when the session began.
            let _ = std::fs::remove_file(file);
        }
        proceed()
    });
    let ending = place.clone();
    kit.on(SessionEnd.named("claude-code/beside").after("claude-code/SessionEnd"), async move |cx| {
        if let Some(account) = ending.beside.end(&cx.at.run.session_id).account() {
            cx.account(account);
        }
        proceed()
    });
    if place.may_have("Notification") {
        let place = place.clone();
        kit.on(Notification.named("claude-code/Notification").no_timeout(), async move |cx| {
            let at = cx.at.clone();
            if cx.kind != NEWS {
                let kind = if cx.kind == "permission" { "permission_prompt" } else { &cx.kind };
                let of = fields(json!({ "message": cx.message, "notification_type": kind }));
                place.fire(cx, &at, "Notification", of).await?;
            }
            proceed()
        });
    }
    // Variables that a start left, and what skills brought, are for children as well.
    kit.on(SubagentStart.named("claude-code/variables"), async |cx| {
        for key in [vertebra_kit::bash::VARIABLES, BROUGHT] {
            if let Some(value) = cx.state().metadata().get(key).cloned() {
                cx.metadata.set(key, value);
            }
        }
        proceed()
    });
}

fn prompts(place: &Arc<Place>, kit: &mut Kit) {
    if !place.may_have("UserPromptSubmit") && !place.may_have("SubagentStart") {
        return;
    }
    let place = place.clone();
    kit.on(PromptSubmit.named("claude-code/UserPromptSubmit").no_timeout(), async move |cx| {
        let at = cx.at.clone();
        // What a child is asked, its parent asks.
        let event = if at.run.depth == 0 { "UserPromptSubmit" } else { "SubagentStart" };
        if !place.has(event) {
            return proceed();
        }
        let of = if at.run.depth == 0 { json!({ "prompt": cx.prompt }) } else { json!({}) };
        let judgement = place.fire(cx, &at, event, fields(of)).await?;
        if judgement.decision == Some(Decision::Block) || !judgement.goes_on {
            let reason = judgement.user_sees.or(judgement.reason).unwrap_or_else(|| "Blocked by hook".to_owned());
            return deny(reason);
        }
        for text in judgement.model_context {
            cx.add_context(text);
        }
        proceed()
    });
}

fn calls(place: &Arc<Place>, kit: &mut Kit) {
    if place.may_have("PreToolUse") {
        let place = place.clone();
        kit.on(BeforeToolUse.named("claude-code/PreToolUse").no_timeout(), async move |cx| {
            // What fails a tool's validation never reaches hooks.
            if cx.malformed.is_some() {
                return proceed();
            }
            let (at, of) = (cx.at.clone(), about(&cx.call, &cx.at.run.working_directory));
            let judgement = place.fire(cx, &at, "PreToolUse", of).await?;
            for text in &judgement.model_context {
                later_context(cx.state_mut(), text.clone());
            }
            if judgement.decision != Some(Decision::Deny)
                && let Some(Value::Object(input)) = &judgement.tool_input
            {
                let args = names::args(&cx.tool, input);
                *cx.args_mut() = Args::try_from(Value::Object(args))?;
            }
            let reason = judgement.reason.clone().unwrap_or_else(|| "a hook says so".to_owned());
            if !judgement.goes_on {
                let ended = end(cx.scope(), "PreToolUse", &judgement);
                return if judgement.decision == Some(Decision::Deny) { deny(reason) } else { stop(ended) };
            }
            match judgement.decision {
                Some(Decision::Deny | Decision::Block) => deny(reason),
                Some(Decision::Ask) => ask(reason),
                Some(Decision::Allow) => allow(),
                None => proceed(),
            }
        });
    }
    if place.follow.is_some() || !place.hooks().rules().is_empty() {
        let place = place.clone();
        // Another hook may have changed the call since: what goes on is what rules are held against.
        kit.guard(BeforeToolUse.named("claude-code/rules").priority(5), async move |cx| {
            let hooks = place.hooks();
            if hooks.rules().is_empty() {
                return proceed();
            }
            let cwd = &cx.at.run.working_directory;
            let (tool, input) = (names::tool_name(&cx.tool, &cx.aliases), names::tool_input(&cx.tool, &cx.args, cwd));
            let ground = hooks.ground(cwd.as_ref().as_ref());
            let ruled = tokio::task::spawn_blocking(move || {
                hooks.rules().judge(ClaudeCall { tool: &tool, input: &input }, &ground)
            });
            match ruled.await? {
                Some(ruled) if ruled.effect == Effect::Deny => deny(format!("denied by {}", ruled.by)),
                Some(ruled) if ruled.effect == Effect::Ask => ask(format!("{} asks", ruled.by)),
                _ => proceed(),
            }
        });
    }
    if place.may_have("PermissionRequest") {
        let place = place.clone();
        kit.on(PermissionRequest.named("claude-code/PermissionRequest").no_timeout(), async move |cx| {
            let at = cx.at.clone();
            let mut of = about(&cx.call, &cx.at.run.working_directory);
            of.remove("tool_use_id");
            let judgement = place.fire(cx, &at, "PermissionRequest", of).await?;
            if !judgement.goes_on {
                end(cx.scope(), "PermissionRequest", &judgement);
            }
            match judgement.decision {
                Some(Decision::Allow) if judgement.tool_input.is_some() => {
                    // A yes to other arguments is none to these, and here they cannot be changed any more.
                    let text = "PermissionRequest: a hook allowed other arguments; a person is asked about these";
                    let run = cx.scope();
                    let _ = run.notify(cx.state_mut(), NEWS, text).await;
                    proceed()
                }
                // While a policy is not whole, only a person says yes.
                Some(Decision::Allow) if place.needs_person() => proceed(),
                Some(Decision::Allow) => {
                    place.learn(&at, &judgement);
                    allow()
                }
                Some(_) => deny(judgement.reason.unwrap_or_else(|| "Blocked by hook".to_owned())),
                None => proceed(),
            }
        });
    }
}

fn after_calls(place: &Arc<Place>, kit: &mut Kit) {
    if place.may_have("PostToolUse") || place.may_have("PostToolUseFailure") {
        let place = place.clone();
        kit.on(AfterToolUse.named("claude-code/PostToolUse").no_timeout(), async move |cx| {
            let failed = match cx.result.status {
                ToolStatus::Done => !cx.result.success || cx.result.exit_code.is_some_and(|code| code != 0),
                ToolStatus::Failed => true,
                _ => return proceed(),
            };
            let event = if failed { "PostToolUseFailure" } else { "PostToolUse" };
            if !place.has(event) {
                return proceed();
            }
            let (at, cwd) = (cx.at.clone(), cx.at.run.working_directory.clone());
            let mut of = about(&cx.call, &cwd);
            if failed {
                of.insert("error".to_owned(), cx.result.output.clone().into());
                of.insert("is_interrupt".to_owned(), false.into());
            } else {
                of.insert("tool_response".to_owned(), names::tool_response(&cx.call, &cx.result, &cwd));
            }
            of.insert("duration_ms".to_owned(), cx.result.duration_ms.into());
            let judgement = place.fire(cx, &at, event, of).await?;
            let replaced = judgement.effects.get("tool_result").filter(|kept| !is_kept(kept));
            if let Some(replaced) = replaced {
                cx.result.output = names::result_text(replaced);
            }
            let objection = judgement.model_sees.as_ref().map(|reason| format!("{event} hook: {reason}"));
            for text in objection.into_iter().chain(judgement.model_context.clone()) {
                later_context(cx.state_mut(), text);
            }
            if judgement.goes_on { proceed() } else { stop(end(cx.scope(), event, &judgement)) }
        });
    }
    if place.may_have("PostToolBatch") {
        let place = place.clone();
        kit.on(
            AfterStep.step(StepKind::ToolExecution).named("claude-code/PostToolBatch").no_timeout(),
            async move |cx| {
                let at = cx.at.clone();
                let calls = batch(cx.state(), &at.run.working_directory);
                let judgement = place.fire(cx, &at, "PostToolBatch", fields(json!({ "tool_calls": calls }))).await?;
                for text in &judgement.model_context {
                    later_context(cx.state_mut(), text.clone());
                }
                if judgement.goes_on { proceed() } else { stop(end(cx.scope(), "PostToolBatch", &judgement)) }
            },
        );
    }
}

/// Skills that bring hooks are remembered from when they are loaded.
fn skills(place: &Arc<Place>, kit: &mut Kit) {
    let bring = |declared: &Declared| match &declared.bringer {
        Some(Bringer::Skill(name)) => Some(name.clone()),
        Some(Bringer::Agent(_)) | None => None,
    };
    let bringing: BTreeSet<Arc<str>> = place.hooks().settings().hooks().filter_map(bring).collect();
    if bringing.is_empty() {
        return;
    }
    kit.on(AfterToolUse.tool(LOAD_SKILL).named("claude-code/skills").optional(), async move |cx| {
        let loaded = cx.result.data.pointer("/skill/name").and_then(Value::as_str).filter(|_| cx.result.success);
        if let Some(name) = loaded.and_then(|name| bringing.get(name)) {
            let mut remembered: Remembered = cx.state().metadata().read(BROUGHT)?.unwrap_or_default();
            if !remembered.skills.contains(name) {
                remembered.skills.push(name.clone());
                cx.state_mut().metadata_mut().set(BROUGHT, serde_json::to_value(remembered)?);
            }
        }
        proceed()
    });
}

/// The tool that loads skills.
const LOAD_SKILL: &str = "load_skill";

/// Whether a result stays what it was.
fn is_kept(word: &Value) -> bool {
    word == "kept" || word == "original kept"
}

/// The calls of the last step, with their results.
fn batch(state: &AgentState, cwd: &str) -> Vec<Value> {
    let mut results = Vec::new();
    for message in state.messages().iter().rev() {
        match message {
            Message::Tool { call_id, result, .. } => results.push((call_id.clone(), result.output.clone())),
            Message::Assistant { calls, .. } => {
                let result = |id: &str| results.iter().find(|(of, _)| &**of == id).map(|(_, text)| text.as_str());
                let call = |call: &vertebra::ToolCall| {
                    let (name, input) =
                        (names::tool_name(&call.tool, &[]), names::tool_input(&call.tool, &call.args, cwd));
                    let response = result(&call.id).unwrap_or_default();
                    json!({ "tool_name": name, "tool_input": input, "tool_use_id": call.id, "tool_response": response })
                };
                return calls.iter().map(call).collect();
            }
            Message::User { .. } | Message::Instruction { .. } => {}
        }
    }
    Vec::new()
}

/// How often a stop was prevented in a row, and after how many calls the last time.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
struct Prevented {
    times: u32,
    calls: u64,
}

fn stops(place: &Arc<Place>, kit: &mut Kit) {
    let stopping = place.clone();
    kit.on(ShouldContinue.named(HOOK).no_timeout(), async move |cx| {
        let (place, at) = (&stopping, cx.at.clone());
        if !has_finished(cx) {
            return proceed();
        }
        let heard = place.beside.take(&at.run.session_id);
        for text in heard.contexts {
            later_context(cx.state_mut(), text);
        }
        if !heard.wakes.is_empty() {
            place.tell_of_beside(cx, &at).await;
            return go_on(heard.wakes.join("\n"));
        }
        let event = if at.run.depth == 0 { "Stop" } else { "SubagentStop" };
        if !place.has(event) {
            place.tell_of_beside(cx, &at).await;
            return proceed();
        }
        let before: Prevented = cx.note_of(HOOK)?.unwrap_or_default();
        let mut of = json!({
            "stop_hook_active": before.times > 0, "last_assistant_message": cx.text, "background_tasks": [],
            "session_crons": [],
        });
        if at.run.depth > 0 {
            of["agent_transcript_path"] = place.transcripts.path(&at).to_string_lossy().into();
        }
        let judgement = place.fire(cx, &at, event, fields(of)).await?;
        if !judgement.goes_on {
            return stop(end(cx.scope(), event, &judgement));
        }
        let Some(next) = judgement.model_sees.filter(|_| judgement.decision == Some(Decision::Block)) else {
            return proceed();
        };
        let calls = cx.state().tool_calls();
        let times = if before.calls == calls { before.times + 1 } else { 1 };
        let cap = place.block_cap();
        if cap > 0 && times > cap {
            let text = format!("{event}: hooks prevented it {cap} times in a row without a tool call: the turn ends");
            let run = cx.scope();
            let _ = run.notify(cx.state_mut(), NEWS, text).await;
            return proceed();
        }
        cx.note(Lasting::Run, Prevented { times, calls })?;
        go_on(next)
    });
    if place.may_have("StopFailure") {
        let place = place.clone();
        kit.on(OnError.named("claude-code/error"), async |cx| {
            let class = cx.class;
            cx.note(Lasting::Run, class)?;
            proceed()
        });
        kit.on(ExecutionEnd.named("claude-code/StopFailure").own_agent_only().no_timeout(), async move |cx| {
            if cx.status == RunStatus::Failed {
                let class: Option<ErrorClass> = cx.note_of("claude-code/error")?;
                let of = json!({
                    "error": error_name(class), "error_details": cx.stop.message, "last_assistant_message": cx.text,
                });
                let at = cx.at.clone();
                place.fire(cx, &at, "StopFailure", fields(of)).await?;
            }
            proceed()
        });
    }
}

const HOOK: &str = "claude-code/Stop";

/// Whether the model has said its last word, and nothing but that ends the run.
fn has_finished(event: &Continuing) -> bool {
    let is_finished = |stop: &vertebra::Stop| !stop.hard && stop.reason == StopReason::Finished;
    event.kind == StepKind::FinalResponse && !event.stops.is_empty() && event.stops.iter().all(is_finished)
}

fn error_name(class: Option<ErrorClass>) -> &'static str {
    match class {
        Some(ErrorClass::ModelBusy) => "rate_limit",
        Some(ErrorClass::ModelRejected | ErrorClass::TooLong) => "invalid_request",
        Some(ErrorClass::Unauthorised) => "authentication_failed",
        Some(ErrorClass::Network | ErrorClass::Broken) => "server_error",
        _ => "unknown",
    }
}

fn compaction(place: &Arc<Place>, kit: &mut Kit) {
    let of = |event: &Compacting| {
        let trigger = trigger(&event.reason);
        let instructions = (trigger == "manual").then(|| event.instructions.clone());
        json!({ "trigger": trigger, "custom_instructions": instructions })
    };
    if place.may_have("PreCompact") {
        let place = place.clone();
        kit.on(BeforeCompact.named("claude-code/PreCompact").no_timeout(), async move |cx| {
            let (at, of) = (cx.at.clone(), fields(of(cx)));
            let judgement: Judgement = place.fire(cx, &at, "PreCompact", of).await?;
            match judgement.decision {
                Some(Decision::Block) => deny(judgement.reason.unwrap_or_default()),
                _ => proceed(),
            }
        });
    }
    if place.may_have("PostCompact") || place.may_have("SessionStart") {
        let place = place.clone();
        kit.on(AfterCompact.named("claude-code/PostCompact").no_timeout(), async move |cx| {
            let (at, mut fields_of) = (cx.at.clone(), fields(of(cx)));
            fields_of.remove("custom_instructions");
            let messages = cx.state().messages();
            let summary = messages.iter().find_map(|message| summary_in(message.text()).map(str::to_owned));
            fields_of.insert("compact_summary".to_owned(), summary.into());
            place.fire(cx, &at, "PostCompact", fields_of).await?;
            if place.has("SessionStart") {
                let judgement = place.fire(cx, &at, "SessionStart", fields(json!({ "source": "compact" }))).await?;
                for text in judgement.model_context {
                    later_context(cx.state_mut(), text);
                }
            }
            proceed()
        });
    }
}

impl Place {
    /// How often in a row a stop may be prevented; 0 is without end.
    fn block_cap(&self) -> u32 {
        let hooks = self.hooks();
        let said = hooks.session().variables.iter().find(|(name, _)| name == CAP_VARIABLE);
        said.and_then(|(_, value)| value.to_str()?.parse().ok()).unwrap_or(BLOCK_CAP)
    }

    /// Takes over the variables that commands left for later commands.
    async fn leave_variables(&self, state: &mut AgentState) {
        let variables = self.hooks().left_variables().await;
        if !variables.is_empty() {
            let variables: serde_json::Map<String, Value> =
                variables.into_iter().map(|(name, value)| (name, value.into())).collect();
            state.metadata_mut().set(vertebra_kit::bash::VARIABLES, Value::Object(variables));
        }
    }
}
