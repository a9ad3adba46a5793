//! Drives an agent from a terminal or a pipe: shows runs, steers and stops them, asks for approval and reads prompts.

mod mode;
mod person;
mod typing;

use std::{
    collections::{BTreeSet, VecDeque},
    future::pending,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use vertebra::{Model as _, News, Prompt, RunEvent, RunReport, RunStream, Session, SessionError, SystemClock};
use vertebra_journal::telemetry::Telemetry;
use vertebra_kit::steering::{Full, Steering};

pub(crate) use self::typing::Said;
use self::{
    mode::Modes,
    person::{Here, Nobody, Person},
};
use crate::{
    assembly::{self, Assembled, NoModel, World},
    interrupt::unless_interrupted,
    options::AgentOptions,
    run::Show,
    surface::Surface,
    terminal::{self, Asked, Asking, Editor, History, Inline, Key, Step, Terminal},
    view::{
        self, About, Aside, Canvas, Events, Output, Showing, Unapproved, View,
        rows::{BOLD, DIM, RED, Row, lines},
        text,
    },
};

/// How often the footer is redrawn.
const TICK: Duration = Duration::from_millis(100);
/// A second Ctrl-C within this time quits.
const TWICE: Duration = Duration::from_secs(2);
/// How long a session may take to end when the user quits.
const GRACE: Duration = Duration::from_secs(2);
/// How long it may take to end otherwise: the longest time limit of a hook, and a little more.
const ENDING: Duration = Duration::from_secs(65);
/// How many questions can be queued.
const QUESTIONS: usize = 64;
/// The prompt mark.
const MARK: &str = "❯ ";
/// The exit code of an interrupted program.
pub(crate) const INTERRUPTED: u8 = 130;
/// The exit code if a hook denied the session or the task, or if no one could approve a call.
pub(crate) const DENIED: u8 = 4;
/// The exit code of a run that waits for an answer.
pub(crate) const WAITS: u8 = 5;

/// The front end of a session: a terminal with a user, or a pipe.
pub(crate) struct Desk {
    terminal: Terminal,
    view: Box<dyn View>,
    steering: Steering,
    questions: mpsc::Receiver<Asked>,
    history: History,
    canvas: Canvas,
    colour: bool,
    /// The text that is being typed.
    draft: Editor,
    /// Messages that were sent and not read yet.
    queued: VecDeque<String>,
    interrupted: Option<Instant>,
    unapproved: Unapproved,
    /// The permission mode, if the user can change it here.
    modes: Option<Modes>,
    /// When the command that continues the session is shown at the end.
    names_session: Naming,
    /// The telemetry exporter, if telemetry is on.
    telemetry: Option<Telemetry>,
}

/// When the command that continues the session is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    Always,
    /// If the task was not finished and the closing line does not say it.
    OnFailure,
    Never,
}

/// How driving a run ended.
pub(crate) enum Left {
    /// The run has ended.
    Ended(Box<RunReport>),
    /// The user quits with this exit code.
    Exit(u8),
}

impl Desk {
    /// Assembles the agent and takes over the terminal.
    pub(crate) async fn open(options: &AgentOptions, show: &Show) -> anyhow::Result<(Self, Assembled)> {
        Self::open_with(options, show, |_| Vec::new()).await
    }

