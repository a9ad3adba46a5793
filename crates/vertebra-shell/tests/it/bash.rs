//! Real bash, in an empty folder where all programs are stubs: whatever ran is in the list.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Stdio},
    sync::LazyLock,
};

use proptest::{prelude::*, test_runner::TestRunner};
use tempfile::TempDir;
use vertebra_shell::{Completeness, ParseLimits, SimpleCommand, parse};

use crate::lines::{STUBS, SYSTEM, list, nearly_valid, pieces};

/// A stub notes its name and arguments, and how many there are.
const STUB: &str = "#!/bin/bash\nprintf '%s\\0' $(($# + 1)) \"${0##*/}\" \"$@\" >>\"$STUB_LOG\"\n";

/// Where the stubs are.
static PROGRAMS: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..STUBS {
        let path = folder.path().join(format!("p{number}"));
        fs::write(&path, STUB).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    for name in SYSTEM {
        let found = ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists());
        symlink(found.expect("a usual program"), folder.path().join(name)).expect("a link");
    }
    folder
});

/// What runs for a line: names and arguments.
fn run(line: &str) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    let (here, log) = (folder.path().join("here"), folder.path().join("log"));
    fs::create_dir(&here).expect("a folder");
    let status = Command::new("/usr/bin/timeout")
        .args(["-s", "KILL", "20", "/bin/bash", "--norc", "--noprofile", "-c", &format!("{line}\nwait")])
        .current_dir(&here)
        .env_clear()
        .env("PATH", PROGRAMS.path())
        .env("HOME", "/nowhere")
        .env("STUB_LOG", &log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.expect("bash");
    let log = fs::read(&log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let mut texts = log.split_terminator('\0').map(str::to_owned);
    let mut all = Vec::new();
    while let Some(count) = texts.next() {
        // Stubs that write at the same time may mix; such a log says nothing.
        let Ok(count) = count.parse() else { return Vec::new() };
        all.push(texts.by_ref().take(count).collect());
    }
    all
}

/// Whether the line is valid.
pub(crate) fn accepts(line: &str) -> bool {
    let status = Command::new("/bin/bash").args(["-n", "-c", line]).stderr(Stdio::null()).status();
    status.expect("bash").success()
}

/// Whether a command of the list is what ran. What is unknown may be any number of words.
fn is(command: &SimpleCommand, ran: &[String]) -> bool {
    fn fits(words: &[vertebra_shell::Word], ran: &[String]) -> bool {
        let Some((word, rest)) = words.split_first() else { return ran.is_empty() };
        // `find` puts names in the place of `{}`.
        match word.known().filter(|text| !text.contains("{}")) {
            Some(text) => ran.first().is_some_and(|first| first == text) && fits(rest, &ran[1..]),
            None => (0..=ran.len()).any(|count| fits(rest, &ran[count..])),
        }
    }
    fits(command.argv(), ran)
}

/// Checks that a line lists what it runs.
fn check(line: &str) -> Result<(), TestCaseError> {
    let parsed = parse(line, ParseLimits::default());
    for ran in run(line) {
        let is_listed = parsed.commands().iter().any(|command| command.is_hidden() || is(command, &ran));
        let texts = parsed.texts();
        prop_assert!(is_listed, "{ran:?} ran, and is not in {texts:#?} of {line:?}");
    }
    Ok(())
}

fn compare(cases: u32, lines: impl Strategy<Value = String>, check: impl Fn(String) -> Result<(), TestCaseError>) {
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() };
    TestRunner::new(config).run(&lines, check).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn what_bash_runs_of_a_valid_line_is_listed() {
    compare(cases(), list(), |line| {
        check(&line)?;
        let parsed = parse(&line, ParseLimits::default());
        // Bash looks into a here-document only when it runs.
        if accepts(&line) && !line.contains("<<E") && parsed.completeness() != Completeness::TooDeep {
            prop_assert_eq!(parsed.completeness(), Completeness::Whole, "bash reads {:?}", line);
        }
        Ok(())
    });
}

#[test]
fn what_bash_runs_of_a_broken_line_is_listed() {
    compare(cases(), nearly_valid(), |line| check(&line));
    compare(cases(), pieces(), |line| check(&line));
}

/// How many lines are tried; more by `VERTEBRA_CASES`.
fn cases() -> u32 {
    std::env::var("VERTEBRA_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

/// Lines that were once read differently than bash reads them.
#[test]
fn lines_that_were_once_misread_are_read_as_bash_does() {
    for line in SEEDS {
        check(line).unwrap_or_else(|error| panic!("{error}"));
    }
}

const SEEDS: &[&str] = &[
    "p0 $(case x in x) p1;; esac) b",
    "p0 <<E\n$(p1 \"a\nb\")\nE\np2",
    "p\\\n0 a",
    "env -S 'A=b p3 x' 'p0' 'b c'",
    "env -S '#A=b p3 x' p0 b",
    "{p3,a}>o",
    "$'p0\\0x' $'\\xx' $'\\q' $'\\cA' $'\\u' $'a\\x00b'c $'\\?\\\\'",
];
