//! The approver of a front end: the inbox of the journal, then the terminal, if there is one.

use vertebra::{Approval, Approver, Decision};
use vertebra_journal::Inbox;
use vertebra_kit::{
    bash::Lift,
    permissions::{Rules, TerminalApprover},
};

use crate::{terminal::Inline, view::Unapproved};

/// Why a call is denied where no one can be asked.
const NO_TERMINAL: &str = "this call needs approval and there is no terminal to ask on; \
                           run with `--wait`, or allow it with `--allow RULE` or `--mode`";

/// Why a command that needs more than the sandbox gives is denied there. No rule and no mode allows it.
const NOT_GRANTED: &str = "this needs a person's approval and there is no terminal to ask on; run with `--wait`, or grant it \
                           with `--network` or `--add-dir`";

/// Decides about calls that need approval.
pub(super) struct Person {
    /// Answers that were given elsewhere.
    pub(super) inbox: Option<Inbox>,
    /// Who can be asked here.
    pub(super) here: Here,
}

/// Who can be asked here.
pub(super) enum Here {
    /// A user whose keys are read.
    AtDesk(Inline),
    /// A user who types lines.
    AtTerminal(TerminalApprover),
    /// No one.
    Nobody(Nobody),
}

/// What happens to a question that no one can answer.
#[derive(Clone)]
pub(super) struct Nobody {
    /// Whether the run is suspended until someone answers.
    pub(super) waits: bool,
    /// Counts the calls that are denied because of this.
    pub(super) unapproved: Unapproved,
}

impl Here {
    pub(super) fn at_terminal(rules: &Rules, lift: &Lift, nobody: Nobody) -> Self {
        match TerminalApprover::open() {
            Ok(terminal) => Self::AtTerminal(terminal.colour(false).learning(rules.clone()).lifting(lift.clone())),
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
            Here::Nobody(Nobody { unapproved, .. }) => {
                unapproved.add();
                let needs_more = approval.only_once && approval.call.args.get("needs").is_some();
                Decision::Deny { reason: if needs_more { NOT_GRANTED } else { NO_TERMINAL }.to_owned() }
            }
        }
    }

    async fn recall(&self, approval: &Approval, decision: &Decision) {
        match &self.here {
            Here::AtDesk(desk) => desk.recall(approval, decision).await,
            Here::AtTerminal(terminal) => terminal.recall(approval, decision).await,
            Here::Nobody(_) => {}
        }
    }
}
