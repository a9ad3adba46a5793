//! What is known of a point besides its types: one row of the table of points.

use serde_json::Value;
use vertebra_hooks::{Attribute, Guard, HookSet, Kind, Point, Registration, narrow::Deciding};

use crate::{AgentState, Args, points::table::POINT_TABLE};

/// One row of the table of points. Configuration, wire, documentation and SDKs are made from it.
#[derive(Debug, Clone, Copy)]
pub struct PointInfo {
    /// The name.
    pub name: &'static str,
    /// What happens there, in words.
    pub about: &'static str,
    /// Other names, as other agents write them.
    pub aliases: &'static [&'static str],
    /// The attributes that matchers may test.
    pub attributes: &'static [Attribute],
    /// What hooks may answer, besides `proceed` and `skip`.
    pub powers: &'static [Kind],
    /// Whether guards can be registered.
    pub guards: bool,
    /// What of the event a hook outside the process may change.
    pub changes: Changeable,
    /// Where a text goes that a hook adds for the model.
    pub context: ContextMode,
    /// The fields of an event where nothing is the matter, without its head.
    pub blank: fn() -> Value,
    /// The fields of an event that has a value in every field, without its head.
    pub sample: fn() -> Value,
}

/// What of an event a hook outside the process may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changeable {
    /// Nothing.
    Nothing,
    /// The arguments of the call.
    Args,
    /// These fields.
    Fields(&'static [&'static str]),
}

/// Where a text goes that a hook adds for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextMode {
    /// Into the event: the model reads it with the prompt.
    Event,
    /// Into the conversation, when the next step begins.
    NextStep,
}

impl PointInfo {
    /// The row of a point, from its name or an alias in `PascalCase`, `camelCase`, `snake_case` or `kebab-case`.
    pub fn named(name: &str) -> Option<&'static Self> {
        if let Some(info) = POINT_TABLE.iter().find(|info| info.name == name) {
            return Some(info);
        }
        let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
        let is_it = |known: &str| known.eq_ignore_ascii_case(&plain);
        let by_name = POINT_TABLE.iter().find(|info| is_it(info.name));
        by_name.or_else(|| POINT_TABLE.iter().find(|info| info.aliases.iter().any(|alias| is_it(alias))))
    }
}

/// The name of a point, from its name or an alias in any spelling: see [`PointInfo::named`].
pub fn point_named(name: &str) -> Option<&'static str> {
    PointInfo::named(name).map(|info| info.name)
}

/// A point of an agent's life, with its row in the table of points.
pub trait AgentPoint: Point<State = AgentState> {
    /// Its row.
    const INFO: PointInfo;

    /// The arguments of the call in an event, if hooks outside the process may change them.
    fn args_mut(event: &mut Self::Event) -> Option<&mut Args>;

    /// Adds a text for the model to an event. Gives it back if it goes into the conversation instead.
    fn add_context(event: &mut Self::Event, text: String) -> Option<String>;

    /// Adds a guard, and returns whether the point has guards.
    fn attach_guard(set: &mut HookSet, site: Registration<Self, Deciding>, guard: impl Guard<Self>) -> bool;
}

/// Something to do at a point that is known by its name alone: see [`at_point`](crate::at_point).
pub trait PointVisitor {
    /// What comes of it.
    type Out;

    /// Does it.
    fn at<P: AgentPoint>(self, point: P) -> Self::Out;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::POINTS;

    #[test]
    fn every_spelling_of_a_point_is_understood() {
        let cases = [
            ("PreToolUse", "BeforeToolUse"),
            ("pre_tool_use", "BeforeToolUse"),
            ("preToolUse", "BeforeToolUse"),
            ("before_tool_use", "BeforeToolUse"),
            ("PostToolUseFailure", "ToolUseFailed"),
            ("UserPromptSubmit", "PromptSubmit"),
            ("InputSubmitted", "PromptSubmit"),
            ("generate_start", "BeforeInference"),
            ("GenerateEnd", "AfterInference"),
            ("StepStart", "BeforeStep"),
            ("stepEnd", "AfterStep"),
            ("Stop", "ShouldContinue"),
            ("AgentFailed", "OnError"),
            ("PreCompact", "BeforeCompact"),
            ("session-end", "SessionEnd"),
        ];
        for (name, point) in cases {
            assert_eq!(point_named(name), Some(point), "{name}");
        }
        assert_eq!(point_named("BeforeToolUze"), None);
        assert!(POINTS.iter().all(|point| point_named(point) == Some(point)));
    }

    #[test]
    fn no_two_points_share_a_name_or_an_alias() {
        let mut names = HashSet::new();
        for info in POINT_TABLE {
            for name in std::iter::once(&info.name).chain(info.aliases) {
                assert!(names.insert(name.to_ascii_lowercase()), "{name} is there twice");
            }
        }
    }
}
