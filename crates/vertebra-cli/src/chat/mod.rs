//! `vertebra chat`: an interactive conversation with an agent.

mod command;
mod hooks;
mod model;

use std::process::ExitCode;

use vertebra::{Agent, RunStatus, Session, SessionReport, Usage};
use vertebra_bridge::policy::Reload;
use vertebra_kit::{files::Undo, permissions::Rules};

use self::command::Command;
pub(crate) use self::model::ModelSwitch;
use crate::{
    drive::{self, Desk, Left, Said, WAITS},
    options::AgentOptions,
    run::Show,
    sessions::Past,
    view::{
        Output,
        rows::{BOLD, DIM, Row},
        text,
    },
};

/// The hint under an empty prompt.
const HINT: &str = "/help · alt-enter: new line · ctrl-d to quit";
/// The hint after a run was stopped.
const STOPPED: &str = "stopped, the session is kept · /help · ctrl-c again to quit";

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
        }
        let (desk, assembled) = Desk::open(&options.agent, &Show { output: Output::Text, quiet: false }).await?;
        let session = match wanted {
            Some(past) => past.resume(&assembled.agent).await?,
            None => assembled.agent.session().await,
        };
        anyhow::Ok((desk, assembled, session))
    };
    let (desk, assembled, session) = match opening.await {
        Ok(opened) => opened,
        Err(error) => return Ok(drive::cannot_begin(&error, "chat")),
    };
    let model = ModelSwitch::new(&assembled.agent, assembled.models)?;
    let (agent, undo, policy, rules) = (assembled.agent, assembled.undo, assembled.policy, assembled.rules);
    let mut chat = Chat { desk, agent, session, model, undo, policy, rules, before: Totals::default() };
    chat.desk.follow_mode(&chat.rules, chat.session.id());
    let first = options.prompt.join(" ");
    let code = chat.talk((!first.trim().is_empty()).then_some(first)).await;
    Ok(chat.close(code).await.into())
}

struct Chat {
    desk: Desk,
    agent: Agent,
    session: Session,
    model: ModelSwitch,
    undo: Undo,
    policy: Reload,
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
        let (mut next, mut hint) = (first.map(Into::into), HINT);
        if let Some(left) = self.session.stream_on() {
            match self.desk.drive(left).await {
                Left::Ended(report) if report.status == RunStatus::Suspended => return WAITS,
                Left::Ended(_) => {}
                Left::Exit(code) => return code,
            }
        }
        loop {
            let prompt = match next.take() {
                Some(prompt) => prompt,
                None => match self.desk.ask(std::mem::replace(&mut hint, HINT)).await {
                    Said::Text(text) => match Command::parse(&text) {
                        None => text.into(),
                        Some(Ok(Command::Quit)) => return 0,
                        Some(Ok(command)) => {
                            self.obey(command).await;
                            continue;
                        }
                        Some(Err(complaint)) => {
                            self.desk.complain(&complaint);
                            continue;
                        }
                    },
                    Said::Finished => return 0,
                    Said::Exit(code) => return code,
                },
            };
            // Hooks are reloaded when a step begins, so this prompt already sees the current files.
            for news in self.policy.look() {
                self.desk.tell(&news);
            }
            match self.desk.drive(self.session.stream(prompt)).await {
                Left::Ended(report) if report.status == RunStatus::Suspended => return WAITS,
                Left::Ended(report) => {
                    next = self.desk.unheard();
                    hint = if report.status == RunStatus::Cancelled { STOPPED } else { HINT };
                }
                Left::Exit(code) => return code,
            }
        }
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
            Command::Compact(keep) => self.compact(&keep).await,
            Command::Clear => self.clear().await,
            Command::Cost => {
                let totals = self.totals().await;
                self.desk.say(&[totals.row()]);
            }
            Command::Quit => {}
        }
    }

    async fn undo(&mut self) {
        let (undo, session) = (self.undo.clone(), self.session.id().to_owned());
        match tokio::task::spawn_blocking(move || undo.undo(&session)).await {
            Ok(undone) => self.desk.tell(&undone.to_string()),
            Err(error) => self.desk.complain(&error.to_string()),
        }
    }

    async fn compact(&mut self, keep: &str) {
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
        let old = std::mem::replace(&mut self.session, self.agent.session().await);
        let mode = self.rules.mode(old.id());
        self.before = self.before.with(&old.close().await);
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
        self.desk.name_session(self.session.id());
        let telemetry = self.desk.leave();
        drive::leave(self.session, telemetry, code).await;
        code
    }
}
