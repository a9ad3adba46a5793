//! Whether the rules let a tool use what it has opened. They hold for the file and not for a path: what counts is every
//! path that the opened file has, and every one that it had when rules were looked up before.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use super::{access::Job, globs::PathRules, place::Place, root::Root, show};
use crate::{
    denied::former,
    permissions::opened::Use,
    protected::{Protection, git, is_policy, is_protected, protection_below},
};

/// How many names are looked at to find what is denied.
const MAX_NAMES: usize = 50_000;

const OFF_LIMITS: &str = "is off limits: a rule of this agent denies it";
const PROTECTED: &str = "is protected: it decides what programs do here, so it is for people to change";
const CLOSED: &str = "stays closed whatever a person says: it holds rules, hooks or records of agents";

impl Job {
    /// Refuses what rules deny, as a sentence about the file, and what rules ask about if the call named another path.
    /// `opened` is the file or folder itself; without it, it is what has this name in this open folder, there or not.
    /// `named` is the path in the call, absolute: for a search, where it begins.
    pub(super) fn judge(&self, place: &Place, opened: Option<&File>, done: Use, named: &Path) -> Result<(), String> {
        if done == Use::Read && !self.has_denials() {
            return Ok(());
        }
        let Some(paths) = former::of_opened(place.folder(), &place.way(), opened) else {
            return Err("cannot be judged: the system does not say where it is".to_owned());
        };
        self.judge_paths(&paths)?;
        if let Some(rule) = self.refusals.refuse(&self.names, done, &paths) {
            return Err(format!("is off limits: rule `{rule}` denies it"));
        }
        if let Some(rule) = self.refusals.unasked(&self.names, done, &paths, named) {
            return Err(format!(
                "is a file that rule `{rule}` asks about: name the file itself, so that a person can be asked"
            ));
        }
        if done == Use::Read {
            return Ok(());
        }
        if paths.iter().any(|path| self.is_kept(path)) {
            return Err(if self.access.asks { CLOSED } else { PROTECTED }.to_owned());
        }
        match paths.iter().find(|path| self.is_protected(place, path)) {
            None => Ok(()),
            Some(path) if self.access.asks => {
                self.consent.needs(&format!("`{}` {PROTECTED}", show(path))).map_err(|_| PROTECTED.to_owned())
            }
            Some(_) => Err(PROTECTED.to_owned()),
        }
    }

    /// Whether an absolute path is neither read nor written, whatever anyone says.
    pub(super) fn is_closed(&self, path: &Path) -> bool {
        self.access.closed.iter().any(|closed| path.starts_with(closed))
    }

    /// Whether an absolute path is not written, whatever anyone says: what the program protects, and policies.
    fn is_kept(&self, path: &Path) -> bool {
        let home = &self.access.home;
        home.ways(path).any(|way| self.access.protected.hold(way))
            || (self.access.protects_names && is_policy(path.strip_prefix(home.real()).unwrap_or(path)))
    }

    /// Whether anything is denied to tools that read.
    pub(super) fn has_denials(&self) -> bool {
        !self.access.denied.patterns().is_empty()
            || !self.refusals.is_empty()
            || self.is_outside.load(Ordering::Relaxed)
    }

    /// Whether rules deny reading what has one of these paths, for a walk that opens it later or never. The rules of the
    /// permissions are named to the model, as for every other tool.
    pub(super) fn hides(&self, paths: &[PathBuf], hidden: &mut HiddenNames) -> bool {
        if self.judge_paths(paths).is_err() {
            return true;
        }
        let rule = self.refusals.refuse(&self.names, Use::Read, paths);
        if let Some(rule) = rule {
            hidden.add(rule);
        }
        rule.is_some()
    }

    fn judge_paths(&self, paths: &[PathBuf]) -> Result<(), String> {
        if paths.iter().any(|path| self.is_closed(path)) {
            return Err(CLOSED.to_owned());
        }
        if self.access.denied.patterns().is_empty() {
            return Ok(());
        }
        let denied =
            |path: &PathBuf| self.access.roots().any(|root| root.ways(path).any(|way| self.access.denied.hold(way)));
        if paths.iter().any(denied) { Err(OFF_LIMITS.to_owned()) } else { Ok(()) }
    }

    /// What the configuration of git makes it start in the folder, looked for once in a call.
    fn git_targets(&self) -> &[PathBuf] {
        let variable = |name: &str| std::env::var_os(name);
        self.git_targets.get_or_init(|| git::targets(self.access.home.real(), &variable))
    }

    fn is_protected(&self, place: &Place, path: &Path) -> bool {
        let home = &self.access.home;
        if !self.access.protects_names {
            return false;
        }
        let real = home.real();
        let way = path.strip_prefix(real).unwrap_or(path);
        let by_name = match protection_below(real, path, &git::has_head) {
            Protection::Free => false,
            // Who makes a git directory must not have prepared it.
            Protection::GitHead => {
                !place.lacks_folders()
                    && place.folder_path().is_none_or(|folder| git::may_become_git_dir(&folder).is_err())
            }
            _ => true,
        };
        by_name
            || is_protected(&way.to_string_lossy())
            || git::is_in_bare(real, path)
            || self.git_targets().iter().any(|target| path.starts_with(target))
    }
}

/// How many names were left out of a result, and by which rules.
#[derive(Debug, Default)]
pub(super) struct HiddenNames {
    count: usize,
    rules: Vec<String>,
}

impl HiddenNames {
    fn add(&mut self, rule: &str) {
        self.count += 1;
        if !self.rules.iter().any(|other| other == rule) {
            self.rules.push(rule.to_owned());
        }
    }

    /// A line for the model, if anything was left out.
    pub(super) fn notice(&self) -> Option<String> {
        let names = if self.count == 1 { "name" } else { "names" };
        let by = if self.rules.len() == 1 { "rule" } else { "rules" };
        (self.count > 0).then(|| format!("[{} {names} hidden by {by} {}]", self.count, self.rules.join(", ")))
    }
}

/// Finds what is denied below a root, and remembers it.
pub(super) fn look_for(denied: &PathRules, root: &Root) {
    let (mut folders, mut left) = (vec![root.real().to_owned()], MAX_NAMES);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(less) = left.checked_sub(1) else { return };
            left = less;
            let path = entry.path();
            if root.ways(&path).any(|way| denied.hold(way)) {
                former::remember(&path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            }
        }
    }
}
