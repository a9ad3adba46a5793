//! Programs that carry a command in their arguments in a form of their own: on other machines, in containers and terminals,
//! in settings of git, and in code of other languages.

use std::ops::Range;

use crate::{quote, quote_line, wrapper::base};

/// A command that a program is given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// As some of its words.
    Words(Range<usize>),
    /// As words from code of another language.
    Made(Vec<String>),
    /// As a text that a shell reads.
    Script(String),
}

/// Programs with code in an argument.
const CODE: &[&str] = &[
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "perl",
    "python",
    "python2",
    "python3",
    "pypy3",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "osascript",
    "expect",
    "Rscript",
    "R",
    "octave",
    "julia",
    "elixir",
    "erl",
    "emacs",
    "gnuplot",
    "groovy",
];
const EDITORS: &[&str] = &["vim", "vi", "nvim", "ex", "view", "vimdiff", "rvim", "gvim"];
const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl"];
/// Programs whose `exec` runs what follows `--`.
const ELSEWHERE: &[&str] = &["kubectl", "oc", "lxc", "incus", "k3s", "microk8s"];
const OTHERS: &[&str] = &[
    "autossh", "parallel", "tmux", "screen", "ssh", "git", "make", "gmake", "entr", "fd", "fdfind", "rg", "gdb", "at",
    "batch",
];

/// Whether a program may carry a command.
pub(crate) fn carries(program: &str) -> bool {
    [CODE, EDITORS, CONTAINERS, ELSEWHERE, OTHERS].iter().any(|names| names.contains(&program))
}

/// The commands that the command of these words carries.
pub(crate) fn carried(words: &[&str]) -> Vec<Carried> {
    let Some((first, args)) = words.split_first() else { return Vec::new() };
    let program = base(first);
    let tail = |tail: &[&str]| words_or_script(words.len(), tail);
    let mut found = match program {
        "parallel" => parallel(args),
        "tmux" => tmux(args),
        "screen" => tail(behind(args, "ceehpstTS")),
        "ssh" | "autossh" => remote(args),
        "git" => git(args),
        "make" | "gmake" => settings(args, &["SHELL", ".SHELLFLAGS"], "--eval"),
        "entr" => tail(behind(args, "")),
        "fd" | "fdfind" => after(args, &["-x", "--exec", "-X", "--exec-batch"]),
        "rg" => value(args, "--pre").map(Carried::Script).into_iter().collect(),
        "gdb" => after(args, &["--args", "-args"]),
        _ if program.ends_with("awk") => literals(args, &[RUNS, PIPES]),
        _ if CODE.contains(&program) => literals(args, &[RUNS]),
        _ if EDITORS.contains(&program) => editor(args),
        _ if CONTAINERS.contains(&program) => container(args),
        _ if ELSEWHERE.contains(&program) => after(args, &["--"]),
        _ => Vec::new(),
    };
    found.truncate(MOST);
    found
}

/// How many commands one command may carry.
const MOST: usize = 32;

/// The words behind the options, of which these take the next word as their value.
fn behind<'w, 't>(args: &'w [&'t str], valued: &str) -> &'w [&'t str] {
    let mut at = 0;
    while let Some(option) = args.get(at).and_then(|word| word.strip_prefix('-')) {
        at += 1;
        if option == "-" {
            break;
        }
        let last = option.chars().next_back();
        at += usize::from(!option.starts_with('-') && last.is_some_and(|letter| valued.contains(letter)));
    }
    args.get(at..).unwrap_or_default()
}

/// The last of so many words as a command: one is read by a shell, several are its words.
fn words_or_script(count: usize, tail: &[&str]) -> Vec<Carried> {
    match tail {
        [] => Vec::new(),
        [script] => vec![Carried::Script((*script).to_owned())],
        tail => vec![Carried::Words(count - tail.len()..count)],
    }
}

