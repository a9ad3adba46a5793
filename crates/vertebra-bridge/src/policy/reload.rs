//! A policy that follows its files while sessions run.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use vertebra::{
    Agent, Attach as _, BeforeStep, BeforeToolUse, Capability, HookOptions as _, HookSet, Hooks, Kit, ask, proceed,
};

use super::{Answers, BUNDLE, Files, Policy, PolicyError, files::Stamp};
use crate::{
    handler::Services,
    settings::{AboutHooks, HookSettings, Level, Said, Settings},
    trust::{By, Remains, Standing, held, needs_person, refuses, unreadable},
};

/// What kind of news a change of the policy is.
const KIND: &str = "hooks";

/// A policy that is looked at again whenever a step begins, for as long as this handle, or a clone of it, is there.
///
/// A change takes effect at the next dispatch, all of it at once. If a file of the administrator or the user cannot be used as
/// a whole, the hooks in force stay, what the file refuses anew is added, and calls that may change something need approval
/// until the file is fixed. What a project's file says anew takes effect once it is trusted. Until then, what it refused stays
/// in force, even if the file is gone, and calls that may change something need approval: an agent that can write to the
/// project's folder takes no rule away.
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
    /// Why the project's policy is not whole, if it is not.
    missing: Option<String>,
    /// Why the settings of the administrator or the user are not whole, if they are not.
    broken: Option<String>,
    /// Why the hooks in force are not those of the files, if they are not.
    unusable: Option<String>,
}

impl Now {
    /// Why calls that may change something need approval, if they do.
    fn why_asked(&self) -> Option<&str> {
        [&self.broken, &self.unusable, &self.missing].into_iter().flatten().map(String::as_str).next()
    }

    /// Whether hooks may answer for the person who has to approve.
    fn answers(&self) -> Answers {
        if self.why_asked().is_some() { Answers::OnlyNo } else { Answers::Count }
    }
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

    /// Returns the hooks that hold while a file of the administrator or the user is not whole: theirs that are in force, what
    /// else their files refuse now, and those of the project.
    fn held(&self, now: Vec<Said<Arc<HookSettings>>>) -> Vec<Said<Arc<HookSettings>>> {
        let is_own = |hook: &Said<Arc<HookSettings>>| !matches!(hook.origin.level, Level::Project | Level::Local);
        let mut hooks: Vec<_> = self.hooks.iter().filter(|hook| is_own(hook)).cloned().collect();
        let is_new = |hook: &Said<Arc<HookSettings>>| {
            refuses(&hook.value, By::Trusted) && hooks.iter().all(|old| old.value.stand.name != hook.value.stand.name)
        };
        let more: Vec<_> = now.into_iter().filter(|hook| !is_own(hook) || is_new(hook)).collect();
        hooks.extend(more);
        hooks
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
        let (policy, error) = Policy::as_far_as_possible(settings, &services, None)?;
        // The first look reads everything: a file may have changed since it was read.
        let (policy, made_of) = (Arc::new(policy), MadeOf::new(settings, services));
        let unusable = error.map(|error| unreadable(&error.to_string()));
        let now =
            Now { policy, made_of, stamps: Vec::new(), read: None, project, missing: None, broken: None, unusable };
        Ok(Self(Arc::new(Inner { files, hooks: OnceLock::new(), now: Mutex::new(now) })))
    }

    /// Says that the project's policy is not whole, and why. Calls that may change something then need approval.
    #[must_use]
    pub fn missing(self, why: Option<String>) -> Self {
        self.0.now().missing = why;
        self
    }

    /// Says that the settings of the administrator or the user are not whole, and why. Calls that may change something then
    /// need approval.
    #[must_use]
    pub fn broken(self, why: Option<String>) -> Self {
        self.0.now().broken = why;
        self
    }

    /// Why the hooks in force are not all that the settings say, if they are not.
    pub fn unusable(&self) -> Option<String> {
        self.0.now().unusable.clone()
    }

    /// Why calls that may change something need a person's approval, if they do.
    pub fn why_asked(&self) -> Option<String> {
        self.0.now().why_asked().map(str::to_owned)
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
        let answers = self.0.now().answers();
        let set = self.0.set(&self.policy(), answers);
        kit.points(self.policy().points()).hook_set().append(set);
    }
}

