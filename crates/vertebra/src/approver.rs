//! Who decides when a hook asks.

use std::{future::Future, pin::Pin, sync::Arc};

use serde::{Deserialize, Serialize};
use vertebra_hooks::Name;

use crate::{Args, At};

/// A question about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Who asks, where, when: the agent's name and folder, the session.
    #[serde(flatten)]
    pub at: At,
    /// The call.
    pub call_id: Arc<str>,
    /// The tool.
    pub tool: Arc<str>,
    /// The exact arguments that would be used.
    pub args: Args,
    /// The fingerprint of those arguments. An approval holds for them and for nothing else.
    pub digest: String,
    /// Why somebody has to decide.
    pub reason: String,
    /// Which hook asked, or the tool itself.
    pub asked_by: Name,
    /// What the call would change, as a unified diff that hides what redaction hides, if its tool says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Whether only a person can allow such a call: no rule that a person adds now allows the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_once: bool,
}

impl Approval {
    /// Yes, to exactly these arguments.
    pub fn approve(&self) -> Decision {
        Decision::Approve { digest: self.digest.clone() }
    }
}

/// The answer to a question about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Yes, to the arguments with this fingerprint.
    Approve {
        /// See [`Approval::digest`].
        digest: String,
    },
    /// No.
    Deny {
        /// Why; the model reads it.
        reason: String,
    },
    /// Not now: the run is suspended, and asks again when it is resumed.
    Later,
    /// Yes, but with these arguments. They are validated and guarded anew.
    Edit {
        /// The arguments.
        args: Args,
    },
}

/// Whoever decides: a terminal, a web page, a policy. Without one, nobody says yes.
pub trait Approver: Send + Sync + 'static {
    /// Decides. The time this takes does not count against the run's time.
    fn decide(&self, approval: &Approval) -> impl Future<Output = Decision> + Send;
}

/// [`Approver`] with its future boxed.
pub(crate) trait ErasedApprover: Send + Sync {
    fn decide<'a>(&'a self, approval: &'a Approval) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;
}

impl<A: Approver> ErasedApprover for A {
    fn decide<'a>(&'a self, approval: &'a Approval) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        Box::pin(Approver::decide(self, approval))
    }
}
