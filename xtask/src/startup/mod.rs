//! Measures how soon a person has something: `vertebra` beside two other coding agents, in turns, in one run.

mod listener;
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::bench::number::{ratio, time};
use crate::test::target_dir;
use listener::Listener;
use program::{Case, Program};

#[derive(clap::Args)]
pub(crate) struct Request {
    /// How often each is started; the median counts
    #[arg(long, default_value_t = 11)]
    times: usize,
    /// Where the table is written, from the root of the workspace
    #[arg(long, value_name = "DIR", default_value = "bench/out")]
    out: PathBuf,
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    ensure!(request.times > 0, "nothing to measure: `--times` is 0");
    let programs = program::build()?;
    let mut table = format!("| {} |\n|{}\n", heading(&programs), " --- |".repeat(1 + programs.len()));
    for case in Case::ALL {
        let mut samples = vec![Vec::new(); programs.len()];
        for turn in 0..=request.times {
            eprint!("\r{case}: {turn} of {} ", request.times);
            for (program, samples) in programs.iter().zip(&mut samples) {
                let took = once(program, case).with_context(|| format!("{case} of {}", program.name))?;
                // The first finds nothing in the page cache.
                if turn > 0 {
                    samples.push(took);
                }
            }
        }
        eprintln!();
        table.push_str(&row(case, samples));
    }
    println!("\n{table}");
    fs::create_dir_all(&request.out)?;
    let path = request.out.join("startup.md");
    fs::write(&path, table).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

fn heading(programs: &[Program]) -> String {
    let names = programs.iter().map(|program| program.name.clone());
    std::iter::once("to".to_owned()).chain(names).collect::<Vec<_>>().join(" | ")
}

/// The first column is ours; the others say how many times as long they take.
#[expect(clippy::cast_precision_loss, reason = "durations of seconds in nanoseconds are exact enough")]
fn row(case: Case, samples: Vec<Vec<Duration>>) -> String {
    let medians: Vec<f64> = samples.into_iter().map(|samples| median(samples).as_nanos() as f64).collect();
    let cells = medians.iter().enumerate().map(|(index, median)| match index {
        0 => time(*median),
        _ => format!("{} ({})", time(*median), ratio(median / medians[0])),
    });
    format!("| {case} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// Starts a program once, and answers with how long it took.
fn once(program: &Program, case: Case) -> anyhow::Result<Duration> {
    // Whole: programs distrust a home that depends on where they are.
    let place = std::env::current_dir()?.join(target_dir()).join("startup");
    let (home, work) = (place.join("home").join(&program.name), place.join("work"));
    for folder in [&home, &work] {
        fs::create_dir_all(folder)?;
    }
    let listener = Listener::open()?;
    program.settle(listener.port(), &home)?;
    let mut command = program.command(case, listener.port());
    command.env_clear().envs(program::environment(listener.port(), &home)).current_dir(&work);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = Running::start(command)?;
    match case {
        Case::FirstRequest => listener.first_request()?,
        Case::Version | Case::Help => {
            let status = child.0.wait()?;
            ensure!(status.success(), "it ended with {status}");
        }
    }
    Ok(began.elapsed())
}

/// A program with all it starts, ended when nobody looks at it any more.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> anyhow::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let program = Path::new(command.get_program()).display().to_string();
        Ok(Self(command.process_group(0).spawn().with_context(|| format!("cannot start {program}"))?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group has its leader's number, as long as the leader was not waited for; then nothing of it is left.
        if let Ok(None) = self.0.try_wait() {
            let _ = Command::new("kill").args(["-KILL", "--"]).arg(format!("-{}", self.0.id())).status();
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_many_times_as_long_the_others_take() {
        let ms = |times: [u64; 3]| times.map(Duration::from_millis).to_vec();
        let row = row(Case::Help, vec![ms([9, 2, 1]), ms([10, 500, 20])]);
        assert_eq!(row, "| `--help` | 2.00 ms | 20.0 ms (10.0 ×) |\n");
    }
}