impl Inner {
    fn now(&self) -> std::sync::MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hooks of a policy, and the one that looks at its files.
    fn set(self: &Arc<Self>, policy: &Policy, answers: Answers) -> HookSet {
        // The agent's hooks are kept here: the other way round it would never be dropped.
        let me: Weak<Self> = Arc::downgrade(self);
        let mut more = HookSet::new();
        let whole = me.clone();
        more.guard(BeforeToolUse.named("whole"), async move |cx| {
            let missing = whole.upgrade().and_then(|me| me.now().why_asked().map(str::to_owned));
            needs_person(missing.as_deref(), &cx.tool).map_or_else(proceed, ask)
        });
        more.on(BeforeStep.named("reload").priority(-super::LAST).fail_open(), async move |cx| {
            if let Some(me) = me.upgrade() {
                let run = cx.scope();
                for message in tokio::task::spawn_blocking(move || me.look()).await? {
                    run.notify(cx.state_mut(), KIND, message).await?;
                }
            }
            proceed()
        });
        policy.hook_set_with(more, answers)
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
        let Next { made_of, settings, project, read, missing, broken, mut told } = next;
        let before = now.answers();
        (now.missing, now.broken) = (missing, broken);
        if !made_of.is(&now.made_of) || now.unusable.is_some() {
            let known = now.unusable.take();
            let made = Policy::new(&settings, &made_of.services).map_err(|error| error.to_string());
            let made = made.and_then(|policy| self.give(&policy, now.answers()).map(|()| policy));
            let policy = match made {
                Ok(policy) => policy,
                Err(error) => {
                    let why = unreadable(&error);
                    if known.as_ref() != Some(&why) {
                        told.push(why.clone());
                    }
                    now.unusable = Some(why);
                    told.extend(self.give(&now.policy, now.answers()).err());
                    return told;
                }
            };
            let new = |notice: &&String| !now.policy.notices().contains(notice);
            told.extend(policy.notices().iter().filter(new).cloned());
            told.push(format!("the hooks were read again: {} in force", policy.in_force().count()));
            (now.policy, now.made_of) = (Arc::new(policy), made_of);
        } else if now.answers() != before {
            told.extend(self.give(&now.policy, now.answers()).err());
        }
        (now.project, now.read) = (project, Some(read));
        told
    }

    /// Gives the hooks of a policy to the agent.
    fn give(self: &Arc<Self>, policy: &Policy, answers: Answers) -> Result<(), String> {
        let Some(hooks) = self.hooks.get() else { return Ok(()) };
        hooks.replace(BUNDLE, self.set(policy, answers)).map(drop).map_err(|error| error.to_string())
    }

    /// What the files say now.
    fn next(&self, now: &Now) -> Next {
        let own = self.files.own();
        let (found, standing) = self.files.policy();
        let read: Vec<Settings> = found.salvaged().into_iter().map(|read| read.settings).collect();
        let (mut services, mut told) = (now.made_of.services.clone(), Vec::new());
        let is_as_it_was = match &now.read {
            Some(before) => *before == read,
            None => now.project.is_empty() || now.project == read,
        };
        let (project, missing) = match standing {
            Ok(standing @ Standing::Trusted) => {
                let Remains { settings, seals, missing, .. } =
                    Remains::of(&found, &standing, self.files.store.as_ref());
                services.seals = seals;
                (settings, missing)
            }
            // No person has ever trusted it, or a person trusted it for this run only.
            Ok(Standing::Empty | Standing::Unknown)
                if is_as_it_was && (now.project.is_empty() || self.files.store.is_none()) =>
            {
                (now.project.clone(), now.missing.clone())
            }
            Ok(standing) => {
                let why = match &standing {
                    Standing::Changed(_) => found.left_out(&standing),
                    Standing::Empty | Standing::Unknown | Standing::Trusted => UNTRUSTED.to_owned(),
                };
                let project = if is_as_it_was { now.project.clone() } else { held(&now.project, &read) };
                // Instructions, skills and agents are not part of the policy.
                let missing = Remains::of(&found, &standing, None).missing;
                let missing = missing.or_else(|| (!matches!(standing, Standing::Changed(_))).then(|| why.clone()));
                (project, missing)
            }
            Err(error) => (now.project.clone(), Some(unreadable(&error))),
        };
        if let Some(missing) = missing.as_ref().filter(|missing| now.missing.as_ref() != Some(missing)) {
            told.push(missing.clone());
        }
        let broken = own.missing();
        match (&now.broken, &broken) {
            (Some(_), None) => told.push("your settings can be read again".to_owned()),
            (before, Some(why)) if before.as_ref() != Some(why) => told.extend(own.warnings()),
            _ => {}
        }
        let (mut settings, _) = own.merge(project.iter().cloned());
        if broken.is_some() {
            settings.hooks = now.made_of.held(settings.hooks);
            settings.about_hooks = now.made_of.about.clone();
        }
        Next { made_of: MadeOf::new(&settings, services), settings, project, read, missing, broken, told }
    }
}

/// What is said of a change that no person has seen.
const UNTRUSTED: &str = "a settings file of the project changed, and no person has trusted it since: what it refused stays in \
                         force, and calls that change something need your approval. To review and trust it, run: vertebra trust";

/// What the files say, and what is to be told of it.
struct Next {
    made_of: MadeOf,
    settings: Settings,
    project: Vec<Settings>,
    read: Vec<Settings>,
    missing: Option<String>,
    broken: Option<String>,
    told: Vec<String>,
}
