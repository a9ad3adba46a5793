//! A policy: the hooks and rules of files, put to work.
//!
//! ```
//! use vertebra_bridge::{handler::Services, policy::Policy, settings::{Level, Settings, parse}, wire::Happened};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let text = r#"
//! [[hook]]
//! name = "no-force-push"
//! point = "BeforeToolUse"
//! match = { tool = "bash", command = 'git\s+push\b.*--force' }
//! deny = "force is for humans"
//! "#;
//! let settings = parse(text, Level::User, "vertebra.toml")?.settings;
//! let policy = Policy::new(&settings, &Services::default())?;
//! let event = serde_json::json!({
//!     "point": "BeforeToolUse", "tool": "bash", "args": { "command": "cd a && git push --force" },
//! });
//! let judged = policy.judge(&Happened::read(&event)?).await;
//! assert_eq!(judged.reason.as_deref(), Some("force is for humans"));
//! assert_eq!(judged.decided_by.as_deref(), Some("no-force-push (vertebra.toml:2)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod attach;
mod files;
mod inside;
mod judge;
mod reload;
mod rules;
mod standing;
mod words;

use std::sync::Arc;

use vertebra::{
    Agent, Attach as _, BeforeStep, BeforeToolUse, BuildError, Deltas, HookOptions as _, HookSet, Match as _, Model,
    ModelError, ModelId, Name, PermissionRequest, Point as _, Points, RegisterError, Request, Response, Role, ask,
    proceed,
};
use vertebra_kit::permissions::{PermissionsError, Rules};

pub(crate) use self::files::Stamp;
use self::{attach::add, judge::Order};
pub use self::{
    files::Files,
    judge::{Trial, fire, only_reads},
    reload::Reload,
    rules::permissions,
    standing::{Off, Standing},
};
use crate::{
    handler::{self, Handler, OfProject, Services},
    settings::{Action, HookSettings, Level, Origin, Said, Settings},
    trust::{By, Seals, only_refusing, refuses},
    wire::deliver_context,
};

/// What the hooks of a policy are called together; each has this and a slash before its name.
pub const BUNDLE: &str = "policy";

/// The hook of the bundle that gives the model what other hooks want to tell it: no file has it.
pub const CONTEXT: &str = "context";

/// Whether hooks may answer a question for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// They may.
    Count,
    /// They may only say no.
    OnlyNo,
}

