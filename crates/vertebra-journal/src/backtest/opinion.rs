//! What was said of an event, and how two such words differ.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::Serialize;
use serde_json::Value;

/// The outcome of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It proceeded; whether it was allowed explicitly is not known.
    WentOn,
    /// No hook or rule had an opinion.
    Nothing,
    /// It was allowed explicitly.
    Allowed,
    /// A person had to be asked.
    Asked,
    /// It was denied: a call, a prompt, a result, or the end of a run.
    Refused,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WentOn => "proceeded",
            Self::Nothing => "no opinion",
            Self::Allowed => "allow",
            Self::Asked => "ask",
            Self::Refused => "deny",
        })
    }
}

/// A decision about an event, and who made it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opinion {
    /// The decision.
    pub said: Said,
    /// The hook or rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The changes to the event and the state, by path; `None` if they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<BTreeMap<String, Value>>,
}

impl Opinion {
    /// A decision without author, reason or changes.
    pub fn of(said: Said) -> Self {
        Self { said, by: None, reason: None, changes: None }
    }
}

/// A judged event.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The recorded decision, or that of the policy it is compared with.
    pub then: Opinion,
    /// The decision of the policy under test.
    pub now: Opinion,
    /// The hooks of the policy under test that match.
    pub matched: Vec<Arc<str>>,
    /// The matching hooks whose handlers were not called.
    pub not_asked: Vec<Arc<str>>,
}

/// The kind of difference between two decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Difference {
    /// It was not denied and would be.
    NewlyDenied,
    /// It was denied or had no opinion, and would proceed or be allowed.
    NewlyAllowed,
    /// It needed no approval and would.
    NewlyAsked,
    /// It needed approval and would not.
    NoLongerAsked,
    /// It was allowed explicitly and would have no opinion.
    NoLongerAllowed,
    /// The decision is the same, with other changes: other arguments, another text.
    Changed,
}

impl Difference {
    /// All kinds, the most serious first.
    pub const ALL: [Self; 6] = [
        Self::NewlyDenied,
        Self::NewlyAllowed,
        Self::NewlyAsked,
        Self::NoLongerAsked,
        Self::NoLongerAllowed,
        Self::Changed,
    ];

    /// Returns how two decisions differ, if they do. Reasons and authors are not compared.
    pub fn between(then: &Opinion, now: &Opinion) -> Option<Self> {
        use Said::{Allowed, Asked, Nothing, Refused, WentOn};
        match (then.said, now.said) {
            (WentOn | Nothing | Allowed | Asked, Refused) => Some(Self::NewlyDenied),
            (WentOn | Nothing | Allowed | Refused, Asked) => Some(Self::NewlyAsked),
            (Refused, WentOn | Nothing | Allowed) | (Nothing, Allowed) => Some(Self::NewlyAllowed),
            (Asked, WentOn | Nothing | Allowed) => Some(Self::NoLongerAsked),
            (Allowed, Nothing) => Some(Self::NoLongerAllowed),
            // The changes of a denied event have no effect.
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
            Self::Changed => "changed by hooks",
        })
    }
}
