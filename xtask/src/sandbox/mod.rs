//! Measures what the sandbox costs: the same work as a command of the agent and without it, in turns, on the same disk.

mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::bench::number::{ratio, time};
use crate::stage::Stage;
use crate::test::target_dir;
use work::Work;

#[derive(clap::Args)]
pub(crate) struct Request {
    /// How often each work is done; the long ones a third as often
    #[arg(long, default_value_t = 15)]
    times: usize,
    /// Measures only the works whose name contains this text
    filter: Option<String>,
    /// Measures this program instead of one that is built as it is shipped
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Works in this folder, and so on its disk
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
    /// Where the table is written, from the root of the workspace
    #[arg(long, value_name = "DIR", default_value = "bench/out")]
    out: PathBuf,
}

/// What has to be known to read the table.
const NOTE: &str = "
Medians of all runs but the first, with and without in turns, on the same disk. Nothing is removed between the runs, and
before each of them everything is written to the disk (`sync -f`). \"Until it returns\" ends when the command has ended: what
it wrote is in memory then. \"Until it is on the disk\" ends after another `sync -f`, which also writes what other programs
have changed meanwhile.
";

/// How long a work took.
#[derive(Clone, Copy)]
struct Took {
    /// Until its last program had ended.
    returned: Duration,
    /// Until everything was on the disk.
    stored: Duration,
}

/// How a work is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Without,
    With,
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    ensure!(request.times > 0, "nothing to measure: `--times` is 0");
    let program = built(request)?;
    let place = Place::new(request.at.as_deref(), &program)?;
    let mut table =
        "| Work | runs each | until it returns: without | with | ratio | until it is on the disk: without | with | \
                     ratio |\n|"
            .to_owned();
    table.push_str(&" --- |".repeat(8));
    table.push('\n');
    let wanted = |work: &&Work| request.filter.as_ref().is_none_or(|text| work.name.contains(text.as_str()));
    for work in work::ALL.iter().filter(wanted) {
        work.prepare(&place.root).with_context(|| format!("cannot prepare: {}", work.name))?;
        let times = (request.times / work.share).max(1);
        let (mut without, mut with) = (Vec::new(), Vec::new());
        // The first finds nothing in the page cache.
        for turn in 0..=times {
            // What was just removed makes some file systems slow at making files, so nothing is removed in between.
            let ways = if turn % 2 == 0 { [Way::Without, Way::With] } else { [Way::With, Way::Without] };
            for way in ways {
                let took = place.once(work, way, turn).with_context(|| work.name.to_owned())?;
                if turn > 0 {
                    if way == Way::With { &mut with } else { &mut without }.push(took);
                }
            }
        }
        let line = row(work.name, &without, &with);
        print!("{line}");
        table.push_str(&line);
    }
    table.push_str(NOTE);
    println!("\n{table}");
    fs::create_dir_all(&request.out)?;
    let path = request.out.join("sandbox.md");
    fs::write(&path, table).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

fn built(request: &Request) -> anyhow::Result<PathBuf> {
    if let Some(program) = &request.program {
        return Ok(program.canonicalize()?);
    }
    ensure!(
        Stage::new("build vertebra", "cargo build --profile dist --bin vertebra").passes(),
        "vertebra does not build"
    );
    Ok(std::env::current_dir()?.join(target_dir()).join("dist/vertebra"))
}

/// The middle of each, and how many times as long it takes in the sandbox.
fn row(name: &str, without: &[Took], with: &[Took]) -> String {
    let compared = |part: fn(&Took) -> Duration| {
        let [without, with] = [without, with].map(|samples| median(samples.iter().map(part).collect()));
        format!("{} | {} | {}", time(without), time(with), ratio(with / without))
    };
    let (returned, stored) = (compared(|took| took.returned), compared(|took| took.stored));
    format!("| {name} | {} | {returned} | {stored} |\n", without.len())
}

#[expect(clippy::cast_precision_loss, reason = "durations of seconds in nanoseconds are exact enough")]
fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples[samples.len() / 2].as_nanos() as f64
}

/// A new folder, which is removed in the end: `project`, where commands work, and beside it what they only read.
struct Place {
    root: PathBuf,
    program: PathBuf,
}

impl Place {
    fn new(at: Option<&Path>, program: &Path) -> anyhow::Result<Self> {
        let at = at.map_or_else(|| std::env::current_dir().map(|here| here.join(target_dir())), fs::canonicalize)?;
        let root = at.join(format!("sandbox-cost-{}", std::process::id()));
        for folder in ["project", "home", "tmp"] {
            fs::create_dir_all(root.join(folder))?;
        }
        Ok(Self { root, program: program.to_owned() })
    }

    /// Does a work once, and answers with how long it took. The command looks at the clock itself: starting an agent is
    /// another matter.
    fn once(&self, work: &Work, way: Way, turn: usize) -> anyhow::Result<Took> {
        let project = self.root.join("project");
        let name = format!("{}-{turn}-{}", work.short, if way == Way::With { "with" } else { "without" });
        let line = format!(
            "mkdir {name} && cd {name} && sync -f . && begin=$(date +%s%N) && {{ {}; }} && returned=$(date +%s%N) && \
             sync -f . && stored=$(date +%s%N) && echo $((returned - begin)) $((stored - begin)) > ../{name}.took",
            work.line
        );
        let mut command = match way {
            Way::Without => {
                let mut bash = Command::new("bash");
                bash.args(["-c", &line]);
                bash
            }
            Way::With => {
                let script = self.root.join("script.jsonl");
                let call = serde_json::json!({ "call": { "tool": "bash", "args": { "command": line } } });
                fs::write(&script, format!("{call}\n{}\n", serde_json::json!({ "say": "done" })))?;
                let mut agent = Command::new(&self.program);
                agent.args(["run", "--mode", "bypass", "--no-journal", "--model"]);
                agent.arg(format!("script:{}", script.display())).arg("go");
                agent
            }
        };
        let said = self.root.join("said");
        let file = fs::File::create(&said)?;
        command.current_dir(&project).env("HOME", self.root.join("home")).env("TMPDIR", self.root.join("tmp"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("LANG", "C.UTF-8");
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        command.status().context("cannot start it")?;
        let Ok(took) = fs::read_to_string(project.join(format!("{name}.took"))) else {
            bail!("it did not come to its end:\n{}", fs::read_to_string(said)?);
        };
        let (returned, stored) = took.trim().split_once(' ').context("two times are missing")?;
        let [returned, stored] = [returned, stored].map(|took| took.parse().map(Duration::from_nanos));
        Ok(Took { returned: returned?, stored: stored? })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_compares_the_medians_in_memory_and_on_the_disk() {
        let took = |times: [(u64, u64); 3]| {
            times.map(|(returned, stored)| Took {
                returned: Duration::from_millis(returned),
                stored: Duration::from_millis(stored),
            })
        };
        let row = row("clone", &took([(90, 100), (10, 100), (20, 400)]), &took([(30, 120), (300, 500), (10, 20)]));
        assert_eq!(row, "| clone | 3 | 20.0 ms | 30.0 ms | 1.50 × | 100 ms | 120 ms | 1.20 × |\n");
    }
}
