//! A question about a call: what a person sees of it, what they can answer, and what an answer comes to.

mod diff;
mod escape;
mod screen;

use std::path::PathBuf;

use vertebra::{Approval, Args, Decision};

use self::{
    diff::Change,
    screen::{Screen, View},
};
use super::{For, Rule, Rules};

/// How much of a complaint is shown.
const MAX_COMPLAINT: usize = 1000;

/// A question about a call, for whoever puts it to a person: a terminal, an editor, a page.
///
/// Its texts are safe to show. Control characters, direction marks and invisible characters of the model are spelled out;
/// edits are shown as a difference.
pub struct Question {
    approval: Approval,
    change: Option<Change>,
    rules: Option<Rules>,
    offer: Option<Offer>,
    screen: Screen,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Yes, to exactly these arguments.
    Yes,
    /// No.
    No {
        /// Why; the model reads it. May be empty.
        why: String,
    },
    /// Yes, with other arguments.
    Edit {
        /// The arguments.
        args: Args,
    },
    /// Yes, and always in this session.
    Always {
        /// The rule to add instead of the [offered](Question::offered) ones.
        rule: Option<String>,
    },
    /// Yes, and from now on: a rule is added to the [file](Question::file).
    ForGood {
        /// The rule to add instead of the [offered](Question::offered) ones.
        rule: Option<String>,
    },
}

/// Why an answer was not taken. The question stays open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotTaken(String);

impl NotTaken {
    fn new(what: &str, complaint: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {}", escape::on_one_line(&complaint.to_string(), MAX_COMPLAINT)))
    }
}

/// Rules that would answer the question for the future.
struct Offer {
    rules: Vec<String>,
    file: Option<PathBuf>,
}

impl Reply {
    /// Yes, with the arguments written here as JSON.
    pub fn edited(json: &str) -> Result<Self, NotTaken> {
        let complain = |error: &dyn std::fmt::Display| NotTaken::new("not taken over", error);
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| complain(&error))?;
        Ok(Self::Edit { args: Args::try_from(value).map_err(|error| complain(&error))? })
    }
}

impl Question {
    /// The question, with the files it is about as they are now. With rules, it offers to add some.
    pub async fn about(approval: &Approval, rules: Option<&Rules>) -> Self {
        let offer = rules.and_then(|rules| Some(Offer { rules: rules.suggestions(approval)?, file: rules.file() }));
        Self {
            change: diff::of(approval).await,
            approval: approval.clone(),
            rules: rules.cloned(),
            offer,
            screen: Screen { colour: false, columns: usize::MAX },
        }
    }

    /// Shows colours, or not.
    #[must_use]
    pub fn colour(mut self, colour: bool) -> Self {
        self.screen.colour = colour;
        self
    }

    /// Wraps its lines to so many columns, each behind a margin: then no argument can look as if it stood outside of the
    /// question. A terminal would wrap them without.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.screen.columns = columns;
        self
    }

    /// Who wants what, and why: long arguments with their middle left out.
    pub fn short(&self) -> String {
        self.screen.question(&self.approval, self.change.as_ref(), View::Short)
    }

    /// Who wants what, and why, with all of the arguments.
    pub fn whole(&self) -> String {
        self.screen.question(&self.approval, self.change.as_ref(), View::Whole)
    }

    /// The rules that [`Reply::Always`] would add.
    pub fn offered(&self) -> Option<String> {
        self.offer.as_ref().map(|offer| screen::rules(&offer.rules))
    }

    /// The file that [`Reply::ForGood`] would add them to.
    pub fn file(&self) -> Option<String> {
        let file = self.offer.as_ref()?.file.as_ref()?;
        Some(screen::file(file))
    }

    /// What can be typed as an answer, for [`TerminalApprover`](super::TerminalApprover).
    pub(super) fn keys(&self) -> String {
        self.screen.keys(self.offered(), self.file())
    }

    /// The call.
    pub fn approval(&self) -> &Approval {
        &self.approval
    }

    /// What the answer comes to, after rules were added if it asks for that.
    pub async fn decide(&self, answer: Reply) -> Result<Decision, NotTaken> {
        match answer {
            Reply::Yes => Ok(self.approval.approve()),
            Reply::No { why } if why.is_empty() => Ok(no("the person said no")),
            Reply::No { why } => Ok(no(&why)),
            Reply::Edit { args } => Ok(Decision::Edit { args }),
            Reply::Always { rule } => self.learn(rule, For::Session(self.approval.at.run.session_id.clone())).await,
            Reply::ForGood { rule } => self.learn(rule, For::Good).await,
        }
    }

    /// Adds the rules that were offered, or the one that was typed, if it would have allowed this call.
    async fn learn(&self, typed: Option<String>, hold: For) -> Result<Decision, NotTaken> {
        let complain = |error: &dyn std::fmt::Display| NotTaken::new("not added", error);
        let (Some(rules), Some(offer)) = (self.rules.clone(), &self.offer) else {
            return Err(complain(&"no rule can be added for this call"));
        };
        let learned = typed.map_or_else(|| offer.rules.clone(), |rule| vec![rule]);
        if let Some(error) = learned.iter().find_map(|rule| rule.parse::<Rule>().err()) {
            return Err(complain(&error));
        }
        if !rules.would_allow(&self.approval, &learned) {
            return Err(complain(&format!("`{}` would not allow this call", learned.join(", "))));
        }
        let learning = move || learned.iter().try_for_each(|rule| rules.learn(rule, &hold));
        match tokio::task::spawn_blocking(learning).await {
            Ok(Ok(())) => Ok(self.approval.approve()),
            Ok(Err(error)) => Err(complain(&error)),
            Err(error) => Err(complain(&error)),
        }
    }
}

pub(super) fn no(reason: &str) -> Decision {
    Decision::Deny { reason: reason.to_owned() }
}
