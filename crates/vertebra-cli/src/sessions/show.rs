//! `vertebra sessions show`: shows what happened in a session, as a tree or as JSON.

use std::{fmt::Write as _, io::Write as _, process::ExitCode};

use serde::Serialize;
use vertebra::{Decision, Kind, RunStatus};
use vertebra_journal::SessionRow;

use super::{
    Past,
    story::{CallState, CallStory, CheckStory, HookStory, RunStory, StepStory, Story},
};
use crate::view::{
    call_row,
    rows::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    text::{counted, cut, money, more, on_one_line, short_id, tokens, visible},
};

/// The longest line that is shown.
const WIDTH: usize = 140;
/// How many lines of output are shown.
const LINES: usize = 6;

/// The options of `vertebra sessions show`.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Session: its ID, a unique start or end of it, or `last`
    #[arg(value_name = "SESSION")]
    session: String,
    /// Show complete texts and every hook that decided or changed something
    #[arg(long)]
    full: bool,
    /// Print JSON; this is the default in a pipe
    #[arg(long)]
    json: bool,
}

/// A session as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    session: &'a SessionRow,
    #[serde(flatten)]
    story: &'a Story,
    /// The facts that could not be read.
    damaged: &'a [String],
}

/// Runs the command.
pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let past = Past::find(&options.session)?;
    let mut damaged = Vec::new();
    let lines = past.store.lines(&past.row.session_id)?;
    let story = Story::of(lines.filter_map(|line| line.map_err(|error| damaged.push(error.to_string())).ok()));
    if crate::programs::read_it(options.json) {
        crate::programs::print(&Shown { session: &past.row, story: &story, damaged: &damaged })?;
    } else {
        let page = Page { full: options.full };
        let mut out = anstream::stdout().lock();
        out.write_all(page.session(&past.row, &story).as_bytes())?;
        for problem in &damaged {
            writeln!(out, "{RED}! {}{RED:#}", visible(problem))?;
        }
    }
    Ok(if damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The text page.
struct Page {
    full: bool,
}

impl Page {
    fn session(&self, row: &SessionRow, story: &Story) -> String {
        let mut page = String::new();
        let held = row.held_by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let _ = writeln!(page, "{BOLD}{}{BOLD:#}  {}{held}", visible(&row.session_id), row.status);
        let (folder, model) = (on_one_line(&row.working_directory), on_one_line(&row.model.name));
        let _ = writeln!(
            page,
            "{DIM}{folder} · {}:{model} · started {} · last active {}{DIM:#}",
            row.model.provider, row.began, row.touched
        );
        let usage = row.usage;
        let cost = if usage.cost_micros > 0 { format!(" · {}", money(usage.cost_micros)) } else { String::new() };
        let (steps, calls) = (counted(row.steps, "step"), counted(row.tool_calls, "call"));
        let _ = writeln!(page, "{DIM}{steps} · {calls} · {} tokens{cost}{DIM:#}", tokens(usage.total_tokens()));
        if let Some(from) = &row.forked_from {
            let _ = writeln!(page, "{DIM}forked from {}{DIM:#}", short_id(from));
        }
        for run in &story.runs {
            self.run(&mut page, run);
        }
        page
    }

    fn run(&self, page: &mut String, run: &RunStory) {
        let margin = "│ ".repeat(run.depth.min(4) as usize);
        let agent = if run.depth > 0 { format!("{} ", on_one_line(&run.agent)) } else { String::new() };
        let _ = writeln!(page, "\n{margin}{CYAN}❯{CYAN:#} {agent}{BOLD}{}{BOLD:#}", self.text(&run.prompt));
        for time in &run.resumed {
            let _ = writeln!(page, "{margin}{YELLOW}resumed at {time}{YELLOW:#}");
        }
        for step in &run.steps {
            self.step(page, step, &margin);
        }
        let ended = match (&run.stop, &run.waits_for) {
            (Some(_), _) if run.status == Some(RunStatus::Completed) => format!("{DIM}✓ finished{DIM:#}"),
            (Some(stop), _) => format!("{DIM}■ {}{DIM:#}", on_one_line(stop)),
            (None, Some(waits)) => format!("{YELLOW}⏸ {}{YELLOW:#}", on_one_line(waits)),
            (None, None) => format!("{YELLOW}… not finished{YELLOW:#}"),
        };
        let _ = writeln!(page, "{margin}{ended}");
    }

    fn step(&self, page: &mut String, step: &StepStory, margin: &str) {
        if step.step > 0 {
            let _ = writeln!(page, "{margin}{DIM}step {}{DIM:#}", step.step);
        }
        self.hooks(page, &step.hooks, &format!("{margin}  "));
        if !step.said.trim().is_empty() {
            let _ = writeln!(page, "{margin}  {}", self.text(&step.said));
        }
        if let Some(error) = &step.error {
            let _ = writeln!(page, "{margin}  {RED}✗ {}{RED:#}", on_one_line(error));
        }
        for call in &step.calls {
            self.call(page, call, margin);
        }
    }

    fn call(&self, page: &mut String, call: &CallStory, margin: &str) {
        let (style, mark) = match call.state {
            CallState::Asked => (DIM, "·"),
            CallState::Blocked => (RED, "⊘"),
            CallState::Begun => (YELLOW, "◆"),
            CallState::Unknown => (YELLOW, "?"),
            CallState::Ended if call.result.as_ref().is_some_and(|result| result.success) => (GREEN, "✓"),
            CallState::Ended => (RED, "✗"),
        };
        let row = call_row(&call.call).cut(WIDTH).paint(true);
        let _ = writeln!(page, "{margin}  {style}{mark}{style:#} {row} {DIM}{}{DIM:#}", on_one_line(&call.call.id));
        let inner = format!("{margin}    ");
        match &call.checked {
            Some(CheckStory { problem: Some(problem), .. }) => {
                let _ = writeln!(page, "{inner}{RED}✗ the check refused it: {}{RED:#}", self.text(problem));
            }
            Some(CheckStory { ask: Some(ask), .. }) => {
                let _ = writeln!(page, "{inner}{DIM}the check needs a person's yes: {}{DIM:#}", self.text(ask));
            }
            // It had a preview for the question.
            Some(CheckStory { ask: None, problem: None }) | None => {}
        }
        if let Some(asked) = &call.asked {
            let answer = match &call.answered {
                None => "no answer yet".to_owned(),
                Some(Decision::Approve { grants, .. }) if grants.is_empty() => "yes".to_owned(),
                Some(Decision::Approve { grants, .. }) => {
                    format!("yes, and always: {}", on_one_line(&grants.join(", ")))
                }
                Some(Decision::Edit { .. }) => "yes, with edited arguments".to_owned(),
                Some(Decision::Deny { reason }) => format!("no: {}", on_one_line(reason)),
                Some(Decision::Later) => "later".to_owned(),
            };
            let _ = writeln!(page, "{inner}{YELLOW}? {} → {answer}{YELLOW:#}", self.text(asked));
        }
        self.hooks(page, &call.hooks, &inner);
        let Some(result) = &call.result else { return };
        let lines: Vec<&str> = result.output.trim_end().lines().collect();
        let shown = if self.full { lines.len() } else { lines.len().min(LINES) };
        for line in &lines[..shown] {
            let line = visible(line);
            let line = if self.full { line } else { cut(&line, WIDTH).into_owned().into() };
            let _ = writeln!(page, "{inner}{DIM}{line}{DIM:#}");
        }
        if shown < lines.len() {
            let _ = writeln!(page, "{inner}{DIM}{}{DIM:#}", more(lines.len() - shown, "line"));
        }
    }

    /// Shows the hooks that decided something. With `--full`, also built-in hooks that allowed or changed something.
    fn hooks(&self, page: &mut String, hooks: &[HookStory], margin: &str) {
        for hook in hooks {
            // The hooks of capabilities are named after them.
            let is_built_in = hook.hook.contains('/');
            if !self.full && is_built_in && matches!(hook.verdict, Some(Kind::Allow | Kind::Proceed | Kind::Skip)) {
                continue;
            }
            let verdict = hook.verdict.map_or_else(|| "failed".to_owned(), |verdict| verdict.to_string());
            let why = hook.reason.as_deref().map(|why| format!(": {}", self.text(why))).unwrap_or_default();
            let changed = match &*hook.changed.join(", ") {
                "" => String::new(),
                paths => format!(" changed {}", on_one_line(paths)),
            };
            let name = on_one_line(&hook.hook);
            let _ = writeln!(page, "{margin}{DIM}{} {name} → {verdict}{changed}{why}{DIM:#}", hook.point);
        }
    }

    fn text(&self, text: &str) -> String {
        if self.full { visible(text.trim_end()).into_owned() } else { cut(&on_one_line(text), WIDTH).into_owned() }
    }
}
