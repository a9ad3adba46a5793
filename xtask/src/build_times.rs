//! Measures how long a newcomer and a contributor wait for a build: in a clean clone, with empty target folders.
//!
//! CPU seconds stand beside the wall time, because the wall time depends on what else the machine does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum;

use crate::stage::Stage;
use crate::test::target_dir;

#[derive(clap::Args)]
pub(crate) struct Request {
    /// Measure these rows only
    #[arg(long, value_delimiter = ',', value_name = "ROW,…")]
    only: Vec<Row>,
    /// Count the lines of LLVM IR per crate too (takes minutes)
    #[arg(long)]
    ir: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Row {
    /// `cargo run -- demo`
    Demo,
    /// A new project that depends on `vertebra` and `vertebra-models`
    Library,
    /// `cargo build --release`
    Release,
    /// The build that packages ship
    Dist,
    /// `cargo xtask test`
    Test,
    /// `cargo check` after an edit in `vertebra-kit`
    Check,
    /// `cargo build` after an edit in `vertebra-kit`
    Rebuild,
    /// The number of crates in the CLI's tree
    Crates,
}

impl Row {
    fn title(self) -> &'static str {
        match self {
            Self::Demo => "`cargo run -- demo`",
            Self::Library => "a new project with `vertebra` and `vertebra-models`: `cargo build`",
            Self::Release => "`cargo build --release`",
            Self::Dist => "`cargo build --profile dist`",
            Self::Test => "`cargo xtask test`",
            Self::Check => "edit one line in `vertebra-kit`, `cargo check`",
            Self::Rebuild => "edit one line in `vertebra-kit`, `cargo build`",
            Self::Crates => "crates in the CLI's tree (`cargo tree -p vertebra-cli -e normal`)",
        }
    }

    fn goal(self) -> &'static str {
        match self {
            Self::Demo => "2.5 min",
            Self::Library => "2 min",
            Self::Release => "7 min",
            Self::Dist => "10 min",
            Self::Test => "14 min",
            Self::Check => "5 s",
            Self::Rebuild => "20 s",
            Self::Crates => "305",
        }
    }

    fn measure(self, clone: &Clone) -> anyhow::Result<String> {
        match self {
            Self::Demo => clone.cold(&["run", "--", "demo"]),
            Self::Library => library(clone),
            Self::Release => clone.cold(&["build", "--release"]),
            Self::Dist => clone.cold(&["build", "--profile", "dist"]),
            Self::Test => clone.cold(&["xtask", "test"]),
            Self::Check => clone.after_edit(&["check"]),
            Self::Rebuild => clone.after_edit(&["build"]),
            Self::Crates => Ok(crates(&clone.folder)?.to_string()),
        }
    }
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    let clone = Clone::make()?;
    println!("| from a clean clone, empty target, warm registry cache | measured | goal |\n| --- | --- | --- |");
    for row in Row::value_variants().iter().copied() {
        if request.only.is_empty() || request.only.contains(&row) {
            eprintln!("measuring {}", row.title());
            let measured = row.measure(&clone).with_context(|| row.title().to_owned())?;
            println!("| {} | {measured} | ≤ {} |", row.title(), row.goal());
        }
    }
    if request.ir {
        println!("\n| crate | lines of LLVM IR | functions |\n| --- | --- | --- |");
        for package in packages(&clone.folder)? {
            let (lines, functions) = clone.ir(&package)?;
            println!("| {package} | {lines} | {functions} |");
        }
    }
    fs::remove_dir_all(&clone.place).with_context(|| format!("cannot remove {}", clone.place.display()))
}

/// A clean clone of the last commit.
struct Clone {
    place: PathBuf,
    folder: PathBuf,
}

impl Clone {
    fn make() -> anyhow::Result<Self> {
        let place = std::env::current_dir()?.join(target_dir()).join("build-times");
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
        let folder = place.join("clone");
        let stage = Stage::new("clone", "git clone --quiet .").arg(&folder);
        ensure!(stage.passes(), "the repository cannot be cloned");
        Ok(Self { place, folder })
    }

    /// Runs a command of cargo with an empty target folder, and removes what it built.
    fn cold(&self, words: &[&str]) -> anyhow::Result<String> {
        let target = self.place.join("target");
        let took = timed(&self.folder, &target, words)?;
        fs::remove_dir_all(&target).with_context(|| format!("cannot remove {}", target.display()))?;
        Ok(took.to_string())
    }

    /// Runs a command of cargo once, edits a line, and runs it again.
    fn after_edit(&self, words: &[&str]) -> anyhow::Result<String> {
        let target = self.place.join("edited");
        timed(&self.folder, &target, words)?;
        let file = self.folder.join("crates/vertebra-kit/src/lib.rs");
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        fs::write(&file, format!("{text}\n/// A line more.\npub const EDITED: usize = {};\n", text.len()))?;
        let took = timed(&self.folder, &target, words)?;
        fs::write(&file, text)?;
        Ok(took.to_string())
    }

