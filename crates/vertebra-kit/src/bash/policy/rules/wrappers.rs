//! Programs that run another command in a way of their own.

use super::super::{
    Class,
    fields::{Field, plain, texts},
    invoke::Call,
    judge::{Input, Judge, Origin},
    lex::raw_words,
    options, table,
    value::{ENDLESS, REMOTE, SECRET, UNKNOWN, blend, is_known},
};

/// Options by a list of those that take a value, up to the first operand.
fn until_command(call: &Call<'_>, with_value: &[&str]) -> usize {
    let parsed = options::split(call.args(), |name| with_value.contains(&name), true);
    parsed.first.unwrap_or(call.args().len())
}

fn go_on(judge: &mut Judge<'_>, argv: Vec<Field>, input: &Input) -> String {
    if argv.is_empty() { UNKNOWN.to_string() } else { judge.invoke(argv, input) }
}

pub(super) fn env(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let mut at = 0;
    let args = call.args();
    let mut folder = None;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        let script = match text
            .strip_prefix("--split-string=")
            .or_else(|| text.strip_prefix("-S").filter(|rest| !rest.is_empty()))
        {
            Some(script) => Some((script, at + 1)),
            None if matches!(text, "-S" | "--split-string" | "-vS" | "-iS") => {
                args.get(at + 1).map(|script| (script.text.as_str(), at + 2))
            }
            None => None,
        };
        if let Some((script, rest)) = script {
            let within = Origin::Within(judge.at.clone());
            let mut command = plain(vec!["env".to_owned()]);
            for (_, raw) in raw_words(script) {
                command.extend(judge.fields(raw, &within));
            }
            command.extend_from_slice(args.get(rest..).unwrap_or_default());
            return judge.invoke(command, call.input);
        }
        match text {
            "-C" | "--chdir" => {
                at += 1;
                folder = args.get(at).map(|folder| folder.text.clone());
            }
            "-u" | "--unset" => at += 1,
            _ if text.starts_with('-') => {
                let attached = text.strip_prefix("--chdir=").or_else(|| text.strip_prefix("-C"));
                folder = attached.map(str::to_owned).or(folder);
            }
            _ => match text.split_once('=') {
                Some((name, value)) if !name.contains('/') => {
                    let (name, value) = (name.to_owned(), value.to_owned());
                    judge.set(&name, value);
                }
                _ => break,
            },
        }
        at += 1;
    }
    let rest = args.get(at..).unwrap_or_default().to_vec();
    if rest.is_empty() {
        return SECRET.to_string();
    }
    judge.subshell(|judge| {
        if let Some(folder) = folder {
            judge.invoke(plain(["cd".to_owned(), folder]), &None);
        }
        judge.invoke(rest, call.input)
    })
}

pub(super) fn exec(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let begin = until_command(call, &["-a"]);
    go_on(judge, call.args()[begin..].to_vec(), call.input)
}

pub(super) fn command(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    if let Some(flag) = call.args().first().filter(|flag| matches!(flag.text.as_str(), "-v" | "-V" | "-pv")) {
        let name = call.args().get(1).map_or("", |name| name.text.as_str());
        judge.name(name);
        return if flag.text == "-V" { UNKNOWN.to_string() } else { format!("/usr/bin/{name}\n") };
    }
    let begin = until_command(call, &[]);
    let argv = call.args()[begin..].to_vec();
    // A function or an alias of the name is passed over.
    let name = argv.first().map(|first| first.text.clone()).unwrap_or_default();
    let function = judge.scope.functions.get(&name).cloned();
    judge.scope.functions.remove_mut(&name);
    let printed = go_on(judge, argv, call.input);
    if let Some(function) = function {
        judge.scope.functions.insert_mut(name, function);
    }
    printed
}

pub(super) fn xargs(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let with_value = [
        "-I",
        "-n",
        "-P",
        "-L",
        "-d",
        "-E",
        "-s",
        "-a",
        "--replace",
        "--max-args",
        "--max-procs",
        "--max-lines",
        "--delimiter",
        "--arg-file",
    ];
    let parsed = options::split(call.args(), |name| with_value.contains(&name), true);
    let begin = parsed.first.unwrap_or(call.args().len());
    let mut argv = call.args()[begin..].to_vec();
    if argv.is_empty() {
        argv = plain(vec!["echo".to_owned()]);
    }
    let file = parsed.value(&["-a", "--arg-file"]).map(|file| file.text.clone());
    let input = match file {
        Some(file) => judge.read(&file),
        None => call.input.clone().unwrap_or_else(|| UNKNOWN.to_string()),
    };
    let mark = parsed.value(&["-I", "--replace"]).map(|mark| mark.text.clone());
    let mark = mark.or_else(|| parsed.has(&["-i", "--replace"]).then(|| "{}".to_owned()));
    with_items(judge, argv, &input, mark.as_deref())
}

/// Runs a command with words that come from elsewhere.
fn with_items(judge: &mut Judge<'_>, mut argv: Vec<Field>, input: &str, mark: Option<&str>) -> String {
    let items: Vec<String> = if is_known(input) {
        input
            .split(['\n', '\0', ' ', '\t'])
            .filter(|item| !item.is_empty())
            .map(|item| item.trim_matches(['"', '\'']).to_owned())
            .take(64)
            .collect()
    } else {
        // Names that were listed below the working folder stay there.
        let listed = input.trim_end();
        vec![if listed.strip_prefix("./") == Some(&UNKNOWN.to_string()) { listed.to_owned() } else { blend([input]) }]
    };
    if input.contains(ENDLESS) {
        judge.ask(Class::ForkBomb, "runs a command endlessly");
    }
    if input.contains(REMOTE) {
        judge.ask(Class::RemoteCode, "downloaded data decides what the command works on");
    }
    match mark {
        Some(mark) => {
            let all = items.join(" ");
            for field in &mut argv {
                field.text = field.text.replace(mark, &all);
            }
        }
        None => argv.extend(plain(items)),
    }
    judge.invoke(argv, &None)
}

