//! `vertebra chat`: an interactive conversation with an agent.

mod command;
mod hooks;
mod model;
mod undo;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use vertebra::{Agent, Prompt, RunReport, RunStatus, RunStream, Session, SessionReport, Usage};
use vertebra_bridge::policy::Reload;
use vertebra_kit::{bash::Lift, files::Undo, permissions::Rules};

use self::command::{Command, Sandbox};
pub(crate) use self::model::ModelSwitch;
use crate::{
    drive::{self, Desk, Left, Said, WAITS},
    options::AgentOptions,
    run::Show,
    sessions::Past,
    view::{
        Output,
        rows::{BOLD, DIM, PLAIN, Row},
        text,
    },
};

/// The hint under an empty prompt.
const HINT: &str = "/help · alt-enter: new line · ctrl-d to quit";
/// The hint after a run was stopped.
const STOPPED: &str = "stopped, the session is kept · /help · ctrl-c again to quit";
/// The hint while a question waits for an answer.
const PUT_OFF: &str = "the question waits · /continue to answer it · /help · ctrl-d to quit";
/// The hint while a run is suspended.
const SUSPENDED: &str = "suspended · /continue to try again · /help · ctrl-d to quit";

/// The options of `vertebra chat`.
#[derive(clap::Args)]
#[command(after_help = "\
Press Enter to send, Alt-Enter or a backslash before Enter for a new line, and the up
and down keys for earlier prompts. Type while the agent works to steer it: it reads your
message at the next step. Esc or Ctrl-C stops it; Ctrl-C twice or Ctrl-D quits. Type
/help for the commands.

Examples:
  vertebra chat
  vertebra chat --mode plan \"how does the parser work?\"
  vertebra chat --continue")]
pub(crate) struct Options {
    /// First prompt; several words need no quotes
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// Continue this session: its ID, a unique part of it, or `last`
    #[arg(long, value_name = "SESSION", help_heading = "Journal")]
    resume: Option<String>,
    /// Continue the last session of this folder
    #[arg(long = "continue", conflicts_with = "resume", help_heading = "Journal")]
    go_on: bool,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Runs the command until the user quits.
pub(crate) async fn run(mut options: Options) -> anyhow::Result<ExitCode> {
    let opening = async {
        let wanted = match (&options.resume, options.go_on) {
            (Some(words), _) => Some(Past::find(words)?),
            (None, true) => Some(Past::last_of(options.agent.folder())?),
            (None, false) => None,
        };
        if let Some(past) = &wanted {
            past.prepare(&mut options.agent);
            past.end_survivors()?;
        }
        let (mut desk, assembled) =
            Desk::open(&options.agent, &Show { output: Output::Text, quiet: false, include_hooks: false }).await?;
        let session = match wanted {
            Some(past) => {
                let session = past.resume(&assembled.agent).await?;
                past.recap(&session, &mut desk);
                Past::granted(&session, &assembled.lift, &mut desk);
                session
            }
            None => assembled.agent.session().await?,
        };
        anyhow::Ok((desk, assembled, session))
    };
    let (desk, assembled, session) = match opening.await {
        Ok(opened) => opened,
        Err(error) => return Ok(drive::cannot_begin(&error, "chat")),
    };
    let model = ModelSwitch::new(&assembled.agent, assembled.models)?;
    let (agent, undo, policy, lift) = (assembled.agent, assembled.undo, assembled.policy, assembled.lift);
    let (rules, folder) = (assembled.rules, options.agent.folder().to_owned());
    let (asleep, notes, before) = (false, Vec::new(), Totals::default());
    let mut chat = Chat { desk, agent, session, asleep, model, undo, folder, notes, policy, lift, rules, before };
    chat.desk.follow_mode(&chat.rules, chat.session.id());
    let first = options.prompt.join(" ");
    let code = chat.talk((!first.trim().is_empty()).then_some(first)).await;
    Ok(chat.close(code).await.into())
}

/// What runs next.
enum Turn {
    Prompt(Prompt),
    /// The run that has not ended.
    Continue,
}

struct Chat {
    desk: Desk,
    agent: Agent,
    session: Session,
    /// Whether its run is suspended; then it is resumed when it is needed.
    asleep: bool,
    model: ModelSwitch,
    undo: Undo,
    folder: PathBuf,
    /// What the model reads with the next prompt.
    notes: Vec<String>,
    policy: Reload,
    lift: Lift,
    rules: Rules,
    /// What the sessions before the last `/clear` used.
    before: Totals,
}

/// The usage so far.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    usage: Usage,
    steps: u64,
    tool_calls: u64,
}

