//! A policy that follows its files while sessions run.

use std::{
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

use vertebra::{Agent, Attach as _, BeforeStep, Capability, HookSet, Hooks, Kit, proceed};

use super::{BUNDLE, Files, Policy, PolicyError, files::Stamp};
use crate::{
    handler::Services,
    settings::{AboutHooks, Action, HookSettings, Said, Settings, merge},
    trust::Seals,
};

/// What kind of news a change of the policy is.
const KIND: &str = "hooks";

/// A policy that is looked at again whenever a step begins, for as long as this handle, or a clone of it, is there.
///
/// A change counts from the next dispatch on, all of it at once. A file that cannot be used changes nothing, and that is
/// told. What a project's file says anew counts once it is trusted; until then what it refused stays refused, also if the
/// file is gone: whoever can write to a project's folder, such as an agent at work in it, takes no rule away.
///
/// It is a [`Capability`]; after the agent is built, [`follow`](Self::follow) shows it the hooks to change.
#[derive(Clone)]
pub struct Reload(Arc<Inner>);

struct Inner {
    files: Files,
    /// The hooks of the agent.
    hooks: OnceLock<Hooks>,
    now: Mutex<Now>,
}

/// What is in force, and what it was made of.
struct Now {
    policy: Arc<Policy>,
    made_of: MadeOf,
    /// What the files looked like; nothing before the first look.
    stamps: Vec<Stamp>,
    /// The levels of the project as far as they are in force.
    project: Vec<Settings>,
    /// The same as they were last read, trusted or not; none before the first look.
    read: Option<Vec<Settings>>,
}

/// All that a policy is made of. The same makes the same.
#[derive(Clone)]
struct MadeOf {
    hooks: Vec<Said<Arc<HookSettings>>>,
    about: AboutHooks,
    services: Services,
}

impl MadeOf {
    fn new(settings: &Settings, services: Services) -> Self {
        Self { hooks: settings.hooks.clone(), about: settings.about_hooks.clone(), services }
    }

    fn is(&self, other: &Self) -> bool {
        self.hooks == other.hooks && self.about == other.about && self.services.seals == other.services.seals
    }
}

impl Reload {
    /// Follows these files from the settings that were made of them. `project` is what of the project's levels is in force.
    pub fn new(
        files: Files,
        settings: &Settings,
        project: Vec<Settings>,
        services: Services,
    ) -> Result<Self, PolicyError> {
        let policy = Arc::new(Policy::new(settings, &services)?);
        // The first look reads everything: a file may have changed since it was read.
        let now = Now { policy, made_of: MadeOf::new(settings, services), stamps: Vec::new(), read: None, project };
        Ok(Self(Arc::new(Inner { files, hooks: OnceLock::new(), now: Mutex::new(now) })))
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        self.0.now().policy.clone()
    }

    /// Changes the hooks of this agent, which has the policy's.
    pub fn follow(&self, agent: &Agent) {
        // The first agent counts: a handle belongs to one.
        let _ = self.0.hooks.set(agent.hooks().clone());
    }

    /// Looks at the files now, and answers with what a person should know. Waits for the disk.
    pub fn look(&self) -> Vec<String> {
        self.0.look()
    }
}

impl Capability for Reload {
    fn install(self, kit: &mut Kit) {
        let set = self.0.set(&self.policy());
        kit.hook_set().append(set);
    }
}

impl Inner {
    fn now(&self) -> std::sync::MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hooks of a policy, and the one that looks at its files.
    fn set(self: &Arc<Self>, policy: &Policy) -> HookSet {
        // The agent's hooks are kept here: the other way round it would never be dropped.
        let me: Weak<Self> = Arc::downgrade(self);
        let mut more = HookSet::new();
        more.on(BeforeStep, async move |cx| {
            if let Some(me) = me.upgrade() {
                let run = cx.scope();
                for message in tokio::task::spawn_blocking(move || me.look()).await? {
                    run.notify(cx.state_mut(), KIND, message).await?;
                }
            }
            proceed()
        })
        .named("reload")
        .priority(-super::LAST)
        .fail_open();
        policy.hook_set_with(more)
    }

    fn look(self: &Arc<Self>) -> Vec<String> {
        let mut now = self.now();
        let stamps = self.files.stamps();
        if stamps == now.stamps || stamps.iter().any(Stamp::is_being_written) {
            return Vec::new();
        }
        let next = self.next(&now);
        // Whoever was still writing is waited for until the next look.
        if self.files.stamps() != stamps {
            return Vec::new();
        }
        now.stamps = stamps;
        let broken = |error: String| vec![format!("the hooks stay as they were: {error}")];
        let Next { made_of, settings, project, read, mut told } = match next {
            Ok(next) => next,
            Err(error) => return broken(error),
        };
        if !made_of.is(&now.made_of) {
            let policy = match Policy::new(&settings, &made_of.services) {
                Ok(policy) => policy,
                Err(error) => return broken(error.to_string()),
            };
            if let Some(hooks) = self.hooks.get()
                && let Err(error) = hooks.replace(BUNDLE, self.set(&policy))
            {
                return broken(error.to_string());
            }
            let new = |notice: &&String| !now.policy.notices().contains(notice);
            told.extend(policy.notices().iter().filter(new).cloned());
            told.push(format!("the hooks were read again: {} in force", policy.in_force().count()));
            (now.policy, now.made_of) = (Arc::new(policy), made_of);
        }
        (now.project, now.read) = (project, Some(read));
        told
    }

    /// What the files say now.
    fn next(&self, now: &Now) -> Result<Next, String> {
        let (managed, user) = self.files.own().map_err(|error| error.to_string())?;
        let (project, trusted) = self.files.project()?;
        let sheets = project.settings().map_err(|error| error.to_string())?;
        let read: Vec<Settings> = sheets.into_iter().map(|sheet| sheet.settings).collect();
        let (mut services, mut told) = (now.made_of.services.clone(), Vec::new());
        // Trust is in what a file says, and nobody has trusted that there is none.
        let of_project = now.project.iter().flat_map(|level| &level.hooks);
        let is_lost = of_project.clone().any(|hook| !Path::new(&*hook.origin.place).exists());
        let is_as_it_was = match &now.read {
            Some(before) => *before == read,
            None => now.project.is_empty() || now.project == read,
        };
        let project = if trusted && !is_lost {
            services.seals = Seals::new(&project, self.files.store.as_ref());
            read.clone()
        } else if is_as_it_was {
            now.project.clone()
        } else {
            told.push(UNTRUSTED.to_owned());
            now.project.iter().map(|old| held(old, &read)).collect()
        };
        let (settings, _) = merge(managed, std::iter::once(user).chain(project.iter().cloned()));
        Ok(Next { made_of: MadeOf::new(&settings, services), settings, project, read, told })
    }
}

/// What is said of a change that nobody has seen.
const UNTRUSTED: &str = "a file of the project changed, and nobody has trusted what it says now: its hooks that changed do \
                         not run, and what it refused stays refused. See and trust: vertebra trust";

/// What the files say, and what is to be told of it.
struct Next {
    made_of: MadeOf,
    settings: Settings,
    project: Vec<Settings>,
    read: Vec<Settings>,
    told: Vec<String>,
}

/// What of a project's level holds after a change that nobody has seen: hooks that are still there as they were, and
/// those that only refuse or ask.
fn held(old: &Settings, new: &[Settings]) -> Settings {
    let stays = |hook: &Said<Arc<HookSettings>>| {
        only_refuses(&hook.value) || new.iter().flat_map(|level| &level.hooks).any(|other| other.value == hook.value)
    };
    Settings { hooks: old.hooks.iter().filter(|hook| stays(hook)).cloned().collect(), ..old.clone() }
}

/// Whether a hook can do nothing but keep something from happening.
fn only_refuses(hook: &HookSettings) -> bool {
    let Action::Say(reply) = &hook.action else { return false };
    let verdict = reply.verdict.as_ref().and_then(|verdict| verdict.get("verdict")?.as_str());
    !reply.changes() && matches!(verdict, Some("deny" | "ask" | "stop" | "halt"))
}
