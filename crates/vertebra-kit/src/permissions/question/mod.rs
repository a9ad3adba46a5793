//! A question about a call: its text, the possible answers and their effect.

mod diff;
mod escape;
mod screen;
mod script;

use std::path::PathBuf;

use vertebra::{Approval, Args, Decision, NotAnObject};

use self::{diff::Change, screen::Screen};
use super::{For, LearnError, Mode, Rule, Rules};
use crate::bash::{Granted, Lift, sandbox::Network};

/// The longest rules that are offered. Longer ones could not be read beside the keys.
const MAX_OFFER: usize = 600;

/// How many lines of a long question are shown at once after its beginning: more than most have, and fewer than terminals keep.
const REST: usize = 200;

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
    /// The modes of the session that would allow the call.
    modes: Vec<Mode>,
    /// Whether the sandboxed mode would, with what the call needs.
    sandboxed_if_granted: bool,
    /// What the sandbox forbids to the command, if a person can lift it here.
    lift: Option<Lift>,
    /// The network that a person would open to a command that asks for none.
    usual: Network,
    screen: Screen,
}

/// The answer of a person.
///
/// The list is closed: what shows and records replies has to word each of them.
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
    /// Approves the call and adds rules to the [file](Question::file), for sessions that work in the folder of this one.
    ForFolder {
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
    /// Approves the call, and all edits and all commands in the sandbox in this session, with what the call needs.
    AllInSandbox,
    /// Approves the command, and lets it reach the registries of its package managers, or all public hosts.
    WithNetwork,
    /// Approves the call, and grants this to all commands and file tools of the session.
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
    /// Returns whether a key chooses it. Where `+` grants something to the session, `*` does, too.
    pub fn is_chosen_by(&self, key: char) -> bool {
        self.key == key || (key == '*' && self.key == '+' && matches!(self.reply, Reply::Grant { .. }))
    }

    /// Returns what it does, with the rules that it adds.
    pub(super) fn told(&self, emphasis: impl Fn(&str) -> String) -> String {
        match &self.rules {
            Some(rules) => format!("{}: {}", self.label, emphasis(rules)),
            None => self.label.clone(),
        }
    }
}

