//! Where a hook listens: at a point, or at a point narrowed by a matcher.

use std::sync::Arc;

use crate::{Matcher, Point, Test};

/// A point, or a point with a matcher.
pub trait Site: Sized {
    /// The point listened at.
    type Point: Point;

    /// The matcher in full.
    fn into_matching(self) -> Matching<Self::Point>;
}

/// A point narrowed by a matcher. Made by [`Match`]: `Deploying.matching(Matcher::attribute("service", "api"))`.
pub struct Matching<P: Point> {
    pub(crate) matcher: Option<Matcher>,
    pub(crate) condition: Option<Condition<P>>,
}

/// A condition in code.
pub(crate) type Condition<P> = Arc<dyn Fn(&<P as Point>::Event) -> bool + Send + Sync>;

impl<P: Point> Site for P {
    type Point = P;

    fn into_matching(self) -> Matching<P> {
        Matching { matcher: None, condition: None }
    }
}

impl<P: Point> Site for Matching<P> {
    type Point = P;

    fn into_matching(self) -> Self {
        self
    }
}

impl<P: Point> Matching<P> {
    fn and(mut self, matcher: Matcher) -> Self {
        self.matcher = Some(match self.matcher {
            Some(first) => first.and(matcher),
            None => matcher,
        });
        self
    }
}

/// Narrows any point. All that is given has to hold.
pub trait Match: Site {
    /// By any matcher: on an attribute, or combined with [`Matcher::Any`] or [`Matcher::Not`].
    fn matching(self, matcher: Matcher) -> Matching<Self::Point> {
        self.into_matching().and(matcher)
    }

    /// Only if this metadata key passes the test.
    fn metadata(self, key: impl Into<String>, is: Test) -> Matching<Self::Point> {
        self.matching(Matcher::Metadata { key: key.into(), is })
    }

    /// Only if the condition holds. Prefer the other matchers where they can say it: they are indexed, and people can
    /// read them.
    fn when(
        self,
        condition: impl Fn(&<Self::Point as Point>::Event) -> bool + Send + Sync + 'static,
    ) -> Matching<Self::Point> {
        let mut matching = self.into_matching();
        matching.condition = Some(match matching.condition.take() {
            Some(first) => Arc::new(move |event| first(event) && condition(event)),
            None => Arc::new(condition),
        });
        matching
    }
}

impl<S: Site> Match for S {}
