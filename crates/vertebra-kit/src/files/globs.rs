//! Globs over paths below a root: `*` stays within a folder, `**` crosses folders, and a glob without a slash matches at
//! any depth.

use std::path::{Component, Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::FilesError;

/// How long one pattern may be.
const MAX_PATTERN_BYTES: usize = 1024;

/// Whether `A` and `a` are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// They are: for rules, because file systems differ in this.
    Ignored,
    /// They are not: for searches.
    Matters,
}

/// Paths that something holds for. What holds for a folder holds for everything in it.
#[derive(Debug, Clone, Default)]
pub(super) struct PathRules {
    patterns: Vec<String>,
    set: GlobSet,
}

impl PathRules {
    pub(super) fn new(patterns: Vec<String>) -> Result<Self, FilesError> {
        let set = compile(&patterns, Case::Ignored)?;
        Ok(Self { patterns, set })
    }

    pub(super) fn and(self, pattern: String) -> Result<Self, FilesError> {
        Self::new(self.patterns.into_iter().chain([pattern]).collect())
    }

    pub(super) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether this path, or a folder it is in, is meant.
    pub(super) fn hold(&self, path: &Path) -> bool {
        path.ancestors().any(|part| self.set.is_match(part))
    }
}

/// One matcher for all of these patterns.
pub(super) fn compile(patterns: &[String], case: Case) -> Result<GlobSet, FilesError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let plain = pattern.strip_prefix("./").unwrap_or(pattern);
        let inside = Path::new(plain).components().all(|part| matches!(part, Component::Normal(_)));
        if plain.is_empty() || !inside || plain.len() > MAX_PATTERN_BYTES {
            return Err(FilesError::Pattern { pattern: pattern.clone() });
        }
        let plain = plain.trim_end_matches('/');
        let anchored = if plain.contains('/') { plain.to_owned() } else { format!("**/{plain}") };
        // `secrets/**` means the folder, too: its list of names is part of what is in it.
        let folder = anchored.strip_suffix("/**").filter(|_| case == Case::Ignored);
        for glob in [Some(anchored.as_str()), folder].into_iter().flatten() {
            let glob = GlobBuilder::new(glob)
                .literal_separator(true)
                .case_insensitive(case == Case::Ignored)
                .build()
                .map_err(|source| FilesError::Glob { pattern: pattern.clone(), source })?;
            set.add(glob);
        }
    }
    set.build().map_err(|source| FilesError::Glob { pattern: patterns.join(", "), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_holds_for_the_folder_what_is_in_it_and_every_spelling_of_case() {
        let rules =
            PathRules::new(vec!["secrets/**".to_owned(), ".git".to_owned(), "*.pem".to_owned()]).expect("globs");
        for path in ["secrets", "secrets/a", "SECRETS/a/b", ".git", ".GIT/hooks/x", "a/.git/config", "a/b/key.PEM"] {
            assert!(rules.hold(Path::new(path)), "{path}");
        }
        for path in ["", "secretsx", "a/secrets/b", ".github/x", "key.pem.txt"] {
            assert!(!rules.hold(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_rule_that_could_never_hold_is_an_error() {
        for pattern in ["", "/etc/**", "../x", "a/../b", "[", "."] {
            assert!(PathRules::new(vec![pattern.to_owned()]).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_search_knows_braces_and_double_stars_and_minds_case() {
        let set = compile(&["src/**/*.{rs,toml}".to_owned(), "LICENSE*".to_owned()], Case::Matters).expect("globs");
        for path in ["src/a.rs", "src/a/b/c.toml", "LICENSE", "deep/LICENSE-MIT"] {
            assert!(set.is_match(path), "{path}");
        }
        for path in ["a.rs", "src/a.py", "license"] {
            assert!(!set.is_match(path), "{path}");
        }
    }
}
