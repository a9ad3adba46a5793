//! Finds the existing paths that rules deny reading, for the sandbox. Rules match the text of a command, and a text can name a
//! path in more ways than can be analysed.

use std::{
    collections::{HashSet, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use vertebra::prelude::*;

use super::{
    Rules,
    path::{Base, PathPattern},
    rule::{Access, Part, Rule},
    subject::Subject,
};
use crate::denied::{DeniedReads, PathRules, former};

/// How many names are checked to find the denied paths.
const MAX_NAMES: usize = 50_000;

/// How many names inside denied folders are remembered.
const MAX_INSIDE: usize = 2000;

/// The maximum number of denied paths.
const MAX_PATHS: usize = 1000;

/// How many names are checked in each place outside of the working folder.
const MAX_NAMES_OUTSIDE: usize = 4000;

/// The maximum number of denied paths outside of the working folder.
const MAX_PATHS_OUTSIDE: usize = 100;

/// Folders that belong to the system. Rules still match a path in them, if a call names it.
const OF_THE_SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc", "/run", "/sbin", "/snap", "/sys",
    "/usr",
];

/// How many sets of rules are known to have been looked for. Beyond that, they are looked for again.
const MAX_SEARCHED: usize = 1000;

/// Notes before each call what the rules deny: the rules about paths, and for commands the denied paths that exist.
pub(super) struct Reads {
    rules: Rules,
    /// The rules whose paths have been looked for, so that they are known if they are renamed later.
    searched: Mutex<HashSet<PathRules>>,
}

impl Reads {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, searched: Mutex::default() }
    }

    fn is_searched(&self, rules: &PathRules) -> bool {
        self.searched.lock().unwrap_or_else(PoisonError::into_inner).contains(rules)
    }

    fn set_searched(&self, rules: &PathRules) {
        let mut searched = self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        if searched.len() >= MAX_SEARCHED {
            searched.clear();
        }
        searched.insert(rules.clone());
    }
}

impl Hook<BeforeToolUse> for Reads {
    async fn run(&self, cx: &mut ToolCx<'_>) -> Answer<BeforeToolUse> {
        let mut standing = self.rules.standing(&cx.at.run);
        let base = standing.bases().1;
        let rules = self.rules.refusals_of_paths(&cx.at.run.session_id, &base);
        let questions = self.rules.questions_of_paths(&cx.at.run.session_id);
        if rules.is_empty() && questions.is_empty() {
            return proceed();
        }
        let texts = |rules: &[Arc<Rule>]| rules.iter().map(|rule| rule.text().to_string()).collect();
        let noted = PathRules {
            deny: texts(&rules),
            ask: texts(&questions),
            folders: base.folders.clone(),
            home: base.home.clone(),
        };
        let is_command = ["command", "cmd"].iter().any(|name| cx.args.get(name).is_some());
        // Another call of this step may be a command: what was noted for it stays.
        let before = DeniedReads::noted(cx.state())?;
        let mut denied = DeniedReads { rules: noted, ..before.clone() };
        let mut mixed = None;
        if !rules.is_empty() && (is_command || !self.is_searched(&denied.rules)) {
            let is_reading = |rule: &&Arc<Rule>| matches!(rule.part, Part::Path(Access::Read, _));
            standing.reads = rules.iter().filter(is_reading).cloned().collect();
            standing.shell = crate::bash::here(cx);
            let (call, spec) = (cx.call.clone(), cx.scope().tool_spec(&cx.tool).cloned());
            // Walking folders may block on the disk, and git is asked about its history.
            let (found, mixed_found) = tokio::task::spawn_blocking(move || {
                let mut denied = found(&rules, &base);
                if !is_command || standing.reads.is_empty() {
                    return (denied, None);
                }
                // A call that cannot be analysed is denied by the rules.
                let git = Subject::new(&call, spec.as_ref(), standing).map(|subject| subject.git).unwrap_or_default();
                denied.paths.extend(git.hide);
                (denied, git.mixed)
            })
            .await?;
            self.set_searched(&denied.rules);
            if is_command {
                denied = DeniedReads { rules: denied.rules, ..found };
                mixed = mixed_found;
            }
        }
        if denied != before {
            cx.note(Lasting::Step, denied)?;
        }
        mixed.map_or_else(proceed, deny)
    }
}

