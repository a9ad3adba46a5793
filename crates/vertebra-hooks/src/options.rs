//! The options of a hook, given with the point that it is registered at and typed by role.

use std::time::Duration;

use crate::{
    AroundRegistration, CanAsk, FailurePolicy, HookInfo, Name, OperationSite, Point, Reach, Registration, Role, Site,
    narrow::{Deciding, Narrow, OwnAgent, RunsApart, RunsDetached, WithFailurePolicy},
};

/// What was asked for; the rest is as usual for the role.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate option")]
pub(crate) struct Options {
    pub(crate) name: Option<Name>,
    priority: Option<i32>,
    before: Vec<Name>,
    after: Vec<Name>,
    timeout: Limit,
    max_retries: u32,
    on_failure: Option<FailurePolicy>,
    is_detached: bool,
    is_disabled: bool,
    is_shadow: bool,
    is_optional: bool,
    reach: Reach,
}

#[derive(Default)]
enum Limit {
    #[default]
    Usual,
    Of(Duration),
    Off,
}

impl Options {
    /// What is known of a hook with these options.
    pub(crate) fn info(self, point: &'static str, role: Role, on_failure: FailurePolicy) -> HookInfo {
        let timeout = match self.timeout {
            Limit::Usual => (role != Role::Around).then_some(HookInfo::DEFAULT_TIMEOUT),
            Limit::Of(limit) => Some(limit),
            Limit::Off => None,
        };
        HookInfo {
            name: self.name.unwrap_or_else(|| "".into()),
            bundle: None,
            point,
            role,
            priority: self.priority.unwrap_or(HookInfo::DEFAULT_PRIORITY),
            before: self.before,
            after: self.after,
            timeout,
            max_retries: self.max_retries,
            on_failure: self.on_failure.unwrap_or(on_failure),
            detached: self.is_detached,
            enabled: !self.is_disabled,
            shadow: self.is_shadow,
            reach: self.reach,
            optional: self.is_optional,
            matcher: None,
            has_condition: false,
        }
    }
}

/// The options that every role has.
macro_rules! common_options {
    ($registration:ty, $start:ident) => {
        /// Names the hook, for records, constraints and people. A name is unique at its point.
        fn named(self, name: impl Into<Name>) -> $registration {
            self.$start().with(|options| options.name = Some(name.into()))
        }

        /// Sets the priority; 100 by default, and lower runs first. Security 1–10, validation 11–50, transformation
        /// 51–100, logging 101–1000.
        fn priority(self, priority: i32) -> $registration {
            self.$start().with(|options| options.priority = Some(priority))
        }

        /// Runs the hook before the hook of this name, whatever their priorities. May be given several times.
        fn before(self, name: impl Into<Name>) -> $registration {
            self.$start().with(|options| options.before.push(name.into()))
        }

        /// Runs the hook after the hook of this name, whatever their priorities. May be given several times.
        fn after(self, name: impl Into<Name>) -> $registration {
            self.$start().with(|options| options.after.push(name.into()))
        }

        /// Registers the hook switched off. [`Hooks::enable`](crate::Hooks::enable) switches it on.
        fn disabled(self) -> $registration {
            self.$start().with(|options| options.is_disabled = true)
        }
    };
}

/// The options of hooks, guards and watches. They follow the point or its matcher, before the closure:
/// `BeforeToolUse.tool("bash").named("no-deletions").priority(10)`.
///
/// An option that a role cannot have narrows the roles that the registration is for, so that `guard` does not accept
/// `BeforeToolUse.fail_open()`.
pub trait HookOptions: Site {
    common_options!(Registration<Self::Point, Self::Roles>, registration);

    /// Limits the time that the hook may take; 30 s by default.
    fn timeout(self, limit: Duration) -> Registration<Self::Point, Self::Roles> {
        self.registration().with(|options| options.timeout = Limit::Of(limit))
    }

    /// Lets the hook take any time.
    fn no_timeout(self) -> Registration<Self::Point, Self::Roles> {
        self.registration().with(|options| options.timeout = Limit::Off)
    }

    /// Accepts that the matcher names something that is not there, such as a tool that the agent does not have. Without it,
    /// a program that knows all such names reports an error.
    fn optional(self) -> Registration<Self::Point, Self::Roles> {
        self.registration().with(|options| options.is_optional = true)
    }

