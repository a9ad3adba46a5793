//! Whether what a hook starts is there, and can be started.

use std::{
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use vertebra_bridge::{
    settings::{RunSettings, Words},
    shown,
    trust::words,
};

use crate::{assembly::World, doctor::Finding};

/// How much of a script is looked at.
const LOOKED_AT: u64 = 64 * 1024;

/// Programs whose first word that is no option is a script.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "pwsh"];

/// What the shell itself understands.
const BUILT_IN: &[&str] = &[
    ":", ".", "[", "alias", "break", "case", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "for",
    "if", "printf", "pwd", "read", "return", "set", "shift", "source", "test", "trap", "true", "ulimit", "umask",
    "unset", "while", "{", "!",
];

/// What is wrong with what this starts.
pub(super) fn of_run(what: &str, run: &RunSettings, folder: &Path, world: &World) -> Vec<Finding> {
    match run {
        RunSettings::Command { command, .. } | RunSettings::Worker { command, .. } => {
            of_words(what, command, folder, world)
        }
        RunSettings::Wasm { file, .. } if !folder.join(file).is_file() => {
            let advice = "build it, or mend the path";
            vec![Finding::broken(what.to_owned(), format!("{} is not there", shown(file)), advice)]
        }
        RunSettings::Wasm { .. }
        | RunSettings::Http { .. }
        | RunSettings::Prompt { .. }
        | RunSettings::McpTool { .. } => Vec::new(),
    }
}

/// What is wrong with a program and its script.
pub(super) fn of_words(what: &str, started: &Words, folder: &Path, world: &World) -> Vec<Finding> {
    match started {
        Words::Line(line) => of_line(what, &words(line), folder, world),
        Words::List(list) => of_line(what, list, folder, world),
    }
}

fn of_line(what: &str, words: &[String], folder: &Path, world: &World) -> Vec<Finding> {
    let assigns = |word: &&String| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let mut words = words.iter().skip_while(assigns).map(|word| placed(word, folder));
    let Some(program) = words.next() else { return Vec::new() };
    if BUILT_IN.contains(&&*program) || program.contains('$') {
        return Vec::new();
    }
    let broken = |found: String, advice: String| vec![Finding::broken(what.to_owned(), found, advice)];
    if program.contains('/') {
        let path = folder.join(&program);
        if path.is_file() && !is_executable(&path) {
            let advice = format!("chmod +x {}", shown(&program));
            return broken(format!("{} is not executable", shown(&program)), advice);
        }
        return of_script(what, &program, &path, Started::Itself, world);
    }
    if on_path(&program, world).is_none() {
        let advice = format!("install {}, or name another program", shown(&program));
        return broken(format!("{} is not on the PATH", shown(&program)), advice);
    }
    if !INTERPRETERS.contains(&&*program) {
        return Vec::new();
    }
    let script = words.find(|word| !word.starts_with('-'));
    let is_code = |word: &String| word.contains(|letter: char| letter.is_whitespace() || ";|&$(){}".contains(letter));
    match script.filter(|word| !is_code(word) && (word.contains('/') || word.contains('.'))) {
        Some(script) => of_script(what, &script, &folder.join(&script), Started::ByInterpreter, world),
        None => Vec::new(),
    }
}

/// Who starts a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    /// The system, by its first line.
    Itself,
    /// A program that was named.
    ByInterpreter,
}

fn of_script(what: &str, name: &str, path: &Path, started: Started, world: &World) -> Vec<Finding> {
    let name = shown(name);
    let broken = |found: String, advice: &str| Finding::broken(what.to_owned(), found, advice);
    let mut bytes = Vec::new();
    match fs::File::open(path).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![broken(format!("{name} is not there"), "make it, or mend the path")];
        }
        Err(error) => return vec![broken(format!("{name}: {error}"), "make it readable")],
    }
    let mut findings = Vec::new();
    if bytes.windows(2).any(|pair| pair == b"\r\n") && !bytes.contains(&0) {
        let found = format!("{name} has line ends of Windows (CRLF), which a shell takes for part of the words");
        findings.push(broken(found, "take them out: sed -i 's/\\r$//' FILE, and `*.sh text eol=lf` in .gitattributes"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let first = text.lines().next().unwrap_or_default().trim_end();
    if let (Started::Itself, Some(line)) = (started, first.strip_prefix("#!")) {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or_default();
        let program = match program.rsplit('/').next() {
            Some("env") => words.find(|word| !word.starts_with('-') && !word.contains('=')).unwrap_or_default(),
            _ => program,
        };
        let there =
            if program.contains('/') { Path::new(program).is_file() } else { on_path(program, world).is_some() };
        if !there {
            let found = format!("{name} is for {}, which is not there", shown(program));
            findings.push(broken(found, "install it, or mend the first line"));
        }
    }
    findings
}

/// A word with the project's folder in place.
fn placed(word: &str, folder: &Path) -> String {
    let folder = folder.to_string_lossy();
    ["CLAUDE_PROJECT_DIR", "VERTEBRA_PROJECT_DIR", "PWD"].iter().fold(word.to_owned(), |word, name| {
        word.replace(&format!("${{{name}}}"), &folder).replace(&format!("${name}"), &folder)
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

fn on_path(program: &str, world: &World) -> Option<PathBuf> {
    let path = world.variables.get("PATH").map(String::as_str).unwrap_or_default();
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|path| path.is_file() && is_executable(path))
}
