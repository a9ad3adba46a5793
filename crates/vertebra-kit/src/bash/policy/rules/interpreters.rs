//! Interpreters and programs with a language of their own.

use std::path::Path;

use super::super::{
    Class,
    code::until,
    fields::{Field, texts},
    invoke::Call,
    judge::{Judge, Origin},
    options,
    places::{Place, Verb},
    scope::Made,
    value::{UNKNOWN, blend, is_known, known_part},
};
use super::Rule;

/// `python3.12`, `ruby3.2`, `lua5.4`, …
pub(super) fn versioned(name: &str) -> Option<Rule> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let known = base != name && matches!(base, "python" | "pypy" | "ruby" | "perl" | "lua" | "php" | "node" | "tclsh");
    known.then_some(interpreter as Rule)
}

/// Options whose value is a program, in languages other than Python.
const CODE: [&str; 16] = [
    "-c",
    "-e",
    "-E",
    "-r",
    "-p",
    "-ne",
    "-pe",
    "-le",
    "--eval",
    "-eval",
    "--print",
    "--execute",
    "--run",
    "-x",
    "-B",
    "-R",
];
/// Options whose value is a module, or a folder with modules.
const LIBRARY: [&str; 9] =
    ["-r", "--require", "--import", "--loader", "--experimental-loader", "-I", "-L", "--load", "-M"];
/// Options with a value that is neither.
const VALUES: [&str; 6] = ["-W", "-X", "-d", "-S", "-F", "-t"];

/// Commands of scripts that many projects have, which empty a database.
const LOSES: [&str; 8] =
    ["flush", "sqlflush", "reset_db", "migrate:fresh", "migrate:reset", "db:wipe", "db:drop", "doctrine:database:drop"];

/// The role of a word on an interpreter's command line.
enum Word<'w> {
    /// A program: what is attached, or the next word.
    Code(Option<&'w str>),
    /// A library: what is attached, or the next word.
    Library(Option<&'w str>),
    /// The next word is a module of Python that is a program.
    Module,
    /// The next word is a value.
    Value,
    Flag,
    /// The program is read from the input.
    Input,
    /// A script, or what a program works on.
    File,
}

fn word<'w>(base: &str, arg: &'w str) -> Word<'w> {
    let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    let (name, attached) = arg.split_once('=').map_or((arg, None), |(name, value)| (name, Some(value)));
    match letters {
        _ if arg == "-" || arg == "/dev/stdin" => Word::Input,
        _ if !arg.starts_with('-') => Word::File,
        Some(letters) if base.starts_with("py") => match letters.split_at_checked(1) {
            Some(("m", "")) => Word::Module,
            Some(("c", code)) => Word::Code((!code.is_empty()).then_some(code)),
            Some(("W" | "X", "")) => Word::Value,
            _ => Word::Flag,
        },
        Some(letters) if matches!(base, "perl" | "ruby") => match letters.split_at_checked(1) {
            Some(("I" | "M" | "m" | "r", library)) => Word::Library((!library.is_empty()).then_some(library)),
            _ if letters.ends_with(['e', 'E']) => Word::Code(None),
            Some(("S" | "F" | "C", "")) => Word::Value,
            _ => Word::Flag,
        },
        _ if CODE.contains(&name) && !(base == "node" && name == "-r") => Word::Code(attached),
        _ if LIBRARY.contains(&name) => Word::Library(attached),
        _ if VALUES.contains(&arg) => Word::Value,
        _ => Word::Flag,
    }
}

/// `-i` among the letters of perl or ruby: the files that follow are written.
fn edits_in_place(base: &str, arg: &str) -> bool {
    let letters = arg.strip_prefix('-').unwrap_or_default();
    matches!(base, "perl" | "ruby") && letters.chars().take_while(|c| "nplawstuTUWX0i".contains(*c)).any(|c| c == 'i')
}

