//! Checks that the program and script of a hook exist and can be started.

use std::{
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use vertebra_bridge::{
    settings::{RunSettings, Words},
    shown,
};

use super::{
    interpreter,
    line::{First, Known, first},
};
use crate::{assembly::World, doctor::Finding};

/// How much of a script is read.
const LOOKED_AT: u64 = 64 * 1024;

/// Checks the files that a handler needs.
pub(super) fn of_run(what: &str, run: &RunSettings, folder: &Path, world: &World) -> Vec<Finding> {
    match run {
        RunSettings::Command { command, .. } | RunSettings::Worker { command, .. } => {
            of_words(what, command, Filled::Never, folder, world)
        }
        RunSettings::Wasm { file, .. } if !folder.join(file).is_file() => {
            let advice = "build it, or fix the path";
            vec![Finding::broken(what.to_owned(), format!("{} does not exist", shown(file)), advice)]
        }
        // The others need no file.
        _ => Vec::new(),
    }
}

/// Whether folder variables are replaced in a list of words, which no shell reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// Replaced, as Claude Code does.
    AsThere,
    /// Never replaced, as in a vertebra.toml.
    Never,
}

/// Checks a program and its script.
pub(super) fn of_words(what: &str, started: &Words, filled: Filled, folder: &Path, world: &World) -> Vec<Finding> {
    let known = Known { folder, home: world.variables.get("HOME").map(String::as_str) };
    let command = match (started, filled) {
        (Words::Line(line), _) => first(line, &known),
        (Words::List(list), Filled::AsThere) => {
            let words: Vec<String> = list.iter().map(|word| known.filled(word)).collect();
            // A variable that is still unresolved has a value only at run time.
            let is_open = words.first().is_some_and(|program| program.contains("${"));
            (!is_open).then_some(First { words, may_fail: false })
        }
        (Words::List(list), Filled::Never) => Some(First { words: list.clone(), may_fail: false }),
    };
    command.map(|command| Look { what, folder, world, command: &command }.all()).unwrap_or_default()
}

/// A command to check.
struct Look<'l> {
    what: &'l str,
    folder: &'l Path,
    world: &'l World,
    command: &'l First,
}

/// What starts a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    /// The system, from its first line.
    Itself,
    /// An interpreter named in the command.
    ByInterpreter,
}

impl Look<'_> {
    fn all(&self) -> Vec<Finding> {
        let Some((program, arguments)) = self.command.words.split_first() else { return Vec::new() };
        if program.contains('/') {
            let path = self.folder.join(program);
            if path.is_file() && !is_executable(&path) {
                let advice = format!("chmod +x {}", shown(program));
                return vec![self.wrong(format!("{} is not executable", shown(program)), &advice)];
            }
            return self.script(program, Started::Itself);
        }
        if on_path(program, self.world).is_none() {
            let advice = format!("install {}, or use another program", shown(program));
            return vec![self.wrong(format!("{} is not on the PATH", shown(program)), &advice)];
        }
        let script = interpreter::script_of(program, arguments);
        script.map(|script| self.script(script, Started::ByInterpreter)).unwrap_or_default()
    }

    /// Makes a finding. A command with a fallback (`|| true`) may fail, so its problems are only warnings.
    fn wrong(&self, found: String, advice: &str) -> Finding {
        if self.command.may_fail {
            Finding::lacking(self.what.to_owned(), found, advice)
        } else {
            Finding::broken(self.what.to_owned(), found, advice)
        }
    }

    fn script(&self, name: &str, started: Started) -> Vec<Finding> {
        let path = self.folder.join(name);
        let name = shown(name);
        let mut bytes = Vec::new();
        match fs::File::open(path).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut bytes)) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return vec![self.wrong(format!("{name} does not exist"), "create it, or fix the path")];
            }
            Err(error) => return vec![self.wrong(format!("{name}: {error}"), "make it readable")],
        }
        let mut findings = Vec::new();
        if bytes.windows(2).any(|pair| pair == b"\r\n") && !bytes.contains(&0) {
            let found = format!("{name} has Windows line endings (CRLF), which break shell scripts");
            let advice = "remove them with `sed -i 's/\\r$//' FILE`, and add `*.sh text eol=lf` to .gitattributes";
            findings.push(self.wrong(found, advice));
        }
        let text = String::from_utf8_lossy(&bytes);
        let first = text.lines().next().unwrap_or_default().trim_end();
        if let (Started::Itself, Some(line)) = (started, first.strip_prefix("#!")) {
            let program = program_of(line);
            let is_path = program.contains('/');
            let there = if is_path { Path::new(program).is_file() } else { on_path(program, self.world).is_some() };
            if !there {
                let found = format!("{name} needs {}, which does not exist", shown(program));
                findings.push(self.wrong(found, "install it, or fix the first line"));
            }
        }
        findings
    }
}

/// Returns the interpreter that the first line of a script names.
fn program_of(line: &str) -> &str {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    match program.rsplit('/').next() {
        Some("env") => words.find(|word| !word.starts_with('-') && !word.contains('=')).unwrap_or_default(),
        _ => program,
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

fn on_path(program: &str, world: &World) -> Option<PathBuf> {
    let path = world.variables.get("PATH").map(String::as_str).unwrap_or_default();
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|path| path.is_file() && is_executable(path))
}
