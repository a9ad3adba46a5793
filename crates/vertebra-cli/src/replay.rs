//! `vertebra replay`: replays a recorded session with the current hooks.

use std::{fmt::Write as _, io::Write as _, path::PathBuf, process::ExitCode};

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use vertebra::{Divergence, Likeness, Replay};

use crate::{
    assembly::{Recorded, World, replayed},
    options::{AgentOptions, PolicyOptions},
    sessions::Past,
    view::{
        rows::{BOLD, DIM, GREEN, RED},
        text::{counted, on_one_line, visible},
    },
};

/// The options of `vertebra replay`.
#[derive(clap::Args)]
#[command(after_help = "\
Model responses, tool results, approvals and the time come from the journal. Hooks
really run, including their programs. No model is called, no tool runs and no MCP
server starts.

Without --hooks, the same hooks must do the same again. Permissions given on the
command line are not recorded, so repeat --mode, --allow, --deny and --trust as they
were. With --hooks, the policy in that file replaces all settings, and only its
effects are compared: what it denies, asks about and changes.

Exit codes: 0 identical, 1 different or failed.

Examples:
  vertebra replay last
  vertebra replay last --hooks stricter.toml")]
pub(crate) struct Options {
    /// Session to replay: its ID, a unique part of it, or `last`
    #[arg(value_name = "SESSION")]
    session: String,
    /// Use the policy in this vertebra.toml instead of all settings, and trust it
    #[arg(long, value_name = "FILE")]
    hooks: Option<PathBuf>,
    /// Print JSON; this is the default in a pipe
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    policy: PolicyOptions,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let past = Past::find(&options.session)?;
    let lines = past.lines()?;
    let mut agent = AgentOptions { policy: options.policy, ..AgentOptions::default() };
    past.prepare(&mut agent);
    let agent = replayed(Recorded::of(&lines)?, &agent, options.hooks.as_deref(), &World::of_process())?;
    let likeness = if options.hooks.is_some() { Likeness::Effects } else { Likeness::Hooks };
    let replay = agent.replay(lines, likeness).await?;
    if crate::programs::read_it(options.json) {
        crate::programs::print(&object(&replay))?;
    } else {
        anstream::stdout().lock().write_all(page(&replay).as_bytes())?;
    }
    Ok(if replay.divergence.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn object(replay: &Replay) -> Value {
    let Replay { runs, lines, divergence } = replay;
    json!({ "identical": divergence.is_none(), "runs": runs, "lines": lines, "divergence": divergence })
}

fn page(replay: &Replay) -> String {
    let Replay { runs, lines, divergence } = replay;
    let (runs, lines) = (counted(*runs, "run"), counted(*lines, "fact"));
    let Some(Divergence { run_id, step, place, recorded, replayed }) = divergence else {
        return format!("{GREEN}identical{GREEN:#}: {runs}, {lines}\n");
    };
    let place = on_one_line(place);
    let mut page = format!(
        "{RED}different{RED:#} in step {step} at {BOLD}{place}{BOLD:#} {DIM}({}, after {lines} without a difference){DIM:#}\n\
         {RED}- recorded{RED:#}\n{GREEN}+ replayed{GREEN:#}\n",
        on_one_line(run_id),
    );
    let (then, now) = (side(recorded.as_ref()), side(replayed.as_ref()));
    for change in TextDiff::from_lines(&then, &now).iter_all_changes() {
        let line = visible(change.value().trim_end()).into_owned();
        let _ = match change.tag() {
            ChangeTag::Delete => writeln!(page, "{RED}- {line}{RED:#}"),
            ChangeTag::Insert => writeln!(page, "{GREEN}+ {line}{GREEN:#}"),
            ChangeTag::Equal => writeln!(page, "  {line}"),
        };
    }
    page
}

/// Formats one side of the difference, with one value per line.
fn side(value: Option<&Value>) -> String {
    match value {
        Some(value) => format!("{value:#}\n"),
        None => "nothing\n".to_owned(),
    }
}
