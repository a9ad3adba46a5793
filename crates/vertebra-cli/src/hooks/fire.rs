//! `vertebra hooks fire`: runs the matching hooks on one event and prints the decision.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use super::{
    page,
    trial::{Bench, Handlers, Which, event_file},
};
use crate::{assembly::World, interrupt::unless_interrupted};

/// The options of `vertebra hooks fire`.
#[derive(clap::Args)]
#[command(after_help = "\
The matching hooks run, including their programs. A terminal shows a tree. A pipe, or --json, gets one object: `ran` (each
program with exit code, stdout, stderr and time), `decision`, `reason`, `decided_by`, `tool_input`, `model_context`,
`model_sees`, `user_sees`, `continue` and `warnings`. Without --config or --settings, the policy in force in the folder is
used. The exit code is 0 whatever the decision.

Examples:
  vertebra hooks fire event.json --settings .claude/settings.json
  echo '{\"point\": \"BeforeToolUse\", \"tool\": \"bash\", \"args\": {\"command\": \"ls\"}}' | vertebra hooks fire -")]
pub(crate) struct Options {
    /// File with the event as JSON; `-` reads standard input
    #[arg(value_name = "EVENT.json")]
    event: PathBuf,
    #[command(flatten)]
    which: Which,
    /// Print JSON (the default in a pipe)
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let bench = Bench::open(&options.which, Handlers::Run, &World::of_process())?;
    page::warn(&bench.notices, &bench.warnings);
    let event = event_file(&options.event)?;
    let mut tried = unless_interrupted(bench.try_event(&event)).await??;
    // The object alone must say that hooks were skipped.
    tried.judgement.warnings.extend(bench.warnings.iter().cloned());
    if crate::programs::read_it(options.json) {
        crate::programs::print(&serde_json::to_value(&tried.judgement)?)?;
    } else {
        write!(anstream::stdout(), "{}", page::tree(&event, &tried, &bench))?;
    }
    Ok(ExitCode::SUCCESS)
}
