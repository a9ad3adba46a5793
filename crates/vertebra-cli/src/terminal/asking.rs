//! A question about a call, put where the person already types.

use std::time::Duration;

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use vertebra::{Approval, Approver, Decision};
use vertebra_kit::permissions::{Question, Reply, Rules};

use super::{
    editor::{Editor, Entry},
    keys::Key,
};
use crate::{
    surface::Surface,
    view::rows::{BOLD, DIM, PLAIN, RED, Row, Span, lines, wrap},
};

/// A question takes no answer before nothing was typed for so long while it stood there: what somebody was typing when it
/// came up is not an answer to it.
const QUIET: Duration = Duration::from_millis(400);

/// Puts questions to whoever drives the terminal.
pub(crate) struct Inline {
    desk: mpsc::Sender<Asked>,
    rules: Rules,
    colour: bool,
    /// Whether an answer may come later, when the program is not there any more.
    may_wait: bool,
}

/// A question, and where its answer goes.
pub(crate) struct Asked {
    question: Question,
    answer: oneshot::Sender<Decision>,
    may_wait: bool,
}

impl Inline {
    /// Puts questions through this channel, and adds what is always allowed to these rules.
    pub(crate) fn new(desk: mpsc::Sender<Asked>, rules: Rules, colour: bool, may_wait: bool) -> Self {
        Self { desk, rules, colour, may_wait }
    }
}

impl Approver for Inline {
    async fn decide(&self, approval: &Approval) -> Decision {
        let gone = || Decision::Deny { reason: "the terminal was closed".to_owned() };
        let (answer, decided) = oneshot::channel();
        let question = Question::about(approval, Some(&self.rules)).await.colour(self.colour);
        match self.desk.send(Asked { question, answer, may_wait: self.may_wait }).await {
            Ok(()) => decided.await.unwrap_or_else(|_| gone()),
            Err(_) => gone(),
        }
    }
}

/// A question that is on the screen.
pub(crate) struct Asking {
    question: Question,
    answer: oneshot::Sender<Decision>,
    stage: Stage,
    /// From when on keys are answers.
    answers_from: Instant,
    colour: bool,
    may_wait: bool,
    /// What was wrong with the last answer.
    complaint: Option<String>,
}

enum Stage {
    /// One key decides.
    Key,
    /// It is a no; this is why.
    Why(Editor),
    /// It is a yes with these arguments.
    Edit(Editor),
}

/// What becomes of a question after a key.
pub(crate) enum Step {
    /// It is still open.
    Open(Asking),
    /// It is still open, and the key was not for it.
    NotForIt(Asking, Key),
    /// It was answered.
    Answered,
    /// It was denied, and the person wants all of it to stop.
    Stop,
}

impl Asking {
    /// Puts the question on the screen.
    pub(crate) fn begin(asked: Asked, colour: bool, surface: &mut dyn Surface) -> Self {
        let Asked { question, answer, may_wait } = asked;
        let question = question.columns(surface.width());
        surface.write(&question.short());
        let answers_from = Instant::now() + QUIET;
        Self { question, answer, stage: Stage::Key, answers_from, colour, may_wait, complaint: None }
    }

    /// Whether keys are answers by now.
    pub(crate) fn is_open(&self) -> bool {
        Instant::now() >= self.answers_from
    }

    /// Waits until something changes by itself: keys become answers, or nobody waits for one any more. Answers with
    /// whether somebody does.
    pub(crate) async fn wait(&mut self) -> bool {
        let until = self.answers_from;
        tokio::select! {
            () = self.answer.closed() => false,
            () = tokio::time::sleep_until(until), if !self.is_open() => true,
        }
    }

    /// Says that it was not answered.
    pub(crate) fn take_back(self, surface: &mut dyn Surface) {
        close(surface, self.colour, "no: the time for an answer is over, or the run has ended");
    }

    /// Takes a key.
    pub(crate) async fn press(mut self, key: Key, surface: &mut dyn Surface) -> Step {
        if key == Key::Interrupt {
            return self.stop(surface).await;
        }
        if !self.is_open() {
            // Somebody is still typing. They go on where they were.
            self.answers_from = Instant::now() + QUIET;
            return Step::NotForIt(self, key);
        }
        self.complaint = None;
        match (&mut self.stage, key) {
            (Stage::Key, key) => self.choose(key, surface).await,
            (Stage::Why(_) | Stage::Edit(_), Key::Escape) => {
                self.stage = Stage::Key;
                Step::Open(self)
            }
            (Stage::Why(editor), Key::Enter) => {
                let why = editor.take().trim().to_owned();
                self.reply(Reply::No { why }, surface).await
            }
            (Stage::Edit(editor), Key::Enter) => match Reply::edited(editor.text()) {
                Ok(reply) => self.reply(reply, surface).await,
                Err(complaint) => {
                    self.complaint = Some(complaint.to_string());
                    Step::Open(self)
                }
            },
            (Stage::Why(editor) | Stage::Edit(editor), key) => {
                editor.press(&key);
                Step::Open(self)
            }
        }
    }