/// Why an answer was rejected. The question stays open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotTaken {
    /// The arguments are not JSON.
    #[error("not accepted: {}", shown(.0))]
    NotJson(#[from] serde_json::Error),
    /// The arguments are not an object.
    #[error("not accepted: {}", shown(.0))]
    NotAnObject(#[from] NotAnObject),
    /// The call is not an edit in the working folder, so the mode for edits would not allow it.
    #[error("not accepted: this is no edit in the working folder")]
    NoEdit,
    /// The sandboxed mode would not allow this call.
    #[error("not accepted: this is not for a command or an edit in the sandbox")]
    NotSandboxed,
    /// This cannot be granted, or is not what the question offers.
    #[error("not granted: this cannot be granted here")]
    NotOffered,
    /// No rule can allow this call.
    #[error("not added: no rule can be added for this call")]
    NoRule,
    /// These rules would not allow this call.
    #[error("not added: {}", shown(&format_args!("`{}` would not allow this call", .0.join(", "))))]
    OtherCall(Vec<String>),
    /// A rule is invalid or cannot be saved.
    #[error("not added: {}", shown(.0))]
    Rule(#[from] LearnError),
    /// The rule could not be saved because the program is ending.
    #[error("not added: {}", shown(.0))]
    Ending(#[from] tokio::task::JoinError),
}

/// A message on one line: it may show what a person or a file wrote.
fn shown(complaint: &impl std::fmt::Display) -> String {
    escape::on_one_line(&complaint.to_string(), MAX_COMPLAINT)
}

/// The rules that would allow this call in the future.
struct Offer {
    rules: Vec<String>,
    file: Option<PathBuf>,
}

impl Reply {
    /// Approves the call with arguments in JSON.
    pub fn edited(json: &str) -> Result<Self, NotTaken> {
        let value: serde_json::Value = serde_json::from_str(json)?;
        Ok(Self::Edit { args: Args::try_from(value)? })
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
            modes: rules
                .filter(|_| !approval.only_once)
                .map(|rules| rules.allowing_modes(approval))
                .unwrap_or_default(),
            sandboxed_if_granted: rules.is_some_and(|rules| rules.allows_if_granted(approval)),
            rules: rules.cloned(),
            lift: None,
            usual: Network::Public,
            offer,
            screen: Screen { colour: false, columns: usize::MAX },
        }
    }

    /// Offers to lift what the sandbox forbids.
    pub async fn lifting(mut self, lift: Option<&Lift>) -> Self {
        if let Some(lift) = lift {
            self.usual = lift.usual_network(&self.approval).await;
        }
        self.lift = lift.cloned();
        self
    }

    /// Returns in words how the sandbox limits the network of the command, if a person could open more of it.
    pub fn lacks_network(&self) -> Option<String> {
        self.lift.as_ref()?.lacks_network(&self.approval, &self.usual)
    }

    /// Returns what a person can grant to the session.
    fn grantable(&self) -> Option<Granted> {
        self.lift.as_ref()?.offered(&self.approval, &self.usual)
    }

    /// Returns what a person can grant to the session together with the sandboxed mode, if that mode alone would not allow the call.
    fn grantable_in_sandbox(&self) -> Option<Granted> {
        self.grantable().filter(|_| self.sandboxed_if_granted && !self.modes.contains(&Mode::Sandboxed))
    }

    /// Returns whether a person has opened the same network to a single command before.
    fn is_second_time(&self) -> bool {
        let session = &self.approval.at.run.session_id;
        self.lift.as_ref().is_some_and(|lift| lift.was_opened(session, &self.usual))
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

    /// Returns the same in pages, the first of at most this many lines. A front end takes a yes only after it has shown all of
    /// them.
    pub fn pages(&self, first: usize) -> Vec<String> {
        let whole = self.whole();
        let mut all: Vec<&str> = whole.split_inclusive('\n').collect();
        let rest = all.split_off(all.len().min(first.max(1)));
        let pages = std::iter::once(&*all).chain(rest.chunks(REST));
        pages.map(<[&str]>::concat).collect()
    }

    /// Returns the rules that [`Reply::Always`] would add.
    pub fn offered(&self) -> Option<String> {
        self.offer.as_ref().map(|offer| screen::rules(&offer.rules))
    }

    /// Returns the file that [`Reply::ForFolder`] and [`Reply::ForGood`] would add them to.
    pub fn file(&self) -> Option<String> {
        let file = self.offer.as_ref()?.file.as_ref()?;
        Some(screen::file(file))
    }

    /// Returns the ways to approve the call besides a plain yes, in the order in which a front end shows them.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        // What opens more than a call is no letter: words that people begin to type must not choose it.
        if let Some(granted) = self.grantable() {
            let reply = Reply::Grant { granted: granted.clone() };
            let network = format!("with network in this session: {}", granted.network);
            let (key, label) = match self.lacks_network() {
                // Who needs the same network again means it for the session.
                Some(_) if self.is_second_time() => ('+', network),
                Some(_) => {
                    let label = "with network".to_owned();
                    choices.push(Choice { key: '+', label, rules: None, reply: Reply::WithNetwork });
                    ('*', network)
                }
                None => ('*', format!("in this session: {granted}")),
            };
            choices.push(Choice { key, label, rules: None, reply });
        }
        let modes = [
            (Mode::AcceptEdits, 's', "all edits in this session", Reply::AllEdits),
            (Mode::Sandboxed, '!', "all edits and all commands in the sandbox, in this session", Reply::AllInSandbox),
        ];
        for (_, key, label, reply) in modes.into_iter().filter(|(mode, ..)| self.modes.contains(mode)) {
            choices.push(Choice { key, label: label.to_owned(), rules: None, reply });
        }
        if let Some(granted) = self.grantable_in_sandbox() {
            let label = format!("all edits and all commands in the sandbox, in this session, with {granted}");
            choices.push(Choice { key: '!', label, rules: None, reply: Reply::AllInSandbox });
        }
        if let Some(rules) = self.offered() {
            let label = "always in this session".to_owned();
            choices.push(Choice { key: 'a', label, rules: Some(rules), reply: Reply::Always { rule: None } });
        }
        if let Some(file) = self.file() {
            let label = "always in this folder, saved in your settings".to_owned();
            choices.push(Choice { key: '.', label, rules: None, reply: Reply::ForFolder { rule: None } });
            let label = format!("always in all folders, saved in {file}");
            choices.push(Choice { key: 'f', label, rules: None, reply: Reply::ForGood { rule: None } });
        }
        choices
    }

    /// Returns the possible answers for [`TerminalApprover`](super::TerminalApprover), if this many lines are still to be shown.
    pub(super) fn keys(&self, left: usize) -> String {
        self.screen.keys(left, self.lacks_network().as_deref(), &self.choices())
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
            Reply::ForFolder { rule } => self.learn(rule, For::Folder(self.approval.at.run.session_id.clone())).await,
            Reply::ForGood { rule } => self.learn(rule, For::Good).await,
            Reply::WithNetwork => {
                let lift = self.lift.as_ref().filter(|_| self.lacks_network().is_some());
                let lift = lift.ok_or(NotTaken::NotOffered)?;
                lift.opened_once(&self.approval.at.run.session_id, self.usual.clone());
                Ok(Decision::Edit { args: Lift::with_network(&self.approval.call.args, &self.usual) })
            }
            Reply::Grant { granted } => {
                let lift = self.lift.as_ref().filter(|_| self.grantable().as_ref() == Some(&granted));
                let lift = lift.ok_or(NotTaken::NotOffered)?;
                let recorded = granted.recorded();
                lift.grant(&self.approval.at.run.session_id, granted);
                Ok(self.granting(recorded.into_iter().collect()))
            }
            Reply::AllEdits => self.change_mode(Mode::AcceptEdits, NotTaken::NoEdit),
            Reply::AllInSandbox => {
                let granted = self.grantable_in_sandbox();
                let mut decision = self.change_mode(Mode::Sandboxed, NotTaken::NotSandboxed)?;
                if let (Some(lift), Some(granted), Decision::Approve { grants, .. }) =
                    (&self.lift, granted, &mut decision)
                {
                    grants.extend(granted.recorded());
                    lift.grant(&self.approval.at.run.session_id, granted);
                }
                Ok(decision)
            }
        }
    }

    /// Returns a yes that says what else it grants, for the record.
    fn granting(&self, grants: Vec<String>) -> Decision {
        Decision::Approve { digest: self.approval.digest.clone(), grants }
    }

    /// Approves the call and sets the mode of the session, if that would allow the call.
    fn change_mode(&self, mode: Mode, otherwise: NotTaken) -> Result<Decision, NotTaken> {
        let may = self.modes.contains(&mode) || mode == Mode::Sandboxed && self.grantable_in_sandbox().is_some();
        let rules = self.rules.as_ref().filter(|_| may);
        match rules.map(|rules| rules.set_mode(&self.approval.at.run.session_id, mode)) {
            Some(Ok(())) => Ok(self.granting(mode.grant().into_iter().collect())),
            Some(Err(_)) | None => Err(otherwise),
        }
    }

    /// Adds the offered rules or the typed one, if they allow this call.
    async fn learn(&self, typed: Option<String>, hold: For) -> Result<Decision, NotTaken> {
        let (Some(rules), Some(offer)) = (self.rules.clone(), &self.offer) else { return Err(NotTaken::NoRule) };
        let learned = typed.map_or_else(|| offer.rules.clone(), |rules| separated(&rules));
        if let Some(error) = learned.iter().find_map(|rule| rule.parse::<Rule>().err()) {
            return Err(LearnError::from(error).into());
        }
        if !rules.would_allow(&self.approval, &learned) {
            return Err(NotTaken::OtherCall(learned));
        }
        let grants = learned.clone();
        let learning = move || learned.iter().try_for_each(|rule| rules.learn(rule, &hold));
        tokio::task::spawn_blocking(learning).await??;
        Ok(self.granting(grants))
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
