//! What stays in force of a policy that is not whole: it changed since it was trusted, was lost, or cannot be read.
//!
//! The behaviour is the same everywhere (our own agent, its live reload, other agents): what could be read and only refuses
//! something stays in force, and calls that may change something need a person's approval. Where no person can be asked,
//! they are denied.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use vertebra::{AnyPoint, Role};

use super::{CLAUDE, Kind, Project, Seals, Standing, Store};
use crate::{
    policy::only_reads,
    settings::{Action, HookSettings, PermissionSettings, Said, SandboxSettings, Settings},
    wire::{Decision, Happened, Judgement},
};

/// What is in force of a project's policy.
#[derive(Debug, Clone, Default)]
pub struct Remains {
    /// Its settings, the most specific last.
    pub settings: Vec<Settings>,
    /// What is trusted of its scripts.
    pub seals: Seals,
    /// What refuses something in Claude Code's settings of a project that changed: path and text.
    pub claude: Vec<(PathBuf, String)>,
    /// Why the policy is not whole, if it is not. See [`needs_person`].
    pub missing: Option<String>,
}

/// Whether a text was trusted by a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Trusted,
    Anyone,
}

impl Remains {
    /// Returns what is in force of a project with this standing. `store` has the text that was trusted, if there is one.
    pub fn of(project: &Project, standing: &Standing, store: Option<&Store>) -> Self {
        // An untrusted file is not even read: a point that a file declares is kept for as long as the process runs.
        if matches!(standing, Standing::Empty | Standing::Unknown) {
            return Self::default();
        }
        let read = project.salvaged();
        let now: Vec<Settings> = read.iter().map(|read| read.settings.clone()).collect();
        let error = read.iter().flat_map(|read| &read.errors).next();
        match standing {
            Standing::Empty | Standing::Unknown => Self::default(),
            Standing::Trusted => {
                let seals = Seals::new(project, store);
                match error {
                    None => Self { settings: now, seals, ..Self::default() },
                    Some(error) => {
                        let settings = now.iter().map(|level| refusing(level, By::Trusted)).collect();
                        Self { settings, seals, missing: Some(unreadable(&error.to_string())), ..Self::default() }
                    }
                }
            }
            Standing::Changed(files) => {
                let before = store.map(|store| store.trusted_settings(project)).unwrap_or_default();
                let seals = store.map(|store| store.recorded_seals(project)).unwrap_or_default();
                let missing = is_policy(files).then(|| project.left_out(standing));
                let now_claude = project.of(Kind::Claude).map(|file| (file.name.clone(), file.text.clone()));
                let trusted_claude = store.map(|store| store.trusted_texts(project, Kind::Claude)).unwrap_or_default();
                let texts = trusted_claude.into_iter().chain(now_claude);
                let claude = texts.filter_map(|(name, text)| Some((project.root.join(name), refusing_rules(&text)?)));
                Self { settings: held(&before, &now), seals, claude: claude.collect(), missing }
            }
        }
    }
}

/// Returns what to ask a person about a call of this tool while a policy is not whole, if the call may change something.
pub fn needs_person(missing: Option<&str>, tool: &str) -> Option<String> {
    // A plan and a skill are text for the model.
    let is_free = only_reads(tool) || matches!(tool, "load_skill" | "update_plan" | "todo_write");
    missing.filter(|_| !is_free).map(str::to_owned)
}

/// Turns a judgement into a question while a policy is not whole, if the event is a call that may change something, or at a
/// point of the program's own. Where no person can be asked, a question is a denial.
pub fn ask_person(missing: Option<&str>, happened: &Happened, judgement: &mut Judgement) {
    let point = happened.point;
    let (why, decision) = match point.name {
        "BeforeToolUse" | "PermissionRequest" => {
            (needs_person(missing, happened.event["tool"].as_str().unwrap_or_default()), Decision::Ask)
        }
        _ if point.is_built_in() || !point.guards => return,
        _ if point.powers.contains(&vertebra::Kind::Ask) => (missing.map(str::to_owned), Decision::Ask),
        _ => (missing.map(str::to_owned), Decision::Deny),
    };
    if let Some(why) = why
        && judgement.decision.is_none_or(|other| other < decision)
    {
        judgement.decision = Some(decision);
        judgement.reason = Some(why.clone());
        judgement.user_sees = Some(why);
        judgement.decided_by = Some("trust".to_owned());
    }
}

