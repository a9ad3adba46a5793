//! `vertebra backtest`: runs recorded events through a policy and shows what would change.

mod event;
mod hook_log;
mod judge;
mod page;
mod progress;
mod sources;
mod transcript;

use std::{
    collections::BTreeMap,
    io::Write as _,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
    time::Instant,
};

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use vertebra::{CancellationToken, Points};
use vertebra_journal::backtest::{Backtest, Difference, Report};

use self::{
    event::About,
    judge::Judge,
    progress::Progress,
    sources::{Past, Reading},
};
use crate::{
    assembly::World,
    hooks::{
        page::warn,
        trial::{Bench, Handlers, Which},
    },
    interrupt::unless_interrupted,
};

/// The exit code if a change of the kind in `--fail-on` was found.
const FOUND: u8 = 4;

/// The options of `vertebra backtest`.
#[derive(clap::Args)]
#[command(after_help = "\
The policy judges every recorded event. Its decision is compared with the recorded one, or with the decision of another
policy (--against). No tool runs and no model is called. Handlers (programs, servers, models) are not called unless you pass
--run-handlers; until then their recorded answers are kept, and these hooks are counted under \"not run\".

By default, the events come from the journal of your sessions and the log of `vertebra hook`. A session is named by its id,
by a part of the id that no other session has, or by `last`. Naming a policy file trusts it.

The exit code is 4 if a change of the kind in --fail-on is found, so that a CI job can reject a policy change.

Examples:
  vertebra backtest --hooks new.toml --since 7d
  vertebra backtest --hooks new.toml --against vertebra.toml --claude-code
  vertebra backtest --hooks new.toml --fail-on newly-denied --json > report.json")]
#[expect(clippy::option_option, reason = "this is how an option is written whose value may be left out")]
pub(crate) struct Options {
    /// Policy to try [default: the one in force]
    #[arg(long, value_name = "FILE")]
    hooks: Option<PathBuf>,
    /// Compare with this policy, not with the record
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Use events since TIME: 7d, 12h, 2w, 2026-11-01
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Use only this session (id or `last`); repeatable
    #[arg(long, value_name = "ID")]
    session: Vec<String>,
    /// Read this journal instead of the default one
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Read Claude Code transcripts (file or folder)
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    claude_code: Option<Option<PathBuf>>,
    /// Read the log of `vertebra hook`, or this file
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    hook_log: Option<Option<PathBuf>>,
    /// Use only events at this point
    #[arg(long, value_name = "NAME")]
    point: Option<String>,
    /// Print JSON (the default in a pipe)
    #[arg(long)]
    json: bool,
    /// Exit with code 4 if this kind of change is found
    #[arg(long, value_name = "CHANGE", value_enum, default_value_t = FailOn::None)]
    fail_on: FailOn,
    /// Show N examples per kind of change
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    /// Call handlers too, with their side effects
    #[arg(long)]
    run_handlers: bool,
}

/// The kinds of change that `--fail-on` accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// An event that was not denied would be denied
    NewlyDenied,
    /// An event that was not allowed would be allowed
    NewlyAllowed,
    /// Any change
    Changed,
    /// Never
    None,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let now = Timestamp::now();
    let since = options.since.as_deref().map(|text| crate::since::read(text, now)).transpose().context("--since")?;
    let point = options.point.as_deref().map(point).transpose()?;
    let past = Past::find(&options, since, &world)?;
    let handlers = if options.run_handlers { Handlers::Run } else { Handlers::Stay };
    let new = open(options.hooks.as_deref(), handlers, &world)?;
    let old = options.against.as_deref().map(|file| open(Some(file), handlers, &world)).transpose()?;

    let began = Instant::now();
    let reading = Arc::new(Reading::new(since, point));
    let (stop, cancel) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
    let progress = Progress::of(past.weight(), &reading);
    let work = {
        let (reading, stop, cancel, examples) = (reading.clone(), stop.clone(), cancel.clone(), options.examples);
        let sources = past.sources.clone();
        move || -> (Report<About>, Bench) {
            let backtest = Backtest {
                threads: available_parallelism().unwrap_or(NonZeroUsize::MIN),
                examples,
                stop: &stop,
                progress: &|events| progress.tell(events),
            };
            let sources = sources.into_iter().map(|source| source.events(reading.clone()));
            let report = backtest.run(sources, || Judge::on_a_thread(&new, old.as_ref(), &cancel), About::of);
            progress.done();
            (report, new)
        }
    };
    // The work starts once signals are watched: before that, a Ctrl-C would leave its handlers behind.
    let mut started = None;
    let done = unless_interrupted(async { started.insert(tokio::task::spawn_blocking(work)).await }).await;
    let (report, bench) = match done {
        Ok(done) => done?,
        Err(interrupted) => {
            // A handler ends with its event.
            stop.store(true, Ordering::Relaxed);
            cancel.cancel();
            if let Some(work) = started {
                let _ = work.await;
            }
            return Err(interrupted);
        }
    };
    let told = page::Told {
        options: &options,
        past: &past,
        since,
        report: &report,
        hooks: page::all_hooks(&bench, &report),
        read: reading.told(),
        took: began.elapsed(),
    };
    if crate::programs::read_it(options.json) {
        crate::programs::print(&told.json())?;
    } else {
        write!(anstream::stdout(), "{}", told.table())?;
    }
    Ok(if options.fail_on.is_met(&report.differences) { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
}

fn open(file: Option<&Path>, handlers: Handlers, world: &World) -> anyhow::Result<Bench> {
    let which = Which { config: file.map(Path::to_owned), settings: Vec::new(), dir: ".".into() };
    let bench = Bench::open(&which, handlers, world)?;
    warn(&bench.notices, &bench.warnings);
    Ok(bench)
}

fn point(name: &str) -> anyhow::Result<&'static str> {
    let point = Points::default().named(name).map_err(|error| anyhow!("--point: {error}"))?;
    Ok(point.row().name)
}

impl FailOn {
    fn is_met(self, differences: &BTreeMap<Difference, u64>) -> bool {
        match self {
            Self::NewlyDenied => differences.contains_key(&Difference::NewlyDenied),
            Self::NewlyAllowed => differences.contains_key(&Difference::NewlyAllowed),
            Self::Changed => !differences.is_empty(),
            Self::None => false,
        }
    }
}

/// The longest line of JSON that is read, in bytes.
const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// Adds the path to an error about a file.
fn named<T>(result: std::io::Result<T>, path: &Path) -> anyhow::Result<T> {
    result.with_context(|| path.display().to_string())
}
