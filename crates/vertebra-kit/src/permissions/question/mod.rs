//! A question about a call: its text, the possible answers and their effect.

mod diff;
mod escape;
mod screen;
mod script;

use std::path::PathBuf;

use vertebra::{Approval, Args, Decision};

use self::{diff::Change, screen::Screen};
use super::{For, Mode, Rule, Rules};
use crate::bash::{Granted, Lift};

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
    /// Whether it is about an edit that accepting all edits would allow.
    allows_edits: bool,
    /// What the sandbox forbids to the command, if a person can lift it here.
    lift: Option<Lift>,
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
    /// Approves the call and adds rules for this session.
    Always {
        /// The rules to add instead of the [offered](Question::offered) ones, separated by commas.
        rule: Option<String>,
    },
    /// Approves the call and adds rules to the [file](Question::file).
    ForGood {
        /// The rules to add instead of the [offered](Question::offered) ones, separated by commas.
        rule: Option<String>,
    },
    /// Approves the call, and all edits of files in the working folder in this session.
    AllEdits,
    /// Approves the command, and lets it reach all public hosts.
    WithNetwork,
    /// Approves the command, and grants this to all commands of the session.
    Grant {
        /// What is granted.
        granted: Granted,
    },
}

/// A way to approve a call that a question offers besides a plain yes.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The key that chooses it.
    pub key: char,
    /// What is approved besides this call, in a few words.
    pub label: String,
    /// The rules that it adds, if it adds some.
    pub rules: Option<String>,
    /// The answer.
    pub reply: Reply,
}

impl Choice {
    /// Returns what it does, with the rules that it adds.
    pub(super) fn told(&self, emphasis: impl Fn(&str) -> String) -> String {
        match &self.rules {
            Some(rules) => format!("{}: {}", self.label, emphasis(rules)),
            None => self.label.clone(),
        }
    }
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
            allows_edits: rules.is_some_and(|rules| rules.is_acceptable_edit(approval)),
            rules: rules.cloned(),
            lift: None,
            offer,
            screen: Screen { colour: false, columns: usize::MAX },
        }
    }

    /// Offers to lift what the sandbox forbids.
    #[must_use]
    pub fn lifting(mut self, lift: Option<&Lift>) -> Self {
        self.lift = lift.cloned();
        self
    }

    /// Returns whether the command would run without network although a person could grant it.
    pub fn lacks_network(&self) -> bool {
        self.lift.as_ref().is_some_and(|lift| lift.lacks_network(&self.approval))
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

    /// Returns the ways to approve the call besides a plain yes, in the order in which a front end shows them.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        // No letters: words that people begin to type must not open anything.
        if self.lacks_network() {
            let label = "with network".to_owned();
            choices.push(Choice { key: '+', label, rules: None, reply: Reply::WithNetwork });
        }
        if let Some(granted) = self.lift.as_ref().and_then(|lift| lift.offered(&self.approval)) {
            let label = if self.lacks_network() {
                "with network in this session".to_owned()
            } else {
                format!("in this session, for all commands: {granted}")
            };
            choices.push(Choice { key: '*', label, rules: None, reply: Reply::Grant { granted } });
        }
        if self.allows_edits {
            let label = "all edits in this session".to_owned();
            choices.push(Choice { key: 's', label, rules: None, reply: Reply::AllEdits });
        }
        if let Some(rules) = self.offered() {
            let label = "always in this session".to_owned();
            choices.push(Choice { key: 'a', label, rules: Some(rules), reply: Reply::Always { rule: None } });
        }
        if let Some(file) = self.file() {
            let label = format!("always, saved in {file}");
            choices.push(Choice { key: 'f', label, rules: None, reply: Reply::ForGood { rule: None } });
        }
        choices
    }

    /// Returns the possible answers for [`TerminalApprover`](super::TerminalApprover), if this many lines are still to be shown.
    pub(super) fn keys(&self, left: usize) -> String {
        self.screen.keys(left, self.lacks_network(), &self.choices())
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
            Reply::WithNetwork => Ok(Decision::Edit { args: Lift::with_network(&self.approval.args) }),
            Reply::Grant { granted } => {
                let lift = self.lift.as_ref().filter(|lift| lift.offered(&self.approval).as_ref() == Some(&granted));
                let lift = lift.ok_or_else(|| NotTaken::new("not granted", "this cannot be granted here"))?;
                lift.grant(&self.approval.at.run.session_id, granted);
                Ok(self.approval.approve())
            }
            Reply::AllEdits => {
                let rules = self.rules.as_ref().filter(|_| self.allows_edits);
                let accepted = rules
                    .is_some_and(|rules| rules.set_mode(&self.approval.at.run.session_id, Mode::AcceptEdits).is_ok());
                if accepted {
                    Ok(self.approval.approve())
                } else {
                    Err(NotTaken::new("not accepted", "this is no edit in the working folder"))
                }
            }
        }
    }

    /// Adds the offered rules or the typed one, if they allow this call.
    async fn learn(&self, typed: Option<String>, hold: For) -> Result<Decision, NotTaken> {
        let complain = |error: &dyn std::fmt::Display| NotTaken::new("not added", error);
        let (Some(rules), Some(offer)) = (self.rules.clone(), &self.offer) else {
            return Err(complain(&"no rule can be added for this call"));
        };
        let learned = typed.map_or_else(|| offer.rules.clone(), |rules| separated(&rules));
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

/// Returns the rules of a list. A comma within the parentheses of a rule belongs to the rule.
fn separated(rules: &str) -> Vec<String> {
    let (mut listed, mut rule, mut depth) = (Vec::new(), String::new(), 0_usize);
    for c in rules.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                listed.push(std::mem::take(&mut rule));
                continue;
            }
            _ => {}
        }
        rule.push(c);
    }
    listed.push(rule);
    listed.iter().map(|rule| rule.trim().to_owned()).filter(|rule| !rule.is_empty()).collect()
}

pub(super) fn no(reason: &str) -> Decision {
    Decision::Deny { reason: reason.to_owned() }
}
