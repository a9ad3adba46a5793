//! Whether a new git configuration starts no program that the old one did not start.

use std::path::{Component, Path};

use super::{
    MAX_BYTES, Refused,
    index::sets_format,
    parse::{Entry, parse},
};
use crate::protected::names::{Fit, fit, folded};

/// Returns whether `new` adds nothing to `old` that makes git start a program. `path` is that of the file, absolute and
/// resolved: how far up a worktree may lie depends on it.
///
/// Every value in `new` was in `old`, or is one that is known to be harmless. The values that are not keep their order, and
/// of several values of one key either all go or none: a later value may be what switches an earlier one off.
pub(crate) fn config_change(path: &Path, old: &[u8], new: &[u8]) -> Result<(), Refused> {
    if new == old {
        return Ok(());
    }
    if new.len() > MAX_BYTES || new.contains(&0) || old.len() > MAX_BYTES {
        return Err(Refused::NotText);
    }
    let new = parse(new)?;
    let old = parse(old)?;
    // The index is read differently then, and its names were checked as it was.
    let format = |entries: &[Entry]| entries.iter().filter(|entry| sets_format(entry)).cloned().collect::<Vec<_>>();
    if format(&old) != format(&new) && path.parent().is_some_and(has_objects) {
        return Err(Refused::Value { key: "extensions.objectformat".to_owned() });
    }
    let harmful: Vec<&Entry> = old.iter().filter(|entry| harmless(path, entry).is_err()).collect();
    // A key with a harmful value is looked at with all of its values.
    let judged = |entry: &Entry| {
        if harmful.iter().any(|harmful| harmful.same_key(entry)) {
            return Err(Refused::Partly { key: entry.name() });
        }
        harmless(path, entry)
    };
    let mut left = old.iter().filter(|entry| judged(entry).is_err());
    let mut gone: Vec<&Entry> = Vec::new();
    for entry in &new {
        let Err(refused) = judged(entry) else { continue };
        loop {
            match left.next() {
                Some(old) if old == entry => break,
                Some(old) => gone.push(old),
                None => return Err(refused),
            }
        }
    }
    gone.extend(left);
    match gone.into_iter().find(|gone| new.iter().any(|entry| entry.same_key(gone))) {
        Some(partly) => Err(Refused::Partly { key: partly.name() }),
        None => Ok(()),
    }
}

/// Whether a git directory has objects already.
fn has_objects(git: &Path) -> bool {
    let entries = std::fs::read_dir(git.join("objects")).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !matches!(entry.file_name().to_str(), Some("info" | "pack")))
}

/// What a value may be.
#[derive(Debug, Clone, Copy)]
enum May {
    /// Any text on one line.
    Text,
    /// A word: letters, digits and a few signs, as in `true`, `origin` or `refs/heads/main`.
    Word,
    /// A word that says no.
    No,
    /// An address that git fetches from itself, without a helper program.
    Url,
    /// How a submodule is updated, unless by a command.
    Update,
    /// The way from a submodule's git directory to its work tree.
    Worktree,
}

/// Keys of sections without a name of their own.
const PLAIN: &[(&str, &[&str], May)] = &[
    ("advice", &["*"], May::Word),
    ("author", &["name", "email"], May::Text),
    ("blame", &["ignorerevsfile"], May::Word),
    ("branch", &["autosetupmerge", "autosetuprebase", "sort"], May::Word),
    ("color", &["ui"], May::Word),
    ("commit", &["cleanup", "verbose", "status"], May::Word),
    ("commit", &["gpgsign"], May::No),
    ("committer", &["name", "email"], May::Text),
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "bigfilethreshold",
            "commentchar",
            "commitgraph",
            "compression",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "multipackindex",
            "precomposeunicode",
            "preloadindex",
            "protecthfs",
            "protectntfs",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "splitindex",
            "symlinks",
            "trustctime",
            "untrackedcache",
            "whitespace",
        ],
        May::Word,
    ),
    ("core", &["fsmonitor"], May::No),
    ("core", &["worktree"], May::Worktree),
    (
        "diff",
        &["algorithm", "colormoved", "context", "mnemonicprefix", "noprefix", "renamelimit", "renames"],
        May::Word,
    ),
    (
        "extensions",
        &[
            "compatobjectformat",
            "objectformat",
            "partialclone",
            "preciousobjects",
            "refstorage",
            "relativeworktrees",
            "worktreeconfig",
        ],
        May::Word,
    ),
    ("feature", &["manyfiles"], May::Word),
    ("fetch", &["parallel", "prune", "prunetags", "recursesubmodules", "writecommitgraph"], May::Word),
    (
        "gc",
        &["auto", "autodetach", "autopacklimit", "pruneexpire", "reflogexpire", "reflogexpireunreachable"],
        May::Word,
    ),
    ("http", &["postbuffer", "version"], May::Word),
    ("index", &["sparse", "threads", "version", "skiphash"], May::Word),
    ("init", &["defaultbranch"], May::Word),
    ("lfs", &["repositoryformatversion", "locksverify"], May::Word),
    ("log", &["date", "decorate", "follow"], May::Word),
    ("maintenance", &["auto", "strategy"], May::Word),
    ("merge", &["autostash", "conflictstyle", "ff", "renamelimit", "renames", "stat", "directoryrenames"], May::Word),
    ("pack", &["deltacachesize", "packsizelimit", "threads", "window", "windowmemory", "depth"], May::Word),
    ("pull", &["ff", "rebase"], May::Word),
    ("push", &["autosetupremote", "default", "followtags", "recursesubmodules"], May::Word),
    ("rebase", &["autosquash", "autostash", "stat", "updaterefs"], May::Word),
    ("receive", &["denycurrentbranch", "denydeletes", "denynonfastforwards"], May::Word),
    ("remote", &["pushdefault"], May::Url),
    ("rerere", &["autoupdate", "enabled"], May::Word),
    ("stash", &["showincludeuntracked", "showpatch", "showstat"], May::Word),
    ("status", &["branch", "short", "showstash", "showuntrackedfiles", "submodulesummary"], May::Word),
    ("submodule", &["active", "fetchjobs", "propagatebranches", "recurse"], May::Word),
    ("tag", &["sort"], May::Word),
    ("tag", &["gpgsign", "forcesignannotated"], May::No),
    ("user", &["email", "name"], May::Text),
    ("user", &["signingkey", "useconfigonly"], May::Word),
];

