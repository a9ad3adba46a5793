//! Collecting hooks before they take effect.

use std::{
    any::{Any, TypeId},
    collections::{HashMap, HashSet},
    panic::Location,
    sync::Arc,
    time::Duration,
};

use crate::{
    Around, AroundFn, Decides, FailurePolicy, Guard, GuardFn, Hook, HookFn, HookInfo, Matching, Name, Operation, Point,
    Reach, RegisterError, Role, Site, Verdict, Watch, WatchFn,
    around::{AroundTable, ErasedAround},
    compiled::Compiled,
    detached::Queue,
    hook::Closure,
    pattern::Compile,
    table::{Body, Entry},
};

/// A hook ready to take effect: what is known of it, its code, and how to compile the table it stands in.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) info: Arc<HookInfo>,
    pub(crate) point: TypeId,
    pub(crate) entry: Arc<dyn Any + Send + Sync>,
    pub(crate) compile: fn(&[&Registered]) -> Result<AnyTable, RegisterError>,
    pub(crate) queue: Option<Arc<Queue>>,
    pub(crate) when: Compile,
}

pub(crate) type AnyTable = Arc<dyn Any + Send + Sync>;

/// Hooks that take effect together: in [`Hooks::new`](crate::Hooks::new) or [`Hooks::install`](crate::Hooks::install).
#[derive(Default)]
pub struct HookSet {
    drafts: Vec<Draft>,
    misuse: Option<RegisterError>,
    /// So many drafts, from the first, are beyond the reach of options.
    sealed: usize,
    is_for_one_event: bool,
    bundles: Vec<Name>,
}

/// A hook whose options may still change.
struct Draft {
    info: HookInfo,
    point: TypeId,
    location: &'static Location<'static>,
    named: bool,
    finish: Box<dyn FnOnce(HookInfo, Compile) -> Result<Registered, RegisterError> + Send + Sync>,
}

impl HookSet {
    /// No hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// Moves all hooks of another set to the end of this one.
    pub fn append(&mut self, other: HookSet) {
        self.drafts.extend(other.drafts);
        self.bundles.extend(other.bundles);
        self.misuse = self.misuse.take().or(other.misuse);
        self.is_for_one_event |= other.is_for_one_event;
    }

    /// These hooks meet one event and are gone: a pattern is parsed and compiled when the event reaches it, if ever.
    ///
    /// For a program that is started for each event. Everything holds as otherwise, but a pattern that is no good is found
    /// out only when it is reached, and then its hook runs, whatever the event. See [`Matcher::check`](crate::Matcher::check).
    pub fn for_one_event(&mut self) -> &mut Self {
        self.is_for_one_event = true;
        self
    }

