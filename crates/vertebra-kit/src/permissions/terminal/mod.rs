//! An approver that asks on a terminal.

mod editor;
mod input;

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::fd::OwnedFd,
};

use tokio::sync::Mutex;
use vertebra::{Approval, Approver, Decision};

use self::{
    editor::Editor,
    input::{Attention, Input, Typed},
};
use super::{
    Rules,
    question::{NotTaken, Question, Reply, no},
};
use crate::bash::Lift;

/// How many invalid answers one question accepts.
const MAX_TRIES: usize = 100;

/// How many lines of a question are shown at once, and at least on the smallest terminal.
const PAGE: usize = 40;
const MIN_PAGE: usize = 5;

/// The lines below a question: what it offers.
const KEYS: usize = 8;

/// The columns of the narrowest terminal for which lines are wrapped.
const MIN_COLUMNS: usize = 20;

/// An approver that asks a person on a terminal, one question at a time.
///
/// Arguments are shown in full, a page at a time, and a yes counts only after the last page. Control characters, direction marks and invisible characters are spelled out. Edits
/// are shown as a diff. `y` approves exactly the arguments shown, `n` denies, `e` edits the arguments, `a`, `.` and `f` approve
/// and add a rule, and `+` and `*` approve a command with network. The end of input and Ctrl-C deny.
pub struct TerminalApprover {
    /// The lock for one question at a time. Others wait in the order in which they came.
    desk: Mutex<Desk>,
    rules: Option<Rules>,
    lift: Option<Lift>,
    colour: bool,
    editor: Option<Editor>,
}

/// The terminal itself.
struct Desk {
    input: Input,
    output: Box<dyn Write + Send>,
}

impl TerminalApprover {
    /// Opens the terminal of the process, even if its input and output are redirected. Arguments are edited with `$VISUAL`
    /// or `$EDITOR`. Colour is on unless `$NO_COLOR` is set.
    pub fn open() -> io::Result<Self> {
        let tty = || File::options().read(true).write(true).open("/dev/tty");
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let editor = Editor::from_environment();
        Ok(Self { colour, editor, ..Self::on(tty()?, tty()?) })
    }

    /// Asks on this input and output: a pseudo-terminal or two pipes. Colour is off, and arguments are edited in line.
    pub fn on(input: impl Into<OwnedFd>, output: impl Write + Send + 'static) -> Self {
        let desk = Desk { input: Input::new(input), output: Box::new(output) };
        Self { desk: Mutex::new(desk), rules: None, lift: None, colour: false, editor: None }
    }

    /// Offers to add rules to these, so that the same question is not asked again.
    #[must_use]
    pub fn learning(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Offers to lift what the sandbox forbids to a command.
    #[must_use]
    pub fn lifting(mut self, lift: Lift) -> Self {
        self.lift = Some(lift);
        self
    }

    /// Turns colour on or off.
    #[must_use]
    pub fn colour(mut self, colour: bool) -> Self {
        self.colour = colour;
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
        let question = Question::about(approval, self.rules.as_ref()).await;
        let question = question.lifting(self.lift.as_ref()).await.colour(self.colour);
        // A line that fills the screen counts as many lines.
        let (question, page) = match desk.input.size() {
            Some((columns, rows)) => {
                (question.columns(columns.max(MIN_COLUMNS)), rows.saturating_sub(KEYS).clamp(MIN_PAGE, PAGE))
            }
            None => (question, PAGE),
        };
        Asking { question, page, editor: self.editor.as_ref() }.ask(&mut desk).await
    }

    async fn recall(&self, approval: &Approval, decision: &Decision) {
        if let (Some(rules), Decision::Approve { grants, .. }) = (&self.rules, decision) {
            rules.recall(&approval.at.run.session_id, grants);
        }
    }
}

/// One question.
struct Asking<'q> {
    question: Question,
    /// How many lines are shown at first.
    page: usize,
    editor: Option<&'q Editor>,
}