/// Keys of sections with a name, such as `[remote "origin"]`.
const NAMED: &[(&str, &[&str], May)] = &[
    ("branch", &["description"], May::Text),
    ("branch", &["merge", "rebase", "vscode-merge-base", "github-pr-owner-number", "gh-merge-base"], May::Word),
    ("branch", &["pushremote", "remote"], May::Url),
    ("lfs", &["access", "locksverify"], May::Word),
    (
        "remote",
        &[
            "fetch",
            "followremotehead",
            "gh-resolved",
            "mirror",
            "partialclonefilter",
            "promisor",
            "prune",
            "prunetags",
            "push",
            "skipdefaultupdate",
            "skipfetchall",
            "tagopt",
        ],
        May::Word,
    ),
    ("remote", &["pushurl", "url"], May::Url),
    ("submodule", &["active", "branch", "fetchrecursesubmodules", "ignore", "shallow"], May::Word),
    ("submodule", &["update"], May::Update),
    ("submodule", &["url"], May::Url),
];

/// Returns whether a value is known to start no program.
pub(super) fn harmless(path: &Path, entry: &Entry) -> Result<(), Refused> {
    let table = if entry.subsection.is_some() { NAMED } else { PLAIN };
    let fits = |keys: &[&str]| keys.iter().any(|key| *key == "*" || *key == entry.key);
    let (_, _, may) = table
        .iter()
        .find(|(section, keys, _)| *section == entry.section && fits(keys))
        .ok_or_else(|| Refused::Key { key: entry.name() })?;
    let wrong = || Refused::Value { key: entry.name() };
    // A key without a value means true.
    let Some(value) = &entry.value else {
        return if matches!(may, May::Word) { Ok(()) } else { Err(wrong()) };
    };
    let value = std::str::from_utf8(value).map_err(|_| wrong())?;
    if is_harmless(*may, value, path) { Ok(()) } else { Err(wrong()) }
}

fn is_harmless(may: May, value: &str, path: &Path) -> bool {
    if value.len() > 4096 || value.chars().any(char::is_control) {
        return false;
    }
    match may {
        May::Text => true,
        // `--no-tags` is what `tagopt` is for; no other key takes its value for an option.
        May::Word => value.chars().all(|c| c.is_alphanumeric() || " -_.,:/+*^@=#~%".contains(c)),
        May::No => matches!(&*value.to_ascii_lowercase(), "false" | "no" | "off" | "0"),
        // `helper::address` starts `git-remote-helper`.
        May::Url => !value.starts_with('-') && !value.contains("::"),
        May::Update => matches!(value, "checkout" | "rebase" | "merge" | "none"),
        May::Worktree => stays(value, path),
    }
}

/// Returns whether a relative way from the configuration of a submodule leads to a folder in the work tree around it.
fn stays(value: &str, path: &Path) -> bool {
    let above = path.parent().into_iter().flat_map(Path::components);
    let above: Vec<_> = above.map(|part| folded(part.as_os_str())).collect();
    let Some(git) = above.iter().position(|name| name == ".git") else { return false };
    let (mut up, mut down) = (0, Vec::new());
    for part in Path::new(value).components() {
        match part {
            Component::ParentDir if down.is_empty() => up += 1,
            Component::Normal(name) => down.push(folded(name)),
            _ => return false,
        }
    }
    // From `.git/modules/x`, three steps up is the work tree.
    let depth = above.len() - git;
    let is_protected = down.iter().any(|name| name == ".git") || fit(&down) != Fit::Not;
    depth > 1 && up == depth && !down.is_empty() && !is_protected
}
