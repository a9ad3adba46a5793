//! Measures `vertebra hook` from end to end, beside hooks in Python, Node and bash that make the same check, in turns.

mod peers;

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::bench::number::{ratio, time};
use crate::stage::Stage;
use crate::test::target_dir;
use peers::Peer;

#[derive(clap::Args)]
pub(crate) struct Request {
    /// How often each is started
    #[arg(long, default_value_t = 200)]
    times: usize,
    /// How many rules the policy has
    #[arg(long, default_value_t = 100)]
    rules: usize,
    /// Where the table is written, from the root of the workspace
    #[arg(long, value_name = "DIR", default_value = "bench/out")]
    out: PathBuf,
}

/// What is asked, and what has to be the answer.
struct Case {
    name: &'static str,
    command: fn(usize) -> String,
    code: i32,
}

const CASES: [Case; 2] = [
    Case { name: "a call that no rule is about", command: |_| "cargo test --workspace".to_owned(), code: 0 },
    Case { name: "a call that the last rule denies", command: |rules| peers::denied(rules - 1), code: 2 },
];

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    ensure!(request.times > 0 && request.rules > 0, "nothing to measure: `--times` or `--rules` is 0");
    ensure!(
        Stage::new("build vertebra", "cargo build --profile dist --bin vertebra").passes(),
        "vertebra does not build"
    );
    let root = std::env::current_dir()?;
    let place = root.join(target_dir()).join("hook");
    let peers = peers::all(&installed(&root.join(target_dir()).join("dist/vertebra"), &place)?, &place, request.rules)?;
    let heading: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    let mut table = format!("| | {} |\n|{}\n", heading.join(" | "), " --- |".repeat(1 + peers.len()));
    for case in &CASES {
        let mut samples = vec![Vec::with_capacity(request.times); peers.len()];
        for turn in 0..=request.times {
            if std::io::stderr().is_terminal() {
                eprint!("\r{}: {turn} of {} ", case.name, request.times);
            }
            for (peer, samples) in peers.iter().zip(&mut samples) {
                let took = once(peer, case, request.rules, &place)
                    .with_context(|| format!("{} of {}", case.name, peer.name))?;
                // The first finds nothing in the page cache.
                if turn > 0 {
                    samples.push(took);
                }
            }
        }
        eprintln!();
        for samples in &mut samples {
            samples.sort_unstable();
        }
        // A neighbour can only make one slower.
        for (what, part) in [("fastest", 0), ("median", 50), ("p95", 95)] {
            table.push_str(&row(&format!("{}, {what}", case.name), &samples, part));
        }
    }
    println!("\n{table}");
    fs::create_dir_all(&request.out)?;
    let path = request.out.join("hook.md");
    fs::write(&path, table).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// A copy of the program, which is what is installed. What a linker has just written lies in the page cache in single
/// pages, and takes up to half as long again to map.
fn installed(built: &Path, place: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(place)?;
    let copy = place.join("vertebra");
    fs::copy(built, &copy).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok(copy)
}

/// The first column is ours; the others say how many times as long they take.
#[expect(clippy::cast_precision_loss, reason = "durations of seconds in nanoseconds are exact enough")]
fn row(name: &str, samples: &[Vec<Duration>], part: usize) -> String {
    let at = |samples: &Vec<Duration>| samples[(samples.len() * part / 100).min(samples.len() - 1)].as_nanos() as f64;
    let ours = samples.first().map_or(1.0, at);
    let cells = samples.iter().map(at).enumerate().map(|(index, took)| match index {
        0 => time(took),
        _ => format!("{} ({})", time(took), ratio(took / ours)),
    });
    format!("| {name} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Puts one event to a hook, as an agent would, and answers with how long that took.
fn once(peer: &Peer, case: &Case, rules: usize, place: &Path) -> anyhow::Result<Duration> {
    let event = peers::event(&(case.command)(rules), place);
    let mut command = Command::new(&peer.program);
    command.args(&peer.arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", place.join("home")).current_dir(place.join("work"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", peer.program.display()))?;
    let mut stdin = child.stdin.take().context("stdin")?;
    // One that reads nothing may be gone already.
    let _ = stdin.write_all(event.as_bytes());
    drop(stdin);
    let status = child.wait()?;
    let took = began.elapsed();
    ensure!(!peer.judges || status.code() == Some(case.code), "it ended with {status}");
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_many_times_as_long_the_others_take() {
        let ms = |times: [u64; 4]| times.map(Duration::from_millis).to_vec();
        let samples = [ms([1, 2, 3, 40]), ms([10, 20, 30, 40])];
        assert_eq!(row("fastest", &samples, 0), "| fastest | 1.00 ms | 10.0 ms (10.0 ×) |\n");
        assert_eq!(row("median", &samples, 50), "| median | 3.00 ms | 30.0 ms (10.0 ×) |\n");
        assert_eq!(row("p95", &samples, 95), "| p95 | 40.0 ms | 40.0 ms (1.00 ×) |\n");
    }
}
