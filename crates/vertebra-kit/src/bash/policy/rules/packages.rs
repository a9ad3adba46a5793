//! Package managers and containers: what runs code from elsewhere, or reaches into this machine.

use std::path::Path;

use super::super::{
    Class, building,
    fields::{Field, texts},
    invoke::Call,
    judge::Judge,
    options,
    places::{Place, Verb},
    table,
    value::{UNKNOWN, blend},
};
use super::network::is_remote;

/// Returns whether a word is an address instead of the name of a published package.
fn is_address(word: &str) -> bool {
    (building::is_address(word) || is_remote(word))
        && !word.starts_with('-')
        && !word.starts_with("workspace:")
        && !word.starts_with("npm:")
}

pub(super) fn by_table(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    match table::program(call.name) {
        Some(program) => judge.by_table(call.name, &program, call),
        None => UNKNOWN.to_string(),
    }
}

pub(super) fn node(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    let first = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let runs_package = matches!(call.name, "npx" | "bunx" | "pnpx") || matches!(first, "exec" | "x" | "dlx");
    let skipped = usize::from(!matches!(call.name, "npx" | "bunx" | "pnpx"));
    if words.iter().any(|word| *word == "--registry" || word.starts_with("--registry=")) {
        judge.ask(Class::RemoteCode, format!("`{} --registry` takes packages from another registry", call.name));
    }
    let prefix = words.iter().enumerate().find_map(|(at, word)| match *word {
        "--prefix" | "-C" => words.get(at + 1).copied(),
        word => word.strip_prefix("--prefix="),
    });
    if prefix.is_some_and(|folder| judge.place(folder) != Place::Inside) {
        judge.unknown(format!("`{}` runs the scripts of a package outside the working folder", call.name));
    }
    let mut named = words.iter().filter_map(|word| word.strip_prefix("--package")?.strip_prefix('='));
    if let Some(package) = named.find(|package| runs_package && !is_installed(judge, package)) {
        judge.unknown(format!("runs the package `{package}`, which may be downloaded from the registry"));
    }
    if let Some(at) = words.iter().position(|word| matches!(*word, "-c" | "--call")) {
        judge.run_argument(words.get(at + 1).unwrap_or(&""));
        return UNKNOWN.to_string();
    }
    if runs_package {
        let operands: Vec<_> =
            call.args().iter().skip_while(|arg| arg.text.starts_with('-')).skip(skipped).cloned().collect();
        let parsed =
            options::split(&operands, |name| matches!((call.name, name), ("npm" | "npx", "-w" | "--workspace")), true);
        let operands = parsed.first.map_or_else(Vec::new, |first| operands[first..].to_vec());
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
            || plain.starts_with("@playwright/")
            || (name == plain && is_installed(judge, &plain));
        if !known {
            // In a sandbox it is as good as `npm install` of the same package.
            judge.unknown(format!("runs the package `{plain}`, which may be downloaded from the registry"));
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
                judge.runs_download();
            } else if target.starts_with("npm:") || target.starts_with("jsr:") {
                judge.ask(Class::RemoteCode, format!("runs `{target}`, which may be downloaded from the registry"));
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
        let is_local = |word: &str| ["file:", "link:", "portal:"].iter().any(|kind| word.starts_with(kind));
        if words.iter().any(|word| is_address(word) && !is_local(word)) {
            judge.ask(Class::RemoteCode, "installs a package from a URL");
        } else {
            judge.unknown("installs a package from another folder");
        }
    }
    let shows = matches!(words[..], ["config" | "c", "get" | "list" | "ls", ..]);
    if matches!(first, "config" | "c" | "set") && !shows && words.iter().any(|word| is_setting(word)) {
        judge.ask(Class::RemoteCode, "changes where packages come from, or which program runs them");
    }
    let by_yarn = first == "npm" && words.contains(&"publish");
    if matches!(first, "publish" | "login" | "logout") || by_yarn {
        if first != "publish" || !is_dry_run(&words) {
            judge.ask(Class::NetworkExfiltration, "publishes a package, or changes who may publish");
        }
        return UNKNOWN.to_string();
    }
    by_table(judge, call)
}

/// Returns whether a program of a package is in the project, so that it is not downloaded.
fn is_installed(judge: &Judge<'_>, name: &str) -> bool {
    let Some(here) = judge.scope.cwd.path.as_deref().filter(|_| !name.is_empty() && !name.contains('/')) else {
        return false;
    };
    let within = Path::new(here).ancestors().take_while(|folder| folder.starts_with(&judge.ground.folder));
    within.map(|folder| folder.join("node_modules/.bin").join(name)).any(|file| file.exists())
}

/// Returns whether a command only shows what it would do.
pub(crate) fn is_dry_run(words: &[&str]) -> bool {
    words.contains(&"--dry-run")
        && !words.iter().any(|word| *word == "false" || word.starts_with("--no-d") || word.starts_with("--dry-run="))
}

/// Settings of package managers that lead elsewhere.
fn is_setting(word: &str) -> bool {
    ["script-shell", "registry", "shell", "prefix", "node-options", "proxy", "ignore-scripts", "npmRegistryServer"]
        .iter()
        .any(|name| word.starts_with(name))
}

/// Tools that run a program in an environment of the project. A name that is not known is an entry point of the project.
pub(super) fn runner(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    judge.built_from(texts(call.args()));
    let at = call.args().iter().position(|arg| matches!(arg.text.as_str(), "run" | "exec" | "x"));
    let tail = at.map_or(&[][..], |at| &call.args()[at + 1..]);
    // The first argument of `direnv exec` is the folder.
    let tail = tail.get(usize::from(call.name == "direnv")..).unwrap_or_default();
    let parsed =
        options::split(tail, |name| matches!(name, "-n" | "-p" | "--name" | "--prefix" | "-C" | "--env"), true);
    let command = parsed.first.map_or(&[][..], |first| &tail[first..]);
    let known = command.first().is_some_and(|word| {
        word.text.contains('/') || super::rule(&word.text).is_some() || table::program(&word.text).is_some()
    });
    if known { judge.invoke(command.to_vec(), call.input) } else { by_table(judge, call) }
}

pub(super) fn rustc(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    for word in texts(call.args()) {
        if let Some((_, linker)) = word.split_once("linker=") {
            judge.run_argument(linker);
        }
    }
    by_table(judge, call)
}

pub(super) fn pip(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    if words.iter().any(|word| is_address(word)) && !words.contains(&"list") {
        judge.ask(Class::RemoteCode, "installs a package from a URL");
    }
    // A tool by its name, from the registry unless it is here.
    let tool = match (call.name, words.as_slice()) {
        ("pipx", ["run", ..]) => call.args().get(1..),
        ("uv", ["tool", "run", ..]) => call.args().get(2..),
        _ => None,
    };
    if let Some(first) = tool.unwrap_or_default().iter().position(|word| !word.text.starts_with('-')) {
        let argv = &tool.unwrap_or_default()[first..];
        if table::program(&argv[0].text).is_some() {
            return judge.invoke(argv.to_vec(), call.input);
        }
        judge.unknown(format!("runs the package `{}`, which may be downloaded from the registry", argv[0].text));
        return UNKNOWN.to_string();
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
        judge.ask(Class::NetworkExfiltration, "publishes a package");
    }
    by_table(judge, call)
}

pub(super) fn go(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    if let Some((first, rest)) = call.args().split_first()
        && first.text == "run"
        && let Some(target) = rest.iter().find(|word| !word.text.starts_with('-'))
    {
        if target.text.contains('@') {
            judge.ask(Class::RemoteCode, "downloads a program and runs it");
        } else {
            super::run_file(judge, &target.text, &[]);
        }
    }
    let writes = |word: &Field| matches!(word.text.as_str(), "-w" | "--w" | "-u" | "--u");
    if call.args().first().is_some_and(|first| first.text == "env") && call.args().iter().any(writes) {
        judge.ask(Class::RemoteCode, "`go env -w` changes for every project where packages come from, or what runs");
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
            || matches!(
                (*word, words.get(at + 1)),
                ("--pid" | "--ipc" | "--userns" | "--uts" | "--cgroupns" | "--net" | "--network", Some(&"host"))
            )
        {
            let network = word.contains("net");
            if network {
                judge
                    .ask(Class::PrivilegeEscalation, format!("`{word}` gives a container the network of this machine"));
            } else {
                judge.deny(Class::PrivilegeEscalation, format!("`{word}` gives a container rights on this machine"));
            }
        }
        // Letters behind one dash may be several options, the last of which has a value.
        let clustered = word.starts_with('-') && !word.starts_with("--") && word.ends_with('v') && word.len() < 6;
        let mount = match *word {
            "--volume" | "--mount" => words.get(at + 1).copied(),
            _ if clustered => words.get(at + 1).copied(),
            _ => word.strip_prefix("--volume=").or_else(|| word.strip_prefix("--mount=")).or_else(|| {
                word.strip_prefix("-v").map(|rest| rest.trim_start_matches('=')).filter(|rest| rest.starts_with('/'))
            }),
        };
        if let Some(mount) = mount {
            let source =
                mount.split(',').find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
            let source = source.unwrap_or_else(|| mount.split(':').next().unwrap_or_default()).to_owned();
            let named = !source.contains('/') && !source.starts_with('.');
            if !named && !matches!(judge.place(&source), Place::Inside | Place::Scratch) {
                judge.deny(
                    Class::PrivilegeEscalation,
                    format!("mounts {source}, outside the working folder, into a container"),
                );
            }
        }
    }
    let has = |word| words.contains(&word);
    if has("prune") || has("volume") && has("rm") || has("compose") && has("down") && (has("-v") || has("--volumes")) {
        judge.ask(Class::RecursiveDelete, "deletes containers, images or volumes");
    }
    if has("--push") {
        judge.ask(Class::NetworkExfiltration, "publishes an image");
    }
    if matches!(words.first(), Some(&("stack" | "service" | "swarm" | "node" | "secret" | "context")))
        && (has("rm") || has("leave") || has("remove"))
    {
        judge.ask(Class::RecursiveDelete, "removes a service, node, secret or other resource");
    }
    match words.first() {
        Some(&"cp") => copied(judge, &call.args()[1..]),
        Some(&"build" | &"buildx") if words.iter().any(|word| word.contains("://") || word.starts_with("git@")) => {
            judge.ask(Class::RemoteCode, "builds code downloaded from the network");
        }
        Some(&"build" | &"buildx") => judge.built_from(words.iter().copied().chain(["."])),
        Some(&"exec" | &"compose") => {
            let file =
                words.iter().position(|word| *word == "-f" || *word == "--file").and_then(|at| words.get(at + 1));
            if let Some(file) = file.filter(|_| has("compose") && !has("logs")) {
                super::run_file(judge, file, &[]);
            }
            if let Some((class, reason)) = judge.harm_in_arguments(call) {
                judge.ask(class, format!("in a container: {reason}"));
            }
        }
        _ => {}
    }
    let printed = by_table(judge, call);
    if printed.is_empty() { blend(words) } else { printed }
}

/// Files that go into a container, or come out of one.
fn copied(judge: &mut Judge<'_>, args: &[Field]) {
    let paths: Vec<&Field> = args.iter().filter(|arg| !arg.text.starts_with('-')).collect();
    if let [source, target] = paths.as_slice() {
        if !source.text.contains(':') {
            judge.look(&source.text);
        }
        if !target.text.contains(':') {
            judge.write(target, Verb::Create);
        }
    }
}