/// Why settings make no policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A hook cannot stand as it is written.
    #[error("{origin}: {message}")]
    Hook {
        /// Where it is written.
        origin: Origin,
        /// What is wrong, and what to write instead.
        message: String,
    },
    /// A rule cannot be used.
    #[error(transparent)]
    Permissions(#[from] PermissionsError),
    /// The hooks cannot stand together.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The hooks and rules of all levels, ready to be put into an agent or to judge single events.
#[derive(Clone)]
pub struct Policy {
    hooks: Vec<PolicyHook>,
    notices: Vec<String>,
    rules: Rules,
    has_rules: bool,
    /// The hooks in an agent that does nothing else.
    bare: Agent,
}

/// A hook of a policy.
#[derive(Clone)]
pub struct PolicyHook {
    /// What it is called in records, after the name of the bundle.
    pub name: Name,
    /// What is written.
    pub settings: Arc<HookSettings>,
    /// Where.
    pub origin: Origin,
    /// Whether it is in force, and if not, why.
    pub standing: Standing,
    /// What answers for it, if it is in force and does not answer itself.
    handler: Option<Arc<dyn Handler>>,
}

impl Policy {
    /// What these settings say.
    pub fn new(settings: &Settings, services: &Services) -> Result<Self, PolicyError> {
        Self::of(settings, services, None)
    }

    /// What these settings say as far as they can be used. If not all of them can be used, what refuses something still does,
    /// and the error says why the rest does not.
    ///
    /// With a point, the policy is for one event there, and then no more: what other points need is not made, and patterns
    /// are only compiled where the event reaches them.
    pub fn as_far_as_possible(
        settings: &Settings,
        services: &Services,
        only: Option<&str>,
    ) -> Result<(Self, Option<PolicyError>), PolicyError> {
        let error = match Self::of(settings, services, only) {
            Ok(policy) => return Ok((policy, None)),
            Err(error) => error,
        };
        let mut settings = only_refusing(settings);
        let mut points = Points::default();
        settings.points.retain(|said| points.add(said.value).is_ok());
        settings.hooks.retain(|hook| points.add(hook.value.stand.point).is_ok());
        for hook in &mut settings.hooks {
            // The strongest verdict wins in any order.
            let stand = &mut Arc::make_mut(&mut hook.value).stand;
            stand.before.clear();
            stand.after.clear();
        }
        Ok((Self::of(&settings, services, only)?, Some(error)))
    }

    fn of(settings: &Settings, services: &Services, only: Option<&str>) -> Result<Self, PolicyError> {
        let (mut hooks, notices) = standing::stand(settings);
        // A person's own hooks are their own.
        let own = Services { seals: Seals::default(), ..services.clone() };
        let needed = |hook: &PolicyHook| only.is_none_or(|point| hook.settings.stand.point.name == point);
        for hook in hooks.iter_mut().filter(|hook| hook.standing == Standing::InForce && needed(hook)) {
            if let Action::Run(run) = &hook.settings.action {
                let of_project = matches!(hook.origin.level, Level::Project | Level::Local);
                let built = handler::build(run, if of_project { services } else { &own });
                let built = built.and_then(|built| built.fits(hook.settings.stand.point.row().name).map(|()| built));
                let built = built.map_err(|error| hook.wrong(error.to_string()))?;
                hook.handler = Some(if of_project { Arc::new(OfProject(built)) } else { built });
            }
        }
        for hook in &hooks {
            standing::check_order(hook, &hooks)?;
        }
        for hook in hooks.iter_mut().filter(|hook| only.is_some() && needed(hook)) {
            let matcher = hook.settings.stand.matcher.as_ref();
            let relative = matcher.filter(|matcher| matcher.contains(&inside::is_relative_path));
            if let Some(matcher) = relative.map(|matcher| inside::also_from(&services.folder, matcher)) {
                Arc::make_mut(&mut hook.settings).stand.matcher = Some(matcher);
            }
        }
        let rules = permissions(settings, None)?.rules();
        let has_rules = settings.permissions.mode.is_some() || !rules.list().is_empty();
        let bare = bare("policy", &points_of(settings)?)?;
        let mut alone = set(hooks.iter().filter(|hook| needed(hook)), &hooks, Order::Alone);
        if only.is_some() {
            alone.for_one_event();
        }
        bare.hooks().install(alone).map_err(|error| placed(&error, &hooks))?;
        Ok(Self { hooks, notices, rules, has_rules, bare })
    }

    /// The hooks in force, as a bundle for an agent: [`BUNDLE`].
    pub fn hook_set(&self) -> HookSet {
        self.hook_set_with(HookSet::new(), Answers::Count)
    }

    /// The same, with more hooks in the bundle.
    pub(crate) fn hook_set_with(&self, more: HookSet, answers: Answers) -> HookSet {
        let counts = |hook: &&PolicyHook| {
            let answers_others = hook.settings.stand.point.name == PermissionRequest::NAME;
            answers == Answers::Count || !answers_others || refuses(&hook.settings, By::Anyone)
        };
        let mut set = set(self.hooks.iter().filter(counts), &self.hooks, Order::WithOthers);
        // What is added as a step begins is told in that step.
        set.on(BeforeStep.named(CONTEXT).priority(LAST).fail_open(), async |cx| {
            deliver_context(cx.state_mut(), BUNDLE);
            proceed()
        });
        set.append(more);
        set.bundled(BUNDLE)
    }

    /// All hooks: point after point, those in force in the order they run, then those that are not.
    pub fn hooks(&self) -> Vec<&PolicyHook> {
        let mut listed = Vec::with_capacity(self.hooks.len());
        for point in self.points().iter() {
            let order = point.in_order(self.bare.hooks());
            let at_point = || self.hooks.iter().filter(|hook| hook.settings.stand.point == point);
            listed.extend(order.iter().filter_map(|name| at_point().find(|hook| hook.in_force_as(name))));
            listed.extend(at_point().filter(|hook| hook.standing != Standing::InForce));
        }
        // The points of untrusted files are not among them.
        let known = |hook: &&PolicyHook| self.points().iter().any(|point| point == hook.settings.stand.point);
        listed.extend(self.hooks.iter().filter(|hook| !known(hook)));
        listed
    }

    /// The hooks in force.
    pub fn in_force(&self) -> impl Iterator<Item = &PolicyHook> {
        self.hooks.iter().filter(|hook| hook.standing == Standing::InForce)
    }

    /// Adds hooks that are not in force because nobody has trusted them: for a list.
    #[must_use]
    pub fn with_untrusted(mut self, settings: &Settings) -> Self {
        let known = |hook: &&Said<Arc<HookSettings>>| self.hooks.iter().all(|other| other.origin != hook.origin);
        let more: Vec<PolicyHook> = settings
            .hooks
            .iter()
            .filter(known)
            .map(|hook| PolicyHook {
                name: hook.value.stand.name.as_str().into(),
                settings: hook.value.clone(),
                origin: hook.origin.clone(),
                standing: Standing::Off(Off::Untrusted),
                handler: None,
            })
            .collect();
        self.hooks.extend(more);
        self
    }

    /// The hook in force that records call this, with the name of the bundle or without.
    pub fn hook(&self, name: &str) -> Option<&PolicyHook> {
        let name = name.strip_prefix(BUNDLE).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
        self.hooks.iter().find(|hook| hook.in_force_as(name))
    }

    /// The points that its files know: the built-in ones, and those that they declare. An agent with these hooks is built
    /// with these points.
    pub fn points(&self) -> &Points {
        self.bare.points()
    }

    /// What a person should know: what does not count, and why.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

impl PolicyHook {
    /// Whether somebody who writes this name means it: its own, or the one that records have, with the bundle or without.
    fn goes_by(&self, name: &str) -> bool {
        let inside = name.strip_prefix(BUNDLE).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
        self.settings.stand.name == *inside || *self.name == *inside
    }

    /// Whether it asks what a command would run.
    fn is_about_commands(&self) -> bool {
        let matcher = self.settings.stand.matcher.as_ref();
        matcher.is_some_and(|matcher| !matcher.patterns_for("command").is_empty())
    }

    /// Whether it may refuse a call for the commands in it.
    fn looks_for_commands(&self) -> bool {
        let HookSettings { stand, action, .. } = &*self.settings;
        let may_refuse = match action {
            Action::Say(_) => refuses(&self.settings, By::Anyone),
            Action::Run(_) => stand.role != Role::Watch,
        };
        stand.point.name == BeforeToolUse::NAME && may_refuse && !stand.shadow && self.is_about_commands()
    }

    fn in_force_as(&self, name: &str) -> bool {
        self.standing == Standing::InForce && *self.name == *name
    }

    fn is_managed(&self) -> bool {
        self.origin.level == Level::Managed
    }

    fn wrong(&self, message: impl Into<String>) -> PolicyError {
        let message = format!("the hook `{}`: {}", self.settings.stand.name, message.into());
        PolicyError::Hook { origin: self.origin.clone(), message }
    }
}

/// The points that files declare, and those that their hooks name.
fn points_of(settings: &Settings) -> Result<Points, PolicyError> {
    let mut points = Points::default();
    let declared = settings.points.iter().map(|said| (said.value, &said.origin));
    for (point, origin) in declared.chain(settings.hooks.iter().map(|hook| (hook.value.stand.point, &hook.origin))) {
        points.add(point).map_err(|error| {
            let other = settings.points.iter().find(|said| said.value != point && said.value.name == point.name);
            let other = other.map(|said| format!(" (it is declared otherwise in {})", said.origin.spot()));
            PolicyError::Hook { origin: origin.clone(), message: format!("{error}{}", other.unwrap_or_default()) }
        })?;
    }
    Ok(points)
}

/// After all hooks that files may name a priority for.
const LAST: i32 = 1_000_000;

/// Those of these hooks that are in force.
fn set<'h>(hooks: impl IntoIterator<Item = &'h PolicyHook>, all: &'h [PolicyHook], order: Order) -> HookSet {
    let mut set = HookSet::new();
    let mut looks_for_commands = false;
    for hook in hooks.into_iter().filter(|hook| hook.standing == Standing::InForce) {
        add(&mut set, hook, all, order);
        looks_for_commands |= hook.looks_for_commands();
    }
    if looks_for_commands {
        ask_about_hidden(&mut set);
    }
    set
}

/// What asks where matchers cannot see which command would run.
const HIDDEN: &str = "hidden-command";

/// Adds a guard that asks about commands that cannot be known before they run: no matcher can tell whether it holds for them.
fn ask_about_hidden(set: &mut HookSet) {
    set.guard(BeforeToolUse.when(|event| event.hidden_command().is_some()).named(HIDDEN), async |cx| {
        let command = cx.hidden_command().unwrap_or_default();
        ask(format!("`{command}` cannot be known before it runs, so a hook that looks for commands may match it"))
    });
}

/// The file and line of a hook that could not be registered.
fn placed(error: &RegisterError, hooks: &[PolicyHook]) -> PolicyError {
    let name: &str = match error {
        RegisterError::Duplicate { name, .. } => name,
        RegisterError::UnknownName { hook, .. }
        | RegisterError::AcrossRoles { hook, .. }
        | RegisterError::TooMany { hook, .. }
        | RegisterError::Pattern { hook, .. }
        | RegisterError::NoAttribute { hook, .. } => hook,
        RegisterError::Cycle { names, .. } => names.first().map_or("", String::as_str),
        _ => "",
    };
    let hook = hooks.iter().find(|hook| hook.in_force_as(name));
    let origin = hook.map_or_else(|| Origin { line: None, ..Origin::command_line() }, |hook| hook.origin.clone());
    PolicyError::Hook { origin, message: error.to_string() }
}

/// An agent that only fires hooks, at these points.
pub fn bare(name: &str, points: &Points) -> Result<Agent, BuildError> {
    Agent::builder(NoModel).name(name).points(points).build()
}

struct NoModel;

impl Model for NoModel {
    fn id(&self) -> ModelId {
        ModelId::new("none", "none")
    }

    async fn infer(&self, _: &Request, _: &mut Deltas<'_>) -> Result<Response, ModelError> {
        Err(ModelError::Rejected { message: "no model is available for hooks here".to_owned() })
    }
}

#[cfg(test)]
mod tests;
