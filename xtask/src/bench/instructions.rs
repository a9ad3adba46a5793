//! Counts instructions with valgrind: unlike times, they are the same tomorrow.
//!
//! A case is run with N and with 2 N iterations; the difference is N iterations without the set-up. Only what happens
//! inside `main` is collected. Vertebra's clock calibrates itself before `main`, in a loop whose length depends on the
//! minute, and that would drown the difference: with it, one hook cost 1 008 instructions now and 1 389 then.

use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::binary::{Binary, Threads};
use super::number::count as written;
use super::results::Results;
use crate::stage::answers;

const ITERATIONS: u32 = 1000;

/// Adds the instructions of an iteration to what was measured.
pub(crate) fn count(binaries: &[Binary], results: &mut Results) {
    if !answers("valgrind --version") {
        results.notes.push("instructions were not counted: `valgrind` was not found".to_owned());
        return;
    }
    for binary in binaries {
        if binary.threads == Threads::Several {
            results.notes.push(format!("{} waits for other threads: its instructions were not counted", binary.name));
            continue;
        }
        for measured in results.measurements.iter_mut().filter(|measured| measured.peer == binary.name) {
            eprint!("instructions {:<20} {:<15}", measured.case, binary.name);
            match per_iteration(binary, &measured.case) {
                Ok(instructions) => {
                    eprintln!("{:>10}", written(instructions));
                    measured.instructions = Some(instructions);
                }
                Err(error) => {
                    eprintln!("failed: {error:#}");
                    results
                        .notes
                        .push(format!("instructions of {} at {} were not counted", binary.name, measured.case));
                }
            }
        }
    }
}

pub(super) fn per_iteration(binary: &Binary, case: &str) -> anyhow::Result<f64> {
    let once = collected(binary, case, ITERATIONS)?;
    let twice = collected(binary, case, 2 * ITERATIONS)?;
    let difference = twice.checked_sub(once).context("twice the work took fewer instructions")?;
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    let difference = difference as f64;
    Ok(difference / f64::from(ITERATIONS))
}

fn collected(binary: &Binary, case: &str, iterations: u32) -> anyhow::Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--toggle-collect=main", "--callgrind-out-file=/dev/null"]);
    command.arg(&binary.path).args(["--only", case, "--iterations", &iterations.to_string()]);
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{}: {}", output.status, said.lines().last().unwrap_or_default());
    }
    total(&said).context("valgrind did not say what it collected")
}

/// Reads `==123== Collected : 15737740`.
fn total(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_in_what_valgrind_says() {
        let said = "==7== Callgrind, a call-graph generating cache profiler\n==7== Events    : Ir\n==7== Collected : 15737740\n==7== \n";

        assert_eq!(total(said), Some(15_737_740));
        assert_eq!(total("==7== Events : Ir"), None);
    }
}
