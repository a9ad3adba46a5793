//! What is known of a point besides its types: one row of the table of points.

use serde_json::{Map, Value};
use vertebra_hooks::{Attribute, Kind, Point, Verdict as _};

use crate::{AgentState, Args};

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
    pub blank: fn(&Self) -> Value,
    /// The fields of an event that has a value in every field, without its head.
    pub sample: fn(&Self) -> Value,
}

/// What of an event a hook outside the process may change.
///
/// The list is closed: what applies answers from outside has to honour each case.
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
///
/// The list is closed: what applies answers from outside has to honour each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextMode {
    /// Into the event: the model reads it with the prompt.
    Event,
    /// Into the conversation, when the next step begins.
    NextStep,
}

impl PointInfo {
    /// The row of a point of which only its types are known.
    pub const fn of<P: Point>() -> Self {
        Self {
            name: P::NAME,
            about: "",
            aliases: &[],
            attributes: P::ATTRIBUTES,
            powers: P::Verdict::POWERS,
            guards: can_decide(P::Verdict::POWERS),
            changes: Changeable::Nothing,
            context: ContextMode::NextStep,
            blank: |_| Value::Object(Map::new()),
            sample: |_| Value::Object(Map::new()),
        }
    }
}

/// Whether a guard with one of these powers can keep something from happening.
const fn can_decide(powers: &[Kind]) -> bool {
    let mut at = 0;
    while at < powers.len() {
        if matches!(powers[at], Kind::Deny | Kind::Halt | Kind::Stop) {
            return true;
        }
        at += 1;
    }
    false
}

impl Changeable {
    /// These fields; nothing if there are none.
    pub const fn fields(fields: &'static [&'static str]) -> Self {
        if fields.is_empty() { Self::Nothing } else { Self::Fields(fields) }
    }
}

/// A point of an agent's life, with its row in the table of points. Declare one of your own with
/// [`point!`](crate::point!).
pub trait AgentPoint: Point<State = AgentState> {
    /// Its row.
    fn info(self) -> &'static PointInfo;

    /// Reads an event.
    fn read(self, event: Value) -> Result<Self::Event, serde_json::Error> {
        (Self::code().event_from_json)(event)
    }

    /// Reads a verdict.
    fn read_verdict(self, verdict: &Map<String, Value>) -> Result<Self::Verdict, serde_json::Error> {
        (Self::code().verdict_from_json)(verdict)
    }

    /// The arguments of the call in an event, if hooks outside the process may change them.
    fn args_mut(event: &mut Self::Event) -> Option<&mut Args> {
        let _ = event;
        None
    }

    /// Adds a text for the model to an event. Gives it back if it goes into the conversation instead.
    fn add_context(event: &mut Self::Event, text: String) -> Option<String> {
        let _ = event;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::{POINT_TABLE, point_named};

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
        assert!(POINT_TABLE.iter().all(|point| point_named(point.name) == Some(point.name)));
    }

    #[test]
    fn no_two_points_share_a_name_or_an_alias() {
        let mut names = HashSet::new();
        for point in POINT_TABLE {
            for name in std::iter::once(&point.name).chain(point.aliases) {
                assert!(names.insert(name.to_ascii_lowercase()), "{name} is there twice");
            }
        }
    }
}
