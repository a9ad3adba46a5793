//! `vertebra hooks explain`: which hooks match an event, in which order, what each says and changes, and who decides.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use serde_json::json;

use super::{
    page,
    trial::{Bench, Handlers, Which, event_file},
};
use crate::{assembly::World, interrupt::unless_interrupted};

/// Which event, and which policy.
#[derive(clap::Args)]
#[command(after_help = "\
The event is in our form or in that of any agent that `vertebra hosts` lists. Hooks run for real, programs included, unless
you say --dry-run. In a terminal you see a tree; in a pipe, or with --json, one object: `hooks` (each that matched, in order,
with its verdict, reason, changes and account), `not_matching`, `judgement`.

Examples:
  echo '{\"point\": \"BeforeToolUse\", \"tool\": \"bash\", \"args\": {\"command\": \"git push -f\"}}' | vertebra hooks explain -
  vertebra hooks explain event.json --config vertebra.toml --dry-run")]
pub(crate) struct Options {
    /// The event, as JSON; `-` is standard input
    #[arg(value_name = "EVENT.json")]
    event: PathBuf,
    #[command(flatten)]
    which: Which,
    /// Start nothing: what is outside lets things pass
    #[arg(long)]
    dry_run: bool,
    /// As JSON, also in a terminal
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let handlers = if options.dry_run { Handlers::Stay } else { Handlers::Run };
    let bench = Bench::open(&options.which, handlers, &world)?;
    page::warn(&bench.notices, &bench.warnings);
    let event = event_file(&options.event)?;
    let tried = unless_interrupted(bench.try_event(&event)).await??;
    if crate::programs::read_it(options.json) {
        let others = tried.record.as_ref().map(|record| bench.others(record));
        let object = json!({
            "point": tried.record.as_ref().map(|record| &record.point),
            "hooks": tried.record.as_ref().map(|record| page::traces(record, bench.policy())),
            "not_matching": others,
            "dry_run": options.dry_run,
            "judgement": tried.judgement,
            "skipped": bench.warnings,
        });
        crate::programs::print(&object)?;
    } else {
        write!(anstream::stdout(), "{}", page::tree(&event, &tried, &bench, handlers))?;
    }
    Ok(ExitCode::SUCCESS)
}
