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
    let mut table = "| Work | runs each | without | with | ratio of the medians |\n|".to_owned();
    table.push_str(&" --- |".repeat(5));
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
        let line = row(work.name, &mut without, &mut with);
        print!("{line}");
        table.push_str(&line);
    }
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
#[expect(clippy::cast_precision_loss, reason = "durations of seconds in nanoseconds are exact enough")]
fn row(name: &str, without: &mut [Duration], with: &mut [Duration]) -> String {
    let runs = without.len();
    let [without, with] = [without, with].map(|samples| {
        samples.sort_unstable();
        samples[samples.len() / 2].as_nanos() as f64
    });
    format!("| {name} | {runs} | {} | {} | {} |\n", time(without), time(with), ratio(with / without))
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
    fn once(&self, work: &Work, way: Way, turn: usize) -> anyhow::Result<Duration> {
        let project = self.root.join("project");
        let name = format!("{}-{turn}-{}", work.short, if way == Way::With { "with" } else { "without" });
        let line = format!(
            "mkdir {name} && cd {name} && begin=$(date +%s%N) && {{ {}; }} && end=$(date +%s%N) && \
             echo $((end - begin)) > ../{name}.took",
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
        Ok(Duration::from_nanos(took.trim().parse()?))
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
    fn a_row_compares_the_medians() {
        let ms = |times: [u64; 3]| times.map(Duration::from_millis).to_vec();
        let row = row("clone", &mut ms([90, 10, 20]), &mut ms([30, 300, 10]));
        assert_eq!(row, "| clone | 3 | 20.0 ms | 30.0 ms | 1.50 × |\n");
    }
}
