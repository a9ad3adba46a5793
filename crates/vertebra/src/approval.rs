//! Who decides when a hook asks.

use std::{future::Future, pin::Pin};

use serde::{Deserialize, Serialize};
use vertebra_hooks::Name;

use crate::{Args, At, FlatCall, ToolCall};

/// A question about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Who asks, where, when: the agent's name and folder, the session.
    #[serde(flatten)]
    pub at: At,
    /// The call, with the exact arguments that would be used.
    #[serde(flatten, with = "FlatCall")]
    pub call: ToolCall,
    /// The fingerprint of those arguments. An approval holds for them and for nothing else. In a record it is still that of
    /// the arguments that were shown, also where redaction hides some of them.
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
        Decision::Approve { digest: self.digest.clone(), grants: Vec::new() }
    }
}

/// The answer to a question about a call.
///
/// The list is closed: front ends, journals and wires have to act on each decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Yes, to the arguments with this fingerprint.
    Approve {
        /// See [`Approval::digest`].
        digest: String,
        /// What the person allowed besides this call, such as rules, in the words of whoever asked. It is recorded with the
        /// answer, so that [`Approver::recall`] can take it from the record.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        grants: Vec<String>,
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

    /// Learns of a decision that comes from the record, in a run that is resumed or replayed. An approver that keeps what
    /// people grant takes it from here, so that later calls are judged as they were. By default it does nothing.
    fn recall(&self, _approval: &Approval, _decision: &Decision) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// [`Approver`] with its future boxed.
pub(crate) trait ErasedApprover: Send + Sync {
    fn decide<'a>(&'a self, approval: &'a Approval) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

    fn recall<'a>(
        &'a self,
        approval: &'a Approval,
        decision: &'a Decision,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

impl<A: Approver> ErasedApprover for A {
    fn decide<'a>(&'a self, approval: &'a Approval) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        Box::pin(Approver::decide(self, approval))
    }

    fn recall<'a>(
        &'a self,
        approval: &'a Approval,
        decision: &'a Decision,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(Approver::recall(self, approval, decision))
    }
}
