//! What one handler's end means at its event, before anybody else is heard.

use serde_json::Value;

use super::{
    event::{Event, Objection, Reads},
    output::{Output, Written},
    run::{Ended, Said},
    settings::Declared,
};

/// A permission as a hook gives it. Later is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Permission {
    Allow,
    Ask,
    Defer,
    Deny,
}

/// What one handler wants.
#[derive(Debug, Clone, Default)]
pub(super) struct Effect {
    /// Who it is, for whoever asks who decided.
    pub(super) by: String,
    /// Which of the handlers it is, as they are declared.
    pub(super) place: usize,
    /// The how manieth to end it was.
    pub(super) ended: usize,
    /// What it objects to, in its words.
    pub(super) objection: Option<String>,
    /// What it says about the call, and why.
    pub(super) permission: Option<(Permission, Option<String>)>,
    /// What the model is told.
    pub(super) contexts: Vec<String>,
    /// What the person is told.
    pub(super) to_person: Vec<String>,
    /// Whether everything stops.
    pub(super) stops: bool,
    pub(super) stop_reason: Option<String>,
    /// Whether the turn ends with the objection.
    pub(super) ends_turn: bool,
    /// What went wrong.
    pub(super) notice: Option<String>,
    /// What it answered besides.
    pub(super) output: Output,
    /// The last line of what it wrote, if it ended well: where a worktree is.
    pub(super) last_line: Option<String>,
    /// Whether it ended well.
    pub(super) succeeded: bool,
}

impl Effect {
    pub(super) fn of(event: &Event, declared: &Declared, ended: &Ended) -> Self {
        let shown = declared.handler.shown();
        let mut effect = Self {
            by: format!("hook `{shown}` of {}", declared.origin.file.display()),
            place: ended.place,
            ended: ended.order,
            ..Self::default()
        };
        let blocks = declared.handler.blocks_on_failure
            && declared.handler.background().is_none()
            && !event.ignores_on_failure()
            && (event.is_gate() || !matches!(event.objection, Objection::Ignored | Objection::Told));
        match &ended.said {
            Said::Exited { code: 0, written, .. } => {
                effect.succeeded = true;
                effect.end_well(event, written, &shown);
            }
            Said::Exited { code: 2, written, stderr } => effect.object(event, written, stderr),
            Said::Exited { written: Written::Answer(output), .. } if !event.is("WorktreeCreate") => {
                effect.succeeded = true;
                effect.answer(event, output);
            }
            Said::Exited { code, stderr, .. } => {
                let line = stderr.lines().find(|line| !line.trim().is_empty()).map(str::trim);
                let line = line.unwrap_or("No stderr output");
                let notice = match event.name {
                    "WorktreeCreate" => format!("failed with exit code {code}: {line}"),
                    _ => format!("Failed with non-blocking status code: {line}"),
                };
                effect.fail(&shown, "failed", &notice, blocks);
            }
            Said::TimedOut { after } => {
                let notice = format!("timed out after {} s; what it wrote is discarded", after.as_secs_f64());
                effect.fail(&shown, "timed out", &notice, blocks);
                if event.is("PreModelSwitch") {
                    effect.objection.get_or_insert_with(|| format!("{shown} timed out"));
                }
            }
            Said::Failed { message } => {
                effect.fail(&shown, "failed", &format!("non-blocking error: {message}"), blocks);
            }
            Said::Judged { ok: true, .. } => effect.succeeded = true,
            Said::Judged { ok: false, reason, impossible, goes_on } => {
                effect.succeeded = true;
                let stops = matches!(event.objection, Objection::GoOn);
                let is_heard = if stops { !impossible } else { !event.name.starts_with("Permission") };
                if is_heard {
                    effect.objection = Some(reason.clone());
                    effect.ends_turn = !stops && !goes_on;
                }
            }
        }
        effect
    }

    fn end_well(&mut self, event: &Event, written: &Written, shown: &str) {
        match written {
            Written::Nothing => {}
            Written::Text(text) => {
                if event.plain_text {
                    self.contexts.push(text.clone());
                }
                self.last_line =
                    text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned());
            }
            Written::Answer(output) => self.answer(event, output),
            Written::Invalid(error) => {
                self.notice = Some(format!("{shown}: JSON output failed schema validation: {error}"));
            }
        }
    }

    /// Exit code 2: whatever the answer allows, this objects.
    fn object(&mut self, event: &Event, written: &Written, stderr: &str) {
        let stderr = Some(stderr.trim()).filter(|text| !text.is_empty()).unwrap_or("No stderr output");
        if let Written::Answer(output) = written {
            let mut output = (**output).clone();
            if event.name.starts_with("Elicitation") || event.is("MessageDisplay") {
                output.specific.clear();
            }
            // A refusal without words has those on stderr.
            if output.decision == Some("block") && output.reason.is_none() {
                output.reason = Some(stderr.to_owned());
            }
            self.answer(event, &output);
        }
        match event.objection {
            Objection::Ignored => {}
            Objection::Told => self.to_person.push(stderr.to_owned()),
            Objection::Deny
            | Objection::BlockToPerson
            | Objection::BlockToModel
            | Objection::BlockInSilence
            | Objection::GoOn => {
                // The answer's own refusal has the better words; anything else it says about the call is overruled.
                let own = match self.permission.take() {
                    Some((Permission::Deny, reason)) => reason,
                    _ => None,
                };
                self.output.specific.remove("updatedInput");
                let own = own.or_else(|| self.objection.take());
                self.objection = Some(own.unwrap_or_else(|| stderr.to_owned()));
            }
        }
    }

    fn answer(&mut self, event: &Event, output: &Output) {
        if event.reads == Reads::Nothing {
            self.output.terminal_sequence.clone_from(&output.terminal_sequence);
            return;
        }
        self.output = output.clone();
        self.stops = output.stops && event.reads == Reads::All;
        self.stop_reason.clone_from(&output.stop_reason);
        if let Some(message) = &output.system_message {
            let told = if event.is("DirectoryAdded") { &mut self.contexts } else { &mut self.to_person };
            told.push(message.clone());
        }
        let context = output.text("additionalContext").filter(|text| !text.trim().is_empty());
        self.contexts.extend(context.map(str::to_owned));
        let reason = output.text("permissionDecisionReason").or(output.reason.as_deref()).map(str::to_owned);
        let given = match output.text("permissionDecision") {
            Some("allow") => Some(Permission::Allow),
            Some("ask") => Some(Permission::Ask),
            Some("defer") => Some(Permission::Defer),
            Some(_) => Some(Permission::Deny),
            None => None,
        };
        let decides = event.reads_decision();
        self.permission = match (given, output.decision) {
            (Some(given), _) => Some((given, reason)),
            (None, Some("approve")) if event.is("PreToolUse") => Some((Permission::Allow, reason)),
            (None, Some("block")) if event.is("PreToolUse") => Some((Permission::Deny, reason)),
            (None, Some("block")) if decides => {
                self.objection = Some(reason.unwrap_or_else(|| "Blocked by hook".to_owned()));
                None
            }
            _ => None,
        };
    }

    fn fail(&mut self, shown: &str, how: &str, notice: &str, blocks: bool) {
        if blocks {
            self.objection = Some(format!("{shown} {how}; blocking because onFailure is \"block\" ({notice})"));
        } else {
            self.notice = Some(format!("{shown}: {notice}"));
        }
    }

    /// A value that its event knows.
    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.output.specific.get(key)
    }
}
