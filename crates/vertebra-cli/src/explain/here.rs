//! What would happen to a command in this folder now: rules, mode, policy and sandbox together.

use std::path::Path;

use serde_json::{Value, json};
use vertebra::{Args, Kind, ToolSpec};
use vertebra_kit::{
    bash::{
        Bash,
        policy::{Decision, Ground, Judgement, does_more},
        sandbox::{Need, Network},
    },
    permissions::{Effect, Explanation, Mode},
};

use super::hooks::HookAnswer;
use crate::assembly::{InForce, World};

/// What would happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Allowed,
    Asked,
    Denied,
}

impl Outcome {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked",
            Self::Denied => "denied",
        }
    }
}

/// What would happen to a command in a folder, and why.
pub(super) struct Here {
    pub(super) outcome: Outcome,
    pub(super) reason: String,
    /// The rules that decide, with the files that they are in.
    pub(super) by: Vec<String>,
    pub(super) mode: &'static str,
    /// The parts that do more than read.
    pub(super) more: Vec<String>,
    /// What the sandbox forbids. Empty if there is none.
    pub(super) forbids: Vec<String>,
    /// The hooks of the settings that would see the command.
    pub(super) hooks: Vec<HookAnswer>,
    /// Whether a hook may answer the question, because no rule asks.
    is_open: bool,
}

impl Here {
    /// Judges a command as the built-in agent would in this folder.
    pub(super) fn look(command: &str, judgement: &Judgement, ground: &Ground) -> anyhow::Result<Self> {
        let mut world = World::of_process();
        // No question about trust: only what is trusted already counts.
        world.is_interactive = false;
        let InForce { rules, sandbox } = InForce::read(Path::new(&ground.folder), &world)?;
        let args = Args::try_from(json!({ "command": command }))?;
        let told = rules.explain("", &ToolSpec::new("bash", ""), &args, &ground.folder);
        let more = does_more(command, ground);
        let bash = Bash { sandbox: sandbox.clone(), ..Bash::in_dir(&ground.folder) };
        let (outcome, reason) = match (decided(&told, judgement, more.is_empty()), bash.lift().refusal(command)) {
            // A question that no answer can settle is not put.
            ((Outcome::Asked, _), Some(refused)) => (Outcome::Denied, refused),
            (decided, _) => decided,
        };
        let named = match rules.mode("") {
            Mode::Ask => "ask",
            Mode::AcceptEdits => "accept-edits",
            Mode::Sandboxed => "sandboxed",
            Mode::Plan => "plan",
            Mode::Bypass => "bypass",
        };
        let is_open =
            told.effect == Some(Effect::Ask) && told.rules.is_empty() && judgement.decision == Decision::Allow;
        let by = told.rules.iter().map(ToString::to_string).collect();
        let mut forbids = Vec::new();
        if sandbox.need != Need::Off && outcome != Outcome::Denied {
            if sandbox.network == Network::Off {
                forbids.push("network".to_owned());
            }
            let more: Vec<String> = sandbox.write.iter().map(|path| path.display().to_string()).collect();
            let more = if more.is_empty() { String::new() } else { format!(", {}", more.join(", ")) };
            forbids.push(format!("writing outside of {} and temporary folders{more}", ground.folder));
        }
        Ok(Self { outcome, reason, by, mode: named, more, forbids, hooks: Vec::new(), is_open })
    }

    /// Adds what hooks say: deny beats ask, and a hook can allow what nothing else asks about.
    pub(super) fn with_hooks(mut self, hooks: Vec<HookAnswer>) -> Self {
        for hook in &hooks {
            let Some((verdict, reason)) = &hook.said else { continue };
            let outcome = match verdict {
                Kind::Deny | Kind::Stop if self.outcome != Outcome::Denied => Outcome::Denied,
                Kind::Ask if self.outcome == Outcome::Allowed => Outcome::Asked,
                Kind::Allow if self.outcome == Outcome::Asked && self.is_open => Outcome::Allowed,
                _ => continue,
            };
            let reason = reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            self.reason = format!("hook `{}` ({}){reason}", hook.name, hook.origin);
            self.outcome = outcome;
        }
        if self.outcome == Outcome::Denied {
            self.forbids.clear();
        }
        self.hooks = hooks;
        self
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "outcome": self.outcome.name(),
            "reason": self.reason,
            "rules": self.by,
            "mode": self.mode,
            "more_than_reads": self.more,
            "sandbox_forbids": self.forbids,
            "hooks": self.hooks.iter().map(HookAnswer::object).collect::<Vec<_>>(),
        })
    }
}

/// Merges the rules with the policy, as the agent does: deny beats ask, and an explicit allow answers a question of the policy.
fn decided(told: &Explanation, judgement: &Judgement, only_reads: bool) -> (Outcome, String) {
    let by_policy = || judgement.reason.clone();
    match (told.effect, judgement.decision) {
        (Some(Effect::Deny), _) => (Outcome::Denied, told.reason.clone()),
        (_, Decision::Deny) => (Outcome::Denied, by_policy()),
        (Some(Effect::Ask), _) if !told.rules.is_empty() => (Outcome::Asked, told.reason.clone()),
        (Some(Effect::Allow), _) => (Outcome::Allowed, told.reason.clone()),
        _ if only_reads => (Outcome::Allowed, "the command only reads".to_owned()),
        (_, Decision::Ask) => (Outcome::Asked, by_policy()),
        (Some(Effect::Ask), Decision::Allow) => (Outcome::Asked, told.reason.clone()),
        (None, Decision::Allow) => (Outcome::Allowed, told.reason.clone()),
    }
}
