//! Finds the existing paths that rules deny reading, for the sandbox. Rules match the text of a command, and a text can name a
//! path in more ways than can be analysed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use vertebra::prelude::*;

use super::{
    Rules,
    analysed::Analysed,
    path::{Base, Fits, PathPattern, Roots},
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
    /// Where the judge finds what was found out about a command.
    analysed: Arc<Analysed>,
    /// The rules whose paths have been looked for, so that they are known if they are renamed later.
    searched: Mutex<HashSet<PathRules>>,
    /// The last rules, compiled: they seldom change between two calls.
    compiled: Mutex<Option<(PathRules, Arc<Compiled>)>>,
}

impl Reads {
    pub(super) fn new(rules: Rules, analysed: Arc<Analysed>) -> Self {
        Self { rules, analysed, searched: Mutex::default(), compiled: Mutex::default() }
    }

    fn compiled(&self, noted: &PathRules) -> Option<Arc<Compiled>> {
        let last = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(rules, _)| rules == noted).map(|(_, compiled)| compiled.clone())
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
            let compiled = self.compiled(&denied.rules);
            // Walking folders may block on the disk, and git is asked about its history.
            let (analysed, run) = (self.analysed.clone(), cx.at.run.clone());
            let (compiled, found, mixed_found) = tokio::task::spawn_blocking(move || {
                let compiled = compiled.unwrap_or_else(|| Arc::new(Compiled::new(&rules, &base)));
                let mut denied = found(&rules, &compiled, &base);
                if !is_command || standing.reads.is_empty() {
                    return (compiled, denied, None);
                }
                // A call that cannot be analysed is denied by the rules.
                let reads = standing.reads.clone();
                let subject = Subject::new(&call, spec.as_ref(), standing.clone()).map(Arc::new);
                let mut git = subject.as_ref().map(|subject| subject.git.clone()).unwrap_or_default();
                if let Ok(subject) = subject {
                    analysed.put(&run, &call, standing, subject);
                }
                // A clone that a command made can only be where commands write.
                git.hide_others(&reads, &base, &std::env::temp_dir());
                denied.paths.extend(git.hide);
                denied.without_renames = git.holds_hidden;
                (compiled, denied, git.mixed)
            })
            .await?;
            *self.compiled.lock().unwrap_or_else(PoisonError::into_inner) = Some((denied.rules.clone(), compiled));
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

/// The patterns of rules that have to be looked for.
struct Compiled {
    /// Those of rules about reading.
    reading: Fits,
    /// Those of other rules.
    others: Fits,
    /// Those of rules about reading that hold outside of the working folder too.
    distant: Fits,
}

impl Compiled {
    fn new(rules: &[Arc<Rule>], base: &Base) -> Self {
        let roots = Roots::of(base);
        let is_sought = |(_, pattern): &(usize, &PathPattern)| pattern.begins_in(&roots).1 > 0;
        let distant = patterns(rules, is_reading).filter(|(_, pattern)| pattern.holds_outside());
        Self {
            reading: Fits::new(patterns(rules, is_reading).filter(is_sought), base),
            others: Fits::new(patterns(rules, |access| !is_reading(access)).filter(is_sought), base),
            distant: Fits::new(distant, base),
        }
    }
}

fn is_reading(access: Access) -> bool {
    access == Access::Read
}

/// Returns the patterns of rules about paths, with the number of the rule.
fn patterns(rules: &[Arc<Rule>], of: fn(Access) -> bool) -> impl Iterator<Item = (usize, &PathPattern)> {
    rules.iter().enumerate().filter_map(move |(owner, rule)| match &rule.part {
        Part::Path(access, pattern) if of(*access) => Some((owner, pattern)),
        Part::All | Part::Command(_) | Part::Path(..) | Part::Host(_) => None,
    })
}

/// Returns the existing paths that these rules deny reading or changing, wherever they are now, and remembers them.
fn found(rules: &[Arc<Rule>], compiled: &Compiled, base: &Base) -> DeniedReads {
    let roots = Roots::of(base);
    let mut reading = Search::new(patterns(rules, is_reading), &compiled.reading, &roots);
    let mut others = Search::new(patterns(rules, |access| !is_reading(access)), &compiled.others, &roots);
    walk(&mut reading, &mut others);
    let is_named = |owner: &usize| matches!(rules[*owner].part, Part::Path(Access::Named, _));
    let beyond = reading.beyond.iter().chain(&others.beyond).filter(|owner| !is_named(owner));
    let beyond = beyond.map(|owner| rules[*owner].text().to_string()).collect();
    for search in [&reading, &others] {
        search.paths.iter().for_each(|path| former::remember(path));
        remember_inside(&search.paths);
    }
    reading.look_outside(&compiled.distant, base);
    let mut paths = reading.paths;
    let refused =
        |path: &Path| patterns(rules, is_reading).any(|(_, pattern)| pattern.refuses(&path.to_string_lossy(), base));
    for (before, now) in former::moved() {
        if refused(&before) && !paths.contains(&now) {
            paths.push(now);
        }
    }
    DeniedReads { paths, unchanged: others.paths, beyond, without_renames: false, rules: PathRules::default() }
}

/// Returns the paths that are there and that rules of this kind are about. Returns `None` if they are too many to list.
pub(super) fn existing(rules: &[Arc<Rule>], base: &Base) -> Option<Vec<PathBuf>> {
    let DeniedReads { mut paths, unchanged, beyond, .. } = found(rules, &Compiled::new(rules, base), base);
    paths.extend(unchanged);
    beyond.is_empty().then_some(paths)
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
    let temporary = std::env::temp_dir();
    let home = base.home.iter().map(Path::new);
    let others = [temporary.as_path(), Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/")];
    let mut places: Vec<PathBuf> = Vec::new();
    for place in around.chain(home).chain(others).filter_map(|place| place.canonicalize().ok()) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The paths of some rules.
struct Search<'f> {
    paths: Vec<PathBuf>,
    known: HashSet<PathBuf>,
    /// The patterns that have to be looked for.
    fits: &'f Fits,
    /// The folders in which they are looked for, and how deep.
    begins: Vec<(PathBuf, usize)>,
    /// The rules that have to be looked for.
    sought: Vec<usize>,
    /// The rules that fit more than can be listed.
    beyond: BTreeSet<usize>,
}

impl<'f> Search<'f> {
    /// Adds the paths that rules name without a pattern. The rest is looked for by [`walk`].
    fn new<'p>(rules: impl Iterator<Item = (usize, &'p PathPattern)>, fits: &'f Fits, roots: &Roots) -> Self {
        let mut named = Vec::new();
        let (mut begins, mut sought) = (BTreeMap::new(), Vec::new());
        for (owner, pattern) in rules {
            let (folders, depth) = pattern.begins_in(roots);
            if depth == 0 {
                named.extend(folders.into_iter().map(|path| (owner, path)));
                continue;
            }
            for folder in folders {
                let deepest: &mut usize = begins.entry(folder).or_default();
                *deepest = depth.max(*deepest);
            }
            sought.push(owner);
        }
        let mut search = Self {
            paths: Vec::new(),
            known: HashSet::new(),
            beyond: fits.unknown.iter().copied().collect(),
            fits,
            begins: begins.into_iter().collect(),
            sought,
        };
        for (owner, path) in named {
            if search.add(path).is_none() {
                search.beyond.insert(owner);
            }
        }
        search
    }