    async fn choose(mut self, key: Key, surface: &mut dyn Surface) -> Step {
        let letter = match &key {
            Key::Char(letter) => letter.to_ascii_lowercase(),
            Key::Escape => return self.stop(surface).await,
            _ => return Step::Open(self),
        };
        match letter {
            'y' => return self.reply(Reply::Yes, surface).await,
            'a' if self.question.offered().is_some() => return self.reply(Reply::Always { rule: None }, surface).await,
            'f' if self.question.file().is_some() => return self.reply(Reply::ForGood { rule: None }, surface).await,
            'n' => self.stage = Stage::Why(Editor::default()),
            'e' => self.stage = Stage::Edit(Editor::of(written(&self.question))),
            'l' if self.may_wait => return self.put_off(surface),
            'v' => surface.write(&self.question.whole()),
            _ => {
                // A word begins, or a terminal answers a program: the letters after this one are no answers either.
                self.answers_from = Instant::now() + QUIET;
                return Step::NotForIt(self, key);
            }
        }
        Step::Open(self)
    }

    async fn stop(self, surface: &mut dyn Surface) -> Step {
        self.reply(Reply::No { why: "the person stopped the run".to_owned() }, surface).await;
        Step::Stop
    }

    /// The run is suspended, and asks again when it is resumed.
    fn put_off(self, surface: &mut dyn Surface) -> Step {
        close(surface, self.colour, "later");
        let _ = self.answer.send(Decision::Later);
        Step::Answered
    }

    async fn reply(mut self, reply: Reply, surface: &mut dyn Surface) -> Step {
        let words = match &reply {
            Reply::Yes => "yes".to_owned(),
            Reply::No { why } if why.is_empty() => "no".to_owned(),
            Reply::No { why } => format!("no: {}", crate::view::text::on_one_line(why)),
            Reply::Edit { .. } => "yes, with other arguments".to_owned(),
            Reply::Always { .. } => format!("yes, always {}", self.question.offered().unwrap_or_default()),
            Reply::ForGood { .. } => format!("yes, from now on {}", self.question.offered().unwrap_or_default()),
        };
        match self.question.decide(reply).await {
            Ok(decision) => {
                close(surface, self.colour, &words);
                // Nobody waits for it any more: then it has no effect, and the run says so.
                let _ = self.answer.send(decision);
                Step::Answered
            }
            Err(complaint) => {
                self.complaint = Some(complaint.to_string());
                Step::Open(self)
            }
        }
    }

    /// What stands under the text while the question is open: what can be answered, and what is being typed.
    pub(crate) fn entry(&self, draft: Option<Entry>, columns: usize, height: usize) -> Entry {
        let told = |what: &str, how: &str| vec![Row::default().with(PLAIN, what).with(DIM, how)];
        let (mut rows, below) = match &self.stage {
            Stage::Key => (self.keys(), draft.unwrap_or_default()),
            Stage::Why(editor) => (
                told("why not? ", "the model reads it; it may be empty · enter says no · esc goes back"),
                editor.shown("  ", columns, height),
            ),
            Stage::Edit(editor) => (
                told("the arguments: ", "enter runs it like this · alt-enter: new line · esc goes back"),
                editor.shown("  ", columns, height),
            ),
        };
        if let Some(complaint) = &self.complaint {
            rows.insert(0, Row::default().with(RED, complaint));
        }
        // Every row stands behind two columns, the first one behind the corner.
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
        let first = key(key(key(key(Row::default(), "y", "yes"), "n", "no"), "e", "edit"), "v", "view all");
        let first = if self.may_wait { key(first, "l", "later") } else { first };
        let mut rows = vec![first.with(DIM, "esc stops")];
        if let Some(rules) = self.question.offered() {
            rows.push(Row::default().with(BOLD, "a").with(PLAIN, " always in this session: ").with(BOLD, rules));
        }
        if let Some(file) = self.question.file() {
            rows.push(Row::default().with(BOLD, "f").with(PLAIN, format!(" from now on, in {file}")));
        }
        rows
    }
}

fn close(surface: &mut dyn Surface, colour: bool, words: &str) {
    let spans = [Span { style: PLAIN, text: "└ ".to_owned() }, Span { style: BOLD, text: words.to_owned() }];
    surface.write(&lines(&wrap(&spans, surface.width()), colour));
}

/// The arguments as they are edited.
fn written(question: &Question) -> String {
    serde_json::to_string_pretty(&question.approval().args).unwrap_or_default()
}
