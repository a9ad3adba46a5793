//! Builtins of the shell.

use std::rc::Rc;

use super::super::{
    Class,
    fields::{Field, texts},
    invoke::Call,
    judge::{Judge, Origin},
    places::is_below,
    produce,
    scope::{Cwd, Made},
    value::{REMOTE, SECRET, UNKNOWN, bounded, is_known, known_part, shown},
};

pub(super) fn cd(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let operand = call.args().iter().find(|arg| !arg.text.starts_with('-') || arg.text == "-");
    let target = match operand.map(|arg| arg.text.as_str()) {
        None if call.name == "popd" => judge.scope.get("OLDPWD"),
        None => judge.scope.get("HOME"),
        Some("-") => judge.scope.get("OLDPWD"),
        Some(text) => Some(text.to_owned()),
    };
    let target = target.unwrap_or_else(|| UNKNOWN.to_string());
    let path = if is_known(&target) { judge.resolved(&target) } else { None };
    if let Some(before) = judge.scope.cwd.path.clone() {
        judge.scope.set("OLDPWD", before);
    }
    let absolute = judge.scope.cwd.absolute || target.starts_with('/');
    judge.scope.cwd = Cwd { path, absolute };
    String::new()
}

pub(super) fn echo(_: &mut Judge<'_>, call: &Call<'_>) -> String {
    let mut words = texts(call.args());
    let mut reads_escapes = false;
    let mut line_end = "\n";
    while let Some(flags) = words.first().and_then(|word| word.strip_prefix('-')) {
        if flags.is_empty() || !flags.bytes().all(|flag| matches!(flag, b'n' | b'e' | b'E')) {
            break;
        }
        reads_escapes |= flags.contains('e');
        if flags.contains('n') {
            line_end = "";
        }
        words.remove(0);
    }
    let text = words.join(" ");
    bounded(if reads_escapes { produce::escapes(&text) } else { text } + line_end)
}

pub(super) fn printf(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    let (variable, words) = match words.as_slice() {
        ["-v", name, rest @ ..] => (Some(*name), rest),
        ["--", rest @ ..] => (None, rest),
        all => (None, all),
    };
    let text = words.split_first().map(|(format, args)| produce::printf(format, args)).unwrap_or_default();
    let text = bounded(text);
    match variable {
        Some(name) => {
            judge.latent(name, &judge.at.clone());
            judge.set(name, text);
            String::new()
        }
        None => text,
    }
}

pub(super) fn eval(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let text = texts(call.args()).join(" ");
    if text.contains(REMOTE) {
        judge.runs_download();
    } else if !is_known(&text) {
        judge.unknown("`eval` runs text that is only known at run time");
    }
    judge.script(&known_part(&text), &Origin::Within(judge.at.clone()), call.input)
}

pub(super) fn source(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let Some(file) = call.args().first() else { return String::new() };
    let args: Vec<String> = texts(&call.args()[1..]).into_iter().map(str::to_owned).collect();
    if file.text == "/dev/stdin" || file.text == "-" {
        let text = call.input.clone().unwrap_or_else(|| UNKNOWN.to_string());
        judge.run_text(&text, &args);
        return UNKNOWN.to_string();
    }
    run_file(judge, &file.text, &args);
    UNKNOWN.to_string()
}

/// Runs a script by its path: the project's own are as good as the project.
pub(in super::super) fn run_file(judge: &mut Judge<'_>, path: &str, args: &[String]) {
    let made = judge.resolved(path).and_then(|path| judge.scope.made(&path).cloned());
    match made {
        Some(Made::Text(text)) => judge.run_text(&text, args),
        Some(Made::Program(name)) => judge.unknown(format!("runs a copy of `{name}`")),
        None => {
            let resolved = judge.resolved(path);
            let own = resolved.as_ref().is_some_and(|path| is_below(path, &judge.ground.folder));
            let set_up = [".bashrc", ".profile", ".cargo/env", ".nvm/nvm.sh", "bin/activate", "/etc/profile"];
            if !own && !set_up.iter().any(|end| path.ends_with(end)) {
                judge.unknown(match resolved {
                    Some(_) => format!("runs {}, a script outside the working folder", shown(path)),
                    None => "runs a script whose path is only known at run time".to_owned(),
                });
            }
        }
    }
}

pub(super) fn alias(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    for arg in call.args() {
        if let Some((name, value)) = arg.text.split_once('=') {
            judge.alias(name, value);
        }
    }
    String::new()
}

pub(super) fn trap(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let args = call.args();
    // The second reader of the shell takes the first word for a command.
    args.first()
        .filter(|first| matches!(first.text.as_str(), "-" | "--"))
        .into_iter()
        .for_each(|first| judge.name(&first.text));
    let args = args.strip_prefix(&[Field::plain("--")]).unwrap_or(args);
    if let [action, _, ..] = args
        && action.text != "-"
        && action.text != "-p"
    {
        judge.run_argument(&action.text.clone());
    }
    String::new()
}

/// `set -- words`: what `$1`, `$2`, … are.
pub(super) fn set(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let mut args = call.args().iter();
    let mut given = None;
    while let Some(arg) = args.next() {
        match arg.text.as_str() {
            "--" => given = Some(Vec::new()),
            text if given.is_none() && text.starts_with(['-', '+']) => {
                if text.ends_with('o') {
                    args.next();
                }
            }
            text => given.get_or_insert_with(Vec::new).push(text.to_owned()),
        }
    }
    if let Some(given) = given {
        judge.scope.args = given.into();
    }
    String::new()
}