/// What follows one of these options.
fn after(args: &[&str], options: &[&str]) -> Vec<Carried> {
    let Some(at) = args.iter().position(|word| options.contains(word)) else { return Vec::new() };
    words_or_script(args.len() + 1, &args[at + 1..])
}

/// The value of a long option.
fn value(args: &[&str], name: &str) -> Option<String> {
    let value = args.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(name)? {
        "" => args.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    });
    value.map(str::to_owned)
}

/// What `parallel` runs, and what it gives to that.
pub(crate) fn of_parallel<'w, 't>(args: &'w [&'t str]) -> &'w [&'t str] {
    behind(args, "jNnaISLPdEs")
}

fn parallel(args: &[&str]) -> Vec<Carried> {
    let words = of_parallel(args);
    let end = words.iter().position(|word| word.starts_with(":::")).unwrap_or(words.len());
    let from = args.len() + 1 - words.len();
    match &words[..end] {
        // Without a command, each of the words that are given is one.
        [] => words.iter().skip(1).map(|word| Carried::Script((*word).to_owned())).collect(),
        [script] => vec![Carried::Script((*script).to_owned())],
        _ => vec![Carried::Words(from..from + end)],
    }
}

fn tmux(args: &[&str]) -> Vec<Carried> {
    let command = behind(args, "LSfTc");
    let last = behind(command.get(1..).unwrap_or_default(), "nstcxyeFbpl");
    let mut found = words_or_script(args.len() + 1, last);
    found.extend(
        command.iter().skip(1).filter(|word| word.contains(' ')).map(|word| Carried::Script((*word).to_owned())),
    );
    found
}

fn remote(args: &[&str]) -> Vec<Carried> {
    let words = behind(args, "BbcDEeFIiJLlmOoPpQRSWw");
    let command = words.get(1..).unwrap_or_default();
    let command = command.strip_prefix(&["--"]).unwrap_or(command).join(" ");
    let of_options = args.iter().filter_map(|word| {
        let option = word.strip_prefix("-o").unwrap_or(word);
        let (name, command) = option.split_once(['=', ' '])?;
        name.to_ascii_lowercase().ends_with("command").then(|| Carried::Script(command.to_owned()))
    });
    let command = (!command.is_empty()).then_some(Carried::Script(command));
    command.into_iter().chain(of_options).collect()
}

fn git(args: &[&str]) -> Vec<Carried> {
    let mut found = Vec::new();
    let (rebases, bisects) = (args.contains(&"rebase"), args.contains(&"bisect"));
    for (at, word) in args.iter().enumerate() {
        if found.len() >= MOST {
            break;
        }
        let next = args.get(at + 1).copied();
        let setting = next.filter(|_| *word == "-c").and_then(|setting| setting.split_once('='));
        if let Some((name, value)) = setting {
            let name = name.to_ascii_lowercase();
            let runs = ["command", "pager", "editor", "helper", "external", "program", "cmd", "textconv", "fsmonitor"];
            match value.strip_prefix('!') {
                Some(command) => found.push(Carried::Script(command.to_owned())),
                None if name.starts_with("alias.") => found.push(Carried::Script(format!("git {value}"))),
                None if runs.iter().any(|end| name.ends_with(end)) => found.push(Carried::Script(value.to_owned())),
                None => {}
            }
        }
        match (*word, next) {
            ("-x" | "--exec", Some(command)) if rebases => {
                found.push(Carried::Script(command.to_owned()));
            }
            ("run", Some(_)) if bisects => {
                found.extend(words_or_script(args.len() + 1, &args[at + 1..]));
            }
            ("foreach", Some(_)) => found.push(Carried::Script(behind(&args[at + 1..], "").join(" "))),
            (option, Some(command)) if option.starts_with("--") && option.ends_with("-filter") => {
                found.push(Carried::Script(command.to_owned()));
            }
            (option, _) => found.extend(option.strip_prefix("--exec=").map(|text| Carried::Script(text.to_owned()))),
        }
    }
    found
}