    /// The lines of LLVM IR of a crate before optimisation, and its functions.
    fn ir(&self, package: &str) -> anyhow::Result<(usize, usize)> {
        let target = self.place.join("ir");
        let words = ["rustc", "--lib", "--package", package, "--", "--emit=llvm-ir"];
        let flags = ["-Cno-prepopulate-passes", "-Ccodegen-units=1"];
        timed(&self.folder, &target, &[&words[..], &flags[..]].concat())?;
        let prefix = format!("{}-", package.replace('-', "_"));
        let (mut lines, mut functions) = (0, 0);
        for entry in fs::read_dir(target.join("debug/deps"))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(&prefix) && path.extension().is_some_and(|extension| extension == "ll") {
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                lines += text.lines().count();
                functions += text.lines().filter(|line| line.starts_with("define ")).count();
            }
        }
        Ok((lines, functions))
    }
}

/// A project as the README describes it, beside the clone.
fn library(clone: &Clone) -> anyhow::Result<String> {
    let folder = clone.place.join("project");
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/main.rs"), "fn main() {}\n")?;
    fs::write(
        folder.join("Cargo.toml"),
        "[package]\nname = \"project\"\nedition = \"2024\"\n\n[dependencies]\n\
         vertebra = { path = \"../clone/crates/vertebra\" }\n\
         vertebra-models = { path = \"../clone/crates/vertebra-models\" }\n\n[workspace]\n",
    )?;
    Ok(timed(&folder, &folder.join("target"), &["build"])?.to_string())
}

/// What a command took.
#[derive(Debug, PartialEq)]
struct Took {
    wall: f64,
    cpu: f64,
}

impl std::fmt::Display for Took {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.wall < 60.0 {
            write!(f, "{:.1} s ({:.0} CPU-s)", self.wall, self.cpu)
        } else {
            write!(f, "{:.1} min ({:.0} CPU-s)", self.wall / 60.0, self.cpu)
        }
    }
}

impl Took {
    /// Reads `wall user system`, all in seconds.
    fn read(text: &str) -> Option<Self> {
        let line = text.lines().last()?;
        let seconds: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let &[wall, user, system] = &seconds[..] else { return None };
        Some(Self { wall, cpu: user + system })
    }
}

/// Runs cargo under the `time` of bash, which counts the CPU time of all processes below.
fn timed(folder: &Path, target: &Path, words: &[&str]) -> anyhow::Result<Took> {
    let log = target.with_extension("log");
    let script = r#"TIMEFORMAT='%R %U %S'; time cargo "${@:2}" > "$1" 2>&1"#;
    let stage = Stage::program("time", "bash").args(["-c", script, "time"]).arg(&log).args(words);
    let mut command = stage.within(folder).env("CARGO_TARGET_DIR", target).command();
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let output = command.spawn().context("cannot start bash")?.wait_with_output()?;
    if !output.status.success() {
        let log = fs::read_to_string(&log).unwrap_or_default();
        let end: Vec<&str> = log.lines().rev().take(20).collect();
        bail!("`cargo {}` failed:\n{}", words.join(" "), end.into_iter().rev().collect::<Vec<_>>().join("\n"));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Took::read(&said).with_context(|| format!("bash printed no times: {said}"))
}

/// How many crates the CLI is made of, each version once.
fn crates(folder: &Path) -> anyhow::Result<usize> {
    let line = "cargo tree --locked --package vertebra-cli --edges normal --prefix none --no-dedupe";
    let mut tree = Stage::new("tree", line).command();
    let output = tree.current_dir(folder).stdout(Stdio::piped()).spawn()?.wait_with_output()?;
    ensure!(output.status.success(), "`{line}` failed");
    Ok(String::from_utf8_lossy(&output.stdout).lines().collect::<BTreeSet<_>>().len())
}

/// Our own crates.
fn packages(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let names = fs::read_dir(folder.join("crates"))?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_bash_are_read_and_written_for_people() {
        let took = Took::read("some noise\n75.250 130.5 12.25\n").unwrap();

        assert_eq!(took, Took { wall: 75.25, cpu: 142.75 });
        assert_eq!(took.to_string(), "1.3 min (143 CPU-s)");
        assert_eq!(Took { wall: 4.2, cpu: 7.6 }.to_string(), "4.2 s (8 CPU-s)");
        assert_eq!(Took::read("bash: cargo: command not found"), None);
    }

    #[test]
    fn a_command_that_fails_is_an_error_with_the_end_of_its_output() {
        let place = std::env::temp_dir().join(format!("build-times-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();

        let error = timed(&place, &place.join("target"), &["no-such-command"]).unwrap_err().to_string();

        assert!(error.contains("`cargo no-such-command` failed") && error.contains("no such command"), "{error}");
        fs::remove_dir_all(place).unwrap();
    }
}
