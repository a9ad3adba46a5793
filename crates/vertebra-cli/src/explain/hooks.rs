//! What the hooks of the settings would say about a command.

use std::path::Path;

use serde_json::{Value, json};
use vertebra::{Kind, Ran};

use crate::{
    assembly::{Brought, Trust, World, claude_settings},
    hooks::trial::{Bench, Handlers, Which},
};

/// A hook that would see the command.
pub(super) struct HookAnswer {
    pub(super) name: String,
    /// The file and the line.
    pub(super) origin: String,
    /// What it says, if it is a rule or was run.
    pub(super) said: Option<(Kind, Option<String>)>,
    /// Why it has no answer.
    pub(super) failure: Option<String>,
}

impl HookAnswer {
    pub(super) fn object(&self) -> Value {
        json!({
            "name": self.name,
            "origin": self.origin,
            "verdict": self.said.as_ref().map(|(verdict, _)| verdict),
            "reason": self.said.as_ref().and_then(|(_, reason)| reason.as_ref()),
            "failure": self.failure,
        })
    }
}

/// Returns the hooks of all settings in force that would see this command. Programs are started only with [`Handlers::Run`].
pub(super) async fn answers(command: &str, folder: &Path, handlers: Handlers) -> anyhow::Result<Vec<HookAnswer>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let world = World { is_interactive: false, ..World::of_process() };
    let which = Which { config: None, settings: Vec::new(), dir: folder.to_owned() };
    let bench = Bench::open(&which, handlers, &world)?;
    let event = json!({
        "point": "BeforeToolUse",
        "tool": "bash",
        "aliases": ["Bash"],
        "args": { "command": command },
        "working_directory": folder.to_string_lossy(),
    });
    let record = bench.try_event(&event).await?.record;
    let traces = record.into_iter().flat_map(|record| record.hooks);
    let mut answers: Vec<HookAnswer> = traces
        .filter_map(|trace| {
            let hook = bench.policy()?.hook(&trace.hook)?;
            let (said, failure) = match trace.ran {
                _ if bench.staying.contains(&hook.name) => (None, None),
                Ran::Answered { verdict, reason } => (Some((verdict, reason)), None),
                Ran::Failed { failure, .. } => (None, Some(failure.to_string())),
                Ran::Skipped { .. } | Ran::Detached | Ran::Dropped => (None, None),
            };
            Some(HookAnswer { name: hook.name.to_string(), origin: hook.origin.spot(), said, failure })
        })
        .collect();
    let brought = Brought::look(folder, Trust::OnlyRemembered, &world)?;
    let of_claude = claude_settings(&brought, &world).listed().into_iter().filter(|listed| {
        let names = listed.matcher.split('|').map(str::trim).collect::<Vec<_>>();
        let may_match = names.iter().any(|name| matches!(*name, "" | "*" | "Bash") || !is_name(name));
        listed.event == "PreToolUse" && may_match && listed.bringer.is_none()
    });
    answers.extend(of_claude.map(|listed| HookAnswer {
        name: listed.does,
        origin: listed.origin.file.display().to_string(),
        said: None,
        failure: None,
    }));
    Ok(answers)
}

/// Returns whether a matcher is the name of one tool, and no pattern.
fn is_name(matcher: &str) -> bool {
    matcher.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
