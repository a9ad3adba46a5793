//! `vertebra hooks test`: runs test cases in parallel and reports them in the order they are written.

mod case;
mod report;

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
    thread::available_parallelism,
    time::Instant,
};

use anyhow::{Context as _, bail};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use vertebra_bridge::wire::Judgement;

use self::{
    case::{Case, Suite},
    report::{Outcome, junit, show},
};
use super::{
    page,
    trial::{Bench, Handlers, Which},
};
use crate::{assembly::World, interrupt::unless_interrupted};

/// The names of test files.
const SUITE: &str = "vertebra.test.toml";
const SUITES: &str = ".policy-test.toml";

/// The largest number of test files.
const MAX_FILES: usize = 1000;

/// The options of `vertebra hooks test`.
#[derive(clap::Args)]
#[command(after_help = "\
Write cases next to the policy, in `vertebra.test.toml` or in files that end in `.policy-test.toml`:

  [[case]]
  name = \"force is for humans\"
  event = { point = \"BeforeToolUse\", tool = \"bash\", args = { command = \"git push --force\" } }
  decision = \"deny\"                # allow, ask, deny, block, none
  reason = \"/force/\"               # text or /regex/; also decided_by, context
  decided_by = \"no-force-push\"
  # args = { … }                   the final arguments of the call
  # context = [\"…\"]                texts added for the model
  # continue = false               whether the agent continues

The event can also be an event of another agent, or the name of a JSON file. A case only checks the keys it has. Hooks
run, including their programs. The exit code is 1 if a case fails or if there are no cases.")]
pub(crate) struct Options {
    /// Test files or folders [default: the folder of --dir]
    #[arg(value_name = "FILES")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    which: Which,
    /// Run only cases whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Also write a JUnit report to FILE
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let files = files(&options)?;
    let suites: Vec<Suite> = files.iter().map(|file| Suite::read(file)).collect::<Result<_, _>>()?;
    let named = options.which.config.is_some() || !options.which.settings.is_empty();
    let mut benches = Vec::new();
    for suite in &suites {
        let bench = if named {
            Bench::open(&options.which, Handlers::Run, &world)?
        } else {
            Bench::of_cases(&suite.policy, suite.is_claude, &world)
                .with_context(|| format!("{}: cannot load the policy under test", suite.file.display()))?
        };
        page::warn(&bench.notices, &bench.warnings);
        benches.push(bench);
    }
    let wanted = |case: &&Case| options.filter.as_ref().is_none_or(|text| case.name.contains(text));
    let cases: Vec<(&Suite, &Bench, &Case)> = suites
        .iter()
        .zip(&benches)
        .flat_map(|(suite, bench)| suite.cases.iter().filter(wanted).map(move |case| (suite, bench, case)))
        .collect();
    if cases.is_empty() {
        bail!("no case has `{}` in its name", options.filter.unwrap_or_default());
    }
    let outcomes = unless_interrupted(tried(&cases)).await?;
    let failed = outcomes.iter().filter(|outcome| !outcome.wrong.is_empty()).count();
    if let Some(file) = &options.junit {
        let folder = file.parent().unwrap_or_else(|| Path::new(""));
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(file, junit(&outcomes)));
        written.with_context(|| file.display().to_string())?;
    }
    if options.json {
        writeln!(std::io::stdout(), "{:#}", report::object(&outcomes))?;
    } else {
        show(&mut anstream::stdout().lock(), &outcomes)?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all cases, several at a time. The outcomes are in the order the cases are written.
async fn tried(cases: &[(&Suite, &Bench, &Case)]) -> Vec<Outcome> {
    let at_once = available_parallelism().map_or(1, std::num::NonZero::get) * 2;
    let (done, total) = (AtomicUsize::new(0), cases.len());
    let progress = std::io::stderr().is_terminal();
    let trying = cases.iter().map(|(suite, bench, case)| {
        let done = &done;
        async move {
            let began = Instant::now();
            let wrong = match bench.try_event(&case.event).await {
                Ok(tried) => differences(case, &tried.judgement),
                Err(error) => vec![format!("invalid event: {error:#}")],
            };
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if progress {
                eprint!("\r{done}/{total}");
            }
            let (file, name) = (suite.file.clone(), case.name.clone());
            Outcome { file, line: case.line, name, wrong, took: began.elapsed() }
        }
    });
    let outcomes = stream::iter(trying).buffered(at_once).collect().await;
    if progress {
        eprint!("\r\x1b[K");
    }
    outcomes
}

/// Lists the differences from the expectations.
fn differences(case: &Case, judged: &Judgement) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut differs = |what: &str, expected: &str, got: &str| {
        wrong.push(format!("{what}: expected {expected}\n{:width$}  got      {got}", "", width = what.len()));
    };
    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
    let got = serde_json::to_value(judged.decision).ok().and_then(|word| word.as_str().map(str::to_owned));
    let got = got.unwrap_or_else(|| "none".to_owned());
    if let Some(expected) = case.decision.as_ref().filter(|word| **word != got) {
        let by = judged.decided_by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
        let why = judged.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        differs("decision", expected, &format!("{got}{by}{why}"));
    }
    for (what, expected, got) in
        [("reason", &case.reason, &judged.reason), ("decided_by", &case.decided_by, &judged.decided_by)]
    {
        // `decided_by` includes file and line, which a case may omit.
        let plain = got.as_ref().map(|got| got.split(" (").next().unwrap_or(got).to_owned());
        let holds = |expected: &case::Text| {
            got.as_ref().is_some_and(|got| expected.holds(got))
                || what == "decided_by" && plain.as_ref().is_some_and(|got| expected.holds(got))
        };
        if let Some(expected) = expected.as_ref().filter(|expected| !holds(expected)) {
            differs(what, &expected.written(), &shown(got));
        }
    }
    let before = ["args", "tool_input"].iter().map(|key| &case.event[key]).find(|args| !args.is_null());
    let after = judged.tool_input.as_ref().or(before).unwrap_or(&Value::Null);
    if let Some(expected) = case.args.as_ref().filter(|expected| *expected != after) {
        differs("args", &expected.to_string(), &after.to_string());
    }
    for expected in case.context.iter().flatten() {
        if !judged.model_context.iter().any(|text| expected.holds(text)) {
            differs("context", &expected.written(), &format!("{:?}", judged.model_context));
        }
    }
    if case.context.as_ref().is_some_and(Vec::is_empty) && !judged.model_context.is_empty() {
        differs("context", "none", &format!("{:?}", judged.model_context));
    }
    if let Some(expected) = case.goes_on.filter(|expected| *expected != judged.goes_on) {
        differs("continue", &expected.to_string(), &judged.goes_on.to_string());
    }
    if !wrong.is_empty() {
        wrong.extend(judged.warnings.iter().map(|warning| format!("warning: {warning}")));
        let failed = judged.ran.iter().filter(|ran| ran.exit_code != Some(0));
        wrong.extend(
            failed.map(|ran| format!("{} ran {}: {}", ran.hook, ran.exchange.handler, ran.exchange.stderr.trim())),
        );
    }
    wrong
}

/// Returns the test files to run, in order.
fn files(options: &Options) -> anyhow::Result<Vec<PathBuf>> {
    let places = if options.files.is_empty() { std::slice::from_ref(&options.which.dir) } else { &options.files };
    let mut files = Vec::new();
    for place in places {
        if place.is_dir() {
            let mut found = listed(place)?;
            found.sort();
            files.extend(found);
        } else {
            files.push(place.clone());
        }
    }
    if files.is_empty() {
        bail!("no test files found: write cases in {SUITE}, or in files that end in {SUITES}");
    }
    Ok(files)
}

fn listed(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let is_suite = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == SUITE || name.ends_with(SUITES)
    };
    let found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_suite).collect();
    if found.len() > MAX_FILES {
        bail!("{}: more than {MAX_FILES} test files", folder.display());
    }
    Ok(found)
}
