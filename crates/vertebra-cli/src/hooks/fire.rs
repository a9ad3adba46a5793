//! `vertebra hooks fire`: one event, for real, and what comes of it.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use super::{
    page,
    trial::{Bench, Handlers, Which, event_file},
};
use crate::{assembly::World, interrupt::unless_interrupted};

/// Which event, and which policy.
#[derive(clap::Args)]
#[command(after_help = "\
The matching hooks run for real, programs included. In a terminal you see what came of it; in a pipe, or with --json, one
object: `ran` (each program with exit code, stdout, stderr, time), `decision`, `reason`, `decided_by`, `tool_input`,
`model_context`, `model_sees`, `user_sees`, `continue`, `warnings`. Without --config or --settings the policy is the one in
force in the folder. The exit code is 0 whatever the decision.

Examples:
  vertebra hooks fire event.json --settings .claude/settings.json
  echo '{\"point\": \"BeforeToolUse\", \"tool\": \"bash\", \"args\": {\"command\": \"ls\"}}' | vertebra hooks fire -")]
pub(crate) struct Options {
    /// The event, as JSON; `-` is standard input
    #[arg(value_name = "EVENT.json")]
    event: PathBuf,
    #[command(flatten)]
    which: Which,
    /// As JSON, also in a terminal
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let bench = Bench::open(&options.which, Handlers::Run, &World::of_process())?;
    page::warn(&bench.notices, &bench.warnings);
    let event = event_file(&options.event)?;
    let mut tried = unless_interrupted(bench.try_event(&event)).await??;
    // Whoever reads the object alone has to know that hooks were left out.
    tried.judgement.warnings.extend(bench.warnings.iter().cloned());
    if crate::programs::read_it(options.json) {
        crate::programs::print(&serde_json::to_value(&tried.judgement)?)?;
    } else {
        write!(anstream::stdout(), "{}", page::tree(&event, &tried, &bench, Handlers::Run))?;
    }
    Ok(ExitCode::SUCCESS)
}