/// Returns the existing paths that these rules deny reading or changing, wherever they are now, and remembers them.
fn found(rules: &[Arc<Rule>], base: &Base) -> DeniedReads {
    let (mut paths, mut unchanged, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    let (reading, others): (Vec<_>, Vec<_>) =
        rules.iter().partition(|rule| matches!(rule.part, Part::Path(Access::Read, _)));
    for (rules, paths) in [(&reading, &mut paths), (&others, &mut unchanged)] {
        let mut search = Search { paths: Vec::new(), names_left: MAX_NAMES };
        for rule in rules {
            let Part::Path(access, pattern) = &rule.part else { continue };
            let is_beyond = search.look_for(pattern, base).is_none();
            beyond.extend((is_beyond && *access != Access::Named).then(|| rule.text().to_string()));
        }
        search.paths.iter().for_each(|path| former::remember(path));
        remember_inside(&search.paths);
        *paths = search.paths;
    }
    let distant: Vec<&PathPattern> = reading
        .iter()
        .filter_map(|rule| match &rule.part {
            Part::Path(_, pattern) if pattern.holds_outside() => Some(pattern),
            Part::All | Part::Command(_) | Part::Path(..) | Part::Host(_) => None,
        })
        .collect();
    if !distant.is_empty() {
        let mut outside = Search { paths: std::mem::take(&mut paths), names_left: MAX_NAMES };
        outside.look_outside(&distant, base);
        paths = outside.paths;
    }
    let refused = |path: &Path| {
        reading.iter().any(|rule| match &rule.part {
            Part::Path(_, pattern) => pattern.refuses(&path.to_string_lossy(), base),
            Part::All | Part::Command(_) | Part::Host(_) => false,
        })
    };
    for (before, now) in former::moved() {
        if refused(&before) && !paths.contains(&now) {
            paths.push(now);
        }
    }
    DeniedReads { paths, unchanged, beyond, rules: PathRules::default() }
}

/// Remembers what is in denied folders: a file may be moved out of one.
fn remember_inside(denied: &[PathBuf]) {
    let mut folders: Vec<PathBuf> = denied.iter().filter(|path| path.is_dir()).cloned().collect();
    let mut left = MAX_INSIDE;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(less) = left.checked_sub(1) else { return };
            left = less;
            former::remember_entry(&entry.path());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
}

/// Returns the places outside of the working folder where files are looked for: the folders around it, the home folder, the
/// folders for temporary files, and the root.
fn places_outside(base: &Base) -> Vec<PathBuf> {
    let around = base.folders.iter().flat_map(|folder| Path::new(folder).ancestors().skip(1).take(3));
    let home = base.home.iter().map(Path::new);
    let temporary = std::env::temp_dir();
    let others = [temporary.as_path(), Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/")];
    let mut places: Vec<PathBuf> = Vec::new();
    for place in around.chain(home).chain(others) {
        let Ok(place) = place.canonicalize() else { continue };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

struct Search {
    paths: Vec<PathBuf>,
    names_left: usize,
}

impl Search {
    /// Adds the paths of a pattern. Returns `None` if the limit was reached.
    fn look_for(&mut self, pattern: &PathPattern, base: &Base) -> Option<()> {
        let (begins, depth) = pattern.begins(base);
        let mut folders: Vec<(PathBuf, usize)> = Vec::new();
        for begin in begins {
            if depth == 0 {
                self.add(begin)?;
            } else {
                folders.push((begin, depth));
            }
        }
        while let Some((folder, depth)) = folders.pop() {
            // What cannot be listed here cannot be listed by a command either.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                self.names_left = self.names_left.checked_sub(1)?;
                let path = entry.path();
                if pattern.refuses(&path.to_string_lossy(), base) {
                    self.add(path)?;
                } else if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push((path, depth - 1));
                }
            }
        }
        Some(())
    }

    /// Adds the denied paths near the working folder and in the usual places, the nearest first, as far as the limits go. A
    /// file far away is left to the rules, which match it by name.
    fn look_outside(&mut self, patterns: &[&PathPattern], base: &Base) {
        let inside: Vec<PathBuf> =
            base.folders.iter().filter_map(|folder| Path::new(folder).canonicalize().ok()).collect();
        let mut seen: HashSet<PathBuf> = inside.into_iter().chain(OF_THE_SYSTEM.iter().map(PathBuf::from)).collect();
        let mut left_to_add = MAX_PATHS_OUTSIDE;
        for place in places_outside(base) {
            let mut names_left = MAX_NAMES_OUTSIDE;
            let mut folders = VecDeque::from([place]);
            while let Some(folder) = folders.pop_front() {
                if !seen.insert(folder.clone()) {
                    continue;
                }
                for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                    let Some(left) = names_left.checked_sub(1) else { break };
                    names_left = left;
                    let path = entry.path();
                    let text = path.to_string_lossy();
                    if patterns.iter().any(|pattern| pattern.refuses(&text, base)) {
                        let Some(left) = left_to_add.checked_sub(1) else { return };
                        left_to_add = left;
                        if self.add(path).is_none() {
                            return;
                        }
                    } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                        folders.push_back(path);
                    }
                }
                if names_left == 0 {
                    break;
                }
            }
        }
    }

    fn add(&mut self, path: PathBuf) -> Option<()> {
        // A link is refused with where it leads, also to nowhere.
        if path.symlink_metadata().is_ok() && !self.paths.contains(&path) {
            self.paths.push(path);
        }
        (self.paths.len() <= MAX_PATHS).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_found_and_a_folder_stands_for_what_is_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        for name in ["secret/a/key", "src/.env", "src/deep/.env", "src/a.pem", "b.pem"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            fs::write(path, "x").expect("a new file");
        }
        let root_text = root.display().to_string();
        let base = Base { folders: vec![root_text.clone(), root_text.clone()], home: vec![format!("{root_text}/src")] };
        let found = |rule: &str| {
            let rule = Arc::new(rule.parse::<Rule>().expect("a rule"));
            let DeniedReads { paths, beyond, .. } = found(&[rule], &base);
            assert_eq!(beyond, [""; 0]);
            // Files of the same name in other places of this machine do not count here.
            let below = paths.iter().filter_map(|path| path.strip_prefix(&root).ok());
            let mut below: Vec<String> = below.map(|path| path.display().to_string()).collect();
            below.sort();
            below
        };
        let cases: &[(&str, &[&str])] = &[
            ("Read(secret/**)", &["secret"]),
            ("Read(secret)", &["secret"]),
            ("Read(./secret/a/)", &["secret/a"]),
            ("Read(absent/**)", &[]),
            ("Read(.env)", &["src/.env", "src/deep/.env"]),
            ("Read(**/.env)", &["src/.env", "src/deep/.env"]),
            ("Read(src/*/.env)", &["src/deep/.env"]),
            ("Read(*.pem)", &["b.pem", "src/a.pem"]),
            ("Read(src/*.pem)", &["src/a.pem"]),
            ("Read(s*)", &["secret", "src"]),
            ("Read(~/deep/**)", &["src/deep"]),
            ("Read(**)", &[""]),
        ];
        for (rule, expected) in cases {
            assert_eq!(found(rule), *expected, "{rule}");
        }
        assert_eq!(found(&format!("Read({root_text}/src/.env)")), ["src/.env"]);
    }

    #[test]
    fn files_around_the_working_folder_are_found_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        for name in ["work/.env", "beside/app/.env", ".env"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            fs::write(path, "x").expect("a new file");
        }
        let base = Base { folders: vec![root.join("work").display().to_string()], home: Vec::new() };
        for rule in ["Read(**/.env)", "Read(.env)"] {
            let rule = Arc::new(rule.parse::<Rule>().expect("a rule"));
            let DeniedReads { paths, beyond, .. } = super::found(&[rule], &base);
            assert_eq!(beyond, [""; 0]);
            for name in ["work/.env", "beside/app/.env", ".env"] {
                assert!(paths.contains(&root.join(name)), "{name}: {paths:?}");
            }
        }
    }

    #[test]
    fn a_rule_that_too_many_paths_fit_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..=MAX_PATHS {
            fs::write(folder.path().join(number.to_string()), "").expect("a new file");
        }
        let base = Base { folders: vec![folder.path().display().to_string()], home: Vec::new() };
        let rule = Arc::new("Read(./*)".parse::<Rule>().expect("a rule"));
        assert_eq!(super::found(&[rule], &base).beyond, ["Read(./*)"]);
    }
}
