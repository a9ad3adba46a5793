//! Package managers and containers: what runs code from elsewhere, or reaches into this machine.

use super::super::{
    Class,
    fields::texts,
    invoke::Call,
    judge::Judge,
    options,
    places::Place,
    table,
    value::{UNKNOWN, blend},
};
use super::network::is_remote;

/// An address instead of a name: a package that nobody published.
fn is_address(word: &str) -> bool {
    let git = word.starts_with("git+")
        || word.starts_with("git:")
        || word.starts_with("github:")
        || word.starts_with("gitlab:");
    (git || word.contains("://") || is_remote(word))
        && !word.starts_with('-')
        && !word.starts_with("workspace:")
        && !word.starts_with("npm:")
}

fn by_table(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    match table::program(call.name) {
        Some(program) => judge.by_table(call.name, program, call),
        None => UNKNOWN.to_string(),
    }
}

pub(super) fn node(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    let first = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let runs_package = matches!(call.name, "npx" | "bunx" | "pnpx") || matches!(first, "exec" | "x" | "dlx");
    let skipped = usize::from(!matches!(call.name, "npx" | "bunx" | "pnpx"));
    if let Some(at) = words.iter().position(|word| matches!(*word, "-c" | "--call")) {
        judge.run_argument(words.get(at + 1).unwrap_or(&""));
        return UNKNOWN.to_string();
    }
    if runs_package {
        let operands: Vec<_> = call
            .args()
            .iter()
            .skip_while(|arg| arg.text.starts_with('-'))
            .skip(skipped)
            .skip_while(|arg| arg.text.starts_with('-'))
            .cloned()
            .collect();
        let name = operands.first().map(|name| name.text.clone()).unwrap_or_default();
        let plain = name
            .rsplit_once('@')
            .filter(|(name, _)| !name.is_empty())
            .map_or(name.as_str(), |(name, _)| name)
            .to_owned();
        let known = table::program(&plain).is_some()
            || plain.starts_with("@types/")
            || plain.starts_with("create-")
            || plain == "@biomejs/biome"
            || plain.starts_with("@playwright/");
        if !known {
            judge.ask(Class::RemoteCode, format!("runs the package `{plain}`, which may come from the registry"));
        }
        if table::program(&plain).is_some() {
            let mut argv = operands;
            argv[0].text = plain;
            return judge.invoke(argv, call.input);
        }
        return UNKNOWN.to_string();
    }
    match call.name {
        "deno" if first == "run" || first == "eval" => {
            let target = words.iter().filter(|word| !word.starts_with('-')).nth(1).copied().unwrap_or_default();
            if first == "eval" {
                judge.code(target);
            } else if target.contains("://") {
                judge.deny(Class::RemoteCode, "runs what another machine sends");
            }
        }
        "bun" if words.iter().any(|word| matches!(*word, "-e" | "--eval" | "-p" | "--print")) => {
            judge.code(words.last().copied().unwrap_or_default());
        }
        _ => {}
    }
    if matches!(first, "install" | "i" | "add" | "create" | "init" | "global")
        && words.iter().any(|word| is_address(word))
    {
        judge.ask(Class::RemoteCode, "installs a package by its address");
    }
    if matches!(first, "publish" | "login" | "logout") {
        judge.ask(Class::NetworkExfiltration, "publishes, or changes who may");
        return UNKNOWN.to_string();
    }
    by_table(judge, call)
}

pub(super) fn pip(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    if words.iter().any(|word| is_address(word)) && !words.contains(&"list") {
        judge.ask(Class::RemoteCode, "installs a package by its address");
    }
    if words.first() == Some(&"run") {
        let parsed = options::split(
            &call.args()[1..],
            |name| matches!(name, "--with" | "-p" | "--python" | "--project" | "--extra" | "--group"),
            true,
        );
        if let Some(first) = parsed.first {
            return judge.invoke(call.args()[1 + first..].to_vec(), call.input);
        }
    }
    if words.first() == Some(&"publish") {
        judge.ask(Class::NetworkExfiltration, "publishes");
    }
    by_table(judge, call)
}

pub(super) fn go(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    if words.first() == Some(&"run")
        && words
            .get(1..)
            .unwrap_or_default()
            .iter()
            .find(|word| !word.starts_with('-'))
            .is_some_and(|target| target.contains('@'))
    {
        judge.ask(Class::RemoteCode, "runs a program that another machine sends");
    }
    by_table(judge, call)
}

/// Options of a container that reach out of it.
const REACHES: [&str; 10] = [
    "--privileged",
    "--pid=host",
    "--ipc=host",
    "--userns=host",
    "--cap-add",
    "--device",
    "--security-opt",
    "--net=host",
    "--network=host",
    "--uts=host",
];

pub(super) fn docker(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    for (at, word) in words.iter().enumerate() {
        if REACHES.iter().any(|reach| word.starts_with(reach))
            || matches!((*word, words.get(at + 1)), ("--pid" | "--ipc" | "--userns", Some(&"host")))
        {
            let network = word.contains("net");
            if network {
                judge
                    .ask(Class::PrivilegeEscalation, format!("`{word}` gives a container the network of this machine"));
            } else {
                judge.deny(Class::PrivilegeEscalation, format!("`{word}` gives a container rights on this machine"));
            }
        }
        let mount = match *word {
            "-v" | "--volume" | "--mount" => words.get(at + 1).copied(),
            _ => word
                .strip_prefix("--volume=")
                .or_else(|| word.strip_prefix("--mount="))
                .or_else(|| word.strip_prefix("-v").filter(|rest| rest.starts_with('/'))),
        };
        if let Some(mount) = mount {
            let source =
                mount.split(',').find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
            let source = source.unwrap_or_else(|| mount.split(':').next().unwrap_or_default()).to_owned();
            let named = !source.contains('/') && !source.starts_with('.');
            if !named && !matches!(judge.place(&source), Place::Inside | Place::Scratch) {
                judge.deny(Class::PrivilegeEscalation, format!("gives a container {source}"));
            }
        }
    }
    if words.first() == Some(&"system") && words.get(1) == Some(&"prune")
        || words.contains(&"rm") && words.contains(&"volume")
    {
        judge.ask(Class::RecursiveDelete, "deletes containers, images or volumes");
    }
    let printed = by_table(judge, call);
    if printed.is_empty() { blend(words) } else { printed }
}
