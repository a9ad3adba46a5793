//! Collecting hooks before they take effect.

use std::{
    any::Any,
    collections::{HashMap, HashSet},
    marker::PhantomData,
    panic::Location,
    sync::Arc,
};

use crate::{
    Around, AroundFn, AroundRegistration, Attribute, Decides, FailurePolicy, Guard, GuardFn, Hook, HookFn, HookInfo,
    IntoSeen, Kind, Name, Operation, OperationSite, Point, RegisterError, Registration, Role, Site, Verdict, Watch,
    WatchFn,
    around::{AroundTable, ErasedAround},
    compiled::Compiled,
    detached::Queue,
    hook::{Closure, Looking},
    narrow::{Awaited, DecidesNothing, FailsClosed, FailsUnnoticed, Inherited},
    pattern::Compile,
    point::PointId,
    table::{Body, Entry},
};

/// A hook ready to take effect: what is known of it, its code, and how to compile the table it stands in.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) info: Arc<HookInfo>,
    pub(crate) point: PointId,
    /// The attributes that its matcher may test.
    pub(crate) attributes: &'static [Attribute],
    pub(crate) entry: Arc<dyn Any + Send + Sync>,
    pub(crate) compile: fn(&[&Registered]) -> Result<AnyTable, RegisterError>,
    pub(crate) queue: Option<Arc<Queue>>,
    pub(crate) when: Compile,
}

impl Registered {
    /// The same for this hook and no other, switched on or off.
    pub(crate) fn id(&self) -> *const () {
        Arc::as_ptr(&self.entry).cast()
    }
}

pub(crate) type AnyTable = Arc<dyn Any + Send + Sync>;

/// Hooks that take effect together: in [`Hooks::new`](crate::Hooks::new) or [`Hooks::install`](crate::Hooks::install).
#[derive(Default)]
pub struct HookSet {
    drafts: Vec<Draft>,
    is_for_one_event: bool,
    bundles: Vec<Name>,
}

/// A hook before its matcher is compiled.
struct Draft {
    info: HookInfo,
    point: PointId,
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

