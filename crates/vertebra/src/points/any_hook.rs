//! Hooks for any point: their code sees events as JSON, and is compiled once.

use std::time::Duration;

use serde_json::{Map, Value};
use vertebra_hooks::{
    Answer, Attach as _, BoxFuture, Cx, Event as _, FailurePolicy, Guard, Hook, HookError, HookOptions, HookSet, Kind,
    Lasting, Match as _, Matcher, Name, Role, Seen, Verdict as _, Watch,
};

use crate::{AgentPoint, AgentState, Args, PointInfo, Run};

/// A verdict in its wire form, `{"verdict": "deny", "reason": "…"}`; `None` means no opinion.
pub type AnyVerdict = Option<Map<String, Value>>;

/// A hook, a guard or a watch that can be registered at any point: see [`AnyPoint::attach`](crate::AnyPoint::attach).
pub trait AnyHook: Send + Sync + 'static {
    /// Reacts to the event as a hook: it may change it.
    fn run<'a>(&'a self, cx: &'a mut dyn AnyCx) -> BoxFuture<'a, Result<AnyVerdict, HookError>>;

    /// Judges the event as a guard.
    fn check<'a>(&'a self, cx: &'a dyn AnySight) -> BoxFuture<'a, Result<AnyVerdict, HookError>>;

    /// Looks on as a watch.
    fn see<'a>(&'a self, cx: &'a dyn AnySight) -> BoxFuture<'a, Seen>;

    /// The same at one point, whose type is known: for [`Attach::add_hook`](crate::Attach::add_hook) and its like.
    fn at<P: AgentPoint>(self, point: P) -> HookAt<P>
    where
        Self: Sized,
    {
        HookAt { point, hook: Box::new(self) }
    }
}

/// The context of every hook, at any point, to look at.
pub trait AnySight: Send + Sync {
    /// The row of the point.
    fn point(&self) -> &'static PointInfo;
    /// The event as it is now.
    fn event(&self) -> Result<Value, HookError>;
    /// Every path that the event is about, each in its relative and its absolute form.
    fn paths(&self) -> Vec<String>;
    /// The state.
    fn state(&self) -> &AgentState;
    /// The run.
    fn run(&self) -> &Run;
    /// Adds data about the hook's work to the record.
    fn account(&self, told: Value);
    /// The decision, for a watch: the verdict, the hook that gave it, and its reason.
    fn decision(&self) -> Value;
}

/// The context of a hook at any point, to change. Changes hold only if the hook succeeds.
pub trait AnyCx: AnySight {
    /// The same, to look at only.
    fn sight(&self) -> &dyn AnySight;
    /// Puts another event in the place of this one.
    fn set_event(&mut self, event: Value) -> Result<(), HookError>;
    /// The arguments of the call, where hooks may change them.
    fn args_mut(&mut self) -> Option<&mut Args>;
    /// The state, to change.
    fn state_mut(&mut self) -> &mut AgentState;
    /// Adds a text for the model to the event. Gives it back if it goes into the conversation instead.
    fn add_context(&mut self, text: String) -> Option<String>;
    /// Leaves a note for later hooks.
    fn note(&mut self, lasting: Lasting, note: Value) -> Result<(), HookError>;
}

/// The registration of a hook, with the options of every role: see [`HookOptions`] for their meaning. An option that the role
/// cannot have is ignored, so code that reads options from outside rejects it first.
#[derive(Debug, Clone)]
pub struct AnySite {
    /// Its name.
    pub name: Name,
    /// Its role.
    pub role: Role,
    /// When it runs.
    pub matcher: Option<Matcher>,
    /// Lower runs first.
    pub priority: i32,
    /// Hooks that run after it.
    pub before: Vec<Name>,
    /// Hooks that run before it.
    pub after: Vec<Name>,
    /// How long it may take.
    pub timeout: Duration,
    /// How often it is tried again if it fails.
    pub max_retries: u32,
    /// The failure policy of a hook.
    pub on_failure: Option<FailurePolicy>,
    /// Whether nothing comes of its answers.
    pub shadow: bool,
    /// Whether a watch runs behind the dispatch.
    pub detached: bool,
}

