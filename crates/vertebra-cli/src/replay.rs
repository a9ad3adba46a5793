//! `vertebra replay`: a recorded session once more, with the hooks there are now and nothing else.

use std::{fmt::Write as _, io::Write as _, path::PathBuf, process::ExitCode};

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use vertebra::{Divergence, Likeness, Replay};

use crate::{
    assembly::{Recorded, World, replayed},
    options::AgentOptions,
    sessions::Past,
    view::{
        rows::{BOLD, DIM, GREEN, RED},
        text::{counted, on_one_line, visible},
    },
};

/// What to replay, with which hooks.
#[derive(clap::Args)]
#[command(after_help = "\
What the model said, what tools gave back and what people decided comes from the journal; the time is the time it was then.
Hooks run for real, programs among them. No model is asked, no tool is run and no server is started.

Without --hooks the hooks have to be the same and do the same; the options that change them (--mode, --allow, --deny, --trust)
are not recorded, so give them as they were. With --hooks the policy of that file takes the place of all settings, and only
what comes of it is compared: what is refused, asked and changed.

Exit codes: 0 identical, 1 not.")]
pub(crate) struct Options {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// With the policy of this vertebra.toml in place of all settings; naming it is trusting it
    #[arg(long, value_name = "FILE")]
    hooks: Option<PathBuf>,
    /// As JSON, for programs; in a pipe it is JSON anyway
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Runs the command.
pub(crate) async fn run(mut options: Options) -> anyhow::Result<ExitCode> {
    let past = Past::find(&options.session)?;
    let lines = past.lines()?;
    past.prepare(&mut options.agent);
    let agent = replayed(Recorded::of(&lines)?, &options.agent, options.hooks.as_deref(), &World::of_process())?;
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
    let (runs, lines) = (counted(*runs, "run"), counted(*lines, "line"));
    let Some(Divergence { run_id, step, place, recorded, replayed }) = divergence else {
        return format!("{GREEN}identical{GREEN:#}: {runs}, {lines}\n");
    };
    let place = on_one_line(place);
    let mut page = format!(
        "{RED}different{RED:#} in step {step} at {BOLD}{place}{BOLD:#} {DIM}({}, after {lines} that were the same){DIM:#}\n\
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

/// One side, a value a line.
fn side(value: Option<&Value>) -> String {
    match value {
        Some(value) => format!("{value:#}\n"),
        None => "nothing\n".to_owned(),
    }
}
