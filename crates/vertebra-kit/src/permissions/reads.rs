//! Finds the existing paths that rules deny reading, for the sandbox. Rules match the text of a command, and a text can name a
//! path in more ways than can be analysed.

use std::{fs, path::PathBuf, sync::Arc};

use vertebra::prelude::*;

use super::{
    Rules,
    path::{Base, PathPattern},
    rule::{Part, Rule},
};
use crate::denied::DeniedReads;

/// How many names are checked to find the denied paths.
const MAX_NAMES: usize = 50_000;

/// The maximum number of denied paths.
const MAX_PATHS: usize = 1000;

/// Notes the denied paths before each call that runs a command.
pub(super) struct Reads(pub(super) Rules);

impl Hook<BeforeToolUse> for Reads {
    async fn run(&self, cx: &mut ToolCx<'_>) -> Answer<BeforeToolUse> {
        let rules = self.0.refusals_to_read(&cx.at.run.session_id);
        if rules.is_empty() || ["command", "cmd"].iter().all(|name| cx.args.get(name).is_none()) {
            return proceed();
        }
        let standing = self.0.standing(&cx.at.run);
        // Walking folders may block on the disk.
        let denied = tokio::task::spawn_blocking(move || found(&rules, &standing.bases().1)).await?;
        cx.note(Lasting::Step, denied)?;
        proceed()
    }
}

/// The existing paths that these rules deny.
fn found(rules: &[Arc<Rule>], base: &Base) -> DeniedReads {
    let mut search = Search { paths: Vec::new(), names_left: MAX_NAMES };
    let mut beyond = Vec::new();
    for rule in rules {
        let Part::Path(_, pattern) = &rule.part else { continue };
        if search.look_for(pattern, base).is_none() {
            beyond.push(rule.text().to_string());
        }
    }
    DeniedReads { paths: search.paths, beyond }
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
            let DeniedReads { paths, beyond } = found(&[rule], &base);
            assert_eq!(beyond, [""; 0]);
            let mut below: Vec<String> =
                paths.iter().map(|path| path.strip_prefix(&root).expect("below").display().to_string()).collect();
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