/// Adds a hook to a set. Returns whether it was added.
pub(super) fn attach<P: AgentPoint>(point: P, set: &mut HookSet, stand: AnySite, hook: Box<dyn AnyHook>) -> bool {
    let hook = HookAt { point, hook };
    // One policy file is for many agents, and not each has all tools.
    let mut site = point.named(stand.name).priority(stand.priority).timeout(stand.timeout).optional();
    if let Some(matcher) = stand.matcher {
        site = site.matching(matcher);
    }
    site = stand.before.into_iter().fold(site, HookOptions::before);
    site = stand.after.into_iter().fold(site, HookOptions::after);
    if stand.role == Role::Watch {
        if stand.detached {
            set.add_watch(site.detached(), hook);
        } else {
            set.add_watch(site, hook);
        }
        return true;
    }
    let mut site = site.max_retries(stand.max_retries);
    if stand.shadow {
        site = site.shadow();
    }
    let info = point.info();
    match (stand.role, stand.on_failure) {
        (Role::Guard, _) if !info.guards => return false,
        (Role::Guard, _) => return set.try_guard(site, hook),
        // The type of declared points can ask, although one of them may not.
        (_, Some(FailurePolicy::Ask))
            if P::Verdict::POWERS.contains(&Kind::Ask) && !info.powers.contains(&Kind::Ask) =>
        {
            set.add_hook(site, hook)
        }
        // Where nothing can be refused, a failure cannot refuse either.
        (_, Some(policy)) if !info.powers.is_empty() => set.add_hook(site.on_failure(policy), hook),
        (_, Some(_) | None) => set.add_hook(site, hook),
    };
    true
}

/// A hook of any point at this one: made by [`AnyHook::at`].
pub struct HookAt<P> {
    point: P,
    hook: Box<dyn AnyHook>,
}

impl<P: AgentPoint> HookAt<P> {
    fn answer(&self, said: AnyVerdict) -> Answer<P> {
        let Some(verdict) = said else { return Ok(P::Verdict::proceed()) };
        let point = self.point.info().name;
        self.point.read_verdict(&verdict).map_err(|error| HookError::new(format!("invalid answer at {point}: {error}")))
    }
}

impl<P: AgentPoint> Hook<P> for HookAt<P> {
    async fn run(&self, cx: &mut Cx<'_, P>) -> Answer<P> {
        let said = self.hook.run(&mut Here { cx, point: self.point }).await?;
        self.answer(said)
    }
}

impl<P: AgentPoint> Guard<P> for HookAt<P> {
    async fn check(&self, cx: &Cx<'_, P>) -> Answer<P> {
        let said = self.hook.check(&Here { cx, point: self.point }).await?;
        self.answer(said)
    }
}

impl<P: AgentPoint> Watch<P> for HookAt<P> {
    async fn see(&self, cx: &Cx<'_, P>) -> Seen {
        self.hook.see(&Here { cx, point: self.point }).await
    }
}

/// The context of a hook and its point. `C` is a reference: a guard and a watch have one that changes nothing.
struct Here<C, P> {
    cx: C,
    point: P,
}

macro_rules! sight {
    ($($cx:ty),*) => {$(
        impl<P: AgentPoint> AnySight for Here<$cx, P> {
            fn point(&self) -> &'static PointInfo {
                self.point.info()
            }

            fn event(&self) -> Result<Value, HookError> {
                Ok((P::code().event_to_json)(&**self.cx)?)
            }

            fn paths(&self) -> Vec<String> {
                let paths = self.cx.attribute("path");
                paths.map(|paths| paths.several().iter().map(|path| path.to_string()).collect()).unwrap_or_default()
            }

            fn state(&self) -> &AgentState {
                Cx::state(self.cx)
            }

            fn run(&self) -> &Run {
                Cx::scope(self.cx)
            }

            fn account(&self, told: Value) {
                Cx::account(self.cx, told);
            }

            fn decision(&self) -> Value {
                let record = Cx::record(self.cx);
                serde_json::json!({
                    "verdict": record.verdict(), "decided_by": record.decided_by(), "reason": record.reason(),
                })
            }
        }
    )*};
}

sight!(&Cx<'_, P>, &mut Cx<'_, P>);

impl<P: AgentPoint> AnyCx for Here<&mut Cx<'_, P>, P> {
    fn sight(&self) -> &dyn AnySight {
        self
    }

    fn set_event(&mut self, event: Value) -> Result<(), HookError> {
        **self.cx = self.point.read(event)?;
        Ok(())
    }

    fn args_mut(&mut self) -> Option<&mut Args> {
        P::args_mut(&mut **self.cx)
    }

    fn state_mut(&mut self) -> &mut AgentState {
        Cx::state_mut(self.cx)
    }

    fn add_context(&mut self, text: String) -> Option<String> {
        P::add_context(&mut **self.cx, text)
    }

    fn note(&mut self, lasting: Lasting, note: Value) -> Result<(), HookError> {
        Cx::note(self.cx, lasting, note)
    }
}
