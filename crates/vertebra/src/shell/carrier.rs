//! Programs that carry a command in their arguments in a form of their own: on other machines, in containers and terminals,
//! in settings of git, and in code of other languages.

use super::wrapper::base;

/// A command that a program is given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// As words.
    Words(Vec<String>),
    /// As a text that a shell reads.
    Script(String),
}

impl Carried {
    /// The command as one text.
    pub(super) fn text(self) -> String {
        match self {
            Self::Words(words) => words.join(" "),
            Self::Script(text) => text,
        }
    }
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
pub(super) fn carries(program: &str) -> bool {
    [CODE, EDITORS, CONTAINERS, ELSEWHERE, OTHERS].iter().any(|names| names.contains(&program))
}

/// The commands that the command of these words carries.
pub(super) fn carried(words: &[String]) -> Vec<Carried> {
    let Some((first, args)) = words.split_first() else { return Vec::new() };
    let program = base(first);
    let mut found = match program {
        "parallel" => parallel(args),
        "tmux" => tmux(args),
        "screen" => words_or_script(behind(args, "ceehpstTS")),
        "ssh" | "autossh" => remote(args),
        "git" => git(args),
        "make" | "gmake" => settings(args, &["SHELL", ".SHELLFLAGS"], "--eval"),
        "entr" => words_or_script(behind(args, "")),
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
fn behind<'w>(args: &'w [String], valued: &str) -> &'w [String] {
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

/// One word is read by a shell, several are a command.
fn words_or_script(words: &[String]) -> Vec<Carried> {
    match words {
        [] => Vec::new(),
        [script] => vec![Carried::Script(script.clone())],
        words => vec![Carried::Words(words.to_vec())],
    }
}

/// What follows one of these options.
fn after(args: &[String], options: &[&str]) -> Vec<Carried> {
    let Some(at) = args.iter().position(|word| options.contains(&word.as_str())) else { return Vec::new() };
    words_or_script(&args[at + 1..])
}

/// The value of a long option.
fn value(args: &[String], name: &str) -> Option<String> {
    args.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(name)? {
        "" => args.get(at + 1).cloned(),
        rest => rest.strip_prefix('=').map(str::to_owned),
    })
}

/// What `parallel` runs, and what it gives to that.
pub(super) fn of_parallel(args: &[String]) -> &[String] {
    behind(args, "jNnaISLPdEs")
}

fn parallel(args: &[String]) -> Vec<Carried> {
    let words = of_parallel(args);
    let end = words.iter().position(|word| word.starts_with(":::")).unwrap_or(words.len());
    let (command, given) = words.split_at(end);
    let mut found = words_or_script(command);
    if command.is_empty() {
        // Without a command, each of the words that are given is one.
        found.extend(given.iter().skip(1).cloned().map(Carried::Script));
    }
    found
}

fn tmux(args: &[String]) -> Vec<Carried> {
    let command = behind(args, "LSfTc");
    let mut found = words_or_script(behind(command.get(1..).unwrap_or_default(), "nstcxyeFbpl"));
    found.extend(command.iter().skip(1).filter(|word| word.contains(' ')).cloned().map(Carried::Script));
    found
}

fn remote(args: &[String]) -> Vec<Carried> {
    let words = behind(args, "BbcDEeFIiJLlmOoPpQRSWw");
    let command = words.get(1..).unwrap_or_default();
    let command = command.strip_prefix(&["--".to_owned()]).unwrap_or(command).join(" ");
    let of_options = args.iter().filter_map(|word| {
        let option = word.strip_prefix("-o").unwrap_or(word);
        let (name, command) = option.split_once(['=', ' '])?;
        name.to_ascii_lowercase().ends_with("command").then(|| Carried::Script(command.to_owned()))
    });
    let command = (!command.is_empty()).then_some(Carried::Script(command));
    command.into_iter().chain(of_options).collect()
}

fn git(args: &[String]) -> Vec<Carried> {
    let mut found = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let next = args.get(at + 1);
        let setting = if word == "-c" { next.map(String::as_str) } else { None };
        let setting = setting.and_then(|setting| setting.split_once('='));
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
        match (word.as_str(), next) {
            ("-x" | "--exec", Some(command)) if args.iter().any(|word| word == "rebase") => {
                found.push(Carried::Script(command.clone()));
            }
            ("run", Some(_)) if args.iter().any(|word| word == "bisect") => {
                found.extend(words_or_script(&args[at + 1..]));
            }
            ("foreach", Some(_)) => found.push(Carried::Script(behind(&args[at + 1..], "").join(" "))),
            (option, Some(command)) if option.starts_with("--") && option.ends_with("-filter") => {
                found.push(Carried::Script(command.clone()));
            }
            (option, _) => found.extend(option.strip_prefix("--exec=").map(|text| Carried::Script(text.to_owned()))),
        }
    }
    found
}

/// Values of these names, `NAME=value`, and of an option.
fn settings(args: &[String], names: &[&str], option: &str) -> Vec<Carried> {
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

fn container(args: &[String]) -> Vec<Carried> {
    let Some(at) = args.iter().position(|word| matches!(word.as_str(), "run" | "exec" | "create")) else {
        return Vec::new();
    };
    let args = &args[at + 1..];
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        let takes_next = match word.strip_prefix("--") {
            Some(_) => !word.contains('=') && !FLAGS.contains(&word.as_str()),
            None => word.len() == 2 && "aceghlmpuvw".contains(&word[1..]),
        };
        at += usize::from(takes_next);
    }
    // The image, or the container, comes before the command.
    let command = args.get(at + 1..).unwrap_or_default();
    let entry = value(args, "--entrypoint");
    let entry = entry.map(|entry| Carried::Words([&[entry], command].concat()));
    let command = (!command.is_empty()).then(|| Carried::Words(command.to_vec()));
    command.into_iter().chain(entry).collect()
}

fn editor(args: &[String]) -> Vec<Carried> {
    let commands = args.iter().filter_map(|word| word.split_once('!')).map(|(_, command)| command.to_owned());
    commands.filter(|command| !command.is_empty()).map(Carried::Script).collect()
}

/// Words of code that run a command.
const RUNS: &[&str] = &["system", "exec", "spawn", "popen", "subprocess", "shell", "run(", "qx", "`", "do shell"];

/// The same in `awk`, which pipes to a command in quotes. In other languages a bar before a quote is only text.
const PIPES: &[&str] = &["getline", "| \"", "|\""];

/// Whether a program has code in an argument, or reads it.
pub(super) fn has_code(program: &str) -> bool {
    CODE.contains(&program)
}

/// Whether code of any language runs something.
pub(super) fn runs_something(code: &str) -> bool {
    RUNS.iter().any(|word| code.contains(word))
}

/// The texts in a piece of code of any language that runs something.
pub(super) fn in_code(code: &str) -> Vec<Carried> {
    literals(&[code.to_owned()], &[RUNS])
}

/// The texts in code that runs something: each, and all of them as the words of one command.
fn literals(args: &[String], runs: &[&[&str]]) -> Vec<Carried> {
    let mut found = Vec::new();
    for code in args.iter().filter(|code| runs.iter().copied().flatten().any(|word| code.contains(word))) {
        let mut texts = Vec::new();
        let mut rest = code.as_str();
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
            found.push(Carried::Words(texts.clone()));
        }
        found.extend(texts.into_iter().map(Carried::Script));
    }
    found
}
