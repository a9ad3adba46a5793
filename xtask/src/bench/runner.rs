//! Runs every case of every suite, twice, on one core.

use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::binary::{Binary, VERTEBRA};
use super::measurement::Measurement;
use super::number::time;
use super::results::Results;
use super::targets::Part;
use crate::stage::answers;

const PASSES: usize = 2;

/// Measures all cases. Those who do the same work take turns, so that a busy minute of the machine meets all of them,
/// and every measurement has a process of its own, so that none inherits another one's heap.
pub(crate) fn measure(binaries: &[Binary], parts: &[Part], results: &mut Results) -> anyhow::Result<()> {
    let core = Core::found();
    if core == Core::Any {
        results.notes.push("not pinned to one core, because `taskset -c 0` does not work here".to_owned());
    }
    let mut suites = vec![];
    for binary in binaries {
        match cases(binary) {
            Ok(cases) => suites.push((binary, cases)),
            Err(error) if binary.name == VERTEBRA => return Err(error),
            Err(error) => results.notes.push(format!("{} was left out: {error:#}", binary.name)),
        }
    }
    let mut pairs: Vec<(usize, &Binary, &str)> = vec![];
    for (binary, cases) in &suites {
        for case in cases.iter().filter(|case| parts.contains(&Part::of(case))) {
            // By the place of the case among ours, for whoever has it; what only a peer does comes last.
            let place = suites[0].1.iter().position(|ours| ours == case).unwrap_or(usize::MAX);
            pairs.push((place, binary, case));
        }
    }
    pairs.sort_by_key(|(place, ..)| *place);

    for pass in 1..=PASSES {
        for (_, binary, case) in &pairs {
            eprint!("pass {pass} of {PASSES}  {case:<20} {:<15}", binary.name);
            match one(binary, case, core) {
                Ok(measured) => {
                    eprintln!("{:>10}", time(measured.ns));
                    results.add(measured);
                }
                Err(error) => {
                    eprintln!("failed: {error:#}");
                    results.notes.push(format!("{} failed at {case} in pass {pass}", binary.name));
                }
            }
        }
    }
    Ok(())
}

/// What a program is run on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Core {
    First,
    Any,
}

impl Core {
    fn found() -> Self {
        if answers("taskset -c 0 true") { Self::First } else { Self::Any }
    }

    fn command(self, binary: &Binary) -> Command {
        match self {
            Self::First => {
                let mut command = Command::new("taskset");
                command.args(["-c", "0"]).arg(&binary.path);
                command
            }
            Self::Any => Command::new(&binary.path),
        }
    }
}

fn cases(binary: &Binary) -> anyhow::Result<Vec<String>> {
    let list = Core::Any.command(binary).arg("--list").said()?;
    Ok(list.lines().map(str::to_owned).collect())
}

fn one(binary: &Binary, case: &str, core: Core) -> anyhow::Result<Measurement> {
    Measurement::parse(core.command(binary).args(["--only", case]).said()?.trim())
}

/// Starts a program, waits for it and returns what it wrote.
trait Said {
    fn said(&mut self) -> anyhow::Result<String>;
}

impl Said for Command {
    fn said(&mut self) -> anyhow::Result<String> {
        let child = self.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.with_context(|| format!("cannot start {}", self.get_program().display()))?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}
