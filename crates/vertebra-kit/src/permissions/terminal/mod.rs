//! A person at a terminal decides.

mod diff;
mod editor;
mod escape;
mod input;
mod screen;

use std::{
    fs::File,
    io::{self, Write},
    os::fd::OwnedFd,
    path::PathBuf,
};

use tokio::sync::Mutex;
use vertebra::{Approval, Approver, Args, Decision};

use self::{
    diff::Line,
    editor::Editor,
    input::{Attention, Input, Typed},
    screen::{Screen, View},
};
use super::{For, Rule, Rules};

/// How many answers that are none a person may give to one question.
const MAX_TRIES: usize = 100;

/// Asks a person at a terminal, one question at a time.
///
/// What is asked about is shown in full on demand, and never raw: control characters, direction marks and invisible
/// characters are spelled out. Edits are shown as a difference. `y` says yes to exactly the arguments shown, `n` no, `e`
/// edits them, `a` and `f` say yes and add a rule; the end of input and Ctrl-C say no.
pub struct TerminalApprover {
    /// One question at a time: others wait for the lock, in the order they came.
    desk: Mutex<Desk>,
    rules: Option<Rules>,
    screen: Screen,
    editor: Option<Editor>,
}

/// The terminal itself.
struct Desk {
    input: Input,
    output: Box<dyn Write + Send>,
}

/// Rules that would answer the question for the future.
pub(super) struct Offer {
    rules: Vec<String>,
    file: Option<PathBuf>,
}

impl TerminalApprover {
    /// Asks on the terminal of the process, wherever its input and output go. Arguments are edited with `$VISUAL` or
    /// `$EDITOR`; there is colour unless `$NO_COLOR` is set.
    pub fn open() -> io::Result<Self> {
        let tty = || File::options().read(true).write(true).open("/dev/tty");
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let editor = Editor::from_environment();
        Ok(Self { screen: Screen { colour }, editor, ..Self::on(tty()?, tty()?) })
    }

    /// Asks on these: a pseudo-terminal, or two pipes. Without colour; arguments are edited in line.
    pub fn on(input: impl Into<OwnedFd>, output: impl Write + Send + 'static) -> Self {
        let desk = Desk { input: Input::new(input), output: Box::new(output) };
        Self { desk: Mutex::new(desk), rules: None, screen: Screen { colour: false }, editor: None }
    }

    /// Offers to add rules to these, so that the same question does not come again.
    #[must_use]
    pub fn learning(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Shows colours, or not.
    #[must_use]
    pub fn colour(mut self, colour: bool) -> Self {
        self.screen.colour = colour;
        self
    }

    /// Edits arguments with this command.
    #[must_use]
    pub fn editor(mut self, command: &str) -> Self {
        self.editor = Editor::new(command);
        self
    }
}

impl Approver for TerminalApprover {
    async fn decide(&self, approval: &Approval) -> Decision {
        let mut desk = self.desk.lock().await;
        let change = diff::of(approval).await;
        Asking { approver: self, approval, change: change.as_deref() }.ask(&mut desk).await
    }
}

/// One question.
struct Asking<'q> {
    approver: &'q TerminalApprover,
    approval: &'q Approval,
    change: Option<&'q [Line]>,
}