    /// Makes these hooks a bundle: its name and a slash stand before theirs, so that two bundles do not collide, and
    /// all of them go by the name of the bundle in [`Hooks::remove`](crate::Hooks::remove) and its like. A bundle whose
    /// name is taken is not installed.
    ///
    /// A constraint that names a hook of the bundle means that hook; any other name is one outside.
    #[must_use]
    pub fn bundled(mut self, bundle: impl Into<Name>) -> Self {
        let bundle = bundle.into();
        let inside = |name: &str| -> Name { format!("{bundle}/{name}").into() };
        let mut places: HashMap<(TypeId, &Location<'_>), usize> = HashMap::new();
        let mut taken: HashSet<(TypeId, Name)> = self
            .drafts
            .iter()
            .filter(|draft| draft.named)
            .map(|draft| (draft.point, draft.info.name.clone()))
            .collect();
        for draft in self.drafts.iter_mut().filter(|draft| !draft.named) {
            let count = places.entry((draft.point, draft.location)).or_default();
            draft.info.name = free_name(draft.location, count, |name| taken.contains(&(draft.point, name.clone())));
            draft.named = true;
            taken.insert((draft.point, draft.info.name.clone()));
        }
        for draft in &mut self.drafts {
            let info = &mut draft.info;
            for name in info.before.iter_mut().chain(&mut info.after) {
                if taken.contains(&(draft.point, name.clone())) {
                    *name = inside(name);
                }
            }
            info.name = inside(&info.name);
        }
        self.together(bundle)
    }

    /// Makes these hooks a bundle as [`bundled`](Self::bundled) does, but they keep their names: for hooks whose names are
    /// known to whoever wrote them, and that must not collide with others.
    #[must_use]
    pub fn together(mut self, bundle: impl Into<Name>) -> Self {
        let bundle = bundle.into();
        for draft in &mut self.drafts {
            draft.info.bundle = Some(bundle.clone());
        }
        self.bundles.push(bundle);
        self
    }

    /// Compiles each hook, to stand beside those that are registered already.
    pub(crate) fn finish(self, already: &[Registered]) -> Result<Vec<Registered>, RegisterError> {
        if let Some(misuse) = self.misuse {
            return Err(misuse);
        }
        let when = if self.is_for_one_event { Compile::WhenReached } else { Compile::Now };
        let mut bundles = HashSet::new();
        for bundle in self.bundles {
            if already.iter().any(|one| one.info.goes_by(&bundle)) || !bundles.insert(bundle.clone()) {
                return Err(RegisterError::DuplicateBundle { bundle });
            }
        }
        let taken = |point, name: &str| already.iter().any(|one| one.point == point && *one.info.name == *name);
        let mut names: HashSet<(TypeId, Name)> = HashSet::new();
        let mut places: HashMap<(TypeId, &Location<'_>), usize> = HashMap::new();
        let mut registered = Vec::with_capacity(self.drafts.len());
        for mut draft in self.drafts {
            let in_use = |name: &Name| taken(draft.point, name) || names.contains(&(draft.point, name.clone()));
            if !draft.named {
                let count = places.entry((draft.point, draft.location)).or_default();
                draft.info.name = free_name(draft.location, count, in_use);
            } else if in_use(&draft.info.name) {
                return Err(RegisterError::Duplicate { point: draft.info.point, name: draft.info.name });
            }
            names.insert((draft.point, draft.info.name.clone()));
            draft.info.check()?;
            registered.push((draft.finish)(draft.info, when)?);
        }
        Ok(registered)
    }

    /// Ends what was added so far: options do not reach it any more.
    ///
    /// A builder calls it after it took hooks from elsewhere, so that no option meant for another hook changes them.
    pub fn seal(&mut self) {
        self.sealed = self.drafts.len();
    }

    fn draft<P: Point>(
        &mut self,
        site: impl Site<Point = P>,
        role: Role,
        body: Body<P>,
        at: &'static Location<'static>,
    ) {
        let Matching { matcher, condition } = site.into_matching();
        let on_failure = match role {
            Role::Guard => FailurePolicy::Closed,
            Role::Hook if P::Verdict::can_refuse() => FailurePolicy::Closed,
            Role::Hook | Role::Watch | Role::Around => FailurePolicy::Open,
        };
        let info = HookInfo {
            matcher,
            has_condition: condition.is_some(),
            ..blank(P::NAME, role, on_failure, Some(HookInfo::DEFAULT_TIMEOUT))
        };
        self.push(info, TypeId::of::<P>(), at, move |info, when| {
            let compiled = info.matcher.as_ref().map(|matcher| Compiled::new(matcher, P::ATTRIBUTES, when)).transpose();
            let matcher = compiled.map_err(|bad| bad.of(&info.name, P::NAME))?;
            let queue = match &body {
                Body::Watch(_, queue) => Some(queue.clone()),
                Body::Hook(_) | Body::Guard(_) => None,
            };
            let entry = Arc::new(Entry { matcher, condition, body });
            let compile = P::code().compile;
            Ok(Registered { info: Arc::new(info), point: TypeId::of::<P>(), entry, compile, queue, when })
        });
    }

    fn push(
        &mut self,
        info: HookInfo,
        point: TypeId,
        location: &'static Location<'static>,
        finish: impl FnOnce(HookInfo, Compile) -> Result<Registered, RegisterError> + Send + Sync + 'static,
    ) {
        self.drafts.push(Draft { info, point, location, named: false, finish: Box::new(finish) });
    }

    fn last(&mut self, option: &'static str, change: impl FnOnce(&mut Draft)) {
        match self.drafts.get_mut(self.sealed..).and_then(<[Draft]>::last_mut) {
            Some(draft) => change(draft),
            None => self.misuse = self.misuse.take().or(Some(RegisterError::NoHookYet { option })),
        }
    }
}

fn blank(point: &'static str, role: Role, on_failure: FailurePolicy, timeout: Option<Duration>) -> HookInfo {
    HookInfo {
        name: "".into(),
        bundle: None,
        point,
        role,
        priority: HookInfo::DEFAULT_PRIORITY,
        before: Vec::new(),
        after: Vec::new(),
        timeout,
        max_retries: 0,
        on_failure,
        detached: false,
        enabled: true,
        shadow: false,
        reach: Reach::Children,
        matcher: None,
        has_condition: false,
    }
}

/// A name for a hook that was given none: the place it was added at.
///
/// `count` is how many hooks of that place have a name already.
fn free_name(location: &Location<'_>, count: &mut usize, in_use: impl Fn(&Name) -> bool) -> Name {
    let (file, line) = (location.file(), location.line());
    loop {
        *count += 1;
        let name: Name = match *count {
            1 => format!("{file}:{line}").into(),
            count => format!("{file}:{line}#{count}").into(),
        };
        if !in_use(&name) {
            return name;
        }
    }
}

/// Anything hooks can be attached to: a [`HookSet`], an agent's builder, a capability's kit.
///
/// `on`, `guard`, `watch` and `around` take async closures whose argument is inferred; the `add_` forms take objects.
/// The options after them (`named`, `priority`, …) apply to the hook added last.
pub trait Attach {
    /// Where the hooks are collected.
    fn hook_set(&mut self) -> &mut HookSet;

    /// Runs a closure that may change the event and decide.
    #[track_caller]
    fn on<S: Site>(&mut self, site: S, hook: impl HookFn<S::Point>) -> &mut Self {
        self.add_hook(site, Closure(hook))
    }

    /// Runs a closure that sees the final form and decides.
    #[track_caller]
    fn guard<S: Site<Point: Point<Verdict: Decides>>>(&mut self, site: S, guard: impl GuardFn<S::Point>) -> &mut Self {
        self.add_guard(site, Closure(guard))
    }

    /// Runs a closure that sees the decision.
    #[track_caller]
    fn watch<S: Site>(&mut self, site: S, watch: impl WatchFn<S::Point>) -> &mut Self {
        self.add_watch(site, Closure(watch))
    }

    /// Wraps an operation in a closure: `async |cx, next| next.run(cx).await`.
    #[track_caller]
    fn around<O: Operation>(&mut self, operation: O, around: impl AroundFn<O>) -> &mut Self {
        self.add_around(operation, Closure(around))
    }

    /// Runs a [`Hook`].
    #[track_caller]
    fn add_hook<S: Site>(&mut self, site: S, hook: impl Hook<S::Point>) -> &mut Self {
        self.hook_set().draft(site, Role::Hook, Body::Hook(Arc::new(hook)), Location::caller());
        self
    }

    /// Runs a [`Guard`].
    #[track_caller]
    fn add_guard<S: Site<Point: Point<Verdict: Decides>>>(
        &mut self,
        site: S,
        guard: impl Guard<S::Point>,
    ) -> &mut Self {
        self.hook_set().draft(site, Role::Guard, Body::Guard(Arc::new(guard)), Location::caller());
        self
    }

    /// Runs a [`Watch`].
    #[track_caller]
    fn add_watch<S: Site>(&mut self, site: S, watch: impl Watch<S::Point>) -> &mut Self {
        let body = Body::Watch(Arc::new(watch), Arc::new(Queue::default()));
        self.hook_set().draft(site, Role::Watch, body, Location::caller());
        self
    }

    /// Wraps an operation in an [`Around`].
    #[track_caller]
    fn add_around<O: Operation>(&mut self, operation: O, around: impl Around<O>) -> &mut Self {
        let _ = operation;
        let around: Arc<dyn ErasedAround<O>> = Arc::new(around);
        let info = blank(O::NAME, Role::Around, FailurePolicy::Closed, None);
        self.hook_set().push(info, TypeId::of::<O>(), Location::caller(), move |info, when| {
            let compile = |registered: &[&Registered]| Ok(Arc::new(AroundTable::<O>::compile(registered)?) as AnyTable);
            let entry = Arc::new(around);
            Ok(Registered { info: Arc::new(info), point: TypeId::of::<O>(), entry, compile, queue: None, when })
        });
        self
    }

    /// Names the hook, for records, constraints and people. Unique at its point.
    fn named(&mut self, name: impl Into<Name>) -> &mut Self {
        let name = name.into();
        self.hook_set().last("named", |draft| {
            draft.info.name = name;
            draft.named = true;
        });
        self
    }

    /// Lower runs first; 100 unless told otherwise. Security 1–10, validation 11–50, transformation 51–100, logging 101–1000.
    fn priority(&mut self, priority: i32) -> &mut Self {
        self.hook_set().last("priority", |draft| draft.info.priority = priority);
        self
    }

    /// Runs before the hook of this name, whatever the priorities.
    fn before(&mut self, name: impl Into<Name>) -> &mut Self {
        let name = name.into();
        self.hook_set().last("before", |draft| draft.info.before.push(name));
        self
    }

    /// Runs after the hook of this name, whatever the priorities.
    fn after(&mut self, name: impl Into<Name>) -> &mut Self {
        let name = name.into();
        self.hook_set().last("after", |draft| draft.info.after.push(name));
        self
    }

    /// How long the hook may take; 30 s unless told otherwise.
    fn timeout(&mut self, limit: Duration) -> &mut Self {
        self.hook_set().last("timeout", |draft| draft.info.timeout = Some(limit));
        self
    }

    /// Lets the hook take as long as it wants.
    fn no_timeout(&mut self) -> &mut Self {
        self.hook_set().last("no_timeout", |draft| draft.info.timeout = None);
        self
    }

    /// How often the hook is tried again if it errors, panics or times out, before its failure policy applies.
    fn max_retries(&mut self, times: u32) -> &mut Self {
        self.hook_set().last("max_retries", |draft| draft.info.max_retries = times);
        self
    }

    /// A failure of the hook counts as no opinion.
    fn fail_open(&mut self) -> &mut Self {
        self.hook_set().last("fail_open", |draft| draft.info.on_failure = FailurePolicy::Open);
        self
    }

    /// A failure of the hook counts as a refusal.
    fn fail_closed(&mut self) -> &mut Self {
        self.hook_set().last("fail_closed", |draft| draft.info.on_failure = FailurePolicy::Closed);
        self
    }

    /// A failure of the hook puts the question to a person.
    fn fail_ask(&mut self) -> &mut Self {
        self.hook_set().last("fail_ask", |draft| draft.info.on_failure = FailurePolicy::Ask);
        self
    }

    /// Runs the watch behind the dispatch: fire and forget.
    fn detached(&mut self) -> &mut Self {
        self.hook_set().last("detached", |draft| draft.info.detached = true);
        self
    }

    /// For whom the hook holds; for children too unless told otherwise. A guard always does: nobody escapes one by
    /// delegation.
    fn reach(&mut self, reach: Reach) -> &mut Self {
        self.hook_set().last("reach", |draft| draft.info.reach = reach);
        self
    }

    /// Lets the hook or guard only stand beside: it runs, and what it would answer and change is in the record, but nothing
    /// comes of it, not even of its failure.
    fn shadow(&mut self) -> &mut Self {
        self.hook_set().last("shadow", |draft| draft.info.shadow = true);
        self
    }

    /// Adds the hook switched off.
    fn disabled(&mut self) -> &mut Self {
        self.hook_set().last("disabled", |draft| draft.info.enabled = false);
        self
    }
}

impl Attach for HookSet {
    fn hook_set(&mut self) -> &mut HookSet {
        self
    }
}
