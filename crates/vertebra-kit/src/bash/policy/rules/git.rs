//! git: configuration that runs programs, work that cannot be undone, remotes.

use std::path::Path;

use super::super::{
    Class,
    fields::{Field, texts},
    invoke::Call,
    judge::{Judge, Origin},
    options,
    places::{Place, Verb},
    scope::Cwd,
    table,
    value::{SECRET, UNKNOWN, is_known, shown},
};
use super::network::{host_of, is_remote};

/// Settings whose value is a program, or leads to one.
const RUNS: [&str; 26] = [
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.hookspath",
    "core.askpass",
    "core.gitproxy",
    "core.worktree",
    "credential.helper",
    "diff.external",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "init.templatedir",
    "uploadpack.packobjectshook",
    "include.path",
    "protocol.ext.allow",
    "http.proxy",
    "pager.",
    "sendemail.smtpserver",
    "web.browser",
    "browser.",
    "core.alternaterefscommand",
    "core.attributesfile",
    "interactive.difffilter",
    "url.",
];
const RUNS_BY_END: [&str; 14] = [
    ".program",
    ".proxy",
    ".cmd",
    ".textconv",
    ".clean",
    ".smudge",
    ".process",
    ".command",
    ".driver",
    ".helper",
    ".path",
    ".uploadpack",
    ".receivepack",
    ".vcs",
];

pub(super) fn git(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let Some(program) = table::program("git") else { return UNKNOWN.to_string() };
    let before = options::by_table(call.args(), &program, true);
    let mut aliases = Vec::new();
    for (option, value) in &before.options {
        let Some(value) = value else { continue };
        match option.as_str() {
            "-c" => {
                if let Some((name, value)) = value.text.split_once('=') {
                    if let Some(alias) = name.strip_prefix("alias.") {
                        aliases.push((alias.to_owned(), value.to_owned()));
                    }
                    setting(judge, name, value);
                }
            }
            "--git-dir" if !matches!(judge.place(&value.text), Place::Inside | Place::Later) => {
                judge.unknown("uses git settings from outside the working folder, which may run programs");
            }
            "-C" | "--work-tree" => {
                let path = judge.resolved(&value.text).filter(|_| is_known(&value.text));
                let absolute = value.text.starts_with('/');
                let outer = judge.scope.cwd.clone();
                judge.scope.cwd = Cwd { path, absolute };
                let printed = subcommand(judge, call, before.first, &aliases);
                judge.scope.cwd = outer;
                return printed;
            }
            _ => {}
        }
    }
    judge.options("git", &program, &before);
    subcommand(judge, call, before.first, &aliases)
}

/// Judges a setting by its name.
fn setting(judge: &mut Judge<'_>, name: &str, value: &str) {
    let lower = name.to_ascii_lowercase();
    if lower == "clean.requireforce" {
        judge.unknown("lets `git clean` delete files without `--force`");
    }
    if let Some(command) = value.strip_prefix('!') {
        judge.run_argument(command);
    }
    if lower.starts_with("remote.") && matches!(lower.rsplit('.').next(), Some("url" | "pushurl")) {
        if let Some(command) = value.strip_prefix("ext::") {
            judge.run_argument(command);
            judge.unknown(format!("the git setting `{name}` runs a program"));
        } else {
            judge.send(value, "", "changes where a git remote leads");
        }
    }
    let runs =
        RUNS.iter().any(|prefix| lower.starts_with(prefix)) || RUNS_BY_END.iter().any(|end| lower.ends_with(end));
    if runs && !value.is_empty() {
        let harmless = matches!(
            value,
            "cat"
                | "less"
                | "less -R"
                | "delta"
                | "true"
                | "vim"
                | "nano"
                | "vi"
                | "code --wait"
                | "false"
                | "store"
                | "cache"
                | "osxkeychain"
                | "manager"
                | ".githooks"
                | ".husky"
        );
        if !harmless {
            judge.run_argument(value);
            judge.unknown(format!("the git setting `{name}` runs a program"));
        }
    }
}