pub(super) fn interpreter(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let base = call.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let args = texts(call.args());
    let printed = blend(args.iter().copied().chain(call.input.as_deref()));
    if let ["-V" | "-v" | "--version" | "-h" | "-l"] = args.as_slice() {
        return UNKNOWN.to_string();
    }
    if let ("php", Some(at)) = (base, args.iter().position(|arg| *arg == "-S")) {
        let folder = args.iter().position(|arg| *arg == "-t").and_then(|at| args.get(at + 1)).copied().unwrap_or(".");
        served(judge, args.get(at + 1).and_then(|address| address.split(':').next()), folder);
        return UNKNOWN.to_string();
    }
    let (mut at, mut ran, mut in_place) = (0, false, false);
    while let Some(&arg) = args.get(at) {
        let next = args.get(at + 1).copied().unwrap_or_default();
        in_place |= edits_in_place(base, arg);
        match word(base, arg) {
            Word::Module => {
                module(judge, next, call, at + 1);
                return printed;
            }
            Word::Code(code) => {
                judge.code_in(base, code.unwrap_or(next));
                at += usize::from(code.is_none());
                ran = true;
            }
            Word::Library(name) => {
                library(judge, base, name.unwrap_or(next));
                at += usize::from(name.is_none());
            }
            Word::Value => {
                if base == "php" && ["prepend", "append", "extension"].iter().any(|part| next.contains(part)) {
                    judge.unknown("loads code through a PHP setting");
                }
                at += 1;
            }
            Word::Flag => {}
            Word::File if !ran => {
                script(judge, base, arg);
                if let Some(word) = args[at..].iter().find(|word| LOSES.contains(word)) {
                    judge.ask(Class::RecursiveDelete, format!("`{word}` deletes data"));
                }
                return printed;
            }
            Word::Input | Word::File => break,
        }
        at += 1;
    }
    if !ran {
        match &call.input {
            Some(code) => judge.code_in(base, code),
            None if args.iter().any(|arg| arg.starts_with('-') && *arg != "-") => {}
            None => judge.unknown("starts an interactive interpreter, whose input the policy cannot see"),
        }
        return printed;
    }
    let mut read = printed;
    for file in call.args().get(at..).unwrap_or_default().iter().filter(|file| !file.text.starts_with('-')) {
        read.push_str(&judge.look(&file.text));
        if in_place {
            judge.write(file, Verb::Destroy);
        }
    }
    blend([read.as_str()])
}

/// Loads a module by its name, or from a place that has to be the project's.
fn library(judge: &mut Judge<'_>, language: &str, name: &str) {
    let by_path = name.starts_with(['/', '~', '.']);
    let by_address = name.contains("://") || name.starts_with("data:");
    if by_address || by_path && judge.place(name) != Place::Inside {
        judge.unknown("loads code from a URL or from outside the working folder");
    } else if !by_path {
        judge.code_in(language, name);
    }
}

/// Runs a file of the project, or one that was just made.
fn script(judge: &mut Judge<'_>, language: &str, path: &str) {
    let made = judge.resolved(path).and_then(|path| judge.scope.made(&path).cloned());
    match made {
        Some(Made::Text(text)) => judge.code_in(language, &text),
        Some(Made::Program(_)) => judge.unknown("runs a copy of an installed program"),
        None if language == "node" && matches!(path, "run" | "inspect" | "test") => {}
        None if matches!(judge.place(path), Place::Inside) => {}
        None => judge.unknown("runs a script that is not in the working folder"),
    }
}

/// Modules of Python's own library that talk to others, or run what they are given.
const REACHING: [&str; 19] = [
    "code",
    "codeop",
    "pty",
    "runpy",
    "smtpd",
    "smtplib",
    "ftplib",
    "telnetlib",
    "nntplib",
    "poplib",
    "imaplib",
    "xmlrpc",
    "idlelib",
    "pickle",
    "webbrowser",
    "socketserver",
    "wsgiref",
    "asyncio",
    "site",
];

