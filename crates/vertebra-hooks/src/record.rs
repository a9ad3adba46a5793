//! What a dispatch leaves behind.

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Change, Failure, FailurePolicy, Kind, Name, Role};

/// One dispatch: who ran, in which order, how long, what changed, who decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The point.
    pub point: Cow<'static, str>,
    /// The hooks that matched, in the order they ran or would have run.
    pub hooks: Vec<Trace>,
    /// The strongest verdict.
    pub verdict: Kind,
    /// Whose verdict that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Name>,
    /// The reason they gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long the dispatch took.
    pub took: Duration,
}

/// One hook in a dispatch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Its name.
    pub hook: Name,
    /// Its role.
    pub role: Role,
    /// What became of it.
    pub ran: Ran,
    /// What it changed. Empty unless it succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// How long it took, all attempts together: at most this, as it is the time since the clock was last read in the
    /// dispatch. `None`: not measured, because it answered `proceed` at once and did nothing else.
    #[serde(with = "measured")]
    pub took: Option<Duration>,
    /// Whether it only stands beside: what it answered and changed is what it would have, and nothing came of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// What it told of its work: see [`Cx::account`](crate::Cx::account).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Box<Value>>,
}

/// What became of a hook that matched.
///
/// The list is closed: what redacts records must know every text in them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ran", rename_all = "snake_case")]
pub enum Ran {
    /// It answered.
    Answered {
        /// Its verdict.
        verdict: Kind,
        /// The reason it gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It failed, and its failure policy spoke in its place.
    Failed {
        /// How.
        failure: Failure,
        /// The policy.
        policy: FailurePolicy,
        /// What the failure came to.
        verdict: Kind,
        /// How often it was tried.
        attempts: u32,
    },
    /// It was not run.
    Skipped {
        /// Why.
        why: Skipped,
    },
    /// It was handed over to run behind the dispatch.
    Detached,
    /// It was to run behind the dispatch, but its queue was full.
    Dropped,
}

/// Why a hook that matched did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Skipped {
    /// It is switched off.
    Disabled,
    /// An earlier hook ended the hook phase.
    Ended {
        /// Which.
        by: Name,
        /// With what.
        verdict: Kind,
    },
}

impl Record {
    pub(crate) fn new(point: &'static str) -> Self {
        Self {
            point: Cow::Borrowed(point),
            hooks: Vec::new(),
            verdict: Kind::Proceed,
            decided_by: None,
            reason: None,
            took: Duration::ZERO,
        }
    }

    /// The hooks whose word counts: those that only stand beside are left out.
    fn counting(&self) -> impl Iterator<Item = &Trace> {
        self.hooks.iter().filter(|trace| !trace.shadow)
    }

    /// The verdicts given so far, in order, with their authors.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.counting().filter_map(|trace| match &trace.ran {
            Ran::Answered { verdict, .. } | Ran::Failed { verdict, .. } => Some((&*trace.hook, *verdict)),
            Ran::Skipped { .. } | Ran::Detached | Ran::Dropped => None,
        })
    }

    /// The failures in this dispatch, with the hooks that failed.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &Failure)> {
        self.counting().filter_map(|trace| match &trace.ran {
            Ran::Failed { failure, .. } => Some((&*trace.hook, failure)),
            Ran::Answered { .. } | Ran::Skipped { .. } | Ran::Detached | Ran::Dropped => None,
        })
    }

    /// Every change, with its author.
    pub fn changes(&self) -> impl Iterator<Item = (&str, &Change)> {
        self.counting().flat_map(|trace| trace.changes.iter().map(move |change| (&*trace.hook, change)))
    }

    /// Whether the decision was a failure that failed closed, and not an opinion.
    pub fn decided_by_failure(&self) -> bool {
        let Some(by) = &self.decided_by else { return false };
        self.failures().any(|(hook, _)| hook == &**by)
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decision(f, self.verdict, self.decided_by.as_ref(), self.reason.as_deref())
    }
}

/// A decision in words: `denied by no-rm: deletions are for humans`.
pub(crate) fn decision(
    f: &mut fmt::Formatter<'_>,
    verdict: Kind,
    decided_by: Option<&Name>,
    reason: Option<&str>,
) -> fmt::Result {
    match decided_by {
        Some(by) => write!(f, "{verdict} by {by}")?,
        None => write!(f, "{verdict}")?,
    }
    match reason {
        Some(reason) => write!(f, ": {reason}"),
        None => Ok(()),
    }
}

/// A duration that was not measured is written as zero, so that journals read the same before and after decision 0023.
mod measured {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde asks for a reference to the field")]
    pub(super) fn serialize<S: Serializer>(took: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        took.unwrap_or_default().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Some(Duration::deserialize(deserializer)?).filter(|took| !took.is_zero()))
    }
}
