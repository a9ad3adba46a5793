//! A policy that follows its files while sessions run.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use vertebra::{Agent, Attach as _, BeforeStep, Capability, HookSet, Hooks, Kit, Verdict as _, proceed};

use super::{BUNDLE, Files, Policy};
use crate::{
    handler::Services,
    settings::{Action, HookSettings, Level, Said, Settings, merge},
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
    services: Services,
    stamps: Vec<super::files::Stamp>,
    /// The levels of the project as far as they are in force.
    project: Vec<Settings>,
    /// The same as they were last read, trusted or not.
    read: Vec<Settings>,
}

impl Reload {
    /// Follows these files from a policy that was made of them. `project` is what of the project's levels is in force.
    pub fn new(files: Files, policy: Policy, project: Vec<Settings>, services: Services) -> Self {
        let (stamps, policy) = (files.stamps(), Arc::new(policy));
        let now = Now { policy, services, stamps, read: project.clone(), project };
        Self(Arc::new(Inner { files, hooks: OnceLock::new(), now: Mutex::new(now) }))
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
        if stamps == now.stamps {
            return Vec::new();
        }
        let next = self.next(&now);
        // Whoever was still writing is waited for until the next look.
        if self.files.stamps() != stamps {
            return Vec::new();
        }
        now.stamps = stamps;
        let broken = |error: String| vec![format!("the hooks stay as they were: {error}")];
        let next = match next {
            Ok(next) => next,
            Err(error) => return broken(error),
        };
        let Next { policy, services, project, read, mut told } = next;
        let changed = !policy.says_the_same(&now.policy);
        if let Some(hooks) = self.hooks.get().filter(|_| changed)
            && let Err(error) = hooks.replace(BUNDLE, self.set(&policy))
        {
            return broken(error.to_string());
        }
        if changed {
            let new = |notice: &&String| !now.policy.notices().contains(notice);
            told.extend(policy.notices().iter().filter(new).cloned());
            told.push(format!("the hooks were read again: {} are in force", policy.in_force().count()));
            now.policy = Arc::new(policy);
        }
        (now.services, now.project, now.read) = (services, project, read);
        told
    }

    /// What the files say now.
    fn next(&self, now: &Now) -> Result<Next, String> {
        let (managed, user) = self.files.own().map_err(|error| error.to_string())?;
        let (project, trusted) = self.files.project()?;
        let read = project.settings().map_err(|error| error.to_string());
        let read: Vec<Settings> = read?.into_iter().map(|sheet| sheet.settings).collect();
        let (mut services, mut told) = (now.services.clone(), Vec::new());
        let lost = now.project.iter().any(|old| !old.hooks.is_empty() && !read.iter().any(|new| same_file(old, new)));
        let project = if trusted && !lost {
            services.seals = Seals::new(&project);
            read.clone()
        } else if read == now.read {
            now.project.clone()
        } else {
            told.push(
                "a file of the project changed, and what is new in it is not trusted: until it is, its hooks that changed \
                 do not run, and what it refused stays refused. See and trust: vertebra trust"
                    .to_owned(),
            );
            now.project.iter().map(|old| held(old, &read)).collect()
        };
        let (settings, _) = merge(managed, std::iter::once(user).chain(project.iter().cloned()));
        let policy = Policy::new(&settings, &services).map_err(|error| error.to_string())?;
        Ok(Next { policy, services, project, read, told })
    }
}

/// What the files say, and what is to be told of it.
struct Next {
    policy: Policy,
    services: Services,
    project: Vec<Settings>,
    read: Vec<Settings>,
    told: Vec<String>,
}

fn level(settings: &Settings) -> Option<Level> {
    settings.hooks.first().map(|hook| hook.origin.level)
}

fn same_file(old: &Settings, new: &Settings) -> bool {
    level(old) == level(new)
}

/// What of a project's level holds after a change that nobody has seen: hooks that are still there as they were, and
/// those that only refuse or ask.
fn held(old: &Settings, new: &[Settings]) -> Settings {
    let stays = |hook: &Said<HookSettings>| {
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