/// Says that settings cannot be used as a whole.
pub fn unreadable(error: &str) -> String {
    format!("the policy cannot be read as a whole, so calls that change something need your approval: {error}")
}

/// Returns what holds after a change that no person has seen: of the trusted settings what only refuses and what is still
/// there as it was, and of the new ones what only refuses.
pub(crate) fn held(before: &[Settings], now: &[Settings]) -> Vec<Settings> {
    let is_there = |hook: &Said<Arc<HookSettings>>| {
        now.iter().flat_map(|level| &level.hooks).any(|other| other.value == hook.value)
    };
    let mut levels: Vec<Settings> = before
        .iter()
        .map(|level| {
            let hooks = level.hooks.iter().filter(|hook| refuses(&hook.value, By::Trusted) || is_there(hook));
            Settings { hooks: hooks.cloned().collect(), ..refusing(level, By::Trusted) }
        })
        .collect();
    for level in now {
        let mut new = refusing(level, By::Anyone);
        // A hook of the same name would replace the trusted one.
        let is_known = |hook: &Said<Arc<HookSettings>>| {
            levels.iter().flat_map(|level| &level.hooks).any(|old| old.value.stand.name == hook.value.stand.name)
        };
        new.hooks.retain(|hook| !is_known(hook));
        // So would a point of the same name.
        let is_declared = |point: &Said<AnyPoint>| {
            levels.iter().flat_map(|level| &level.points).any(|old| old.value.name == point.value.name)
        };
        new.points.retain(|point| !is_declared(point));
        levels.push(new);
    }
    levels
}

/// Returns settings that a person wrote or trusted without anything that could widen what is allowed.
pub fn only_refusing(settings: &Settings) -> Settings {
    refusing(settings, By::Trusted)
}

/// Returns Claude Code's settings with nothing but the rules that refuse something.
fn refusing_rules(text: &str) -> Option<String> {
    let settings: Value = serde_json::from_str(text).ok()?;
    let rules = |list: &str| settings["permissions"][list].as_array().cloned().unwrap_or_default();
    Some(json!({ "permissions": { "deny": rules("deny"), "ask": rules("ask") } }).to_string())
}

/// Returns the settings that can do nothing but keep something from happening.
pub(super) fn refusing(level: &Settings, by: By) -> Settings {
    let PermissionSettings { ask, deny, .. } = level.permissions.clone();
    Settings {
        permissions: PermissionSettings { ask, deny, ..PermissionSettings::default() },
        sandbox: SandboxSettings { deny_read: level.sandbox.deny_read.clone(), ..SandboxSettings::default() },
        points: level.points.clone(),
        hooks: level.hooks.iter().filter(|hook| refuses(&hook.value, by)).cloned().collect(),
        ..Settings::default()
    }
}

/// Returns whether a hook can do nothing but keep something from happening. A trusted guard that starts a program can only
/// refuse too, but a program that no person trusted is not started.
pub(crate) fn refuses(hook: &HookSettings, by: By) -> bool {
    match &hook.action {
        Action::Say(reply) => {
            let verdict = reply.verdict.as_ref().and_then(|verdict| verdict.get("verdict")?.as_str());
            !reply.changes() && matches!(verdict, Some("deny" | "ask" | "stop" | "halt"))
        }
        Action::Run(_) => by == By::Trusted && hook.stand.role == Role::Guard,
    }
}

/// Returns whether one of these files is part of the policy. Instructions, skills and agents are left out when they change,
/// but they refuse nothing.
fn is_policy(files: &[String]) -> bool {
    let is_text = |name: &String| {
        let is_instruction = name.ends_with("AGENTS.md") || name.ends_with("CLAUDE.md");
        let is_listed = ["/skills/", "/agents/"].iter().any(|part| name.contains(part))
            && Path::new(name).extension().is_some_and(|end| end == "md");
        (is_instruction || is_listed) && !CLAUDE.iter().any(|settings| name.ends_with(settings))
    };
    !files.iter().all(is_text)
}