    /// Adds a path if it fits. Returns whether it does.
    fn look_at(&mut self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        let is_found = self.fits.any(&text);
        if is_found && self.add(path.to_owned()).is_none() {
            self.beyond.extend(self.fits.owners(&text));
        }
        is_found
    }

    /// Adds the denied paths near the working folder and in the usual places, the nearest first, as far as the limits go. A
    /// file far away is left to the rules, which match it by name.
    fn look_outside(&mut self, patterns: &Fits, base: &Base) {
        if patterns.is_empty() {
            return;
        }
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
                    if patterns.any(&path.to_string_lossy()) {
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

    /// Adds a path that is there. Returns `None` if there are too many.
    fn add(&mut self, path: PathBuf) -> Option<()> {
        // A link is refused with where it leads, also to nowhere.
        if self.known.contains(&path) || path.symlink_metadata().is_err() {
            return Some(());
        }
        if self.paths.len() > MAX_PATHS {
            return None;
        }
        self.known.insert(path.clone());
        self.paths.push(path);
        (self.paths.len() <= MAX_PATHS).then_some(())
    }
}

/// Looks for the paths of both searches in one walk. A folder that is found stands for what is in it.
fn walk(reading: &mut Search<'_>, others: &mut Search<'_>) {
    // For each folder, how deep it is looked through, for either search.
    let mut folders: BTreeMap<PathBuf, (usize, usize)> = BTreeMap::new();
    for (folder, depth) in reading.begins.drain(..) {
        folders.entry(folder).or_default().0 = depth;
    }
    for (folder, depth) in others.begins.drain(..) {
        folders.entry(folder).or_default().1 = depth;
    }
    let mut seen: HashMap<PathBuf, (usize, usize)> = HashMap::new();
    let mut names_left = MAX_NAMES;
    // The outermost folders come first.
    for (folder, depths) in folders {
        let mut folders = vec![(folder, depths)];
        while let Some((folder, depths)) = folders.pop() {
            let before = seen.entry(folder.clone()).or_default();
            if depths.0 <= before.0 && depths.1 <= before.1 {
                continue;
            }
            *before = (depths.0.max(before.0), depths.1.max(before.1));
            // What cannot be listed here cannot be listed by a command either.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Some(left) = names_left.checked_sub(1) else {
                    reading.beyond.extend(reading.sought.iter().copied());
                    others.beyond.extend(others.sought.iter().copied());
                    return;
                };
                names_left = left;
                let path = entry.path();
                let below = |depth: usize, search: &mut Search<'_>| {
                    if depth == 0 || search.look_at(&path) { 0 } else { depth - 1 }
                };
                let deeper = (below(depths.0, reading), below(depths.1, others));
                if deeper != (0, 0) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push((path, deeper));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rules: &[Arc<Rule>], base: &Base) -> DeniedReads {
        super::found(rules, &Compiled::new(rules, base), base)
    }

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
            let DeniedReads { paths, beyond, .. } = found(&[rule], &base);
            assert_eq!(beyond, [""; 0]);
            for name in ["work/.env", "beside/app/.env", ".env"] {
                assert!(paths.contains(&root.join(name)), "{name}: {paths:?}");
            }
        }
    }

    #[test]
    fn five_thousand_rules_are_looked_for_in_one_walk() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        for number in 0..40 {
            let inner = root.join(format!("folder{number}/deep"));
            fs::create_dir_all(&inner).expect("a new folder");
            (0..50).for_each(|file| fs::write(inner.join(format!("file{file}")), "").expect("a new file"));
        }
        fs::write(root.join("folder7/deep/secret4321"), "").expect("a new file");
        fs::write(root.join("folder8/kept4321"), "").expect("a new file");
        let base = Base { folders: vec![root.display().to_string()], home: Vec::new() };
        let forms = ["Read(secret{})", "Read(**/x{}/*.key)", "Edit(kept{})", "Read(./a{}/**)", "Read(/nowhere/{}/*)"];
        let rules = (0..5000).map(|at| forms[at % forms.len()].replace("{}", &at.to_string()));
        let rules = rules.chain(["Read(secret4321)".to_owned(), "Edit(kept4321)".to_owned()]);
        let rules: Vec<Arc<Rule>> = rules.map(|rule| Arc::new(rule.parse::<Rule>().expect("a rule"))).collect();
        let DeniedReads { paths, unchanged, beyond, .. } = found(&rules, &base);
        assert_eq!(beyond, [""; 0]);
        assert_eq!(paths, [root.join("folder7/deep/secret4321")]);
        assert_eq!(unchanged, [root.join("folder8/kept4321")]);
    }

    #[test]
    fn a_rule_that_too_many_paths_fit_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..=MAX_PATHS {
            fs::write(folder.path().join(number.to_string()), "").expect("a new file");
        }
        let base = Base { folders: vec![folder.path().display().to_string()], home: Vec::new() };
        let rule = Arc::new("Read(./*)".parse::<Rule>().expect("a rule"));
        assert_eq!(found(&[rule], &base).beyond, ["Read(./*)"]);
    }
}