    /// Assembles the agent and takes over the terminal. `warn` returns further warnings about what the agent is given.
    pub(crate) async fn open_with(
        options: &AgentOptions,
        show: &Show,
        warn: impl FnOnce(&Assembled) -> Vec<String>,
    ) -> anyhow::Result<(Self, Assembled)> {
        let &Show { output, quiet, include_hooks } = show;
        let events = if include_hooks { Events::All } else { Events::WithoutHooks };
        let world = World::of_process();
        let canvas = match output {
            Output::Text => terminal::canvas(&world.variables),
            // Programs read JSON, so nothing is drawn.
            Output::Json | Output::StreamJson => Canvas::Pipe,
        };
        let colour = terminal::has_colour(canvas, &world.variables);
        let (into, questions) = mpsc::channel(QUESTIONS);
        let unapproved = Unapproved::default();
        let nobody = Nobody { waits: options.wait.is_some(), unapproved: unapproved.clone() };
        let mut assembled = assembly::assemble(options, &world, move |rules, lift, inbox| {
            let here = match canvas {
                Canvas::Terminal => {
                    Here::AtDesk(Inline::new(into, rules.clone(), lift.clone(), colour, inbox.is_some()))
                }
                Canvas::Dumb => Here::at_terminal(rules, lift, nobody),
                Canvas::Pipe => Here::Nobody(nobody),
            };
            Some(Person { inbox, here })
        })
        .await?;
        let warnings = warn(&assembled);
        assembled.warnings.extend(warnings);
        let clock = Arc::new(SystemClock::default());
        let mut desk = Self {
            terminal: Terminal::open(canvas)?,
            view: view::for_output(&Showing {
                output,
                quiet,
                events,
                resumable: assembled.journal.is_some(),
                canvas,
                colour,
                clock,
                unapproved: unapproved.clone(),
            }),
            steering: assembled.steering.clone(),
            questions,
            history: History::open(world.state.as_deref().map(history_file)),
            canvas,
            colour,
            draft: Editor::default(),
            queued: VecDeque::new(),
            interrupted: None,
            unapproved,
            modes: None,
            names_session: match (&assembled.journal, output) {
                (Some(_), Output::Text) if canvas == Canvas::Pipe || quiet => Naming::OnFailure,
                (Some(_), Output::Text) => Naming::Always,
                (None, _) | (_, Output::Json | Output::StreamJson) => Naming::Never,
            },
            telemetry: assembled.telemetry.take(),
        };
        let folder = options.folder().canonicalize().unwrap_or_else(|_| options.folder().to_owned());
        let mode = assembled.rules.mode("");
        let mode = serde_json::to_value(mode).ok().and_then(|mode| Some(mode.as_str()?.replace('_', " ")));
        let about = About {
            model: &assembled.models.id(),
            folder: &folder,
            mode: &mode.unwrap_or_default(),
            notices: &assembled.notices,
            warnings: &assembled.warnings,
        };
        desk.view.begin(&about, &mut desk.terminal);
        desk.terminal.flush();
        Ok((desk, assembled))
    }

    /// Restores the terminal and returns the telemetry exporter.
    pub(crate) fn leave(mut self) -> Option<Telemetry> {
        self.telemetry.take()
    }

    /// Returns whether the user can type.
    pub(crate) fn is_live(&self) -> bool {
        self.terminal.is_live()
    }

    /// Returns whether a user reads the output.
    pub(crate) fn is_terminal(&self) -> bool {
        self.canvas != Canvas::Pipe
    }

    /// Returns the width of text.
    pub(crate) fn text_width(&self) -> usize {
        self.terminal.width().saturating_sub(1).min(view::MAX_TEXT)
    }

    /// Returns whether a call was denied because no one could approve it.
    pub(crate) fn denied_without_approval(&self) -> bool {
        self.unapproved.count() > 0
    }

    /// Prints the command that continues the session. `command` is the part before the session ID.
    pub(crate) fn name_session(&mut self, session_id: &str, command: &str, code: u8) {
        let is_named = match self.names_session {
            Naming::Always => true,
            // After a denial, the run has ended all the same.
            Naming::OnFailure => !matches!(code, 0 | DENIED | WAITS),
            Naming::Never => false,
        };
        if is_named {
            self.note(&format!("continue with: vertebra {command} {}", text::short_id(session_id)));
        }
    }

    /// Shows a run until it ends or the user quits.
    pub(crate) async fn drive(&mut self, mut stream: RunStream) -> Left {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut driving = Driving::default();
        let left = loop {
            self.draw(&driving);
            if !self.terminal.flush() && !driving.stopping {
                // The reader has closed its end.
                driving.stopping = true;
                stream.cancel();
            }
            // Keys come first. Events are shown before questions about them.
            tokio::select! {
                biased;
                key = self.terminal.key() => {
                    if let Some(code) = self.pressed(key, &mut driving, &stream).await {
                        // The user did not stop the run: the terminal was closed, or the process was told to end.
                        if code != INTERRUPTED {
                            stream.abandon();
                        }
                        break Left::Exit(code);
                    }
                }
                event = stream.next() => match event {
                    Some(event) => {
                        self.heard();
                        driving.sees(&event);
                        self.view.show(&event, &mut self.terminal);
                    }
                    None => break Left::Ended(Box::new(stream.finish().await.unwrap_or_else(|failed| *failed.0))),
                },
                waits = still_waiting(&mut driving.asking) => {
                    if !waits && let Some(asking) = driving.asking.take() {
                        asking.take_back(&mut self.terminal);
                    }
                }
                Some(asked) = self.questions.recv() => {
                    if driving.put_off { asked.put_off() } else { driving.asked.push_back(asked) }
                }
                _ = ticks.tick() => self.view.tick(&mut self.terminal),
            }
            if driving.asking.is_none() {
                let next = driving.asked.pop_front();
                driving.asking = next.map(|asked| {
                    self.view.asked(asked.approval());
                    Asking::begin(asked, self.colour, &mut self.terminal)
                });
            }
        };
        if let Some(asking) = driving.asking.take() {
            asking.take_back(&mut self.terminal);
        }
        self.heard();
        self.queued.clear();
        self.view.aside(Aside::default(), &mut self.terminal);
        self.view.end(&mut self.terminal);
        self.terminal.entry(None);
        self.terminal.flush();
        left
    }