/// Values of these names, `NAME=value`, and of an option.
fn settings(args: &[&str], names: &[&str], option: &str) -> Vec<Carried> {
    let set = args.iter().filter_map(|word| word.split_once('=')).filter(|(name, _)| names.contains(name));
    set.map(|(_, value)| value.to_owned()).chain(value(args, option)).map(Carried::Script).collect()
}

/// Long options of containers that take no value.
const FLAGS: &[&str] = &[
    "--rm",
    "--detach",
    "--interactive",
    "--tty",
    "--privileged",
    "--init",
    "--read-only",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--publish-all",
    "--quiet",
    "--replace",
    "--no-deps",
    "--build",
    "--service-ports",
];

fn container(args: &[&str]) -> Vec<Carried> {
    let count = args.len() + 1;
    let Some(at) = args.iter().position(|word| matches!(*word, "run" | "exec" | "create")) else {
        return Vec::new();
    };
    let args = &args[at + 1..];
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        let takes_next = match word.strip_prefix("--") {
            Some(_) => !word.contains('=') && !FLAGS.contains(word),
            None => word.len() == 2 && "aceghlmpuvw".contains(&word[1..]),
        };
        at += usize::from(takes_next);
    }
    // The image, or the container, comes before the command.
    let command = args.get(at + 1..).unwrap_or_default();
    let entry = value(args, "--entrypoint").map(|entry| {
        let words = command.iter().map(|word| quote(word));
        Carried::Script(std::iter::once(entry.into()).chain(words).collect::<Vec<_>>().join(" "))
    });
    let command = (!command.is_empty()).then(|| Carried::Words(count - command.len()..count));
    command.into_iter().chain(entry).collect()
}

fn editor(args: &[&str]) -> Vec<Carried> {
    let commands = args.iter().filter_map(|word| word.split_once('!')).map(|(_, command)| command.to_owned());
    commands.filter(|command| !command.is_empty()).map(Carried::Script).collect()
}

/// Words of code that run a command.
const RUNS: &[&str] = &["system", "exec", "spawn", "popen", "subprocess", "shell", "run(", "qx", "`", "do shell"];

/// The same in `awk`, which pipes to a command in quotes. In other languages a bar before a quote is only text.
const PIPES: &[&str] = &["getline", "| \"", "|\""];

/// Whether a program has code in an argument, or reads it.
pub(crate) fn has_code(program: &str) -> bool {
    CODE.contains(&program)
}

/// Whether code of any language runs something.
pub(crate) fn runs_something(code: &str) -> bool {
    RUNS.iter().any(|word| code.contains(word))
}

/// The texts in a piece of code of any language that runs something, as lines for a shell.
pub(crate) fn in_code(code: &str) -> Vec<String> {
    let line = |carried| match carried {
        Carried::Made(words) => quote_line(words),
        Carried::Script(text) => text,
        Carried::Words(_) => String::new(),
    };
    literals(&[code], &[RUNS]).into_iter().map(line).collect()
}

/// The texts in code that runs something: each, and all of them as the words of one command.
fn literals(args: &[&str], runs: &[&[&str]]) -> Vec<Carried> {
    let mut found = Vec::new();
    for code in args.iter().filter(|code| runs.iter().copied().flatten().any(|word| code.contains(word))) {
        let mut texts = Vec::new();
        let mut rest = *code;
        while let Some(begin) = rest.find(['"', '\'', '`'])
            && texts.len() < MOST
        {
            let quote = &rest[begin..=begin];
            let inner = &rest[begin + 1..];
            let Some(end) = inner.find(quote) else { break };
            texts.push(inner[..end].to_owned());
            rest = &inner[end + 1..];
        }
        if texts.len() > 1 {
            found.push(Carried::Made(texts.clone()));
        }
        found.extend(texts.into_iter().map(Carried::Script));
    }
    found
}
