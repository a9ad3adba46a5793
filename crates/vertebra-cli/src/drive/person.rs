//! Whoever decides about a call: somebody who has answered already, somebody at the keys, somebody who types lines, or
//! nobody.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use vertebra::{Approval, Approver, Decision};
use vertebra_journal::Inbox;
use vertebra_kit::permissions::{Rules, TerminalApprover};

use crate::terminal::Inline;

/// Whoever is asked.
pub(super) struct Person {
    /// Where answers from elsewhere are.
    pub(super) inbox: Option<Inbox>,
    /// Who is here.
    pub(super) here: Here,
}

/// Who is here.
pub(super) enum Here {
    /// Somebody whose keys are read here.
    AtDesk(Inline),
    /// Somebody who types lines.
    AtTerminal(TerminalApprover),
    /// Nobody.
    Nobody(Nobody),
}

/// What nobody comes to.
#[derive(Clone)]
pub(super) struct Nobody {
    /// Whether the run waits until somebody is there.
    pub(super) waits: bool,
    /// That somebody was missing is remembered here.
    pub(super) missing: Arc<AtomicBool>,
}

impl Here {
    pub(super) fn at_terminal(rules: &Rules, nobody: Nobody) -> Self {
        match TerminalApprover::open() {
            Ok(terminal) => Self::AtTerminal(terminal.colour(false).learning(rules.clone())),
            Err(_) => Self::Nobody(nobody),
        }
    }
}

impl Approver for Person {
    async fn decide(&self, approval: &Approval) -> Decision {
        if let Some(inbox) = &self.inbox {
            match inbox.decide(approval).await {
                Decision::Later => {}
                decided => return decided,
            }
        }
        match &self.here {
            Here::AtDesk(desk) => desk.decide(approval).await,
            Here::AtTerminal(terminal) => terminal.decide(approval).await,
            Here::Nobody(Nobody { waits: true, .. }) => Decision::Later,
            Here::Nobody(Nobody { missing, .. }) => {
                missing.store(true, Ordering::Relaxed);
                let reason = "nobody is there to ask; whoever started this can allow it with --allow or --mode, or wait for an answer with --wait";
                Decision::Deny { reason: reason.to_owned() }
            }
        }
    }
}
