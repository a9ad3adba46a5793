//! A stage is one named command; a report is what came of a list of them.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One named command. Its `Display` is what a person types to run it alone.
pub(crate) struct Stage {
    name: &'static str,
    env: Vec<(&'static str, OsString)>,
    program: OsString,
    args: Vec<OsString>,
    folder: Option<PathBuf>,
}

impl Stage {
    /// Takes the command as one would type it; what may contain a space is added with [`Stage::arg`].
    pub(crate) fn new(name: &'static str, line: &str) -> Self {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a command has a first word");
        Self::program(name, program).args(words)
    }

    pub(crate) fn program(name: &'static str, program: impl Into<OsString>) -> Self {
        Self { name, env: vec![], program: program.into(), args: vec![], folder: None }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args(self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, key: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key, value.as_ref().to_owned()));
        self
    }

    /// Runs it in this folder.
    pub(crate) fn within(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // `cargo run` describes the package it started to us. Passed on to another cargo, that description counts as a
        // change to build scripts which watch it, and they would be built again on every switch between the two.
        for (key, _) in std::env::vars_os() {
            let name = key.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&key);
            }
        }
        command.args(&self.args).envs(self.env.iter().map(|(key, value)| (key, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    /// Whether the command exists and says yes; it prints nothing.
    pub(crate) fn answers(&self) -> bool {
        self.command().stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// Runs the command at once, where a failure is no failure of the whole.
    pub(crate) fn passes(&self) -> bool {
        matches!(self.run(), Outcome::Passed(_))
    }

    /// Runs the command on our own terminal, so that its output is seen as it appears.
    fn run(&self) -> Outcome {
        println!("\n── {}: {self}", self.name);
        let start = Instant::now();
        match self.command().status() {
            Ok(status) if status.success() => Outcome::Passed(start.elapsed()),
            Ok(_) => Outcome::Failed(start.elapsed()),
            Err(error) => {
                eprintln!("cannot start {}: {error}", self.program.display());
                Outcome::Failed(start.elapsed())
            }
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(folder) = &self.folder {
            write!(f, "cd {} && ", quoted(&folder.to_string_lossy()))?;
        }
        for (key, value) in &self.env {
            write!(f, "{key}={} ", quoted(&value.to_string_lossy()))?;
        }
        f.write_str(&quoted(&self.program.to_string_lossy()))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(&arg.to_string_lossy())))
    }
}

fn quoted(word: &str) -> String {
    if word.contains(char::is_whitespace) { format!("\"{word}\"") } else { word.to_owned() }
}

/// Whether a command exists and says yes; it prints nothing.
pub(crate) fn answers(line: &str) -> bool {
    Stage::new("probe", line).answers()
}

#[derive(Clone, Copy)]
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    /// An earlier stage failed.
    NotReached,
    /// Nobody tried, and this is why.
    NotRun(&'static str),
}

/// What came of each stage; its `Display` is the table at the end of a run.
pub(crate) struct Report {
    rows: Vec<(&'static str, Outcome)>,
    /// The failed stage's command.
    again: Option<String>,
}

impl Report {
    /// Runs the stages in order up to the first that fails.
    pub(crate) fn of(stages: Vec<Stage>) -> Self {
        Self::with(stages, Stage::run)
    }

    fn with(stages: Vec<Stage>, mut run: impl FnMut(&Stage) -> Outcome) -> Self {
        let mut report = Self { rows: vec![], again: None };
        for stage in stages {
            let outcome = if report.passed() { run(&stage) } else { Outcome::NotReached };
            if let Outcome::Failed(_) = outcome {
                report.again = Some(stage.to_string());
            }
            report.rows.push((stage.name, outcome));
        }
        report
    }

    /// Adds a line for a check that exists but is not part of this run, so that nobody believes it passed.
    pub(crate) fn not_run(mut self, name: &'static str, why: &'static str) -> Self {
        self.rows.push((name, Outcome::NotRun(why)));
        self
    }

    pub(crate) fn passed(&self) -> bool {
        self.again.is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, outcome) in &self.rows {
            match outcome {
                Outcome::Passed(time) => writeln!(f, "{name:<16} passed      {:>7.1} s", time.as_secs_f64())?,
                Outcome::Failed(time) => writeln!(f, "{name:<16} FAILED      {:>7.1} s", time.as_secs_f64())?,
                Outcome::NotReached => writeln!(f, "{name:<16} not reached")?,
                Outcome::NotRun(why) => writeln!(f, "{name:<16} not run     {why}")?,
            }
        }
        match &self.again {
            Some(command) => write!(f, "\nto see the failure alone:\n  {command}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<Stage> {
        vec![
            Stage::new("first", "cargo one"),
            Stage::new("second", "cargo two").env("FLAGS", "-D all").arg("a b"),
            Stage::new("third", "cargo three"),
        ]
    }

    #[test]
    fn a_failure_stops_the_run_and_names_the_command_to_repeat() {
        let report = Report::with(three(), |stage| match stage.name {
            "second" => Outcome::Failed(Duration::from_millis(1500)),
            _ => Outcome::Passed(Duration::from_millis(200)),
        });

        assert!(!report.passed());
        assert_eq!(
            report.not_run("fourth", "needs the moon").to_string(),
            "first            passed          0.2 s\n\
             second           FAILED          1.5 s\n\
             third            not reached\n\
             fourth           not run     needs the moon\n\
             \n\
             to see the failure alone:\n  FLAGS=\"-D all\" cargo two \"a b\""
        );
    }

    #[test]
    fn a_check_that_is_not_run_does_not_fail_the_report() {
        let report = Report::with(three(), |_| Outcome::Passed(Duration::ZERO)).not_run("fourth", "needs the moon");

        assert!(report.passed());
    }

    #[test]
    fn a_program_that_cannot_be_started_is_a_failure() {
        assert!(!Report::of(vec![Stage::new("absent", "no-program-has-this-name")]).passed());
    }
}