fn subcommand(judge: &mut Judge<'_>, call: &Call<'_>, first: Option<usize>, aliases: &[(String, String)]) -> String {
    let Some(first) = first else { return UNKNOWN.to_string() };
    let rest = &call.args()[first..];
    let name = rest[0].text.clone();
    if let Some((_, value)) = aliases.iter().find(|(alias, _)| *alias == name) {
        let text = value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned);
        judge.run_argument(&text);
        return UNKNOWN.to_string();
    }
    if let Some(here) = judge.scope.cwd.path.clone().filter(|_| rest.iter().all(|word| is_known(&word.text))) {
        judge.git_commands.push((here, rest.iter().map(|word| word.text.clone()).collect()));
    }
    let Some(program) = table::program(&format!("git {name}")) else {
        judge.unknown(format!("the policy does not know `git {name}`, so a person must approve it"));
        return UNKNOWN.to_string();
    };
    let whole = format!("git {name}");
    let inner = Call { name: &whole, argv: rest, input: call.input };
    let parsed = options::by_table(inner.args(), &program, false);
    let words = texts(inner.args());
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    match name.as_str() {
        "bisect" if has(&["run"]) => after(judge, &inner, "run"),
        "submodule" if has(&["foreach"]) => after(judge, &inner, "foreach"),
        "clean" => clean(judge, &parsed),
        "push" => push(judge, inner.args()),
        "fetch" | "pull" | "clone" | "remote" | "ls-remote" | "submodule" => remote(judge, &name, &parsed, &words),
        "config" => config(judge, &parsed, inner.args()),
        "maintenance" if has(&["start", "register"]) => {
            judge.ask(Class::WriteOutside, "schedules background jobs on this machine");
        }
        "diff" if has(&["--no-index"]) => parsed.operands.iter().for_each(|file| drop(judge.look(&file.text))),
        "hash-object" => parsed.operands.iter().for_each(|file| drop(judge.look(&file.text))),
        "reset" if has(&["--hard"]) && judge.scope.cwd.absolute => {
            judge.ask(Class::WriteOutside, "discards uncommitted changes");
        }
        "stash" if has(&["clear"]) => {
            judge.ask(Class::RecursiveDelete, "deletes all stashes, which cannot be restored");
        }
        "reflog" if has(&["expire", "delete"]) => {
            judge.ask(Class::RecursiveDelete, "deletes reflog entries, so lost commits cannot be restored");
        }
        "update-ref" if has(&["-d"]) => judge.ask(Class::RecursiveDelete, "deletes a branch or a tag"),
        "worktree" if has(&["remove"]) => {
            if let Some(folder) = parsed.operands.get(1) {
                judge.write(folder, Verb::Destroy);
            }
        }
        "filter-branch" | "send-email" | "daemon" | "credential" | "difftool" | "mergetool" | "svn" | "p4" => {
            judge.unknown(format!("`git {name}` runs other programs"));
        }
        "rm" => parsed.operands.iter().for_each(|operand| judge.write(operand, Verb::Destroy)),
        "init" | "archive" => {
            let folder = parsed.operands.first().filter(|_| name == "init");
            if let Some(folder) = folder {
                judge.write(folder, Verb::Create);
            }
        }
        _ => {}
    }
    checks_out(judge, &name, &parsed, &words);
    if name == "clone" {
        let settings = parsed.options.iter().filter(|(option, _)| option == "-c" || option == "--config");
        for (name, value) in settings.filter_map(|(_, value)| value.as_ref()?.text.split_once('=')) {
            setting(judge, name, value);
        }
    }
    let outside =
        judge.scope.cwd.path.as_ref().is_none_or(|path| !matches!(judge.place(path), Place::Inside | Place::Scratch));
    let changes = !matches!(
        name.as_str(),
        "status"
            | "log"
            | "diff"
            | "show"
            | "branch"
            | "rev-parse"
            | "remote"
            | "fetch"
            | "ls-files"
            | "describe"
            | "blame"
    );
    if outside && changes {
        judge.ask(Class::WriteOutside, "works in a repository outside the working folder");
    }
    judge.by_table(&whole, &program, &inner)
}

