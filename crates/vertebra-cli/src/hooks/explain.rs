//! `vertebra hooks explain`: shows which hooks match an event, what each answers and changes, and which one decides.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use serde_json::json;

use super::{
    page,
    trial::{Bench, Handlers, Which, event_file},
};
use crate::{assembly::World, interrupt::unless_interrupted};

/// The options of `vertebra hooks explain`.
#[derive(clap::Args)]
#[command(after_help = "\
The event is in Vertebra's own format, or in that of any agent listed by `vertebra hosts`. Handlers such as programs are
started unless you pass --dry-run. A terminal shows a tree. A pipe, or --json, gets one object: `hooks` (each hook that
matched, in order, with its verdict, reason, changes and exchange with its handler), `not_matching` and `judgement`.

Examples:
  echo '{\"point\": \"BeforeToolUse\", \"tool\": \"bash\", \"args\": {\"command\": \"git push -f\"}}' | vertebra hooks explain -
  vertebra hooks explain event.json --config vertebra.toml --dry-run")]
pub(crate) struct Options {
    /// File with the event as JSON; `-` reads standard input
    #[arg(value_name = "EVENT.json")]
    event: PathBuf,
    #[command(flatten)]
    which: Which,
    /// Start no handlers; their hooks have no opinion
    #[arg(long)]
    dry_run: bool,
    /// Print JSON (the default in a pipe)
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
        write!(anstream::stdout(), "{}", page::tree(&event, &tried, &bench))?;
    }
    Ok(ExitCode::SUCCESS)
}