impl Asking<'_> {
    async fn ask(&self, desk: &mut Desk) -> Decision {
        let mut open = Open { attention: desk.input.attend(), desk, answered: false };
        let offer = self.offer();
        open.say(&self.approver.screen.question(self.approval, self.change, View::Short));
        for _ in 0..MAX_TRIES {
            open.say(&self.approver.screen.keys(offer.as_ref()));
            let decision = match open.desk.input.line().await {
                Ok(Typed::Line(line)) => self.answer(&mut open, offer.as_ref(), &line).await,
                Ok(Typed::Interrupt) => Some(no("the person pressed Ctrl-C")),
                Ok(Typed::End) => Some(no("the terminal was closed")),
                Err(error) => Some(no(&format!("the terminal cannot be read: {error}"))),
            };
            if let Some(decision) = decision {
                open.close(&decision);
                return decision;
            }
        }
        let decision = no("no answer could be understood");
        open.close(&decision);
        decision
    }

    /// What a line decides; `None` if the question stays open.
    async fn answer(&self, open: &mut Open<'_>, offer: Option<&Offer>, line: &str) -> Option<Decision> {
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match (&*key.to_lowercase(), offer) {
            ("y" | "yes", _) if rest.is_empty() => Some(self.approval.approve()),
            ("n" | "no", _) if rest.is_empty() => {
                open.say("why? ");
                match open.desk.input.line().await {
                    Ok(Typed::Line(why)) if !why.is_empty() => Some(no(&why)),
                    Ok(Typed::Line(_) | Typed::Interrupt | Typed::End) | Err(_) => Some(no("the person said no")),
                }
            }
            ("n" | "no", _) => Some(no(rest)),
            ("e" | "edit", _) if rest.is_empty() => match self.edited(open).await {
                Ok(args) => args.map(|args| Decision::Edit { args }),
                Err(error) => {
                    open.say(&format!("not taken over: {}\n", escape::on_one_line(&error.to_string(), 500)));
                    None
                }
            },
            ("a" | "always", Some(offer)) => {
                let session = self.approval.at.run.session_id.clone();
                self.learn(open, offer, rest, For::Session(session)).await
            }
            ("f" | "file", Some(offer)) if offer.file.is_some() => self.learn(open, offer, rest, For::Good).await,
            ("v" | "view", _) => {
                open.say(&self.approver.screen.question(self.approval, self.change, View::Whole));
                None
            }
            _ => None,
        }
    }

    async fn edited(&self, open: &mut Open<'_>) -> io::Result<Option<Args>> {
        if let Some(editor) = &self.approver.editor {
            // The editor gets the terminal as it was before the question.
            open.attention = None;
            let edited = editor.edit(&self.approval.args, open.desk.input.share()?).await;
            open.attention = open.desk.input.attend();
            return edited.map(Some);
        }
        open.say("the arguments as JSON, on one line; an empty line goes back\n> ");
        match open.desk.input.line().await? {
            Typed::Line(line) if line.is_empty() => Ok(None),
            Typed::Line(line) => editor::parse(&line).map(Some),
            Typed::Interrupt | Typed::End => Ok(None),
        }
    }

    fn offer(&self) -> Option<Offer> {
        let rules = self.approver.rules.as_ref()?;
        Some(Offer { rules: rules.suggestions(self.approval)?, file: rules.file() })
    }

    /// Adds the rules that were offered, or the one that was typed, if it would have allowed this call.
    async fn learn(&self, open: &mut Open<'_>, offer: &Offer, typed: &str, hold: For) -> Option<Decision> {
        let rules = self.approver.rules.clone()?;
        let learned = if typed.is_empty() { offer.rules.clone() } else { vec![typed.to_owned()] };
        let fits = match learned.iter().find_map(|rule| rule.parse::<Rule>().err()) {
            Some(error) => Err(error.to_string()),
            None if !rules.would_allow(self.approval, &learned) => {
                Err(format!("`{}` would not allow this call", learned.join(", ")))
            }
            None => Ok(()),
        };
        let added = match fits {
            Ok(()) => {
                let learning = move || learned.iter().try_for_each(|rule| rules.learn(rule, &hold));
                let done = tokio::task::spawn_blocking(learning).await;
                done.map_err(|error| error.to_string()).and_then(|done| done.map_err(|error| error.to_string()))
            }
            Err(complaint) => Err(complaint),
        };
        match added {
            Ok(()) => Some(self.approval.approve()),
            Err(complaint) => {
                open.say(&format!("not added: {}\n", escape::on_one_line(&complaint, 1000)));
                None
            }
        }
    }
}

fn no(reason: &str) -> Decision {
    Decision::Deny { reason: reason.to_owned() }
}

/// A question that is on the screen. If it is dropped unanswered, the screen says so.
struct Open<'d> {
    desk: &'d mut Desk,
    attention: Option<Attention>,
    answered: bool,
}

impl Open<'_> {
    /// A terminal that cannot be written to is one that nobody answers at.
    fn say(&mut self, text: &str) {
        let _ = self.desk.output.write_all(text.as_bytes()).and_then(|()| self.desk.output.flush());
    }

    fn close(&mut self, decision: &Decision) {
        self.answered = true;
        self.say(match decision {
            Decision::Approve { .. } => "  yes\n",
            Decision::Deny { .. } => "  no\n",
            Decision::Edit { .. } => "  yes, with other arguments\n",
        });
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.answered {
            let clear = if self.attention.is_some() { "\r\x1b[2K" } else { "\n" };
            self.say(&format!("{clear}  no: the time for an answer is over, or the run has ended\n"));
        }
    }
}
