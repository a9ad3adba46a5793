//! Which hooks are in force, and why the others are not.

use std::{fmt, sync::Arc};

use vertebra::nearest;

use super::{PolicyError, PolicyHook};
use crate::settings::{HookSettings, Level, Origin, Said, Settings, Stand};

/// Whether a hook is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is.
    InForce,
    /// It is not.
    Off(Off),
}

/// Why a hook is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Off {
    /// The hook has `enabled = false`.
    Disabled,
    /// A more specific level disables it.
    DisabledBy(Origin),
    /// A more specific level has a hook of the same name.
    ReplacedBy(Origin),
    /// `hooks.project = false` disables all hooks of projects.
    Forbidden(Origin),
    /// The folder is not trusted, or it changed since it was trusted.
    Untrusted,
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("disabled"),
            Self::DisabledBy(origin) => write!(f, "disabled by {}", origin.spot()),
            Self::ReplacedBy(origin) => write!(f, "replaced by {}", origin.spot()),
            Self::Forbidden(origin) => write!(f, "project hooks are disabled by {}", origin.spot()),
            Self::Untrusted => f.write_str("the folder is not trusted"),
        }
    }
}

/// All hooks with their standing, and what a person should know of it.
pub(super) fn stand(settings: &Settings) -> (Vec<PolicyHook>, Vec<String>) {
    let about = &settings.about_hooks;
    let forbidden = about.project.as_ref().filter(|said| !said.value).map(|said| &said.origin);
    let counts = |level: Level| forbidden.is_none() || !matches!(level, Level::Project | Level::Local);
    let disabling: Vec<_> = about.disable.iter().filter(|said| counts(said.origin.level)).collect();
    let managed: Vec<_> = settings.hooks.iter().filter(|hook| hook.origin.level == Level::Managed).collect();
    let managed = |name: &str| managed.iter().any(|hook| hook.value.stand.name == *name);
    // Most policies have one level, and its hooks need no comparison with each other.
    let nearest_level = settings.hooks.iter().map(|hook| hook.origin.level).max();
    let mut notices = Vec::new();
    let standing = |hook: &Said<Arc<HookSettings>>| {
        let (name, level) = (&hook.value.stand.name, hook.origin.level);
        let nearer = |other: Level| level != Level::Managed && other > level && counts(other);
        let is_nearer =
            |other: &&Said<Arc<HookSettings>>| nearer(other.origin.level) && other.value.stand.name == *name;
        let others = if nearest_level > Some(level) { &*settings.hooks } else { &[] };
        let replaced = others.iter().find(is_nearer);
        let disabled = disabling.iter().find(|said| nearer(said.origin.level) && said.value == *name);
        match (forbidden, replaced, disabled) {
            (Some(origin), ..) if !counts(level) => Standing::Off(Off::Forbidden(origin.clone())),
            _ if !hook.value.enabled => Standing::Off(Off::Disabled),
            // A managed hook cannot be replaced: the other hook runs in addition.
            (_, Some(by), _) if !managed(name) => Standing::Off(Off::ReplacedBy(by.origin.clone())),
            (_, _, Some(by)) => Standing::Off(Off::DisabledBy(by.origin.clone())),
            _ => Standing::InForce,
        }
    };
    let hooks: Vec<PolicyHook> = settings
        .hooks
        .iter()
        .map(|hook| {
            let (name, level) = (&hook.value.stand.name, hook.origin.level);
            let beside = level != Level::Managed && managed(name);
            if beside {
                let place = hook.origin.spot();
                notices.push(format!("the hook `{name}` in {place} runs in addition to the managed hook of that name"));
            }
            let name = if beside { format!("{name} ({level})").into() } else { name.as_str().into() };
            let settings = hook.value.clone();
            PolicyHook { name, settings, origin: hook.origin.clone(), standing: standing(hook), handler: None }
        })
        .collect();
    for said in disabling {
        let place = said.origin.spot();
        let known = |hook: &&PolicyHook| hook.settings.stand.name == said.value;
        if managed(&said.value) {
            notices.push(format!("`hooks.disable` in {place} is ignored: `{}` is a managed hook", said.value));
        } else if !hooks.iter().filter(known).any(|hook| hook.origin.level < said.origin.level) {
            let farther = hooks.iter().filter(|hook| hook.origin.level < said.origin.level);
            let meant = nearest(&said.value, farther.map(|hook| &*hook.settings.stand.name))
                .map(|name| format!("; did you mean `{name}`?"))
                .unwrap_or_default();
            notices.push(format!("`hooks.disable` in {place} names an unknown hook `{}`{meant}", said.value));
        }
    }
    (hooks, notices)
}

/// Checks the ordering constraints of a hook. A name with a slash is one of the agent's own hooks, which are not known here.
pub(super) fn check_order(hook: &PolicyHook, all: &[PolicyHook]) -> Result<(), PolicyError> {
    let Stand { before, after, point, .. } = &hook.settings.stand;
    let constraints = before.iter().map(|name| ("before", name)).chain(after.iter().map(|name| ("after", name)));
    for (constraint, name) in constraints {
        let at_point = || all.iter().filter(|other| other.settings.stand.point == *point);
        let others: Vec<&PolicyHook> = at_point().filter(|other| other.goes_by(name)).collect();
        let known = !others.is_empty() || name.contains('/');
        if !known {
            let meant = nearest(
                name,
                at_point().map(|other| &*other.settings.stand.name).filter(|other| *other != hook.settings.stand.name),
            )
            .map(|name| format!(": did you mean `{name}`?"))
            .unwrap_or_default();
            return Err(
                hook.wrong(format!("`{constraint}` names `{name}`, but there is no such hook at {point}{meant}"))
            );
        }
        let managed = others.iter().any(|other| other.is_managed());
        if constraint == "before" && managed && !hook.is_managed() {
            return Err(
                hook.wrong(format!("no hook can run before the managed hook `{name}`: remove it from `before`"))
            );
        }
        if hook.is_managed() && !managed && !(constraint == "before" && name.contains('/')) {
            let message = format!("managed hooks run before all others: remove `{name}` from `{constraint}`");
            return Err(hook.wrong(message));
        }
    }
    Ok(())
}