/// Modules of Python that are programs. A package of the project is as good as the project.
fn module(judge: &mut Judge<'_>, name: &str, call: &Call<'_>, at: usize) {
    let args = call.args().get(at + 1..).unwrap_or_default();
    let words = texts(args);
    let root = name.split('.').next().unwrap_or_default();
    match root {
        "pip" | "pytest" | "venv" | "poetry" | "pipenv" | "uv" | "twine" | "virtualenv" => {
            let name = if root == "venv" { "virtualenv" } else { root };
            let command = [&[Field::plain(name)], args].concat();
            judge.invoke(command, call.input);
        }
        "timeit" => words.iter().filter(|word| !word.starts_with('-')).for_each(|code| judge.code_in("python", code)),
        "pdb" | "cProfile" | "profile" | "trace" | "coverage" => {
            if let Some(path) = words.iter().find(|word| Path::new(word).extension().is_some_and(|end| end == "py")) {
                script(judge, "python", path);
            }
        }
        "zipfile" | "tarfile" if words.first().is_some_and(|word| matches!(*word, "-e" | "--extract")) => {
            judge.write(args.get(2).unwrap_or(&Field::plain(".")), Verb::Create);
        }
        "http" => {
            let parsed = options::split(args, |name| matches!(name, "-b" | "--bind" | "-d" | "--directory"), false);
            let value = |names: &[&str]| parsed.value(names).map(|value| value.text.as_str());
            served(judge, value(&["-b", "--bind"]), value(&["-d", "--directory"]).unwrap_or("."));
        }
        _ if REACHING.contains(&root) => judge.unknown(format!("`python -m {name}` can run code or reach the network")),
        _ => {}
    }
}

/// Judges a server that serves files.
fn served(judge: &mut Judge<'_>, address: Option<&str>, folder: &str) {
    let bound = address.is_some_and(|address| !matches!(address, "127.0.0.1" | "localhost" | "::1"));
    if bound || !matches!(judge.place(folder), Place::Inside | Place::Scratch) {
        judge.ask(Class::NetworkExfiltration, "serves files to other machines");
    }
}

/// Programs that serve the folder they are given.
pub(super) fn server(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed =
        options::split(call.args(), |name| matches!(name, "-l" | "-p" | "-a" | "-c" | "--listen" | "--port"), false);
    served(judge, None, parsed.operands.first().map_or(".", |folder| folder.text.as_str()));
    super::packages::by_table(judge, call)
}

/// Programs whose arguments may be code of a language of their own.
pub(super) fn in_arguments(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    for code in texts(call.args()).into_iter().filter(|word| word.contains('(')) {
        judge.code(code);
    }
    super::packages::by_table(judge, call)
}

/// Judges a pager, which runs commands after a plus sign.
pub(super) fn pager(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    for arg in call.args().iter().filter(|arg| arg.text.starts_with('+')) {
        if let Some((_, command)) = arg.text.split_once(['!', '|', '#']) {
            judge.unknown(format!("`{}` runs a shell command", call.name));
            judge.run_argument(command);
        }
    }
    super::packages::by_table(judge, call)
}

pub(super) fn awk(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(
        call.args(),
        |name| matches!(name, "-F" | "-v" | "-f" | "--file" | "-e" | "--source" | "-i" | "-l"),
        false,
    );
    let file = parsed.value(&["-f", "--file"]).map(|file| file.text.clone());
    let source = parsed.value(&["-e", "--source"]).map(|code| code.text.clone());
    let mut operands = &parsed.operands[..];
    let program = match (file, source) {
        (Some(file), _) => match judge.resolved(&file).and_then(|path| judge.scope.made(&path).cloned()) {
            Some(Made::Text(text)) => text,
            _ => String::new(),
        },
        (None, Some(source)) => source,
        (None, None) => {
            let Some((program, rest)) = operands.split_first() else { return UNKNOWN.to_string() };
            operands = rest;
            program.text.clone()
        }
    };
    if parsed.has(&["-i", "-l"]) {
        judge.unknown("`awk` loads code from a file");
    }
    awk_program(judge, &program);
    let mut read = call.input.clone().unwrap_or_default();
    for operand in operands.iter().filter(|operand| !operand.text.contains('=')) {
        read.push_str(&judge.look(&operand.text));
    }
    blend(texts(call.args()).into_iter().chain([read.as_str()]))
}

