//! `vertebra backtest`: a policy, held against what has happened.

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

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use vertebra::{CancellationToken, POINTS, nearest, point_named};
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

/// The exit code if something was found that `--fail-on` names.
const FOUND: u8 = 4;

/// Which policy, which past, and what is to be said of it.
#[derive(clap::Args)]
#[command(after_help = "\
Every event that was recorded is judged by the hooks and rules of the policy, and held against what was decided then, or
against what another policy makes of it (--against). Nothing else happens: no tool runs, and programs, servers and models
that answer for hooks are not asked unless you say --run-handlers. What they would have said is then not known: they are
counted, and what they said in the past stands.

The past is the journal of your sessions and the log of `vertebra hook`, as far as there are any; or what you name.

The exit code is 4 if something was found that --fail-on names, so that a build can hold a change of the policy back.

Examples:
  vertebra backtest --hooks new.toml --since 7d
  vertebra backtest --hooks new.toml --against vertebra.toml --claude-code
  vertebra backtest --hooks new.toml --fail-on newly-denied --json > report.json")]
#[expect(clippy::option_option, reason = "this is how an option is written whose value may be left out")]
pub(crate) struct Options {
    /// The policy to try: a vertebra.toml; naming it is trusting it [default: the one in force here]
    #[arg(long, value_name = "FILE")]
    hooks: Option<PathBuf>,
    /// Hold it against this policy, not against what was decided then
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Only what happened since: `7d`, `12h`, `2w`, or a day such as `2026-11-01`
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only this session of the journal: an identifier, a part of one that no other has, or `last`; may be repeated
    #[arg(long, value_name = "ID")]
    session: Vec<String>,
    /// The journal, if it is elsewhere
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// The transcripts of Claude Code: all of them, or those below a folder, or one file
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    claude_code: Option<Option<PathBuf>>,
    /// The log of `vertebra hook`, or of a file that was one
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    hook_log: Option<Option<PathBuf>>,
    /// Only events at this point: `BeforeToolUse`, `PromptSubmit`
    #[arg(long, value_name = "NAME")]
    point: Option<String>,
    /// As JSON, also in a terminal
    #[arg(long)]
    json: bool,
    /// What makes the exit code 4
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = FailOn::None)]
    fail_on: FailOn,
    /// How many examples are shown of each difference
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    /// Let programs, servers and models answer for the hooks they belong to: with whatever effects they have
    #[arg(long)]
    run_handlers: bool,
}

/// What makes a build fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// Something would be denied that was not
    NewlyDenied,
    /// Something would be allowed that was not
    NewlyAllowed,
    /// Anything would be another way
    Changed,
    /// Nothing
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
    let mut work = tokio::task::spawn_blocking(work);
    let (report, bench) = match unless_interrupted(&mut work).await {
        Ok(done) => done?,
        Err(interrupted) => {
            // What was started for a hook ends with its event.
            stop.store(true, Ordering::Relaxed);
            cancel.cancel();
            let _ = work.await;
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
    if let Some(point) = point_named(name) {
        return Ok(point);
    }
    let meant = nearest(name, POINTS.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    bail!("--point: there is no point `{name}`{}", meant.unwrap_or_default())
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

/// What reads lines of JSON takes none that is longer.
const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// An error about a file names it.
fn named<T>(result: std::io::Result<T>, path: &Path) -> anyhow::Result<T> {
    result.with_context(|| path.display().to_string())
}