    /// Returns the messages that came too late for the run, as the next prompt.
    pub(crate) fn unheard(&mut self) -> Option<Prompt> {
        let prompt = self.steering.take().into_iter().reduce(|mut all, next| {
            all.text = format!("{}\n\n{}", all.text, next.text);
            all.images.extend(next.images);
            all
        })?;
        self.repeat(&prompt.text);
        Some(prompt)
    }

    /// Returns whether the user is typing something.
    pub(crate) fn has_draft(&self) -> bool {
        !self.draft.is_empty()
    }

    /// Handles a key while a run is under way. Returns an exit code if the user quits.
    async fn pressed(&mut self, key: Key, driving: &mut Driving, stream: &RunStream) -> Option<u8> {
        if let Key::Leave(code) = key {
            return Some(code);
        }
        let key = match driving.asking.take() {
            None => key,
            Some(asking) => match asking.press(key, &mut self.terminal).await {
                Step::Open(asking) => {
                    driving.asking = Some(asking);
                    return None;
                }
                Step::NotForIt(asking, key) => {
                    driving.asking = Some(asking);
                    key
                }
                Step::Answered => return None,
                Step::PutOff => {
                    // So are the other questions of this answer.
                    driving.put_off = true;
                    driving.asked.drain(..).for_each(Asked::put_off);
                    return None;
                }
                Step::Stop => Key::Interrupt,
            },
        };
        match key {
            Key::Interrupt if driving.stopping || self.interrupts_again() => return Some(INTERRUPTED),
            Key::Interrupt | Key::Escape if !driving.stopping => {
                driving.stopping = true;
                // A run that waits for its provider has done nothing wrong, so the task stays unfinished.
                if driving.retrying.is_empty() {
                    stream.cancel();
                } else {
                    stream.suspend();
                }
                if !self.terminal.is_live() {
                    self.note("stopping; press Ctrl-C again to quit at once");
                }
            }
            Key::NextMode => self.next_mode(),
            Key::Enter if self.draft.continue_line() => {}
            Key::Enter => self.send(),
            Key::Resized => self.view.tick(&mut self.terminal),
            key => {
                self.draft.press(&key);
            }
        }
        None
    }

    /// Sends the typed text to the running agent.
    fn send(&mut self) {
        let text = self.draft.take();
        if text.trim().is_empty() {
            return;
        }
        match self.steering.say(&text) {
            Ok(()) => {
                self.history.add(&text);
                self.queued.push_back(text);
            }
            Err(full @ Full(_)) => {
                self.complain(&full.to_string());
                self.draft = Editor::of(text);
            }
        }
    }

    /// Moves the messages that the model has read into the scrollback.
    fn heard(&mut self) {
        while self.queued.len() > self.steering.waiting() {
            let Some(text) = self.queued.pop_front() else { break };
            self.repeat(&text);
        }
    }

    fn draw(&mut self, driving: &Driving) {
        if !self.terminal.is_live() {
            return;
        }
        let keys = match (driving.stopping, &driving.asking) {
            (true, _) => "stopping, the session is kept · ctrl-c again to quit",
            (false, Some(_)) => "",
            (false, None) if driving.retrying.is_empty() => "esc to stop · type to steer",
            (false, None) => "esc to suspend",
        };
        let keys = match self.mode_shown() {
            Some(mode) if !keys.is_empty() && mode != "ask" => format!("{mode} · {keys}"),
            _ => keys.to_owned(),
        };
        self.view.aside(Aside { keys, waiting: self.queued.iter().cloned().collect() }, &mut self.terminal);
        let (columns, height) = (self.terminal.width(), self.terminal.entry_rows());
        let draft = self.draft.shown(MARK, columns, height);
        let entry = match &driving.asking {
            Some(asking) => {
                let draft = (!self.draft.is_empty()).then_some(draft);
                asking.entry(draft, columns, height)
            }
            None => draft,
        };
        self.terminal.entry(Some(entry));
    }