pub(super) fn parallel(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let begin = until_command(
        call,
        &["-j", "--jobs", "-a", "-n", "-N", "-S", "--joblog", "-I", "--delay", "--timeout", "--retries", "--results"],
    );
    let mut words = call.args()[begin..].to_vec();
    let mut items = call.input.clone().unwrap_or_default();
    if let Some(at) = words.iter().position(|word| word.text.starts_with(":::")) {
        items = texts(&words[at + 1..]).join("\n");
        words.truncate(at);
    }
    if words.is_empty() {
        // Without a command, each item is one.
        judge.run_argument(&items);
        return UNKNOWN.to_string();
    }
    let items = if is_known(&items) { items.replace('\n', " ") } else { blend([items.as_str()]) };
    let text = texts(&words).join(" ");
    let text = if text.contains("{}") { text.replace("{}", &items) } else { format!("{text} {items}") };
    if !is_known(&text) {
        // The command is judged with what is known; what is worked on is a path like any other.
        let argv = text.split_whitespace().map(str::to_owned);
        return judge.invoke(plain(argv), &None);
    }
    judge.run_argument(&text);
    UNKNOWN.to_string()
}

/// `script -c COMMAND FILE`, `script FILE -- COMMAND`.
pub(super) fn script(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(
        call.args(),
        |name| matches!(name, "-c" | "--command" | "-t" | "-T" | "-B" | "-I" | "-O" | "-E" | "-m" | "-o"),
        false,
    );
    if let Some(command) = parsed.value(&["-c", "--command"]) {
        judge.run_argument(&command.text.clone());
    } else if let Some((file, argv)) = parsed.operands.split_first() {
        judge.write(file, super::super::places::Verb::Create);
        if !argv.is_empty() {
            judge.invoke(argv.to_vec(), call.input);
        }
    } else {
        judge.unknown("starts an interactive shell, whose input the policy cannot see");
    }
    UNKNOWN.to_string()
}

pub(super) fn flock(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let begin = until_command(call, &["-w", "-E", "--timeout", "--conflict-exit-code"]);
    let mut argv = call.args().get(begin + 1..).unwrap_or_default().to_vec();
    if argv.first().is_some_and(|word| word.text == "-c" || word.text == "--command") {
        if let Some(command) = argv.get(1) {
            judge.run_argument(&command.text.clone());
        }
        return UNKNOWN.to_string();
    }
    if argv.first().is_some_and(|word| word.text == "--") {
        argv.remove(0);
    }
    go_on(judge, argv, call.input)
}

/// Gives its words to a shell, joined.
pub(super) fn watch(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let begin = until_command(call, &["-n", "--interval", "-q"]);
    let text = texts(&call.args()[begin..]).join(" ");
    judge.run_argument(&text);
    UNKNOWN.to_string()
}

/// Gives each of its words to a shell.
pub(super) fn hyperfine(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let values =
        ["-w", "-r", "-m", "-M", "-n", "--warmup", "--runs", "--min-runs", "--max-runs", "-N", "-L", "-P", "-S"];
    let files = ["--export-json", "--export-markdown", "--export-csv"];
    let runs = ["-p", "--prepare", "-s", "--setup", "-c", "--cleanup"];
    let parsed = options::split(
        call.args(),
        |name| values.contains(&name) || files.contains(&name) || runs.contains(&name),
        false,
    );
    let prepared =
        parsed.options.iter().filter(|(name, _)| runs.contains(&name.as_str())).filter_map(|(_, value)| value.as_ref());
    let commands: Vec<String> = prepared.chain(&parsed.operands).map(|field| field.text.clone()).collect();
    for command in commands {
        judge.run_argument(&command);
    }
    UNKNOWN.to_string()
}

pub(super) fn busybox(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let argv = call.args().to_vec();
    if argv.first().is_none_or(|first| first.text.starts_with('-')) {
        if argv.first().is_some_and(|first| first.text == "--install") {
            judge.ask(Class::WriteOutside, format!("`{} --install` installs programs", call.name));
        }
        return UNKNOWN.to_string();
    }
    judge.invoke(argv, call.input)
}

/// More rights, and a command that gets them.
pub(super) fn elevate(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    if let [only] = call.args()
        && matches!(only.text.as_str(), "-V" | "-h" | "--help" | "--version")
    {
        return UNKNOWN.to_string();
    }
    judge.deny(
        Class::PrivilegeEscalation,
        format!(
            "`{}` runs commands with the rights of another user; a person can run it in another terminal",
            call.name
        ),
    );
    let parsed = options::split(
        call.args(),
        |name| matches!(name, "-u" | "-g" | "-c" | "-C" | "-p" | "-s" | "--user" | "--command"),
        true,
    );
    if let Some(script) = parsed.value(&["-c", "--command"]) {
        judge.run_argument(&script.text.clone());
    } else if let Some(first) = parsed.first {
        let argv = call.args()[first..].to_vec();
        let known =
            argv.first().is_some_and(|word| super::rule(&word.text).is_some() || table::program(&word.text).is_some());
        if known {
            judge.invoke(argv, call.input);
        }
    }
    UNKNOWN.to_string()
}