impl Asking<'_> {
    async fn ask(&self, desk: &mut Desk) -> Decision {
        let mut open = Open { attention: desk.input.attend(), desk, answered: false };
        let mut pages = VecDeque::from(self.question.pages(self.page));
        open.say(&pages.pop_front().unwrap_or_default());
        let mut tries = 0;
        while tries < MAX_TRIES {
            let left = pages.iter().map(|page| page.lines().count()).sum();
            open.say(&self.question.keys(left));
            let answer = match open.desk.input.line().await {
                // A page does not count as a try: a long question has many.
                Ok(Typed::Line(line)) if left > 0 && matches!(&*line.trim().to_lowercase(), "" | "v" | "view") => {
                    open.say(&pages.pop_front().unwrap_or_default());
                    continue;
                }
                Ok(Typed::Line(line)) => self.answer(&mut open, &line).await,
                Ok(Typed::Interrupt) => Ok(Some(because("the user pressed Ctrl-C"))),
                Ok(Typed::End) => Ok(Some(because("the terminal was closed"))),
                Err(error) => Ok(Some(because(&format!("the terminal cannot be read: {error}")))),
            };
            tries += 1;
            let granted = match &answer {
                Ok(Some(Reply::WithNetwork)) => Some("yes, with network".to_owned()),
                Ok(Some(Reply::Grant { granted })) => Some(format!("yes, in this session: {granted}")),
                Ok(_) | Err(_) => None,
            };
            let decision = match answer {
                Ok(Some(answer)) if left > 0 && !matches!(answer, Reply::No { .. }) => {
                    open.say("view the rest first: v\n");
                    continue;
                }
                Ok(Some(answer)) => self.question.decide(answer).await,
                Ok(None) => continue,
                Err(complaint) => Err(complaint),
            };
            match decision {
                Ok(decision) => {
                    open.close(&decision, granted.as_deref());
                    return decision;
                }
                Err(complaint) => open.say(&format!("{complaint}\n")),
            }
        }
        let decision = no("no valid answer was given");
        open.close(&decision, None);
        decision
    }

    /// Parses an answer. Returns `None` if the question stays open.
    async fn answer(&self, open: &mut Open<'_>, line: &str) -> Result<Option<Reply>, NotTaken> {
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let rule = (!rest.is_empty()).then(|| rest.to_owned());
        let chosen = |key: char| {
            let choice = self.question.choices().into_iter().find(|choice| choice.is_chosen_by(key));
            choice.map(|choice| choice.reply)
        };
        let (offers, has_file) = (self.question.offered().is_some(), self.question.file().is_some());
        Ok(match &*key.to_lowercase() {
            "y" | "yes" if rest.is_empty() => Some(Reply::Yes),
            "n" | "no" if rest.is_empty() => {
                open.say("reason: ");
                match open.desk.input.line().await {
                    Ok(Typed::Line(why)) => Some(because(&why)),
                    Ok(Typed::Interrupt | Typed::End) | Err(_) => Some(because("")),
                }
            }
            "n" | "no" => Some(because(rest)),
            "e" | "edit" if rest.is_empty() => match self.edited(open).await {
                Ok(json) => json.map(|json| Reply::edited(&json)).transpose()?,
                Err(error) => {
                    open.say(&format!("not accepted: {error}\n"));
                    None
                }
            },
            "s" if rest.is_empty() => chosen('s'),
            "!" if rest.is_empty() => chosen('!'),
            "+" if rest.is_empty() => chosen('+'),
            "*" if rest.is_empty() => chosen('*'),
            "a" | "always" if offers => Some(Reply::Always { rule }),
            "." if has_file => Some(Reply::ForFolder { rule }),
            "f" | "file" if has_file => Some(Reply::ForGood { rule }),
            "v" | "view" => {
                open.say(&self.question.whole());
                None
            }
            _ => None,
        })
    }

    /// Asks for other arguments as JSON. Returns `None` if the user goes back.
    async fn edited(&self, open: &mut Open<'_>) -> io::Result<Option<String>> {
        if let Some(editor) = self.editor {
            // The editor gets the terminal as it was before the question.
            open.attention = None;
            let edited = editor.edit(&self.question.approval().call.args, open.desk.input.share()?).await;
            open.attention = open.desk.input.attend();
            return edited.map(Some);
        }
        open.say("arguments as JSON, on one line; leave it empty to go back\n> ");
        match open.desk.input.line().await? {
            Typed::Line(line) => Ok((!line.is_empty()).then_some(line)),
            Typed::Interrupt | Typed::End => Ok(None),
        }
    }
}

fn because(why: &str) -> Reply {
    Reply::No { why: why.to_owned() }
}

/// A question on the screen. If it is dropped without an answer, the screen says so.
struct Open<'d> {
    desk: &'d mut Desk,
    attention: Option<Attention>,
    answered: bool,
}

impl Open<'_> {
    /// Writes text. Errors are ignored: no one can answer on a broken terminal.
    fn say(&mut self, text: &str) {
        let _ = self.desk.output.write_all(text.as_bytes()).and_then(|()| self.desk.output.flush());
    }

    fn close(&mut self, decision: &Decision, granted: Option<&str>) {
        self.answered = true;
        let words = granted.unwrap_or(match decision {
            Decision::Approve { .. } => "yes",
            Decision::Deny { .. } => "no",
            Decision::Edit { .. } => "yes, with edited arguments",
            Decision::Later => "later",
        });
        self.say(&format!("  {words}\n"));
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.answered {
            let clear = if self.attention.is_some() { "\r\x1b[2K" } else { "\n" };
            self.say(&format!("{clear}  no answer: the question timed out, or the run has ended\n"));
        }
    }
}