/// What comes from a commit, a stash or a patch has names that nobody sees here.
fn checks_out(judge: &mut Judge<'_>, name: &str, parsed: &options::Parsed, words: &[&str]) {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let writes = match name {
        "pull" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" | "apply" | "read-tree" | "restore" => true,
        // A new branch at the current commit changes no file.
        "checkout" | "switch" => {
            !(has(&["-b", "-B", "-c", "-C", "--create", "--orphan"]) && parsed.operands.is_empty())
        }
        "reset" => has(&["--hard", "--merge", "--keep"]),
        "stash" => has(&["pop", "apply", "branch"]),
        "submodule" => has(&["update"]),
        _ => false,
    };
    let Some(here) = judge.scope.cwd.path.clone().filter(|_| writes) else { return };
    if let Some(path) = parsed.operands.iter().find(|operand| judge.holds_policy(&operand.text)) {
        let text = shown(&path.text);
        judge.ask(Class::OwnPolicy, format!("takes back {text}, by which an agent is told what it may do"));
    }
    let behind = words.iter().position(|word| *word == "--").map(|at| &words[at + 1..]);
    let paths: Vec<&str> = match behind {
        Some(paths) => paths.to_vec(),
        None if name == "restore" => parsed.operands.iter().map(|operand| operand.text.as_str()).collect(),
        None => Vec::new(),
    };
    if paths.is_empty() {
        let top = Path::new(&here).ancestors().find(|above| above.join(".git").exists());
        judge.write_any_below(top.and_then(Path::to_str).unwrap_or(&here));
    }
    for path in paths {
        judge.write_any_below(path);
    }
}

/// The words behind a subcommand of a subcommand are a command.
fn after(judge: &mut Judge<'_>, call: &Call<'_>, word: &str) {
    let at = call.args().iter().position(|arg| arg.text == word).map_or(call.args().len(), |at| at + 1);
    let argv: Vec<Field> =
        call.args()[at..].iter().filter(|arg| arg.text != "--recursive" && arg.text != "-q").cloned().collect();
    match argv.as_slice() {
        [one] => judge.run_argument(&one.text.clone()),
        [] => {}
        _ => drop(judge.invoke(argv, call.input)),
    }
}

fn clean(judge: &mut Judge<'_>, parsed: &options::Parsed) {
    if parsed.has(&["-n", "--dry-run"]) || !parsed.has(&["-f", "--force"]) {
        return;
    }
    let cwd = judge.scope.cwd.path.clone();
    let own = cwd.is_some_and(|path| judge.place(&path) == Place::Inside);
    if own {
        judge.ask(Class::RecursiveDelete, "deletes every untracked file");
    } else {
        judge.deny(Class::RecursiveDelete, "deletes files outside the working folder");
    }
}

fn push(judge: &mut Judge<'_>, args: &[Field]) {
    // Unlike for other subcommands, `-u` takes no value here.
    let values = ["-o", "--push-option", "--repo", "--receive-pack", "--exec"];
    let parsed = options::split(args, |name| values.contains(&name), false);
    let forced = parsed.has(&["-f", "-d", "--mirror", "--delete"])
        || parsed.options.iter().any(|(name, _)| name.starts_with("--force"));
    let forced = forced || parsed.operands.iter().skip(1).any(|operand| operand.text.starts_with(['+', ':']));
    if forced {
        judge.ask(Class::NetworkExfiltration, "force-pushes or deletes remote branches, so others may lose work");
    }
    let foreign = |remote: &Field| is_remote(&remote.text) || judge.scope.remotes.contains(&remote.text);
    if parsed.operands.first().is_some_and(foreign) {
        judge.ask(Class::NetworkExfiltration, "pushes to an address that is not a configured remote");
    }
}

