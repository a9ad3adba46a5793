//! Whoever decides about a call: somebody at the keys, somebody who types lines, or nobody.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use vertebra::{Approval, Approver, Decision};
use vertebra_kit::permissions::{Rules, TerminalApprover};

use crate::terminal::Inline;

/// Whoever is asked.
pub(super) enum Person {
    /// Somebody whose keys are read here.
    AtDesk(Inline),
    /// Somebody who types lines.
    AtTerminal(TerminalApprover),
    /// Nobody. It is remembered that somebody was missing.
    Nobody(Arc<AtomicBool>),
}

impl Person {
    pub(super) fn at_terminal(rules: &Rules, missing: Arc<AtomicBool>) -> Self {
        match TerminalApprover::open() {
            Ok(terminal) => Self::AtTerminal(terminal.colour(false).learning(rules.clone())),
            Err(_) => Self::Nobody(missing),
        }
    }
}

impl Approver for Person {
    async fn decide(&self, approval: &Approval) -> Decision {
        match self {
            Self::AtDesk(desk) => desk.decide(approval).await,
            Self::AtTerminal(terminal) => terminal.decide(approval).await,
            Self::Nobody(missing) => {
                missing.store(true, Ordering::Relaxed);
                let reason = "nobody is there to ask; whoever started this can allow it with --allow or --mode";
                Decision::Deny { reason: reason.to_owned() }
            }
        }
    }
}