/// The last command of a pipeline is followed as one that runs in a subshell.
pub(super) fn shopt(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    if call.args().iter().any(|arg| arg.text == "lastpipe" || !is_known(&arg.text)) {
        judge.unknown("changes what pipelines do to the shell (`lastpipe`)");
    }
    String::new()
}

pub(super) fn shift(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let count = call.args().first().map_or(Some(1), |count| count.text.parse::<usize>().ok());
    judge.charge(judge.scope.args.len());
    let args = Rc::make_mut(&mut judge.scope.args);
    match count {
        Some(count) => drop(args.drain(..count.min(args.len()))),
        None => args.fill(UNKNOWN.to_string()),
    }
    String::new()
}

pub(super) fn hash(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    if let Some(at) = call.args().iter().position(|arg| arg.text == "-p") {
        judge.unknown("`hash -p` makes a command name run another program");
        if let [_, path, name, ..] = &call.args()[at..] {
            judge.stands_for(&name.text, &path.text);
        }
    }
    String::new()
}

pub(super) fn read(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let input = call.input.clone().unwrap_or_else(|| UNKNOWN.to_string());
    let mut names: Vec<&Field> = Vec::new();
    let mut args = call.args().iter();
    let mut array = false;
    while let Some(arg) = args.next() {
        match arg.text.as_str() {
            "-a" => array = true,
            "-d" | "-n" | "-N" | "-p" | "-t" | "-u" | "-i" => drop(args.next()),
            text if text.starts_with('-') => array |= text.contains('a'),
            _ => names.push(arg),
        }
    }
    let mut lines = input.lines();
    let line = match (lines.next(), lines.next()) {
        (Some(line), None) => line.to_owned(),
        (None, _) => UNKNOWN.to_string(),
        // Which line it is depends on the turn of the loop.
        (Some(_), Some(_)) => super::super::value::blend([input.as_str()]),
    };
    for name in &names {
        judge.latent(&name.text, &judge.at.clone());
    }
    if array {
        if let Some(name) = names.first() {
            judge.scope.set_all(&name.text, line.split_whitespace().map(str::to_owned).collect());
        }
        return String::new();
    }
    let mut rest = line.as_str().trim();
    for (at, name) in names.iter().enumerate() {
        let (value, more) =
            if at + 1 == names.len() { (rest, "") } else { rest.split_once(char::is_whitespace).unwrap_or((rest, "")) };
        let value = if is_known(&line) { value.to_owned() } else { line.clone() };
        rest = more;
        judge.set(&name.text, value);
    }
    if names.is_empty() {
        judge.set("REPLY", line);
    }
    String::new()
}

pub(super) fn mapfile(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let mut args = call.args().iter();
    let mut name = "MAPFILE".to_owned();
    while let Some(arg) = args.next() {
        match arg.text.as_str() {
            "-C" => {
                if let Some(callback) = args.next() {
                    judge.run_argument(&callback.text.clone());
                }
            }
            "-d" | "-n" | "-O" | "-s" | "-u" | "-c" => drop(args.next()),
            text if text.starts_with("-C") => judge.run_argument(&text[2..]),
            text if text.starts_with('-') => {}
            text => text.clone_into(&mut name),
        }
    }
    let input = call.input.clone().unwrap_or_else(|| UNKNOWN.to_string());
    judge.scope.set_all(&name, input.lines().map(str::to_owned).collect());
    String::new()
}

pub(super) fn evaluates(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let span = judge.at.clone();
    for arg in call.args() {
        judge.latent(&arg.text, &span);
        judge.latent_values(&arg.text, &span);
        if let Some((name, _)) = arg.text.split_once('=') {
            judge.scope.set(name.trim_end_matches(['+', '-', '*']), UNKNOWN.to_string());
        }
    }
    String::new()
}

pub(super) fn test(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let span = judge.at.clone();
    if call.args().iter().any(|arg| arg.text == "-v" || arg.text == "-R") {
        call.args().iter().for_each(|arg| judge.latent(&arg.text, &span));
    }
    String::new()
}

pub(super) fn declares(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let span = judge.at.clone();
    for arg in call.args() {
        judge.latent(&arg.text, &span);
        if let Some((name, value)) = arg.text.split_once('=') {
            judge.set(name, value.to_owned());
        }
    }
    String::new()
}

/// Builtins that are given the name of a variable, which may have a subscript.
pub(super) fn takes_names(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let span = judge.at.clone();
    call.args().iter().for_each(|arg| judge.latent(&arg.text, &span));
    String::new()
}

/// `complete -C`, `compgen -C`, `bind -x`, `enable -f`; and words that are expanded once more, as of `compgen -W`.
pub(super) fn hooks(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    takes_names(judge, call);
    for (at, arg) in call.args().iter().enumerate() {
        if matches!(arg.text.as_str(), "-C" | "-F" | "-x" | "-f" | "-d") {
            judge.unknown(format!("`{} {}` runs a command or loads code", call.name, arg.text));
            if let Some(value) = call.args().get(at + 1) {
                let text = value.text.rsplit(':').next().unwrap_or_default().trim_matches(['"', ' ']).to_owned();
                judge.run_argument(&text);
            }
        }
    }
    UNKNOWN.to_string()
}

pub(super) fn kill(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    let targets = if words.first().is_some_and(|word| word.starts_with('-')) { &words[1..] } else { &words[..] };
    if targets.iter().any(|target| matches!(*target, "-1" | "1" | "0")) {
        judge.deny(Class::SystemDestruction, "kills all processes");
    }
    String::new()
}

pub(super) fn environment(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    match call.args().first().and_then(|name| judge.scope.get(&name.text)) {
        Some(value) => value + "\n",
        None => SECRET.to_string(),
    }
}
