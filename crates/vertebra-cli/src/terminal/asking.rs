//! Asks for approval in the terminal.

use std::{collections::VecDeque, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use vertebra::{Approval, Approver, Decision};
use vertebra_kit::{
    bash::Lift,
    permissions::{Choice, NotTaken, Question, Reply, Rules},
};

use super::{
    editor::{Editor, Entry},
    keys::Key,
};
use crate::{
    surface::Surface,
    view::{
        rows::{BOLD, DIM, PLAIN, RED, Row, Span, lines, wrap},
        text::counted,
    },
};

/// A question accepts answers only after this long without a key press, so that text the user is typing when it appears is
/// not taken as an answer.
const QUIET: Duration = Duration::from_millis(400);

/// The rows below a question: its keys, the rules that it offers, and the line that is being typed.
const KEYS: usize = 11;

/// The same while there is more of the question to be seen.
const KEYS_BEFORE_THE_REST: usize = 4;

/// How many lines of a question are shown at once on the smallest screen.
const MIN_PAGE: usize = 5;

/// The approver that sends questions to the terminal.
pub(crate) struct Inline {
    desk: mpsc::Sender<Asked>,
    rules: Rules,
    lift: Lift,
    colour: bool,
    /// Whether the question can be answered later, after the program has exited.
    may_wait: bool,
}

/// A question and the channel for its answer.
pub(crate) struct Asked {
    question: Question,
    answer: oneshot::Sender<Decision>,
    may_wait: bool,
}

impl Asked {
    /// Returns what is asked about.
    pub(crate) fn approval(&self) -> &Approval {
        self.question.approval()
    }

    /// Answers the question later, without showing it.
    pub(crate) fn put_off(self) {
        // If the question was withdrawn, the answer has no effect.
        let _ = self.answer.send(Decision::Later);
    }
}

impl Inline {
    /// Sends questions through this channel. An "always" answer adds to these rules.
    pub(crate) fn new(desk: mpsc::Sender<Asked>, rules: Rules, lift: Lift, colour: bool, may_wait: bool) -> Self {
        Self { desk, rules, lift, colour, may_wait }
    }
}

impl Approver for Inline {
    async fn decide(&self, approval: &Approval) -> Decision {
        let gone = || Decision::Deny { reason: "the terminal was closed".to_owned() };
        let (answer, decided) = oneshot::channel();
        let question = Question::about(approval, Some(&self.rules)).await;
        let question = question.lifting(Some(&self.lift)).await.colour(self.colour);
        match self.desk.send(Asked { question, answer, may_wait: self.may_wait }).await {
            Ok(()) => decided.await.unwrap_or_else(|_| gone()),
            Err(_) => gone(),
        }
    }

    async fn recall(&self, approval: &Approval, decision: &Decision) {
        if let Decision::Approve { grants, .. } = decision {
            self.rules.recall(&approval.at.run.session_id, grants);
        }
    }
}

/// A question on the screen.
pub(crate) struct Asking {
    question: Question,
    answer: oneshot::Sender<Decision>,
    stage: Stage,
    /// When keys start to count as answers.
    answers_from: Instant,
    colour: bool,
    may_wait: bool,
    /// Why the last answer was rejected.
    complaint: Option<String>,
    /// What has not been on the screen yet. Until then no answer approves anything.
    unseen: VecDeque<String>,
}

enum Stage {
    /// One key answers.
    Key,
    /// The call is denied; the user types the reason.
    Why(Editor),
    /// The call is approved with this command, or with these arguments.
    Edit(Editor),
    /// The call is approved, and these rules are added.
    Rule(Editor),
}

/// The state of a question after a key.
pub(crate) enum Step {
    /// The question is open.
    Open(Asking),
    /// The question is open, and the key was not for it.
    NotForIt(Asking, Key),
    /// The question is answered.
    Answered,
    /// The user answers it later.
    PutOff,
    /// The call is denied, and the user stops the run.
    Stop,
}

impl Asking {
    /// Shows the question.
    pub(crate) fn begin(asked: Asked, colour: bool, surface: &mut dyn Surface) -> Self {
        let Asked { question, answer, may_wait } = asked;
        let question = question.columns(surface.width());
        let mut unseen = VecDeque::from(question.pages(page(surface, KEYS)));
        if unseen.len() > 1 {
            unseen = question.pages(page(surface, KEYS_BEFORE_THE_REST)).into();
        }
        surface.write(&unseen.pop_front().unwrap_or_default());
        let answers_from = Instant::now() + QUIET;
        Self { question, answer, stage: Stage::Key, answers_from, colour, may_wait, complaint: None, unseen }
    }

    /// Returns whether keys count as answers.
    pub(crate) fn is_open(&self) -> bool {
        Instant::now() >= self.answers_from
    }

    /// Waits until keys count as answers or the question is withdrawn. Returns whether it is still open.
    pub(crate) async fn wait(&mut self) -> bool {
        let until = self.answers_from;
        tokio::select! {
            () = self.answer.closed() => false,
            () = tokio::time::sleep_until(until), if !self.is_open() => true,
        }
    }

    /// Closes the question without an answer.
    pub(crate) fn take_back(self, surface: &mut dyn Surface) {
        close(surface, self.colour, "no answer: the question timed out, or the run has ended");
    }

    /// Handles a key.
    pub(crate) async fn press(mut self, key: Key, surface: &mut dyn Surface) -> Step {
        if key == Key::Interrupt {
            return self.stop(surface).await;
        }
        if !self.is_open() {
            // The user is still typing a message.
            self.answers_from = Instant::now() + QUIET;
            return Step::NotForIt(self, key);
        }
        self.complaint = None;
        match (&mut self.stage, key) {
            (Stage::Key, key) => self.choose(key, surface).await,
            (Stage::Why(_) | Stage::Edit(_) | Stage::Rule(_), Key::Escape) => {
                self.stage = Stage::Key;
                Step::Open(self)
            }
            (Stage::Why(editor), Key::Enter) => {
                let why = editor.take().trim().to_owned();
                self.reply(Reply::No { why }, surface).await
            }
            (Stage::Edit(editor), Key::Enter) => match edited(&self.question, editor.text()) {
                Ok(reply) => self.reply(reply, surface).await,
                Err(complaint) => {
                    self.complaint = Some(complaint.to_string());
                    Step::Open(self)
                }
            },
            (Stage::Rule(editor), Key::Enter) => {
                let rule = Some(editor.text().trim().to_owned());
                self.reply(Reply::Always { rule }, surface).await
            }
            (Stage::Rule(editor), Key::Tab) if self.question.file().is_some() => {
                let rule = Some(editor.text().trim().to_owned());
                self.reply(Reply::ForFolder { rule }, surface).await
            }
            (Stage::Rule(editor), Key::NewLine) if self.question.file().is_some() => {
                let rule = Some(editor.text().trim().to_owned());
                self.reply(Reply::ForGood { rule }, surface).await
            }
            (Stage::Rule(_), Key::NewLine | Key::Tab) => Step::Open(self),
            (Stage::Why(editor) | Stage::Edit(editor) | Stage::Rule(editor), key) => {
                editor.press(&key);
                Step::Open(self)
            }
        }
    }

    async fn choose(mut self, key: Key, surface: &mut dyn Surface) -> Step {
        let letter = match &key {
            Key::Char(letter) => letter.to_ascii_lowercase(),
            Key::Escape => return self.stop(surface).await,
            // What was typed into the line below can be taken back.
            Key::Backspace => return Step::NotForIt(self, key),
            _ => return Step::Open(self),
        };
        let choice = self.question.choices().into_iter().find(|choice| choice.is_chosen_by(letter));
        match (letter, choice) {
            ('v' | ' ', _) if !self.unseen.is_empty() => {
                surface.write(&self.unseen.pop_front().unwrap_or_default());
                // A key that is held down does not answer what it has just brought onto the screen.
                self.answers_from = Instant::now() + QUIET;
            }
            ('y' | 'e' | 'r', _) | (_, Some(_)) if !self.unseen.is_empty() => {
                self.complaint = Some("view the rest first: press v".to_owned());
            }
            ('y', _) => return self.reply(Reply::Yes, surface).await,
            ('n', _) => self.stage = Stage::Why(Editor::default()),
            ('e', _) => self.stage = Stage::Edit(Editor::of(written(&self.question))),
            ('r', _) if self.question.offered().is_some() => {
                self.stage = Stage::Rule(Editor::of(self.question.offered().unwrap_or_default()));
            }
            ('l', _) if self.may_wait => return self.put_off(surface),
            (_, Some(choice)) => return self.reply(choice.reply, surface).await,
            (_, None) => {
                // A word or a terminal response starts, so the next letters are not answers either.
                self.answers_from = Instant::now() + QUIET;
                return Step::NotForIt(self, key);
            }
        }
        Step::Open(self)
    }

    async fn stop(self, surface: &mut dyn Surface) -> Step {
        self.reply(Reply::No { why: "the user stopped the run".to_owned() }, surface).await;
        Step::Stop
    }

    /// Suspends the run. It asks again when it is resumed.
    fn put_off(self, surface: &mut dyn Surface) -> Step {
        close(surface, self.colour, "later");
        let _ = self.answer.send(Decision::Later);
        Step::PutOff
    }

    async fn reply(mut self, reply: Reply, surface: &mut dyn Surface) -> Step {
        let words = match &reply {
            Reply::Yes => "yes".to_owned(),
            Reply::No { why } if why.is_empty() => "no".to_owned(),
            Reply::No { why } => format!("no: {}", crate::view::text::on_one_line(why)),
            Reply::Edit { .. } => "yes, with edited arguments".to_owned(),
            Reply::Always { rule } => format!("yes, always in this session: {}", self.rules(rule.as_deref())),
            Reply::ForFolder { rule } => {
                format!("yes, from now on in this folder: {}", self.rules(rule.as_deref()))
            }
            Reply::ForGood { rule } => format!("yes, from now on: {}", self.rules(rule.as_deref())),
            Reply::AllEdits => "yes, and all edits in this session".to_owned(),
            Reply::AllInSandbox => {
                let chosen = self.question.choices().into_iter().find(|choice| choice.reply == reply);
                format!("yes, and {}", chosen.map(|choice| choice.label).unwrap_or_default())
            }
            Reply::WithNetwork => "yes, with network".to_owned(),
            Reply::Grant { granted } => format!("yes, in this session: {granted}"),
        };
        match self.question.decide(reply).await {
            Ok(decision) => {
                close(surface, self.colour, &words);
                // If the question was withdrawn, the answer has no effect.
                let _ = self.answer.send(decision);
                Step::Answered
            }
            Err(complaint) => {
                self.complaint = Some(complaint.to_string());
                Step::Open(self)
            }
        }
    }

    /// Returns the rules that an answer adds.
    fn rules(&self, typed: Option<&str>) -> String {
        typed.map_or_else(|| self.question.offered().unwrap_or_default(), crate::view::text::on_one_line)
    }

    /// Returns the possible answers and the text that is being typed.
    pub(crate) fn entry(&self, draft: Option<Entry>, columns: usize, height: usize) -> Entry {
        let told = |what: &str, how: &str| vec![Row::default().with(PLAIN, what).with(DIM, how)];
        let (mut rows, below) = match &self.stage {
            Stage::Key => (self.keys(), draft.unwrap_or_default()),
            Stage::Why(editor) => (
                told("reason: ", "the model reads it; may be empty · enter to deny · esc to go back"),
                editor.shown("  ", columns, height),
            ),
            Stage::Edit(editor) => {
                let what = if command(&self.question).is_some() { "command: " } else { "arguments: " };
                (told(what, "enter to run · alt-enter: new line · esc to go back"), editor.shown("  ", columns, height))
            }
            Stage::Rule(editor) => {
                let saves = if self.question.file().is_some() {
                    " · tab: in this folder · alt-enter: in all folders"
                } else {
                    ""
                };
                (
                    told("rule: ", &format!("enter: in this session{saves} · esc to go back")),
                    editor.shown("  ", columns, height),
                )
            }
        };
        if let Some(complaint) = &self.complaint {
            rows.insert(0, Row::default().with(RED, complaint));
        }
        // Every row has a margin of two columns; the first one starts with the corner.
        let rows = rows.iter().flat_map(|row| wrap(&row.0, columns.saturating_sub(3)));
        let margin = |number| if number == 0 { "└ " } else { "  " };
        let rows = rows.enumerate().map(|(number, row)| format!("{}{}", margin(number), row.paint(self.colour)));
        Entry { alone: true, ..below.under(rows.collect()) }
    }

    fn keys(&self) -> Vec<Row> {
        if !self.is_open() {
            return vec![Row::default().with(DIM, "…")];
        }
        let key = |row: Row, key: &str, what: &str| row.with(BOLD, key.to_owned()).with(PLAIN, format!(" {what}   "));
        if !self.unseen.is_empty() {
            let left: usize = self.unseen.iter().map(|page| page.lines().count()).sum();
            let what = format!("view the rest ({}), then answer", counted(left, "more line"));
            let row = key(key(Row::default(), "v", &what), "n", "no");
            let row = if self.may_wait { key(row, "l", "later") } else { row };
            return vec![row.with(DIM, "esc to stop")];
        }
        let first = key(key(key(Row::default(), "y", "yes"), "n", "no"), "e", "edit");
        let first = if self.question.offered().is_some() { key(first, "r", "edit the rule") } else { first };
        let first = if self.may_wait { key(first, "l", "later") } else { first };
        let mut rows = vec![first.with(DIM, "esc to stop")];
        let (opens, others): (Vec<_>, Vec<_>) =
            self.question.choices().into_iter().partition(|choice| matches!(choice.key, '+' | '*'));
        if !opens.is_empty() {
            let why = self.question.lacks_network().map(|limit| format!("{limit}   "));
            let row = Row::default().with(DIM, why.unwrap_or_default());
            let offer = |row, choice: &Choice| key(row, &choice.key.to_string(), &format!("yes, {}", choice.label));
            rows.push(opens.iter().fold(row, offer));
        }
        for choice in others {
            let row = Row::default().with(BOLD, choice.key.to_string()).with(PLAIN, format!(" {}", choice.label));
            rows.push(match choice.rules {
                Some(rules) => row.with(PLAIN, ": ").with(BOLD, rules),
                None => row,
            });
        }
        rows
    }
}

/// Returns how many lines of a question fit on the screen above this many rows.
fn page(surface: &dyn Surface, rows: usize) -> usize {
    surface.height().saturating_sub(rows).max(MIN_PAGE)
}

fn close(surface: &mut dyn Surface, colour: bool, words: &str) {
    let spans = [Span { style: PLAIN, text: "└ ".to_owned() }, Span { style: BOLD, text: words.to_owned() }];
    surface.write(&lines(&wrap(&spans, surface.width()), colour));
}

/// Returns the command, if the call is nothing but one.
fn command(question: &Question) -> Option<&str> {
    let approval = question.approval();
    approval.call.args.text("command").filter(|_| &*approval.call.tool == "bash")
}

/// Returns the text to edit: the command, or the arguments as JSON.
fn written(question: &Question) -> String {
    let json = || serde_json::to_string_pretty(&question.approval().call.args).unwrap_or_default();
    command(question).map_or_else(json, str::to_owned)
}

/// Returns the answer that approves an edited text.
fn edited(question: &Question, text: &str) -> Result<Reply, NotTaken> {
    if command(question).is_none() {
        return Reply::edited(text);
    }
    let mut args = question.approval().call.args.clone();
    args.set("command", text);
    Ok(Reply::Edit { args })
}
