//! Matchers on the attributes of an agent's events.

use vertebra_hooks::{HasAttribute, Match, Matcher, Registration, Test};

use crate::points::attributes::attribute;

/// Narrows a point by the attributes that its events have: `BeforeToolUse.tool("bash").command(r"\brm\b")`.
///
/// All that is given has to hold. An attribute that the point lacks does not compile:
///
/// ```compile_fail,E0277
/// use vertebra::prelude::*;
///
/// let site = BeforeStep.command(r"\brm\b"); // this point has no attribute `command`
/// ```
pub trait MatchAttribute: Match {
    /// Only calls of these tools, by name or alias, without regard to case: `bash`, `edit|write`, `read_*`, `/mcp__.+/`.
    /// A pattern is compared with the whole name.
    fn tool(self, pattern: impl Into<String>) -> Registration<Self::Point, Self::Roles>
    where
        Self::Point: HasAttribute<attribute::tool>,
    {
        self.matching(Matcher::attribute("tool", pattern))
    }

    /// Only calls that mention a path like this: `*` stays within a folder, `**` crosses folders, and a glob without a slash
    /// matches at any depth.
    fn path(self, glob: impl Into<String>) -> Registration<Self::Point, Self::Roles>
    where
        Self::Point: HasAttribute<attribute::path>,
    {
        self.matching(Matcher::attribute("path", glob))
    }

    /// Only calls that would run a command like this. The regular expression is tested on the whole command line and on each
    /// simple command inside it.
    fn command(self, regex: impl Into<String>) -> Registration<Self::Point, Self::Roles>
    where
        Self::Point: HasAttribute<attribute::command>,
    {
        self.matching(Matcher::attribute("command", regex))
    }

    /// Only calls with an argument, named by a JSON pointer, that passes the test.
    fn arg(self, pointer: impl Into<String>, is: Test) -> Registration<Self::Point, Self::Roles>
    where
        Self::Point: HasAttribute<attribute::args>,
    {
        self.matching(Matcher::inside("args", pointer, is))
    }

    /// Only at steps of this kind.
    fn step(self, kind: impl Into<String>) -> Registration<Self::Point, Self::Roles>
    where
        Self::Point: HasAttribute<attribute::step>,
    {
        self.matching(Matcher::attribute("step", kind))
    }

    /// Only in this session.
    fn session(self, id: impl Into<String>) -> Registration<Self::Point, Self::Roles>
    where
        Self::Point: HasAttribute<attribute::session>,
    {
        self.matching(Matcher::attribute("session", id))
    }

    /// Only for the agent of this name.
    fn agent(self, name: impl Into<String>) -> Registration<Self::Point, Self::Roles>
    where
        Self::Point: HasAttribute<attribute::agent>,
    {
        self.matching(Matcher::attribute("agent", name))
    }
}

impl<S: Match> MatchAttribute for S {}
