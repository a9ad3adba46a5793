//! `Read(…)`, `Edit(…)`: path patterns and the paths that a call names.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use vertebra::paths::absolute;

use super::rule::Wrong;
use crate::denied::former;

/// A path pattern: `*` matches within a folder, `**` across folders. A folder also matches everything below it.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    from: From,
    parts: Vec<String>,
    set: GlobSet,
    /// The same pattern as an absolute path, with the links resolved when the rule was read.
    led: GlobSet,
}

/// Where a pattern starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Root,
    Home,
    Folder,
}

/// The folders that relative patterns refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Base {
    /// All paths of the working folder.
    pub(super) folders: Vec<String>,
    /// All paths of the home folder.
    pub(super) home: Vec<String>,
}

impl PathPattern {
    pub(super) fn new(tool: &str, text: &str) -> Result<Self, Wrong> {
        let (from, rest) = match text {
            "~" => (From::Home, ""),
            _ if text.starts_with("~/") => (From::Home, &text[2..]),
            _ if text.starts_with('/') => (From::Root, text.trim_start_matches('/')),
            _ => (From::Folder, text),
        };
        if text.starts_with('~') && from != From::Home {
            return Err(Wrong::new(
                "only your own home folder is known",
                format!("write `{tool}(~/…)` or `{tool}(/home/…)`"),
            ));
        }
        // A name alone holds at any depth of the working folder, as in `.gitignore`.
        let anywhere = from == From::Folder && !rest.trim_end_matches('/').contains('/');
        let parts: Vec<&str> = rest.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            let instead = "write the path from `/`, from `~`, or from the working folder";
            return Err(Wrong::new("a pattern cannot contain `..`", instead));
        }
        let pattern = parts.join("/");
        let is_whole_folder = pattern.is_empty() || pattern == "**";
        let pattern = if anywhere && !is_whole_folder { format!("**/{pattern}") } else { pattern };
        let mut patterns = vec![pattern.clone()];
        if let Some(folder) = pattern.strip_suffix("/**") {
            patterns.push(folder.to_owned());
        } else if is_whole_folder {
            patterns.extend(["**".to_owned(), String::new()]);
        } else if !parts.last().is_some_and(|last| last.contains(['*', '?', '[', '{'])) {
            patterns.push(format!("{pattern}/**"));
        }
        let led = if from == From::Root { led(&parts, &patterns) } else { Vec::new() };
        let parts = patterns[0].split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Ok(Self { from, parts, set: set_of(&patterns)?, led: set_of(&led)? })
    }

    /// Returns the folders that contain all matching paths, and how deep to look. The depth is 0 if the folders match
    /// themselves.
    pub(super) fn begins(&self, base: &Base) -> (Vec<PathBuf>, usize) {
        let plain = self.parts.iter().take_while(|part| !is_glob(part)).count();
        let (names, rest) = self.parts.split_at(plain);
        let depth = match rest {
            [] => 0,
            [all] if all == "**" => 0,
            rest if rest.iter().any(|part| part.contains("**")) => usize::MAX,
            rest => rest.len(),
        };
        let root = ["/".to_owned()];
        let from = match self.from {
            From::Root => &root[..],
            From::Home => &base.home,
            From::Folder => &base.folders,
        };
        let mut begins = Vec::new();
        for folder in from {
            // One folder may have two spellings.
            let folder = Path::new(folder).canonicalize().unwrap_or_else(|_| folder.into());
            let begin = names.iter().fold(folder, |path, name| path.join(name));
            if !begins.contains(&begin) {
                begins.push(begin);
            }
        }
        (begins, depth)
    }

    /// Returns whether the pattern needs the home folder.
    pub(super) fn needs_home(&self) -> bool {
        self.from == From::Home
    }

    /// Returns whether an absolute path matches, also through another name of the same place. Only for deny rules: a link
    /// never extends an allow rule.
    pub(super) fn refuses(&self, path: &str, base: &Base) -> bool {
        self.holds(path, base) || self.led.is_match(path.trim_start_matches('/'))
    }

    /// Returns whether an absolute path matches.
    pub(super) fn holds(&self, path: &str, base: &Base) -> bool {
        let below = |folder: &String| relative(folder, path).is_some_and(|rest| self.set.is_match(rest));
        match self.from {
            From::Root => self.set.is_match(path.trim_start_matches('/')),
            From::Home => base.home.iter().any(below),
            From::Folder => base.folders.iter().any(below),
        }
    }
}

/// Returns the same patterns with links resolved.
fn led(parts: &[&str], patterns: &[String]) -> Vec<String> {
    let names = parts.iter().copied().take_while(|part| !is_glob(part));
    let written = names.collect::<Vec<_>>().join("/");
    let real = real(Path::new(&format!("/{written}"))).unwrap_or_default();
    let real = real.trim_start_matches('/');
    if real.is_empty() || real == written {
        return Vec::new();
    }
    let real = globset::escape(real);
    patterns.iter().filter_map(|pattern| Some(format!("{real}{}", pattern.strip_prefix(&written)?))).collect()
}

