//! What was said of an event, and how two such words differ.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::Serialize;
use serde_json::Value;

/// What came of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It went on; whether somebody allowed it is not known.
    WentOn,
    /// Nobody said anything.
    Nothing,
    /// It needed no further permission.
    Allowed,
    /// A person was to be asked.
    Asked,
    /// It was not to be: a call, a prompt, a result, the end of a run.
    Refused,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WentOn => "went on",
            Self::Nothing => "nothing",
            Self::Allowed => "allow",
            Self::Asked => "ask",
            Self::Refused => "deny",
        })
    }
}

/// A word about an event, and whose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opinion {
    /// What.
    pub said: Said,
    /// Who said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was changed of the event and of what the agent knows, by its place; none if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<BTreeMap<String, Value>>,
}

impl Opinion {
    /// This much, and nobody's.
    pub fn of(said: Said) -> Self {
        Self { said, by: None, reason: None, changes: None }
    }
}

/// An event, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// What came of it then, or would have by what it is held against.
    pub then: Opinion,
    /// What would come of it now.
    pub now: Opinion,
    /// The hooks that match it now.
    pub matched: Vec<Arc<str>>,
    /// Those of them that were not asked.
    pub not_asked: Vec<Arc<str>>,
}

/// How now differs from then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// What was not refused would be.
    NewlyDenied,
    /// What was refused, or not allowed outright, would be.
    NewlyAllowed,
    /// A person would be asked who was not.
    NewlyAsked,
    /// A person was asked and would not be.
    NoLongerAsked,
    /// What was allowed outright would be left to others.
    NoLongerAllowed,
    /// It would go on as it did, but as something else: other arguments, another text.
    Changed,
}

impl Difference {
    /// All of them, the gravest first.
    pub const ALL: [Self; 6] = [
        Self::NewlyDenied,
        Self::NewlyAllowed,
        Self::NewlyAsked,
        Self::NoLongerAsked,
        Self::NoLongerAllowed,
        Self::Changed,
    ];

    /// How two opinions differ, if they do. Reasons and authors may.
    pub fn between(then: &Opinion, now: &Opinion) -> Option<Self> {
        use Said::{Allowed, Asked, Nothing, Refused, WentOn};
        match (then.said, now.said) {
            (WentOn | Nothing | Allowed | Asked, Refused) => Some(Self::NewlyDenied),
            (WentOn | Nothing | Allowed | Refused, Asked) => Some(Self::NewlyAsked),
            (Refused, WentOn | Nothing | Allowed) | (Nothing, Allowed) => Some(Self::NewlyAllowed),
            (Asked, WentOn | Nothing | Allowed) => Some(Self::NoLongerAsked),
            (Allowed, Nothing) => Some(Self::NoLongerAllowed),
            // What is refused goes on as nothing at all.
            (Refused, Refused) => None,
            (WentOn, WentOn | Nothing | Allowed)
            | (Nothing, WentOn | Nothing)
            | (Allowed, WentOn | Allowed)
            | (Asked, Asked) => match (&then.changes, &now.changes) {
                (Some(then), Some(now)) => (then != now).then_some(Self::Changed),
                _ => None,
            },
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewlyDenied => "newly denied",
            Self::NewlyAllowed => "newly allowed",
            Self::NewlyAsked => "newly asked",
            Self::NoLongerAsked => "no longer asked",
            Self::NoLongerAllowed => "no longer allowed",
            Self::Changed => "changed on the way",
        })
    }
}
