//! What all handlers of an event come to together.

use serde_json::{Map, Value, json};
use vertebra_kit::permissions::Effect as RuleEffect;

use super::{
    effect::{Effect, Permission},
    event::{Event, Objection},
    rule::{ClaudeCall, Ground, PermissionRules},
};
use crate::wire::{Decision, Judgement};

/// What a verdict is formed from.
pub(super) struct Heard<'h> {
    pub(super) event: &'static Event,
    pub(super) input: &'h Map<String, Value>,
    /// In the order in which they ended.
    pub(super) effects: Vec<Effect>,
    pub(super) rules: &'h PermissionRules,
    pub(super) ground: &'h Ground,
    /// Whether a call can be put off: nobody is there, and it is the only one.
    pub(super) may_defer: bool,
}

impl Heard<'_> {
    pub(super) fn judge(mut self) -> Judgement {
        let mut judgement = Judgement { goes_on: true, ..Judgement::default() };
        judgement.warnings.extend(self.effects.iter().filter_map(|effect| effect.notice.clone()));
        match self.event.name {
            "PreToolUse" => self.before_a_tool(&mut judgement),
            "PermissionRequest" => self.permission(&mut judgement),
            _ => self.objections(&mut judgement),
        }
        // In the order in which they are declared: what ended first is chance.
        self.effects.sort_by_key(|effect| effect.place);
        if !matches!(self.event.objection, Objection::GoOn) {
            judgement.model_context = self.effects.iter().flat_map(|effect| effect.contexts.clone()).collect();
        }
        let mut told: Vec<String> = self.effects.iter().flat_map(|effect| effect.to_person.clone()).collect();
        if self.event.is("DirectoryAdded") && self.text("source") != "slash_command" {
            told.append(&mut judgement.model_context);
        }
        if let Some(stop) = self.effects.iter().find(|effect| effect.stops) {
            judgement.goes_on = false;
            told.extend(
                self.effects.iter().filter(|effect| effect.stops).filter_map(|effect| effect.stop_reason.clone()),
            );
            judgement.decided_by.get_or_insert_with(|| stop.by.clone());
            judgement.effects.insert("agent".to_owned(), "stopped".into());
            // Nothing that was allowed happens either.
            if matches!(judgement.decision, Some(Decision::Allow | Decision::Ask)) {
                judgement.decision = None;
            }
        }
        told.extend(judgement.user_sees.take());
        judgement.user_sees = (!told.is_empty()).then(|| told.join("\n"));
        let sequences: Vec<Value> =
            self.effects.iter().filter_map(|effect| effect.output.terminal_sequence.clone()).map(Value::from).collect();
        if !sequences.is_empty() {
            judgement.effects.insert("terminal_sequences".to_owned(), sequences.into());
        }
        self.consequences(&mut judgement);
        judgement
    }

    /// deny > defer > ask > allow; then the rules, which an allowance does not silence.
    fn before_a_tool(&self, judgement: &mut Judgement) {
        let input = self.last("updatedInput").and_then(Value::as_object);
        let stances = self.effects.iter().filter_map(|effect| match (&effect.objection, &effect.permission) {
            (Some(reason), _) => Some((Permission::Deny, Some(reason.clone()), effect)),
            (None, Some((permission, reason))) => Some((*permission, reason.clone(), effect)),
            (None, None) => None,
        });
        let mut stances: Vec<_> = stances.collect();
        stances.sort_by_key(|(permission, _, effect)| (std::cmp::Reverse(*permission), effect.place));
        if !self.may_defer && stances.iter().any(|(permission, ..)| *permission == Permission::Defer) {
            let why = "defer is for one call in a run that nobody attends: it is ignored";
            judgement.warnings.push(why.to_owned());
            stances.retain(|(permission, ..)| *permission != Permission::Defer);
        }
        let needs_answer = matches!(self.text("tool_name"), "AskUserQuestion" | "ExitPlanMode") && input.is_none();
        if needs_answer {
            stances.retain(|(permission, ..)| *permission != Permission::Allow);
        }
        if let Some((permission, reason, effect)) = stances.first() {
            judgement.decision = match permission {
                Permission::Deny => Some(Decision::Deny),
                Permission::Ask => Some(Decision::Ask),
                Permission::Allow => Some(Decision::Allow),
                Permission::Defer => {
                    judgement.goes_on = false;
                    judgement.effects.insert("stop_reason".to_owned(), "tool_deferred".into());
                    None
                }
            };
            judgement.reason.clone_from(reason);
            judgement.decided_by = Some(effect.by.clone());
        }
        if judgement.decision == Some(Decision::Deny) {
            let why = judgement.reason.get_or_insert_with(|| "Blocked by hook".to_owned()).clone();
            judgement.model_sees = Some(why);
            let ends = stances.iter().any(|(.., effect)| effect.objection.is_some() && effect.ends_turn);
            let goes_on = !ends;
            judgement.goes_on = goes_on;
            judgement.effects.insert("turn".to_owned(), if goes_on { "continues" } else { "ends" }.into());
        } else {
            judgement.tool_input = input.cloned().map(Value::Object);
            self.rules(input.unwrap_or(&self.tool_input()), judgement);
        }
        if judgement.decision.is_none() && judgement.goes_on {
            judgement.effects.insert("tool".to_owned(), "normal permission flow".into());
        }
    }

    /// What the rules say to a call that no hook denied.
    fn rules(&self, input: &Map<String, Value>, judgement: &mut Judgement) {
        let call = ClaudeCall { tool: self.text("tool_name"), input };
        let Some(ruled) = self.rules.judge(call, self.ground) else { return };
        let decision = match ruled.effect {
            RuleEffect::Deny => Decision::Deny,
            RuleEffect::Ask => Decision::Ask,
            RuleEffect::Allow => Decision::Allow,
        };
        if judgement.decision.is_some_and(|so_far| so_far >= decision) || !judgement.goes_on {
            return;
        }
        let reason = match decision {
            Decision::Deny => format!("denied by {}", ruled.by),
            _ => format!("{} says so", ruled.by),
        };
        if decision == Decision::Deny {
            judgement.model_sees = Some(reason.clone());
        }
        (judgement.decision, judgement.reason, judgement.decided_by) = (Some(decision), Some(reason), Some(ruled.by));
    }

    /// Somebody would be asked: hooks answer in their place.
    fn permission(&self, judgement: &mut Judgement) {
        let text = |decision: &Value, key: &str| decision.get(key).and_then(Value::as_str).map(str::to_owned);
        let decided = |effect: &&Effect| effect.objection.is_some() || effect.value("decision").is_some();
        let denies = |effect: &&Effect| {
            effect.objection.is_some() || effect.value("decision").is_some_and(|it| it["behavior"] == "deny")
        };
        let mut effects: Vec<&Effect> = self.effects.iter().filter(decided).collect();
        effects.sort_by_key(|effect| effect.place);
        if let Some(effect) = effects.iter().copied().find(|effect| denies(effect)) {
            let message = effect.value("decision").and_then(|decision| text(decision, "message"));
            let reason = effect.objection.clone().or(message).unwrap_or_else(|| "Blocked by hook".to_owned());
            let interrupts = effects
                .iter()
                .filter(|effect| denies(effect))
                .any(|effect| effect.value("decision").is_some_and(|decision| decision["interrupt"] == true));
            (judgement.decision, judgement.decided_by) = (Some(Decision::Deny), Some(effect.by.clone()));
            (judgement.reason, judgement.model_sees) = (Some(reason.clone()), Some(reason));
            if interrupts {
                judgement.goes_on = false;
                judgement.effects.insert("agent".to_owned(), "stopped".into());
            }
        } else if let Some(effect) = effects.first() {
            (judgement.decision, judgement.decided_by) = (Some(Decision::Allow), Some(effect.by.clone()));
            let mut given: Vec<&Effect> = effects.clone();
            given.sort_by_key(|effect| std::cmp::Reverse(effect.ended));
            let mut given = given.into_iter().filter_map(|effect| effect.value("decision"));
            let input = given.find_map(|decision| decision.get("updatedInput")?.as_object());
            judgement.tool_input = input.cloned().map(Value::Object);
            // What was not asked about is looked at again: a yes to one input is none to another.
            let original = self.tool_input();
            let call = ClaudeCall { tool: self.text("tool_name"), input: input.unwrap_or(&original) };
            match self.rules.judge(call, self.ground) {
                Some(ruled) if ruled.effect == RuleEffect::Deny => {
                    let by = format!("rule re-check of the new input: {}", ruled.by);
                    let reason = format!("denied by {}", ruled.by);
                    (judgement.decision, judgement.decided_by) = (Some(Decision::Deny), Some(by));
                    (judgement.reason, judgement.model_sees) = (Some(reason.clone()), Some(reason));
                }
                _ => self.permission_updates(judgement),
            }
        }
        let word = match judgement.decision {
            Some(Decision::Allow) => "granted",
            Some(_) => "denied",
            None => "asked",
        };
        judgement.effects.insert("permission".to_owned(), word.into());
    }

    /// What hooks want of the rules from now on.
    fn permission_updates(&self, judgement: &mut Judgement) {
        let lists = self.effects.iter().filter_map(|effect| effect.value("decision")?.get("updatedPermissions"));
        let updates: Vec<&Value> = lists.filter_map(Value::as_array).flatten().collect();
        let mut rules = Vec::new();
        for update in &updates {
            let is_session = update["destination"].as_str().unwrap_or("session") == "session";
            if update["type"] != "addRules" || update["behavior"] != "allow" || !is_session {
                continue;
            }
            for rule in update["rules"].as_array().into_iter().flatten() {
                let Some(tool) = rule["toolName"].as_str() else { continue };
                rules.push(match rule["ruleContent"].as_str() {
                    Some(content) => format!("{tool}({content})"),
                    None => tool.to_owned(),
                });
            }
        }
        if !rules.is_empty() {
            judgement.effects.insert("session_rules".to_owned(), rules.into());
        }
        if !updates.is_empty() {
            judgement.effects.insert("permission_updates".to_owned(), json!(updates));
        }
    }

    /// Everywhere else an objection is an objection.
    fn objections(&self, judgement: &mut Judgement) {
        let mut objecting: Vec<&Effect> = self.effects.iter().filter(|effect| effect.objection.is_some()).collect();
        objecting.sort_by_key(|effect| effect.place);
        let refused = self.effects.iter().find(|effect| matches!(effect.permission, Some((Permission::Deny, _))));
        let asked = self.effects.iter().find(|effect| matches!(effect.permission, Some((Permission::Ask, _))));
        let allowed = self.effects.iter().find(|effect| matches!(effect.permission, Some((Permission::Allow, _))));
        let reasons: Vec<String> = objecting.iter().filter_map(|effect| effect.objection.clone()).collect();
        if let Some(effect) = refused.filter(|_| objecting.is_empty()) {
            judgement.decision = Some(Decision::Deny);
            let reason = effect.permission.as_ref().and_then(|(_, reason)| reason.clone());
            judgement.reason = Some(reason.unwrap_or_else(|| "Blocked by hook".to_owned()));
            judgement.user_sees.clone_from(&judgement.reason);
            judgement.decided_by = Some(effect.by.clone());
            return;
        }
        let Some(first) = objecting.first() else {
            if let Some(effect) = asked.or(allowed) {
                judgement.decision = Some(if asked.is_some() { Decision::Ask } else { Decision::Allow });
                judgement.decided_by = Some(effect.by.clone());
                judgement.reason = effect.permission.as_ref().and_then(|(_, reason)| reason.clone());
            }
            return;
        };
        let reason = reasons.join("\n");
        judgement.decision = Some(Decision::Block);
        judgement.decided_by = Some(first.by.clone());
        judgement.reason = Some(reason.clone());
        match self.event.objection {
            Objection::BlockToModel | Objection::GoOn => judgement.model_sees = Some(reason),
            Objection::BlockToPerson => judgement.user_sees = Some(reason),
            Objection::BlockInSilence | Objection::Ignored | Objection::Told | Objection::Deny => {}
        }
        if objecting.iter().any(|effect| effect.ends_turn) {
            judgement.goes_on = false;
            judgement.effects.insert("turn".to_owned(), "ends".into());
        }
    }

    /// What else comes of it, in the contract's words.
    fn consequences(&self, judgement: &mut Judgement) {
        let blocked = matches!(judgement.decision, Some(Decision::Block | Decision::Deny));
        let mut say = |key: &str, value: Value| drop(judgement.effects.insert(key.to_owned(), value));
        match self.event.name {
            "SessionStart" => {
                say("session", "starts".into());
                self.pass_on(&["initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"], &mut say);
            }
            "UserPromptSubmit" => {
                say("prompt", if blocked { "erased" } else { "passes" }.into());
                self.pass_on(&["sessionTitle", "suppressOriginalPrompt"], &mut say);
                if blocked {
                    judgement.model_context.clear();
                }
            }
            "UserPromptExpansion" => {
                say("expansion", if blocked { "blocked" } else { "passes" }.into());
                if blocked {
                    judgement.model_context.clear();
                }
            }
            "PostToolUse" => {
                self.pass_on(&["classifierContext"], &mut say);
                self.tool_result(judgement);
            }
            "PostToolBatch" if blocked => {
                say("agent_loop", "stopped before next model call".into());
                judgement.goes_on = false;
            }
            "Stop" | "SubagentStop" => self.stop(judgement),
            "PermissionDenied" => {
                say("denial", "stands".into());
                if self.last("retry") == Some(&Value::Bool(true)) {
                    say("model_told", "may retry".into());
                }
            }
            "MessageDisplay" => {
                let original = self.input.get("delta").cloned().unwrap_or_default();
                say("screen", self.last("displayContent").cloned().unwrap_or_else(|| original.clone()));
                say("transcript", original);
            }
            "SubagentStart" => say("subagent_context", json!(judgement.model_context)),
            "TaskCreated" => say("task", if blocked { "rolled back" } else { "created" }.into()),
            "TaskCompleted" => say("task", if blocked { "not completed" } else { "completed" }.into()),
            "TeammateIdle" => say("teammate", if blocked { "continues" } else { "idles" }.into()),
            "ConfigChange" => {
                // Whoever manages the machine is not overruled.
                if self.text("source") == "policy_settings" {
                    (judgement.decision, judgement.reason, judgement.decided_by) = (None, None, None);
                }
                let blocked = judgement.decision == Some(Decision::Block);
                judgement.effects.insert("change".to_owned(), if blocked { "not applied" } else { "applied" }.into());
            }
            "CwdChanged" | "FileChanged" => self.pass_on(&["watchPaths"], &mut say),
            "WorktreeCreate" => self.worktree(judgement),
            "WorktreeRemove" => {
                let left = self.effects.iter().any(|effect| !effect.succeeded)
                    && std::path::Path::new(self.text("worktree_path")).is_dir();
                say("worktree", if left { "removal fails" } else { "removed" }.into());
            }
            "PreCompact" => say("compaction", if blocked { "blocked" } else { "goes on" }.into()),
            "PreModelSwitch" => {
                let asks = judgement.decision == Some(Decision::Ask);
                let word = if blocked {
                    "blocked"
                } else if asks {
                    "asked"
                } else {
                    "goes on"
                };
                say("model_switch", word.into());
            }
            "Elicitation" | "ElicitationResult" => {
                let answer = if blocked { Some(json!("decline")) } else { self.last("action").cloned() };
                if let Some(action) = answer {
                    say("action", action);
                    // What one filled in is not sent when another declines.
                    if !blocked {
                        self.pass_on(&["content"], &mut say);
                    }
                }
            }
            "Notification" | "StopFailure" | "InstructionsLoaded" => say("effect", "none".into()),
            _ => {}
        }
    }

    /// The agent stops, or goes on with what it reads.
    fn stop(&self, judgement: &mut Judgement) {
        let contexts: Vec<String> = self.effects.iter().flat_map(|effect| effect.contexts.clone()).collect();
        let is_subagent = self.event.is("SubagentStop");
        let label = "Stop hook feedback";
        let next: Vec<String> = judgement.reason.clone().into_iter().chain(contexts.clone()).collect();
        let prevented = judgement.goes_on && !next.is_empty();
        if !judgement.goes_on {
            (judgement.decision, judgement.model_sees) = (None, None);
            judgement.reason = judgement.user_sees.clone();
        } else if prevented {
            let read = match (&judgement.reason, contexts.is_empty()) {
                (Some(reason), true) => reason.clone(),
                (Some(reason), false) => format!("{reason}\n{label}:\n{}", contexts.join("\n")),
                (None, _) => format!("{label}:\n{}", contexts.join("\n")),
            };
            judgement.model_sees = Some(read);
            if judgement.decision.is_none() {
                judgement.decision = Some(Decision::Block);
                judgement.reason = Some(next.join("\n"));
                let by = self.effects.iter().find(|effect| !effect.contexts.is_empty());
                judgement.decided_by = by.map(|effect| effect.by.clone());
            }
        }
        let mut say = |key: &str, value: Value| drop(judgement.effects.insert(key.to_owned(), value));
        let word = match (judgement.goes_on, prevented) {
            (false, _) => "final",
            (true, true) => "prevented",
            (true, false) => "allowed",
        };
        say("stop", word.into());
        if is_subagent {
            say("subagent", if prevented { "continues" } else { "stops" }.into());
        }
        if prevented {
            say(if is_subagent { "subagent_next" } else { "model_next" }, next.join("\n").into());
            if !contexts.is_empty() {
                say("label", label.into());
            }
        }
    }

    /// What the model reads as the tool's result.
    fn tool_result(&self, judgement: &mut Judgement) {
        let is_mcp = self.text("tool_name").starts_with("mcp__");
        let original = self.input.get("tool_response").cloned().unwrap_or_default();
        let of_any = self.last("updatedToolOutput");
        let of_mcp = self.last("updatedMCPToolOutput");
        let kept = match (of_any, of_mcp) {
            (Some(new), _) if is_mcp || has_shape_of(&original, new) => new.clone(),
            (None, Some(new)) if is_mcp => new.clone(),
            (None, None) => "kept".into(),
            _ => {
                let why = "what replaces the tool's output does not fit what that tool gives back: it is ignored";
                judgement.warnings.push(why.to_owned());
                "original kept".into()
            }
        };
        judgement.effects.insert("tool_result".to_owned(), kept);
    }

    fn worktree(&self, judgement: &mut Judgement) {
        if self.effects.is_empty() {
            return;
        }
        let path = self.effects.iter().filter(|effect| effect.succeeded).find_map(|effect| {
            effect.value("worktreePath").and_then(Value::as_str).map(str::to_owned).or_else(|| effect.last_line.clone())
        });
        let failed = self.effects.iter().any(|effect| !effect.succeeded);
        let path = path.filter(|_| !failed);
        if path.is_none() && judgement.decision.is_none() {
            judgement.decision = Some(Decision::Block);
            let why = judgement.warnings.first().cloned().unwrap_or_else(|| "no path was given".to_owned());
            judgement.reason = Some(why.clone());
            judgement.user_sees.get_or_insert(why);
            judgement.decided_by = self.effects.iter().find(|effect| !effect.succeeded).map(|effect| effect.by.clone());
        }
        let path = path.unwrap_or_else(|| "creation fails".to_owned());
        judgement.effects.insert("worktree".to_owned(), path.into());
    }

    /// Tells on what the hooks answered under these names.
    fn pass_on(&self, keys: &[&str], say: &mut impl FnMut(&str, Value)) {
        for key in keys {
            if let Some(value) = self.last(key) {
                say(key, value.clone());
            }
        }
    }

    /// What the last to end answered under this name.
    fn last(&self, key: &str) -> Option<&Value> {
        self.effects
            .iter()
            .max_by_key(|effect| effect.value(key).map(|_| effect.ended))
            .and_then(|effect| effect.value(key))
    }

    fn text(&self, key: &str) -> &str {
        self.input.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn tool_input(&self) -> Map<String, Value> {
        self.input.get("tool_input").and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

/// Whether a value is of the shape that a tool's output has.
fn has_shape_of(original: &Value, new: &Value) -> bool {
    match (original, new) {
        (Value::Object(original), Value::Object(new)) => {
            original.iter().all(|(key, value)| new.get(key).is_some_and(|new| has_shape_of(value, new)))
        }
        (Value::Null, _)
        | (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Array(_), Value::Array(_)) => true,
        _ => false,
    }
}