/// A pipe, a redirection or a call in an awk program reaches out of it.
fn awk_program(judge: &mut Judge<'_>, program: &str) {
    let code = known_part(program);
    let (outside, texts) = without_strings(&code);
    let pipes = outside.replace("||", "").contains('|');
    if pipes || outside.contains("system") || outside.contains("@load") {
        judge.unknown("the awk program runs shell commands");
        for text in &texts {
            let text = text.clone();
            if let Some((super::super::Decision::Deny, class, reason)) =
                judge.trial(|judge| drop(judge.script(&text, &Origin::Within(judge.at.clone()), &None)))
            {
                judge.deny(class, reason);
            }
        }
    }
    if texts.iter().any(|text| text.starts_with("/inet")) {
        judge.deny(Class::NetworkExfiltration, "the awk program opens a network connection");
    }
    if outside.contains("print") && outside.contains("> \u{1}") || outside.contains(">\u{1}") {
        for text in texts.iter().filter(|text| text.starts_with(['/', '.', '~'])) {
            judge.write(&Field::plain(text.clone()), Verb::Create);
        }
    }
    if !is_known(program) {
        judge.unknown("the awk program is only known at run time");
    }
}

/// The program with a mark for each string and nothing for each pattern, and the strings.
fn without_strings(code: &str) -> (String, Vec<String>) {
    let mut outside = String::new();
    let mut texts = Vec::new();
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        let pattern = c == '/'
            && matches!(
                outside.trim_end().chars().next_back(),
                None | Some('{' | '(' | ',' | '~' | '!' | '&' | '|' | ';' | '}')
            );
        if c != '"' && !pattern {
            outside.push(c);
            continue;
        }
        let text = until(&mut chars, c);
        if pattern {
            outside.push('\u{2}');
        } else {
            outside.push('\u{1}');
            texts.push(text);
        }
    }
    (outside, texts)
}

/// What lets an editor or a debugger reach out of itself.
const REACHES: [&str; 14] = [
    "!",
    "source ",
    "luafile",
    "runtime ",
    "system(",
    "python",
    "py3",
    "perl",
    "lua",
    "execute",
    "shell-command",
    "call-process",
    "delete-directory",
    "delete(",
];

/// Options of editors and debuggers that are followed by a file with commands.
const SCRIPTS: [&str; 9] = ["-S", "-s", "-u", "-U", "-x", "-ix", "-l", "--load", "--script"];

/// Editors and debuggers that run shell commands from their own.
pub(super) fn editor(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let args = texts(call.args());
    let commands: Vec<&str> = args.iter().copied().filter(|arg| !is_file(arg)).chain(call.input.as_deref()).collect();
    for text in &commands {
        for line in text.split(['\n', '|']) {
            let line = line.trim().trim_start_matches(['+', ':']).trim();
            let shell = line.strip_prefix("silent").unwrap_or(line).trim();
            let command = ["!", "shell ", "platform shell ", "r !", "%!", "r!", "1,$!"]
                .iter()
                .find_map(|mark| shell.strip_prefix(mark));
            if let Some(command) = command {
                judge.unknown(format!("`{}` runs a shell command", call.name));
                judge.run_argument(command);
            } else if REACHES.iter().any(|word| line.contains(word)) {
                judge.code(line);
                judge.unknown(format!("`{}` may run a shell command", call.name));
            }
        }
    }
    for (option, script) in args.iter().zip(args.iter().skip(1)) {
        if SCRIPTS.contains(option) && *script != "NONE" {
            judge.run_code(script);
        }
    }
    for file in args.iter().filter(|arg| is_file(arg)) {
        if call.name != "dc" {
            judge.write(&Field::plain(*file), Verb::Create);
        }
    }
    UNKNOWN.to_string()
}

fn is_file(arg: &str) -> bool {
    !arg.starts_with(['-', '+', ':', '!', '.']) && !arg.contains([' ', '(', '!', ';'])
        || arg.starts_with("./")
        || arg.starts_with("../")
}