/// Whether a suspended run waits for an answer of a person.
fn is_question(report: &RunReport) -> bool {
    report.stop.source == "approver"
}

impl Totals {
    fn and(self, usage: Usage, steps: u32, tool_calls: u64) -> Self {
        let steps = self.steps + u64::from(steps);
        Self { usage: self.usage + usage, steps, tool_calls: self.tool_calls + tool_calls }
    }

    fn with(self, report: &SessionReport) -> Self {
        self.and(report.usage, report.steps, report.tool_calls)
    }

    fn row(self) -> Row {
        let Self { usage, steps, tool_calls } = self;
        let (read, written) = (text::tokens(usage.input_tokens), text::tokens(usage.output_tokens));
        let (steps, calls) = (text::counted(steps, "step"), text::counted(tool_calls, "tool call"));
        let row = Row::default().with(DIM, format!("{steps}, {calls}, {read} input tokens, {written} output tokens"));
        match usage.cost_micros {
            0 => row,
            cost => row.with(DIM, format!(", {}", text::money(cost))),
        }
    }
}

impl Chat {
    /// Runs one prompt after another. Returns the exit code.
    async fn talk(&mut self, first: Option<String>) -> u8 {
        let is_unfinished = self.session.unfinished().is_some();
        // A prompt also finishes the run before it.
        let mut next = first.map(|text| Turn::Prompt(text.into())).or(is_unfinished.then_some(Turn::Continue));
        let mut hint = HINT;
        loop {
            let turn = match next.take() {
                Some(turn) => turn,
                None => match self.read(std::mem::replace(&mut hint, HINT)).await {
                    Ok(turn) => turn,
                    Err(code) => return code,
                },
            };
            let Some(stream) = self.begin(turn).await else { continue };
            match self.desk.drive(stream).await {
                Left::Ended(report) if report.status == RunStatus::Suspended => {
                    self.asleep = true;
                    // No one can type `/continue`.
                    if !self.desk.is_live() {
                        return WAITS;
                    }
                    hint = if is_question(&report) { PUT_OFF } else { SUSPENDED };
                }
                Left::Ended(report) => {
                    next = self.desk.unheard().map(Turn::Prompt);
                    hint = if report.status == RunStatus::Cancelled { STOPPED } else { HINT };
                }
                Left::Exit(code) => return code,
            }
        }
    }

    /// Reads the next prompt and obeys commands. Returns the exit code if the user quits.
    async fn read(&mut self, hint: &str) -> Result<Turn, u8> {
        let mut hint = hint;
        loop {
            let text = match self.desk.ask(hint).await {
                Said::Text(text) => text,
                Said::Finished => return Err(self.quits()),
                Said::Exit(code) => return Err(code),
            };
            if !self.asleep {
                hint = HINT;
            }
            match Command::parse(&text) {
                None => return Ok(Turn::Prompt(text.into())),
                Some(Ok(Command::Quit)) => return Err(self.quits()),
                Some(Ok(Command::Continue)) => return Ok(Turn::Continue),
                Some(Ok(command)) => self.obey(command).await,
                Some(Err(complaint)) => self.desk.complain(&complaint),
            }
        }
    }

    /// The exit code of a user who quits.
    fn quits(&self) -> u8 {
        if self.asleep { WAITS } else { 0 }
    }

    /// Starts a run.
    async fn begin(&mut self, turn: Turn) -> Option<RunStream> {
        if !self.wake().await {
            return None;
        }
        // Hooks are reloaded when a step begins, so this prompt already sees the current files.
        for news in self.policy.look() {
            self.desk.tell(&news);
        }
        match turn {
            Turn::Prompt(mut prompt) => {
                for note in self.notes.drain(..) {
                    prompt.text = format!("{}\n\n<note>\n{note}\n</note>", prompt.text);
                }
                Some(self.session.stream(prompt))
            }
            Turn::Continue => {
                let stream = self.session.stream_on();
                if stream.is_none() {
                    self.desk.note("nothing to continue: the last run has ended; type the next prompt");
                }
                stream
            }
        }
    }

