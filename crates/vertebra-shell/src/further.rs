//! Commands that a line may run by ways that are not certain enough to ask for a rule that allows them: behind programs that
//! prepare an environment, in options of other programs, in variables, and in what is piped to a shell.

use std::collections::HashMap;

use crate::{ParseLimits, carrier, parse, wrapper};

/// Programs that run what follows them, or what follows one of these words.
const RUNNERS: &[(&str, &[&str])] = &[
    ("adb", &["shell"]),
    ("asdf", &["exec"]),
    ("aws-vault", &["exec"]),
    ("bun", &["run", "x"]),
    ("bundle", &["exec"]),
    ("bunx", &[]),
    ("catchsegv", &[]),
    ("chamber", &["exec"]),
    ("choom", &[]),
    ("cmake", &["-E", "env"]),
    ("concurrently", &[]),
    ("conda", &["run"]),
    ("cpulimit", &["--"]),
    ("direnv", &["exec", "."]),
    ("doppler", &["run"]),
    ("dotenv", &[]),
    ("dotenvx", &["run"]),
    ("faketime", &["*"]),
    ("fakeroot", &[]),
    ("fnm", &["exec"]),
    ("hatch", &["run"]),
    ("heroku", &["run"]),
    ("hyperfine", &[]),
    ("linux32", &[]),
    ("linux64", &[]),
    ("mamba", &["run"]),
    ("meson", &["devenv"]),
    ("micromamba", &["run"]),
    ("mise", &["exec", "x"]),
    ("mosh", &["--"]),
    ("multipass", &["--"]),
    ("nix", &["-c", "--command", "--"]),
    ("npm", &["exec", "x"]),
    ("npx", &[]),
    ("nvm", &["exec", "*"]),
    ("op", &["run"]),
    ("pdm", &["run"]),
    ("perf", &["stat", "record", "trace"]),
    ("pipenv", &["run"]),
    ("pipx", &["run"]),
    ("pixi", &["run"]),
    ("pnpm", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("rye", &["run"]),
    ("sem", &[]),
    ("setarch", &["*"]),
    ("ssh-agent", &[]),
    ("sshpass", &[]),
    ("task", &["--"]),
    ("tmux", &["run-shell", "if-shell"]),
    ("uclampset", &[]),
    ("uv", &["run"]),
    ("uvx", &[]),
    ("volta", &["run"]),
    ("watchexec", &[]),
    ("wsl", &[]),
    ("yarn", &["exec", "run", "dlx"]),
    ("zellij", &["--"]),
];

/// Options whose value is a command, by program.
const OPTIONS: &[(&str, &[&str])] = &[
    ("ag", &["--pager"]),
    ("ansible", &["-a", "--args"]),
    ("bat", &["--pager"]),
    ("bazel", &["--run_under"]),
    ("bind", &["-x"]),
    ("cargo", &["-s", "--shell"]),
    ("compgen", &["-C"]),
    ("complete", &["-C"]),
    ("delta", &["--pager"]),
    ("doppler", &["--command"]),
    ("dpkg", &["--pre-invoke", "--post-invoke"]),
    ("elvish", &["-c"]),
    ("expect", &["spawn"]),
    ("fly", &["-C", "--command"]),
    ("ftp", &["!"]),
    ("fzf", &["--preview"]),
    ("gcloud", &["--command"]),
    ("gdb", &["-ex", "--ex"]),
    ("git", &["!", "-u", "--upload-pack", "--receive-pack", "-x", "--extcmd", "-O", "--open-files-in-pager", "--exec"]),
    ("go", &["-exec", "-toolexec", "-vettool"]),
    ("just", &["--command"]),
    ("less", &["+!"]),
    ("man", &["-P", "--pager"]),
    ("mapfile", &["-C"]),
    ("mysql", &["system", "\\!"]),
    ("nix-shell", &["--run", "--command"]),
    ("nodemon", &["-x", "--exec"]),
    ("npm", &["-c", "--call", "--script-shell"]),
    ("npx", &["-c", "--call"]),
    ("nu", &["-c", "--commands"]),
    ("powershell", &["-c", "-Command", "-command"]),
    ("psql", &["\\!"]),
    ("pwsh", &["-c", "-Command", "-command"]),
    ("readarray", &["-C"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("salt", &["cmd.run"]),
    ("scp", &["-S"]),
    ("screen", &["stuff"]),
    ("socat", &["EXEC:", "SYSTEM:"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("sqlite3", &[".shell", ".system"]),
    ("start-stop-daemon", &["-x", "--exec", "-a", "--startas"]),
    (
        "tar",
        &[
            "-I",
            "-F",
            "--to-command",
            "--checkpoint-action=exec",
            "--use-compress-program",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("vagrant", &["-c", "--command"]),
    ("xonsh", &["-c"]),
    ("zip", &["-TT", "--unzip-command"]),
];

/// Ends of the names of variables in which programs look for a command.
const VARIABLES: &[&str] = &[
    "EDITOR",
    "PAGER",
    "VISUAL",
    "_COMMAND",
    "_WRAPPER",
    "_RUNNER",
    "_ASKPASS",
    "EXTERNAL_DIFF",
    "LESSOPEN",
    "BROWSER",
    "CC",
    "CXX",
    "SHELL",
    "RUSTC",
];

/// Folders of programs that are known by their names.
const FOLDERS: &[&str] = &["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/"];

/// How many commands are listed.
const MOST: usize = 64;

/// How many readings one command gets.
const READINGS: usize = 6;

/// How many bytes of commands are listed and read.
const MOST_BYTES: usize = 64 * 1024;

/// Whether a program runs what follows it, or what follows one of some words.
pub(crate) fn runs_others(program: &str) -> bool {
    RUNNERS.iter().any(|(name, _)| *name == wrapper::base(program))
}

/// Lists more commands that a line may run, from those that are listed for it: the programs of the system by their bare names,
/// and what they may run in turn.
pub(crate) fn further(line: &str, commands: &[String]) -> Vec<String> {
    let (mut further, mut left): (Vec<String>, usize) = (Vec::new(), MOST_BYTES);
    let mut add = |text: &str| {
        left = left.saturating_sub(text.len());
        let text = text.trim();
        if left == 0 || further.len() >= MOST {
            return;
        }
        let inner = parse(text, ParseLimits::default());
        for command in std::iter::once(text).chain(inner.texts().iter().map(String::as_str)).take(MOST) {
            for command in std::iter::once(command).chain(by_name(command)) {
                let is_new = !command.is_empty() && command != line && !commands.iter().any(|known| known == command);
                if is_new && !further.iter().any(|known| known == command) {
                    further.push(command.to_owned());
                }
            }
        }
    };
    let runs_text = line.contains("@P}") || commands.iter().any(|command| runs_text(program_of(command)));
    let mut values: HashMap<&str, &str> = HashMap::new();
    for (name, value) in commands.iter().filter_map(|command| command.split_once('=')) {
        values.entry(name).or_insert(value);
    }
    for command in commands {
        let (first, rest) = command.split_once(' ').unwrap_or((command, ""));
        if let Some(bare) = by_name(command) {
            add(bare);
        }
        let program = wrapper::base(first);
        if let Some((name, value)) = first.split_once('=') {
            if runs_text || VARIABLES.iter().any(|end| name.ends_with(end)) {
                add(&format!("{} {rest}", value.trim_start_matches(['(', '|'])));
            }
        } else if matches!(program, "echo" | "printf" | "alias") && (runs_text || program == "alias") {
            add(rest.split_once('=').filter(|_| program == "alias").map_or(rest, |(_, value)| value));
        } else if program.starts_with("ld-linux") || program.starts_with("ld-musl") || program == "ld.so" {
            behind(&rest.split(' ').collect::<Vec<_>>(), &mut add);
        }
        if let Some(value) = variable(first).and_then(|name| values.get(name)) {
            add(&format!("{value} {rest}"));
        }
        if program == "sed" {
            in_sed(rest, &mut add);
        }
        by_tables(program, rest, &mut add);
    }
    let has_code = |command: &String| carrier::carries(wrapper::base(program_of(command)));
    if line.contains("<<") && commands.iter().any(has_code) {
        for text in carrier::in_code(line) {
            add(&text);
        }
    }
    further
}

fn program_of(command: &str) -> &str {
    command.split(' ').next().unwrap_or_default()
}

/// Whether what a program runs may be a text that stands elsewhere in the line.
fn runs_text(program: &str) -> bool {
    wrapper::reads_script(program) || program.starts_with(['$', '"']) || program.starts_with("./") || program == "eval"
}

/// Adds the commands in the arguments of programs that prepare an environment, and in options of other programs.
fn by_tables(program: &str, rest: &str, add: &mut impl FnMut(&str)) {
    let words: Vec<&str> = rest.split(' ').filter(|word| !word.is_empty()).collect();
    for (_, marks) in RUNNERS.iter().filter(|(name, _)| *name == program) {
        let marked = words.iter().rposition(|word| marks.contains(word)).map(|at| at + 1);
        let begin = if marks.is_empty() { Some(0) } else { marked.or(marks.contains(&"*").then_some(1)) };
        behind(begin.and_then(|begin| words.get(begin..)).unwrap_or_default(), add);
    }
    for (_, options) in OPTIONS.iter().filter(|(name, _)| *name == program) {
        let values = words.iter().enumerate().filter_map(|(at, word)| {
            let value = options.iter().find_map(|option| word.strip_prefix(option))?;
            Some((at, value.strip_prefix('=').unwrap_or(value)))
        });
        for (at, value) in values.take(READINGS) {
            let script = [&[value], &words[at + 1..]].concat().join(" ");
            add(script.trim().strip_prefix("shell ").unwrap_or(&script));
        }
    }
}

/// Returns a command with the bare name of its program, if that is one of the system, or in a folder that is not known.
fn by_name(command: &str) -> Option<&str> {
    let (program, _) = command.split_once(' ').unwrap_or((command, ""));
    let folder = program.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_open = folder.contains(['$', '*', '?', '[']);
    let of_system = FOLDERS.iter().find_map(|folder| command.strip_prefix(folder));
    of_system.or_else(|| command.get(folder.len() + 1..).filter(|_| is_open))
}

/// Returns the variable that a program is.
fn variable(program: &str) -> Option<&str> {
    let name = program.strip_prefix('$')?;
    Some(name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name))
}

/// Adds what a script of sed runs: `1e command`, `s/pattern/command/e`.
fn in_sed(rest: &str, add: &mut impl FnMut(&str)) {
    let words: Vec<&str> = rest.split(' ').collect();
    for (at, word) in words.iter().enumerate().take(MOST) {
        let address = word.strip_suffix('e').map(|head| head.trim_start_matches(|sign: char| sign.is_ascii_digit()));
        if matches!(address, Some("" | "$" | "/")) {
            add(&words[at + 1..].join(" "));
        }
        if word.ends_with("/e") || word.ends_with("/ge") {
            rest.split('/').take(READINGS).for_each(&mut *add);
        }
    }
}

/// Adds the command behind options. The word behind an option may be its value.
fn behind(words: &[&str], add: &mut impl FnMut(&str)) {
    let mut after_option = false;
    let mut left = READINGS;
    for (at, word) in words.iter().enumerate() {
        if word.starts_with('-') {
            after_option = *word != "--" && !word.contains('=');
            continue;
        }
        add(&words[at..].join(" "));
        left -= 1;
        if left == 0 || !std::mem::take(&mut after_option) {
            break;
        }
    }
}