    /// Adds a guard to a point whose verdict is not known to decide anything. Returns whether it was added: it is not where
    /// nothing can be kept from happening.
    #[track_caller]
    pub fn try_guard<S>(&mut self, site: S, guard: impl Guard<S::Point>) -> bool
    where
        S: Site<Roles: Awaited + FailsClosed + Inherited>,
    {
        let decides = |kind: &Kind| matches!(kind, Kind::Deny | Kind::Halt | Kind::Stop);
        let is_added = <S::Point as Point>::Verdict::POWERS.iter().any(decides);
        if is_added {
            self.draft(site.registration(), Role::Guard, Body::Guard(Arc::new(guard)), Location::caller());
        }
        is_added
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
        let mut places: HashMap<(PointId, &Location<'_>), usize> = HashMap::new();
        let mut taken: HashSet<(PointId, Name)> = self
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
        let when = if self.is_for_one_event { Compile::WhenReached } else { Compile::Now };
        let mut bundles = HashSet::new();
        for bundle in self.bundles {
            if already.iter().any(|one| one.info.goes_by(&bundle)) || !bundles.insert(bundle.clone()) {
                return Err(RegisterError::DuplicateBundle { bundle });
            }
        }
        let mut names: HashSet<(PointId, Name)> =
            already.iter().map(|one| (one.point, one.info.name.clone())).collect();
        let mut places: HashMap<(PointId, &Location<'_>), usize> = HashMap::new();
        let mut registered = Vec::with_capacity(self.drafts.len());
        for mut draft in self.drafts {
            let in_use = |name: &Name| names.contains(&(draft.point, name.clone()));
            if !draft.named {
                let count = places.entry((draft.point, draft.location)).or_default();
                draft.info.name = free_name(draft.location, count, in_use);
            } else if in_use(&draft.info.name) {
                return Err(RegisterError::Duplicate { point: draft.info.point, name: draft.info.name });
            }
            names.insert((draft.point, draft.info.name.clone()));
            registered.push((draft.finish)(draft.info, when)?);
        }
        Ok(registered)
    }

    fn draft<P: Point, R>(
        &mut self,
        registration: Registration<P, R>,
        role: Role,
        body: Body<P>,
        at: &'static Location<'static>,
    ) {
        let Registration { point, matcher, condition, options, .. } = registration;
        let (identity, point) = (point.identity(), PointId::of(point));
        let on_failure = match role {
            Role::Guard => FailurePolicy::Closed,
            Role::Hook if identity.can_refuse => FailurePolicy::Closed,
            Role::Hook | Role::Watch | Role::Around => FailurePolicy::Open,
        };
        let named = options.name.is_some();
        let info =
            HookInfo { matcher, has_condition: condition.is_some(), ..options.info(identity.name, role, on_failure) };
        let finish = move |info: HookInfo, when| {
            let attributes = identity.attributes;
            let compiled = info.matcher.as_ref().map(|matcher| Compiled::new(matcher, attributes, when)).transpose();
            let matcher = compiled.map_err(|bad| bad.of(&info.name, info.point))?;
            let queue = match &body {
                Body::Watch(_, queue) => Some(queue.clone()),
                Body::Hook(_) | Body::Guard(_) => None,
            };
            let entry = Arc::new(Entry { matcher, condition, body });
            let compile = P::code().compile;
            Ok(Registered { info: Arc::new(info), point, attributes, entry, compile, queue, when })
        };
        self.drafts.push(Draft { info, point, location: at, named, finish: Box::new(finish) });
    }

    fn draft_around<O: Operation>(
        &mut self,
        registration: AroundRegistration<O>,
        around: Arc<dyn ErasedAround<O>>,
        at: &'static Location<'static>,
    ) {
        let options = registration.options;
        let (named, point) = (options.name.is_some(), PointId::of_operation::<O>());
        let info = options.info(O::NAME, Role::Around, FailurePolicy::Closed);
        let finish = move |info: HookInfo, when| {
            let compile = |registered: &[&Registered]| Ok(Arc::new(AroundTable::<O>::compile(registered)?) as AnyTable);
            let entry = Arc::new(around);
            let attributes = &[];
            Ok(Registered { info: Arc::new(info), point, attributes, entry, compile, queue: None, when })
        };
        self.drafts.push(Draft { info, point, location: at, named, finish: Box::new(finish) });
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
/// The first argument is the point, narrowed by a matcher ([`Match`](crate::Match)) and
/// with options ([`HookOptions`](crate::HookOptions), [`AroundOptions`](crate::AroundOptions)) where they are needed.
pub trait Attach {
    /// Where the hooks are collected.
    fn hook_set(&mut self) -> &mut HookSet;

    /// Runs a closure that may change the event and decide.
    #[track_caller]
    fn on<S: Site<Roles: Awaited>>(&mut self, site: S, hook: impl HookFn<S::Point>) -> &mut Self {
        self.add_hook(site, Closure(hook))
    }

    /// Runs a closure that sees the final form and decides. Guards cannot change the event, so the compiler says that `cx`
    /// cannot be borrowed as mutable: register with [`on`](Self::on) what changes it.
    #[track_caller]
    fn guard<S>(&mut self, site: S, guard: impl GuardFn<S::Point>) -> &mut Self
    where
        S: Site<Point: Point<Verdict: Decides>, Roles: Awaited + FailsClosed + Inherited>,
    {
        self.add_guard(site, Closure(guard))
    }

    /// Runs a closure that sees the decision.
    #[track_caller]
    fn watch<S, O>(&mut self, site: S, watch: impl WatchFn<S::Point, O>) -> &mut Self
    where
        S: Site<Roles: FailsUnnoticed + DecidesNothing>,
        O: IntoSeen + 'static,
    {
        self.add_watch(site, Looking(watch, PhantomData))
    }

    /// Wraps an operation in a closure: `async |cx, next| next.run(cx).await`.
    #[track_caller]
    fn around<S: OperationSite>(&mut self, site: S, around: impl AroundFn<S::Operation>) -> &mut Self {
        self.add_around(site, Closure(around))
    }

    /// Runs a [`Hook`].
    #[track_caller]
    fn add_hook<S: Site<Roles: Awaited>>(&mut self, site: S, hook: impl Hook<S::Point>) -> &mut Self {
        self.hook_set().draft(site.registration(), Role::Hook, Body::Hook(Arc::new(hook)), Location::caller());
        self
    }

    /// Runs a [`Guard`].
    #[track_caller]
    fn add_guard<S>(&mut self, site: S, guard: impl Guard<S::Point>) -> &mut Self
    where
        S: Site<Point: Point<Verdict: Decides>, Roles: Awaited + FailsClosed + Inherited>,
    {
        self.hook_set().draft(site.registration(), Role::Guard, Body::Guard(Arc::new(guard)), Location::caller());
        self
    }

    /// Runs a [`Watch`].
    #[track_caller]
    fn add_watch<S>(&mut self, site: S, watch: impl Watch<S::Point>) -> &mut Self
    where
        S: Site<Roles: FailsUnnoticed + DecidesNothing>,
    {
        let body = Body::Watch(Arc::new(watch), Arc::new(Queue::default()));
        self.hook_set().draft(site.registration(), Role::Watch, body, Location::caller());
        self
    }

    /// Wraps an operation in an [`Around`].
    #[track_caller]
    fn add_around<S: OperationSite>(&mut self, site: S, around: impl Around<S::Operation>) -> &mut Self {
        self.hook_set().draft_around(site.around_registration(), Arc::new(around), Location::caller());
        self
    }
}

impl Attach for HookSet {
    fn hook_set(&mut self) -> &mut HookSet {
        self
    }
}
