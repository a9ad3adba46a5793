//! Clients of databases: commands on this machine, and statements that cannot be undone.

use super::super::{
    Class,
    fields::{Field, texts},
    invoke::Call,
    judge::Judge,
    options,
    places::Verb,
    scope::Made,
    value::{REMOTE, UNKNOWN, blend},
};

/// What begins a command for the shell, at the beginning of a line or of a statement.
const SHELL: [&str; 6] = ["\\!", ".shell ", ".system ", "system ", "! ", "\\system "];
/// What sends results to a command.
const PIPES: [&str; 5] = ["\\o |", "\\g |", "\\w |", "\\P ", "pager "];
/// Prefixes of statements that name an output file.
const WRITES: [&str; 9] = [".output ", ".once ", ".import ", ".save ", ".backup ", ".log ", "\\o ", "\\w ", ".excel "];
/// Words of statements that run or load something, or reach files of the server.
const REACHES: [&str; 15] = [
    ".load ",
    "load_extension",
    "to program",
    "from program",
    "pg_read_file",
    "pg_ls_dir",
    "lo_export",
    "lo_import",
    "into outfile",
    "into dumpfile",
    "xp_cmdshell",
    "sys_exec",
    "language c",
    "language plpython",
    "install ",
];
/// Words of statements that throw data away.
const LOSES: [&str; 11] = [
    "drop database",
    "drop schema",
    "drop keyspace",
    "drop table",
    "drop user",
    "drop role",
    "drop owned",
    "truncate ",
    "dropdatabase(",
    ".drop(",
    "many({})",
];
/// Commands of Redis that lose data, run code or change the server.
const REDIS: [&str; 14] = [
    "flushall",
    "flushdb",
    "config",
    "eval",
    "evalsha",
    "fcall",
    "function",
    "script",
    "module",
    "shutdown",
    "debug",
    "replicaof",
    "slaveof",
    "migrate",
];

pub(super) fn client(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let args = texts(call.args());
    let input = call.input.clone().unwrap_or_default();
    if input.contains(REMOTE) {
        judge.ask(Class::RemoteCode, "runs database statements downloaded from the network");
    }
    for text in args.iter().copied().chain([input.as_str()]) {
        statements(judge, call.name, text);
    }
    match call.name {
        "mongosh" | "mongo" => scripts(judge, call),
        "sqlite3" | "duckdb" => file(judge, call),
        _ => {}
    }
    blend(args.into_iter().chain(call.input.as_deref()))
}

pub(super) fn redis(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let input = call.input.as_deref().unwrap_or_default();
    let words = call.args().iter().flat_map(|arg| arg.text.split_whitespace());
    let found = words.chain(input.split_whitespace()).find(|word| REDIS.contains(&word.to_ascii_lowercase().as_str()));
    if let Some(word) = found {
        judge.ask(Class::RecursiveDelete, format!("`{}` can change or empty the database", word.to_ascii_lowercase()));
    }
    if texts(call.args()).contains(&"--eval") {
        judge.unknown("runs a script in the database");
    }
    UNKNOWN.to_string()
}

/// Statements, one behind the other.
fn statements(judge: &mut Judge<'_>, name: &str, text: &str) {
    // An option and its statement may be one word.
    let text = match text.split_once('=') {
        Some((option, value)) if option.starts_with("--") => value,
        _ => text.strip_prefix("-c").or_else(|| text.strip_prefix("-e")).unwrap_or(text),
    };
    for line in text.split(['\n', ';']) {
        let line = line.trim();
        let behind = |marks: &[&str]| marks.iter().find_map(|mark| line.strip_prefix(mark).map(str::to_owned));
        let within = line.split_once("\\!").map(|(_, command)| command.to_owned());
        if let Some(command) = behind(&SHELL).or_else(|| behind(&PIPES)).or(within) {
            judge.unknown(format!("`{name}` runs a shell command"));
            judge.run_argument(&command);
        } else if let Some(path) = behind(&WRITES) {
            judge.write(&Field::plain(path.trim()), Verb::Create);
        }
    }
    let lower = text.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>().join(" ") + " ";
    if let Some(word) = REACHES.iter().find(|word| lower.contains(*word)) {
        judge.unknown(format!("`{}` can run code or reach files outside the database", word.trim()));
        for quoted in text.split('\'').skip(1).step_by(2) {
            judge.run_argument(quoted);
        }
    }
    let all = lower.contains("delete from ") && !lower.contains(" where ");
    if all || LOSES.iter().any(|word| lower.contains(word)) {
        judge.ask(Class::RecursiveDelete, "deletes data from a database");
    }
}

/// Programs for a client that has a language.
fn scripts(judge: &mut Judge<'_>, call: &Call<'_>) {
    let parsed =
        options::split(call.args(), |name| matches!(name, "--eval" | "--host" | "--port" | "-u" | "-p"), false);
    for (_, code) in parsed.options.iter().filter(|(name, _)| name == "--eval") {
        judge.code(code.as_ref().map_or("", |code| &code.text));
    }
    for operand in &parsed.operands {
        let made = judge.resolved(&operand.text).and_then(|path| judge.scope.made(&path).cloned());
        if let Some(Made::Text(code)) = made {
            judge.code(&code);
        }
    }
}

/// The database itself is a file.
fn file(judge: &mut Judge<'_>, call: &Call<'_>) {
    let values = ["-cmd", "-c", "-init", "-separator", "-newline", "-nullvalue", "-mmap", "-lookaside"];
    let mut args = call.args().iter();
    while let Some(arg) = args.next() {
        if arg.text == "-init" {
            judge.unknown(format!("`{}` runs the commands in a file", call.name));
        }
        if values.contains(&arg.text.as_str()) {
            args.next();
        } else if !arg.text.starts_with('-') {
            if arg.text != ":memory:" && !arg.text.is_empty() {
                judge.write(arg, Verb::Create);
            }
            return;
        }
    }
}
