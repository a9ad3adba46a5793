//! What a hook is registered with: a point or an operation, a matcher, and options.

use std::{marker::PhantomData, sync::Arc};

use crate::{
    Matcher, Operation, Point, Test,
    narrow::{AnyRole, Narrow},
    options::Options,
};

/// A point, or a point with a matcher and options.
pub trait Site: Sized {
    /// The point that the hook is registered at.
    type Point: Point;
    /// The roles that the options leave.
    type Roles;

    /// The point with its matcher and options.
    fn registration(self) -> Registration<Self::Point, Self::Roles>;
}

/// A point with a matcher and options: `Deploying.matching(Matcher::attribute("service", "api")).named("no-deploys")`.
///
/// Made by [`Match`] and [`HookOptions`](crate::HookOptions); `R` is the set of roles that it is for.
#[must_use = "it registers nothing by itself: give it to `on`, `guard` or `watch`"]
pub struct Registration<P: Point, R = AnyRole> {
    pub(crate) point: P,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) condition: Option<Condition<P>>,
    pub(crate) options: Options,
    roles: PhantomData<fn() -> R>,
}

/// A condition in code.
pub(crate) type Condition<P> = Arc<dyn Fn(&<P as Point>::Event) -> bool + Send + Sync>;

impl<P: Point> Site for P {
    type Point = P;
    type Roles = AnyRole;

    fn registration(self) -> Registration<P> {
        Registration { point: self, matcher: None, condition: None, options: Options::default(), roles: PhantomData }
    }
}

impl<P: Point, R> Site for Registration<P, R> {
    type Point = P;
    type Roles = R;

    fn registration(self) -> Self {
        self
    }
}

impl<P: Point, R> Registration<P, R> {
    fn and(mut self, matcher: Matcher) -> Self {
        self.matcher = Some(match self.matcher {
            Some(first) => first.and(matcher),
            None => matcher,
        });
        self
    }

    pub(crate) fn with(mut self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.options);
        self
    }

    /// The same, for the roles that an option leaves.
    pub(crate) fn narrowed<O>(self) -> Registration<P, R::Roles>
    where
        R: Narrow<O>,
    {
        let Self { point, matcher, condition, options, roles: _ } = self;
        Registration { point, matcher, condition, options, roles: PhantomData }
    }
}

/// An operation, or an operation with options.
pub trait OperationSite: Sized {
    /// The operation that is wrapped.
    type Operation: Operation;

    /// The operation with its options.
    fn around_registration(self) -> AroundRegistration<Self::Operation>;
}

/// An operation with options: `ToolUse.named("cache")`. Made by [`AroundOptions`](crate::AroundOptions).
#[must_use = "it wraps nothing by itself: give it to `around`"]
pub struct AroundRegistration<O: Operation> {
    pub(crate) options: Options,
    operation: PhantomData<fn() -> O>,
}

impl<O: Operation> OperationSite for O {
    type Operation = O;

    fn around_registration(self) -> AroundRegistration<O> {
        AroundRegistration { options: Options::default(), operation: PhantomData }
    }
}

impl<O: Operation> OperationSite for AroundRegistration<O> {
    type Operation = O;

    fn around_registration(self) -> Self {
        self
    }
}

impl<O: Operation> AroundRegistration<O> {
    pub(crate) fn with(mut self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.options);
        self
    }
}

/// Narrows any point. All that is given has to hold.
pub trait Match: Site {
    /// By any matcher: on an attribute, or combined with [`Matcher::Any`] or [`Matcher::Not`].
    fn matching(self, matcher: Matcher) -> Registration<Self::Point, Self::Roles> {
        self.registration().and(matcher)
    }

    /// Only if this metadata key passes the test.
    fn metadata(self, key: impl Into<String>, is: Test) -> Registration<Self::Point, Self::Roles> {
        self.matching(Matcher::Metadata { key: key.into(), is })
    }

    /// Only if the condition holds. Prefer the other matchers where they can say it: they are indexed, and people can
    /// read them.
    fn when(
        self,
        condition: impl Fn(&<Self::Point as Point>::Event) -> bool + Send + Sync + 'static,
    ) -> Registration<Self::Point, Self::Roles> {
        let mut registration = self.registration();
        registration.condition = Some(match registration.condition.take() {
            Some(first) => Arc::new(move |event| first(event) && condition(event)),
            None => Arc::new(condition),
        });
        registration
    }
}

impl<S: Site> Match for S {}