fn remote(judge: &mut Judge<'_>, name: &str, parsed: &options::Parsed, words: &[&str]) {
    for operand in &parsed.operands {
        let text = &operand.text;
        if text.starts_with("ext::") || text.starts_with("fd::") {
            judge.deny(Class::RemoteCode, "uses a git address that runs a command");
            judge.script(text.trim_start_matches("ext::"), &Origin::Within(judge.at.clone()), &None);
        }
        if text.starts_with('-') || !is_known(text) && is_remote(text) {
            judge.send(text, text, "the address may carry data");
        }
    }
    match name {
        "remote" if words.first().is_some_and(|word| matches!(*word, "add" | "set-url")) => {
            let foreign = parsed.operands.last().is_some_and(|url| !judge.is_own_host(&host_of(&url.text)));
            if let (true, [_, name, ..]) = (foreign, parsed.operands.as_slice()) {
                judge.scope.remotes.insert_mut(name.text.clone());
            }
            if foreign && parsed.operands.first().is_some_and(|word| word.text == "set-url") {
                judge.ask(Class::NetworkExfiltration, "changes the address that a remote pushes to");
            }
        }
        "clone" => {
            let address = parsed.operands.first().map(|url| url.text.clone()).unwrap_or_default();
            cloned(judge, &address, parsed.operands.get(1));
        }
        _ => {}
    }
}

/// What another machine sends lies in a folder, of the name of the address unless told.
fn cloned(judge: &mut Judge<'_>, address: &str, folder: Option<&Field>) {
    let base = address.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next().unwrap_or_default();
    let folder = folder.cloned().unwrap_or_else(|| Field::plain(base));
    judge.write(&folder, Verb::Create);
    judge.made_elsewhere(&folder.text);
}

/// Other tools that bring repositories here; and `gh`, which sends files away too.
pub(super) fn others(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let operands: Vec<&Field> = call.args().iter().filter(|arg| !arg.text.starts_with('-')).collect();
    let behind = match call.name {
        "degit" | "tiged" => Some(0),
        _ => operands
            .iter()
            .position(|word| matches!(word.text.as_str(), "clone" | "checkout" | "co" | "export"))
            .map(|at| at + 1),
    };
    let by_number = call.name == "gh" && operands.first().is_some_and(|word| word.text == "pr");
    if let Some(address) = behind.and_then(|at| operands.get(at)).filter(|_| !by_number) {
        cloned(judge, &address.text.clone(), behind.and_then(|at| operands.get(at + 1).copied()));
    }
    if call.name == "gh" {
        let mut sent = String::new();
        for arg in call.args() {
            sent.push_str(&arg.text);
            sent.push_str(&judge.read(arg.text.rsplit(['=', '@']).next().unwrap_or_default()));
        }
        if sent.contains(SECRET) {
            judge.deny(Class::NetworkExfiltration, "sends secrets to another machine");
        }
    }
    super::packages::by_table(judge, call)
}

fn config(judge: &mut Judge<'_>, parsed: &options::Parsed, args: &[Field]) {
    let file = args.iter().enumerate().find_map(|(at, arg)| match arg.text.as_str() {
        "-f" | "--file" => args.get(at + 1).map(|file| file.text.as_str()),
        text => text.strip_prefix("--file="),
    });
    let operands: Vec<&Field> = parsed
        .operands
        .iter()
        .filter(|operand| !matches!(operand.text.as_str(), "set" | "get" | "list" | "unset"))
        .collect();
    if let [name, value, ..] = operands.as_slice() {
        let (name, value) = (name.text.clone(), value.text.clone());
        setting(judge, &name, &value);
        if let Some(file) = file {
            judge.write(&Field::plain(file), Verb::Create);
        }
        if parsed.has(&["--global", "--system"]) && !name.starts_with("user.") {
            judge.ask(Class::WriteOutside, "changes git settings for every project");
        }
    }
}