/// Returns whether a part of a pattern can match more than one name.
fn is_glob(part: &str) -> bool {
    part.contains(['*', '?', '[', '{', '\\'])
}

fn set_of(patterns: &[String]) -> Result<GlobSet, Wrong> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
        let wrong = |error: globset::Error| {
            Wrong::new(error.kind().to_string(), "write `*` within a folder, `**` across folders")
        };
        set.add(glob.map_err(wrong)?);
    }
    set.build().map_err(|error| Wrong::new(error.to_string(), "write a shorter pattern"))
}

/// Returns the part of an absolute path below a folder, or an empty text for the folder itself.
pub(super) fn relative<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// A path that a call names, in all its forms: as written, from the home folder, through links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place(pub(super) Vec<String>);

impl Place {
    /// Creates it from a path in a call or a command.
    pub(super) fn new(folder: &str, path: &str, base: &Base) -> Self {
        let mut spellings = vec![absolute(folder, path)];
        let below_home = ["~", "$HOME", "${HOME}"].iter().find_map(|home| path.strip_prefix(home));
        if let Some(rest) = below_home.filter(|rest| is_end_of_name(rest)) {
            spellings.extend(base.home.iter().map(|home| absolute("/", &format!("{home}{rest}"))));
        }
        Self(spellings)
    }

    /// Adds the targets of links, and the paths that a renamed file had before.
    pub(super) fn follow_links(&mut self) {
        let real: Vec<String> = self.0.iter().filter_map(|path| real(Path::new(path))).collect();
        // A rule follows a file that was renamed.
        let former = self.0.iter().chain(&real).flat_map(|path| former::of_path(Path::new(path)));
        let former: Vec<String> = former.filter_map(|path| path.into_os_string().into_string().ok()).collect();
        for path in real.into_iter().chain(former) {
            if !self.0.contains(&path) {
                self.0.push(path);
            }
        }
    }

    /// Returns whether one of its forms fits.
    pub(super) fn any(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.0.iter().any(|path| fits(path))
    }

    /// Returns whether all of its forms fit.
    pub(super) fn all(&self, mut fits: impl FnMut(&str) -> bool) -> bool {
        self.0.iter().all(|path| fits(path))
    }
}

fn is_end_of_name(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// Resolves all links in the part of a path that exists.
pub(super) fn real(path: &Path) -> Option<String> {
    let mut missing = PathBuf::new();
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let whole = if missing.as_os_str().is_empty() { real } else { real.join(&missing) };
            return whole.into_os_string().into_string().ok();
        }
        let name = ancestor.file_name()?;
        missing = if missing.as_os_str().is_empty() { name.into() } else { Path::new(name).join(&missing) };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Base {
        Base { folders: vec!["/repo".to_owned()], home: vec!["/home/me".to_owned()] }
    }

    #[test]
    fn a_pattern_starts_at_the_root_at_home_or_in_the_folder() {
        let cases = [
            ("src/**", "/repo/src/a/b.rs", true),
            ("src/**", "/repo/src", true),
            ("src/**", "/repo/other/src/a", false),
            ("src/**", "/src/a", false),
            ("./src//**", "/repo/src/a", true),
            ("src/*", "/repo/src/a", true),
            ("src/*", "/repo/src/a/b", false),
            ("src", "/repo/src/a/b", true),
            ("docs/", "/repo/docs/x", true),
            ("*.rs", "/repo/a/b/c.rs", true),
            ("*.rs", "/other/c.rs", false),
            (".env", "/repo/deep/.env", true),
            (".env", "/repo/.env.example", false),
            ("**/.env", "/repo/.env", true),
            ("**", "/repo/x", true),
            ("**", "/repo", true),
            (".", "/repo/x/y", true),
            ("**", "/etc/x", false),
            ("/etc/**", "/etc/passwd", true),
            ("//etc/**", "/etc/passwd", true),
            ("/**", "/anything/at/all", true),
            ("/etc", "/etcetera", false),
            ("~/.ssh/**", "/home/me/.ssh/id", true),
            ("~/.ssh", "/home/me/.ssh/id", true),
            ("~/.ssh/**", "/home/you/.ssh/id", false),
            ("~", "/home/me/x", true),
            ("a\\*b", "/repo/a*b", true),
            ("a\\*b", "/repo/axb", false),
        ];
        for (pattern, path, expected) in cases {
            let Ok(compiled) = PathPattern::new("Read", pattern) else { panic!("{pattern}") };
            assert_eq!(compiled.holds(path, &base()), expected, "{pattern}: {path}");
        }
    }

    #[test]
    fn a_tilde_may_be_the_home_or_a_folder_of_that_name() {
        let place = |path| Place::new("/repo", path, &base()).0;
        assert_eq!(place("~/.ssh/../id"), ["/repo/~/id", "/home/me/id"]);
        assert_eq!(place("$HOME"), ["/repo/$HOME", "/home/me"]);
        assert_eq!(place("~x"), ["/repo/~x"]);
    }
}
