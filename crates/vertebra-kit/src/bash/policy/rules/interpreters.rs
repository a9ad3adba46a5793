//! Interpreters and programs with a language of their own.

use super::super::{
    Class,
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

/// Options whose value is a program.
const CODE: [&str; 14] =
    ["-c", "-e", "-E", "-r", "-p", "-ne", "-pe", "-le", "--eval", "--print", "--execute", "-Command", "--run", "-x"];
/// Options with a value that is none.
const VALUES: [&str; 8] = ["-W", "-X", "-I", "-d", "-S", "-F", "--require", "--import"];

pub(super) fn interpreter(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let base = call.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let args = texts(call.args());
    let mut at = 0;
    let mut ran = false;
    while let Some(&arg) = args.get(at) {
        at += 1;
        if arg == "-m" && base.starts_with("py") {
            module(judge, args.get(at).copied().unwrap_or_default(), call, at);
            return blend(args.into_iter().chain(call.input.as_deref()));
        }
        if matches!(arg, "-V" | "-v" | "--version" | "-h" | "-l") && !ran && args.len() == 1 {
            return UNKNOWN.to_string();
        }
        let is_code =
            CODE.contains(&arg) && !(base == "node" && arg == "-r") && !(base.starts_with("py") && arg != "-c");
        let letters =
            arg.strip_prefix('-').filter(|letters| matches!(base, "perl" | "ruby") && !letters.starts_with('-'));
        let clustered = letters.is_some_and(|letters| {
            letters.len() > 1 && letters.ends_with(['e', 'E']) && !letters.starts_with(['I', 'M', 'm', 'r'])
        });
        if is_code || clustered {
            let code = args.get(at).copied().unwrap_or_default();
            judge.code_in(base, code);
            ran = true;
            at += 1;
        } else if let Some((_, code)) = arg.split_once('=').filter(|(name, _)| CODE.contains(name)) {
            judge.code_in(base, code);
            ran = true;
        } else if let Some(code) = arg.strip_prefix("-c").filter(|code| base.starts_with("py") && !code.is_empty()) {
            judge.code_in(base, code);
            ran = true;
        } else if arg.starts_with("-i") && matches!(base, "perl" | "ruby") {
            // Edits the files that follow; those are judged as written.
            args[at..]
                .iter()
                .skip(1)
                .filter(|file| !file.starts_with('-'))
                .for_each(|file| judge.write(&Field::plain(*file), Verb::Destroy));
        } else if (arg.starts_with("-M") || arg.starts_with("-r")) && matches!(base, "perl" | "ruby") {
            judge.code_in(base, &arg[2..]);
        } else if matches!(arg, "-r" | "--require" | "--import" | "--loader") {
            let own = args.get(at).is_some_and(|module| !module.starts_with('/') && !module.contains("://"));
            if !own {
                judge.unknown("loads a module from elsewhere");
            }
            at += 1;
        } else if VALUES.contains(&arg) {
            at += 1;
        } else if arg == "-" || arg == "/dev/stdin" {
            break;
        } else if !arg.starts_with('-') {
            if ran {
                break;
            }
            script(judge, base, arg, call);
            return blend(args.into_iter().chain(call.input.as_deref()));
        }
    }
    if !ran {
        match &call.input {
            Some(code) => judge.code_in(base, code),
            None if args.iter().any(|arg| arg.starts_with('-') && *arg != "-") => {}
            None => judge.unknown("starts an interpreter that reads what nobody has seen"),
        }
    }
    blend(args.into_iter().chain(call.input.as_deref()))
}

/// Runs a file of the project, or one that was just made.
fn script(judge: &mut Judge<'_>, language: &str, path: &str, _: &Call<'_>) {
    let made = judge.resolved(path).and_then(|path| judge.scope.made(&path).cloned());
    match made {
        Some(Made::Text(text)) => judge.code_in(language, &text),
        Some(Made::Program(_)) => judge.unknown("runs a copied program"),
        None if language == "node" && matches!(path, "run" | "inspect" | "test") => {}
        None if matches!(judge.place(path), Place::Inside) => {}
        None => judge.unknown("runs a script that is not in the working folder"),
    }
}

/// Modules of Python that are programs.
fn module(judge: &mut Judge<'_>, name: &str, call: &Call<'_>, at: usize) {
    let root = name.split('.').next().unwrap_or_default();
    match name {
        "pip" => {
            let argv: Vec<Field> = call.args().get(at..).unwrap_or_default().to_vec();
            judge.invoke(argv, call.input);
        }
        // A package of the project is as good as the project.
        _ if [
            "code",
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
        ]
        .contains(&root) =>
        {
            judge.unknown(format!("`python -m {name}`"));
        }
        _ => {}
    }
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
        judge.unknown("`awk` loads code");
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
        judge.unknown("an awk program runs commands");
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
        judge.deny(Class::NetworkExfiltration, "an awk program opens a connection");
    }
    if outside.contains("print") && outside.contains("> \u{1}") || outside.contains(">\u{1}") {
        for text in texts.iter().filter(|text| text.starts_with(['/', '.', '~'])) {
            judge.write(&Field::plain(text.clone()), Verb::Create);
        }
    }
    if !is_known(program) {
        judge.unknown("an awk program that is not known before it runs");
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
        let mut text = String::new();
        while let Some(inner) = chars.next() {
            match inner {
                _ if inner == c => break,
                '\\' => text.extend(chars.next()),
                _ => text.push(inner),
            }
        }
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
const REACHES: [&str; 11] = [
    "!",
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

/// Editors, debuggers and databases that run shell commands from their own.
pub(super) fn editor(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let args = texts(call.args());
    let commands: Vec<&str> = args.iter().copied().filter(|arg| !is_file(arg)).chain(call.input.as_deref()).collect();
    for text in &commands {
        for line in text.split(['\n', '|']) {
            let line = line.trim().trim_start_matches(['+', ':']).trim();
            let shell = line.strip_prefix("silent").unwrap_or(line).trim();
            let command = ["!", "shell ", ".shell ", ".system ", "\\!", "platform shell ", "r !", "%!", "r!", "1,$!"]
                .iter()
                .find_map(|mark| shell.strip_prefix(mark));
            if let Some(command) = command {
                judge.unknown(format!("`{}` runs a command", call.name));
                judge.run_argument(command);
            } else if call.name != "sqlite3" && REACHES.iter().any(|word| line.contains(word)) {
                judge.code(line);
                judge.unknown(format!("`{}` may run a command", call.name));
            } else if let Some(path) = [".output ", ".once ", ".import ", ".save ", ".backup ", ".log "]
                .iter()
                .find_map(|mark| line.strip_prefix(mark))
            {
                judge.write(&Field::plain(path.trim()), Verb::Create);
            }
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

pub(super) fn make(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(
        call.args(),
        |name| {
            matches!(
                name,
                "-f" | "--file"
                    | "--makefile"
                    | "-C"
                    | "--directory"
                    | "-I"
                    | "-j"
                    | "-l"
                    | "-o"
                    | "-W"
                    | "--eval"
                    | "-E"
            )
        },
        false,
    );
    let file = parsed.value(&["-f", "--file", "--makefile"]).map(|file| file.text.clone());
    let rules = match file.as_deref() {
        Some("-" | "/dev/stdin") => call.input.clone(),
        Some(path) => made_text(judge, path),
        None => made_text(judge, "Makefile").or_else(|| made_text(judge, "makefile")),
    };
    let inline = parsed.value(&["--eval", "-E"]).map(|text| text.text.clone());
    for text in rules.into_iter().chain(inline) {
        makefile(judge, &text);
    }
    for operand in &parsed.operands {
        if let Some((name, value)) = operand.text.split_once('=')
            && matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS")
        {
            judge.run_argument(value);
        }
    }
    if let Some(folder) = parsed.value(&["-C", "--directory"])
        && !matches!(judge.place(&folder.text), Place::Inside | Place::Scratch)
    {
        judge.unknown("works outside of the working folder");
    }
    UNKNOWN.to_string()
}

fn made_text(judge: &mut Judge<'_>, path: &str) -> Option<String> {
    let path = judge.resolved(path)?;
    match judge.scope.made(&path) {
        Some(Made::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Recipes stand behind a tab, or behind the semicolon of a rule; `$(shell …)` runs when it is read.
fn makefile(judge: &mut Judge<'_>, text: &str) {
    if !is_known(text) {
        judge.unknown("a makefile that is not known before it runs");
    }
    for line in known_part(text).lines() {
        let recipe = match line.strip_prefix('\t') {
            Some(recipe) => Some(recipe),
            None => line.split_once(';').map(|(_, recipe)| recipe),
        };
        if let Some(recipe) = recipe {
            let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$").replace("$(", "${");
            judge.run_argument(&recipe);
        }
        if let Some((_, command)) = line.split_once("$(shell ") {
            let command = command.rsplit_once(')').map_or(command, |(command, _)| command).to_owned();
            judge.run_argument(&command);
        }
    }
}