    /// Resumes the session if its run is suspended. Returns whether the session can be used.
    async fn wake(&mut self) -> bool {
        if !self.asleep {
            return true;
        }
        match self.agent.resume(self.session.id()).await {
            Ok(session) => {
                std::mem::replace(&mut self.session, session).close().await;
                self.asleep = false;
            }
            Err(error) => self.desk.complain(&error.to_string()),
        }
        !self.asleep
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Help => self.desk.say(&command::help()),
            Command::Model(None) => self.desk.tell(&self.model.told()),
            Command::Model(Some(name)) => match self.desk.wait("looking for the model", self.model.choose(&name)).await
            {
                Some(Ok(())) => self.desk.tell(&self.model.told()),
                Some(Err(error)) => self.desk.complain(&format!("{error:#}")),
                None => {}
            },
            Command::Mode(named) => self.desk.choose_mode(named.as_deref()),
            Command::Hooks => self.desk.say(&hooks::table(&self.agent, &self.policy.policy())),
            Command::Undo => self.undo().await,
            Command::Redo => self.redo().await,
            Command::Compact(keep) => self.compact(&keep).await,
            Command::Clear => self.clear().await,
            Command::Cost => {
                let totals = self.totals().await;
                self.desk.say(&[totals.row()]);
            }
            Command::Sandbox(wanted) => self.sandbox(wanted),
            Command::Continue | Command::Quit => {}
        }
    }

    /// Shows what the sandbox lets commands do, after a change if one is wanted.
    fn sandbox(&mut self, wanted: Sandbox) {
        let session = self.session.id().to_owned();
        let changed = match wanted {
            Sandbox::Show => Ok(()),
            Sandbox::Network(network) => self.lift.set_network(&session, network),
            Sandbox::Write(folder) => self.lift.grant_write(&session, Path::new(&folder)).map(|_| ()),
        };
        match changed {
            Ok(()) => {
                let lines = self.lift.lines(&session);
                let row = |(what, how): &(&str, String)| {
                    Row::default().with(BOLD, format!("  {what:<23}")).with(PLAIN, text::on_one_line(how))
                };
                self.desk.say(&lines.iter().map(row).collect::<Vec<_>>());
            }
            Err(why) => self.desk.complain(&text::on_one_line(&why.to_string())),
        }
    }

    async fn compact(&mut self, keep: &str) {
        if !self.wake().await {
            return;
        }
        let before = self.session.state().await.messages().estimated_tokens();
        let done = self.desk.wait("compacting the conversation", self.session.compact(keep)).await;
        match done {
            Some(Ok(true)) => {
                let after = self.session.state().await.messages().estimated_tokens();
                let (from, to) = (text::tokens(before), text::tokens(after));
                self.desk.note(&if after < before {
                    format!("compacted from about {from} to {to} tokens")
                } else {
                    format!("nothing to compact: the conversation has about {from} tokens")
                });
            }
            Some(Ok(false)) => self.desk.note("the conversation was not changed"),
            Some(Err(error)) => self.desk.complain(&error.to_string()),
            None => self.desk.note("cancelled; the conversation was not changed"),
        }
    }

    /// Starts a new session. The usage of the old one still counts.
    async fn clear(&mut self) {
        let new = match self.agent.session().await {
            Ok(new) => new,
            Err(error) => return self.desk.complain(&error.to_string()),
        };
        let old = std::mem::replace(&mut self.session, new);
        let mode = self.rules.mode(old.id());
        self.before = self.before.with(&old.close().await);
        self.asleep = false;
        self.notes.clear();
        // The user chose the mode, and not the old session.
        let _ = self.rules.set_mode(self.session.id(), mode);
        self.desk.follow_mode(&self.rules, self.session.id());
        self.desk.note("new session: the model no longer sees the conversation so far");
    }

    async fn totals(&self) -> Totals {
        let state = self.session.state().await;
        self.before.and(state.usage(), state.steps(), state.tool_calls())
    }

    async fn close(mut self, code: u8) -> u8 {
        if code == 0 {
            let totals = self.totals().await;
            self.desk.say(&[Row::default(), Row::default().with(BOLD, "total: ").then(totals.row())]);
        }
        self.desk.name_session(self.session.id(), "chat --resume", code);
        let telemetry = self.desk.leave();
        drive::leave(self.session, telemetry, code).await;
        code
    }
}
