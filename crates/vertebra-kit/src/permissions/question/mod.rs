//! A question about a call: its text, the possible answers and their effect.

mod diff;
mod escape;
mod screen;

use std::path::PathBuf;

use vertebra::{Approval, Args, Decision};

use self::{diff::Change, screen::Screen};
use super::{For, Rule, Rules};

/// The longest rules that are offered. Longer ones could not be read beside the keys.
const MAX_OFFER: usize = 600;

/// The longest error that is shown.
const MAX_COMPLAINT: usize = 1000;

/// A question about a call, for a front end such as a terminal, an editor or a web page.
///
/// Its texts are safe to show: control characters, direction marks and invisible characters are spelled out. Edits are shown
/// as a diff.
pub struct Question {
    approval: Approval,
    change: Option<Change>,
    rules: Option<Rules>,
    offer: Option<Offer>,
    screen: Screen,
}

/// The answer of a person.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Approves exactly these arguments.
    Yes,
    /// Denies the call.
    No {
        /// The reason, which the model reads. May be empty.
        why: String,
    },
    /// Approves the call with other arguments.
    Edit {
        /// The arguments.
        args: Args,
    },
    /// Approves the call and adds a rule for this session.
    Always {
        /// The rule to add instead of the [offered](Question::offered) ones.
        rule: Option<String>,
    },
    /// Approves the call and adds a rule to the [file](Question::file).
    ForGood {
        /// The rule to add instead of the [offered](Question::offered) ones.
        rule: Option<String>,
    },
}

/// Why an answer was rejected. The question stays open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotTaken(String);

impl NotTaken {
    fn new(what: &str, complaint: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {}", escape::on_one_line(&complaint.to_string(), MAX_COMPLAINT)))
    }
}

/// The rules that would allow this call in the future.
struct Offer {
    rules: Vec<String>,
    file: Option<PathBuf>,
}

impl Reply {
    /// Approves the call with arguments in JSON.
    pub fn edited(json: &str) -> Result<Self, NotTaken> {
        let complain = |error: &dyn std::fmt::Display| NotTaken::new("not accepted", error);
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| complain(&error))?;
        Ok(Self::Edit { args: Args::try_from(value).map_err(|error| complain(&error))? })
    }
}

impl Question {
    /// Creates the question from an approval and the current files. With `rules`, it offers to add some.
    pub async fn about(approval: &Approval, rules: Option<&Rules>) -> Self {
        let offer = rules.and_then(|rules| Some(Offer { rules: rules.suggestions(approval)?, file: rules.file() }));
        // No rule allows what only a person can allow.
        let offer = offer.filter(|_| !approval.only_once);
        let offer = offer.filter(|offer| screen::rules(&offer.rules).chars().count() <= MAX_OFFER);
        Self {
            change: diff::of(approval).await,
            approval: approval.clone(),
            rules: rules.cloned(),
            offer,
            screen: Screen { colour: false, columns: usize::MAX },
        }
    }

    /// Turns colour on or off.
    #[must_use]
    pub fn colour(mut self, colour: bool) -> Self {
        self.screen.colour = colour;
        self
    }

    /// Wraps its lines to this width, each with a margin, so that no argument can look as if it were outside of the
    /// question.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.screen.columns = columns;
        self
    }

    /// Returns the question with all of its arguments. Nothing is left out.
    pub fn whole(&self) -> String {
        self.screen.question(&self.approval, self.change.as_ref())
    }

    /// Returns the same in pages of at most this many lines. A front end takes a yes only after it has shown all of them.
    pub fn pages(&self, lines: usize) -> Vec<String> {
        let whole = self.whole();
        let all: Vec<&str> = whole.split_inclusive('\n').collect();
        all.chunks(lines.max(1)).map(<[&str]>::concat).collect()
    }

    /// Returns the rules that [`Reply::Always`] would add.
    pub fn offered(&self) -> Option<String> {
        self.offer.as_ref().map(|offer| screen::rules(&offer.rules))
    }

    /// Returns the file that [`Reply::ForGood`] would add them to.
    pub fn file(&self) -> Option<String> {
        let file = self.offer.as_ref()?.file.as_ref()?;
        Some(screen::file(file))
    }

    /// Returns the possible answers for [`TerminalApprover`](super::TerminalApprover), if this many lines are still to be shown.
    pub(super) fn keys(&self, left: usize) -> String {
        self.screen.keys(left, self.offered(), self.file())
    }

    /// Returns the approval that is asked for.
    pub fn approval(&self) -> &Approval {
        &self.approval
    }

    /// Returns the decision for an answer, and adds rules if the answer says so.
    pub async fn decide(&self, answer: Reply) -> Result<Decision, NotTaken> {
        match answer {
            Reply::Yes => Ok(self.approval.approve()),
            Reply::No { why } if why.is_empty() => Ok(no("the user said no")),
            Reply::No { why } => Ok(no(&why)),
            Reply::Edit { args } => Ok(Decision::Edit { args }),
            Reply::Always { rule } => self.learn(rule, For::Session(self.approval.at.run.session_id.clone())).await,
            Reply::ForGood { rule } => self.learn(rule, For::Good).await,
        }
    }

    /// Adds the offered rules or the typed one, if they allow this call.
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