    /// Ignores a failure of the hook. For hooks: a guard fails closed, always.
    fn fail_open(self) -> Registration<Self::Point, <Self::Roles as Narrow<WithFailurePolicy>>::Roles>
    where
        Self::Roles: Narrow<WithFailurePolicy>,
    {
        self.on_failure(FailurePolicy::Open)
    }

    /// Refuses when the hook fails. For hooks, where the point would ignore a failure otherwise.
    fn fail_closed(self) -> Registration<Self::Point, <Self::Roles as Narrow<WithFailurePolicy>>::Roles>
    where
        Self::Roles: Narrow<WithFailurePolicy>,
    {
        self.on_failure(FailurePolicy::Closed)
    }

    /// Asks a person when the hook fails. For hooks at points that can ask.
    fn fail_ask(self) -> Registration<Self::Point, <Self::Roles as Narrow<WithFailurePolicy>>::Roles>
    where
        Self::Roles: Narrow<WithFailurePolicy>,
        Self::Point: Point<Verdict: CanAsk>,
    {
        self.on_failure(FailurePolicy::Ask)
    }

    /// Sets the failure policy from data. In code, [`fail_open`](Self::fail_open) and its like read better.
    fn on_failure(
        self,
        policy: FailurePolicy,
    ) -> Registration<Self::Point, <Self::Roles as Narrow<WithFailurePolicy>>::Roles>
    where
        Self::Roles: Narrow<WithFailurePolicy>,
    {
        self.registration().with(|options| options.on_failure = Some(policy)).narrowed()
    }

    /// Tries the hook again this often if it errors, panics or times out, before its failure policy applies. For hooks
    /// and guards.
    fn max_retries(self, times: u32) -> Registration<Self::Point, <Self::Roles as Narrow<Deciding>>::Roles>
    where
        Self::Roles: Narrow<Deciding>,
    {
        self.registration().with(|options| options.max_retries = times).narrowed()
    }

    /// Runs the hook without effect: the record shows its verdict, its changes and its failure, and nothing comes of
    /// them. For hooks and guards.
    fn shadow(self) -> Registration<Self::Point, <Self::Roles as Narrow<Deciding>>::Roles>
    where
        Self::Roles: Narrow<Deciding>,
    {
        self.registration().with(|options| options.is_shadow = true).narrowed()
    }

    /// Runs the watch in the background: the dispatch does not wait for it. For watches.
    fn detached(self) -> Registration<Self::Point, <Self::Roles as Narrow<RunsDetached>>::Roles>
    where
        Self::Roles: Narrow<RunsDetached>,
    {
        self.registration().with(|options| options.is_detached = true).narrowed()
    }

    /// Keeps the hook from subagents, which inherit hooks otherwise. For hooks and watches: a guard holds in every
    /// subagent.
    fn own_agent_only(self) -> Registration<Self::Point, <Self::Roles as Narrow<OwnAgent>>::Roles>
    where
        Self::Roles: Narrow<OwnAgent>,
    {
        self.reach(Reach::Own)
    }

    /// Sets from data whether subagents inherit the hook. In code, [`own_agent_only`](Self::own_agent_only) reads better.
    fn reach(self, reach: Reach) -> Registration<Self::Point, <Self::Roles as Narrow<OwnAgent>>::Roles>
    where
        Self::Roles: Narrow<OwnAgent>,
    {
        self.registration().with(|options| options.reach = reach).narrowed()
    }
}

impl<S: Site> HookOptions for S {}

/// The options that arounds do not have. They are there so that the compiler can say why.
macro_rules! refused_options {
    ($($option:ident($($value:ty)?))*) => {
        $(#[doc(hidden)]
        fn $option(self $(, _: $value)?) -> AroundRegistration<Self::Operation>
        where
            Self: RunsApart,
        {
            self.around_registration()
        })*
    };
}

/// The options of an around. They follow the operation, before the closure: `ToolUse.named("cache").priority(10)`.
pub trait AroundOptions: OperationSite {
    common_options!(AroundRegistration<Self::Operation>, around_registration);

    /// Limits the time that the around may take, together with what it wraps; not limited by default.
    fn timeout(self, limit: Duration) -> AroundRegistration<Self::Operation> {
        self.around_registration().with(|options| options.timeout = Limit::Of(limit))
    }

    /// Keeps the around from subagents, which inherit it otherwise.
    fn own_agent_only(self) -> AroundRegistration<Self::Operation> {
        self.around_registration().with(|options| options.reach = Reach::Own)
    }

    refused_options!(fail_open() fail_closed() fail_ask() max_retries(u32) shadow() detached());
}

impl<S: OperationSite> AroundOptions for S {}