    /// Returns whether this is the second Ctrl-C in a row.
    fn interrupts_again(&mut self) -> bool {
        let before = self.interrupted.replace(Instant::now());
        before.is_some_and(|before| before.elapsed() < TWICE)
    }

    /// Writes the message of the user into the scrollback.
    fn repeat(&mut self, said: &str) {
        if !self.terminal.is_live() {
            return;
        }
        let shown = text::visible(said).into_owned();
        let rows: Vec<Row> = (0..)
            .zip(shown.lines())
            .map(|(number, line)| Row::default().with(BOLD, if number == 0 { MARK } else { "  " }).with(BOLD, line))
            .collect();
        self.terminal.write(&format!("\n{}", lines(&rows, self.colour)));
    }

    /// Writes rows.
    pub(crate) fn say(&mut self, rows: &[Row]) {
        self.terminal.write(&lines(rows, self.colour));
    }

    /// Writes text that may contain untrusted characters.
    pub(crate) fn tell(&mut self, words: &str) {
        self.terminal.write(&format!("{}\n", text::visible(words)));
    }

    /// Writes a dimmed line.
    pub(crate) fn note(&mut self, words: &str) {
        self.say(&[Row::default().with(DIM, words)]);
    }

    /// Writes an error.
    pub(crate) fn complain(&mut self, words: &str) {
        self.say(&[Row::default().with(RED, text::visible(words))]);
    }

    /// Waits for work other than a run. Returns `None` if the user cancels it.
    pub(crate) async fn wait<T>(&mut self, what: &str, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let told = Row::default().with(DIM, format!("{what} · esc to cancel")).paint(self.colour);
        self.terminal.footer(vec![told]);
        let done = loop {
            self.terminal.flush();
            tokio::select! {
                done = &mut work => break Some(done),
                key = self.terminal.key() => match key {
                    Key::Interrupt | Key::Escape | Key::Leave(_) => break None,
                    key => {
                        self.draft.press(&key);
                    }
                },
            }
        };
        self.terminal.footer(Vec::new());
        self.terminal.flush();
        done
    }
}

/// Reports why the session cannot start. `command` is what the user typed after `vertebra`.
pub(crate) fn cannot_begin(error: &anyhow::Error, command: &str) -> ExitCode {
    match error.downcast_ref::<NoModel>() {
        Some(no_model) => crate::complain(&anyhow::anyhow!(no_model.page(command))),
        None => crate::complain(error),
    }
    let is_denied = matches!(error.downcast_ref(), Some(SessionError::Denied { .. }));
    ExitCode::from(if is_denied { DENIED } else { 2 })
}

/// Ends a session. Its hooks get their full time unless the user quits or interrupts. Waits only briefly for the telemetry
/// collector and reports what was not delivered.
pub(crate) async fn leave(session: Session, telemetry: Option<Telemetry>, code: u8) {
    if code == INTERRUPTED {
        let _ = timeout(GRACE, session.close()).await;
    } else {
        let _ = unless_interrupted(timeout(ENDING, session.close())).await;
    }
    let Some(telemetry) = telemetry else { return };
    let delivered = telemetry.finish(GRACE).await;
    if delivered.lost > 0 {
        eprintln!("telemetry: {}", text::visible(&delivered.to_string()));
    }
}

/// The state of a run under way.
#[derive(Default)]
struct Driving {
    asking: Option<Asking>,
    /// The questions after it.
    asked: VecDeque<Asked>,
    stopping: bool,
    /// Whether the user answers the questions of this run later.
    put_off: bool,
    /// The runs that wait before they ask their model again.
    retrying: BTreeSet<Arc<str>>,
}

impl Driving {
    fn sees(&mut self, event: &RunEvent) {
        match event.news {
            News::Retry { .. } => self.retrying.insert(event.run_id.clone()),
            _ => self.retrying.remove(&event.run_id),
        };
    }
}

async fn still_waiting(asking: &mut Option<Asking>) -> bool {
    match asking {
        Some(asking) => asking.wait().await,
        None => pending().await,
    }
}

/// Returns the file that keeps the typed prompts.
fn history_file(state: &Path) -> PathBuf {
    state.join("history.jsonl")
}
