//! Where a hook listens: at a point, or at a point narrowed by a matcher.

use std::sync::Arc;

use crate::{CarriesCall, Matcher, Point, Test};

/// A point, or a point with a matcher.
pub trait Site: Sized {
    /// The point listened at.
    type Point: Point;

    /// The matcher in full.
    fn into_matching(self) -> Matching<Self::Point>;
}

/// A point narrowed by a matcher. Made by [`Match`] and [`MatchCall`]: `BeforeToolUse.tool("bash").session("s-1")`.
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
    /// By any matcher, such as [`Matcher::Any`] or [`Matcher::Not`].
    fn matching(self, matcher: Matcher) -> Matching<Self::Point> {
        self.into_matching().and(matcher)
    }

    /// Only in this session.
    fn session(self, id: impl Into<String>) -> Matching<Self::Point> {
        self.matching(Matcher::Session(id.into()))
    }

    /// Only for the agent of this name.
    fn agent(self, name: impl Into<String>) -> Matching<Self::Point> {
        self.matching(Matcher::Agent(name.into()))
    }

    /// Only at steps of this kind.
    fn step(self, kind: impl Into<String>) -> Matching<Self::Point> {
        self.matching(Matcher::Step(kind.into()))
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

/// Narrows a point that carries a call.
///
/// The bound stands on each method and not on the trait, so that the compiler says that a point carries no call instead
/// of not finding the method.
pub trait MatchCall: Site {
    /// Only calls of these tools: `bash`, `edit|write`, `read_*`, `/mcp__.+/`. See [`Matcher::Tool`].
    fn tool(self, pattern: impl Into<String>) -> Matching<Self::Point>
    where
        Self::Point: Point<Event: CarriesCall>,
    {
        self.matching(Matcher::Tool(pattern.into()))
    }

    /// Only calls that mention a path like this. See [`Matcher::Path`].
    fn path(self, glob: impl Into<String>) -> Matching<Self::Point>
    where
        Self::Point: Point<Event: CarriesCall>,
    {
        self.matching(Matcher::Path(glob.into()))
    }

    /// Only calls that would run a command like this. See [`Matcher::Command`].
    fn command(self, regex: impl Into<String>) -> Matching<Self::Point>
    where
        Self::Point: Point<Event: CarriesCall>,
    {
        self.matching(Matcher::Command(regex.into()))
    }

    /// Only calls with such an argument. See [`Matcher::Args`].
    fn arg(self, pointer: impl Into<String>, is: Test) -> Matching<Self::Point>
    where
        Self::Point: Point<Event: CarriesCall>,
    {
        self.matching(Matcher::Args { at: pointer.into(), is })
    }
}

impl<S: Site> MatchCall for S {}
