//! `Read(…)`, `Edit(…)`: path patterns and the paths that a call names.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

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
    /// For `**/…` and for a name alone: the pattern outside of the working folder. Only deny and ask rules hold there.
    outside: GlobSet,
    /// The texts of these sets, for [`Fits`].
    texts: Arc<Texts>,
}

#[derive(Debug)]
struct Texts {
    set: Vec<String>,
    led: Vec<String>,
    outside: Vec<String>,
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
        let outside = if from != From::Folder || is_whole_folder {
            Vec::new()
        } else if anywhere {
            // Elsewhere, a name alone is that of a file: `bin` is not `/usr/bin` with all that is in it.
            vec![pattern.clone()]
        } else if pattern.starts_with("**/") {
            patterns.clone()
        } else {
            Vec::new()
        };
        let led = if from == From::Root { led(&parts, &patterns) } else { Vec::new() };
        let parts = patterns[0].split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let (set, led_set, outside_set) = (set_of(&patterns)?, set_of(&led)?, set_of(&outside)?);
        let texts = Arc::new(Texts { set: patterns, led, outside });
        Ok(Self { from, parts, set, led: led_set, outside: outside_set, texts })
    }

    /// Returns the folders that contain all matching paths, and how deep to look. The depth is 0 if the folders match
    /// themselves.
    pub(super) fn begins(&self, base: &Base) -> (Vec<PathBuf>, usize) {
        self.begins_in(&Roots::of(base))
    }

    /// Like [`begins`](Self::begins), where many patterns begin in the same folders.
    pub(super) fn begins_in(&self, roots: &Roots) -> (Vec<PathBuf>, usize) {
        let plain = self.parts.iter().take_while(|part| !is_glob(part)).count();
        let (names, rest) = self.parts.split_at(plain);
        let depth = match rest {
            [] => 0,
            [all] if all == "**" => 0,
            rest if rest.iter().any(|part| part.contains("**")) => usize::MAX,
            rest => rest.len(),
        };
        let from = match self.from {
            From::Root => &[PathBuf::from("/")],
            From::Home => &roots.home[..],
            From::Folder => &roots.folders[..],
        };
        let begins = from.iter().map(|folder| names.iter().fold(folder.clone(), |path, name| path.join(name)));
        (begins.collect(), depth)
    }

    /// Returns whether something that the pattern names is there, below this folder.
    pub(super) fn is_below(&self, folder: &str, base: &Base) -> bool {
        let (begins, _) = self.begins(base);
        let is_named = self.parts.first().is_some_and(|part| !is_glob(part));
        is_named && begins.iter().any(|begin| begin.starts_with(folder) && begin.symlink_metadata().is_ok())
    }

    /// Returns whether the pattern needs the home folder.
    pub(super) fn needs_home(&self) -> bool {
        self.from == From::Home
    }

    /// Returns whether an absolute path matches, also through another name of the same place and, for `**/.env` and `.env`,
    /// outside of the working folder. Only for deny and ask rules: neither a link nor a distant file extends an allow rule.
    pub(super) fn refuses(&self, path: &str, base: &Base) -> bool {
        let from_root = path.trim_start_matches('/');
        let is_outside = || base.folders.iter().all(|folder| relative(folder, path).is_none());
        self.holds(path, base)
            || self.led.is_match(from_root)
            || (self.holds_outside() && is_outside() && self.outside.is_match(from_root))
    }

    /// Returns whether the pattern, in a deny or ask rule, also matches outside of the working folder.
    pub(super) fn holds_outside(&self) -> bool {
        !self.outside.is_empty()
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

/// The folders that patterns begin in, with links resolved: one folder may have two spellings.
pub(super) struct Roots {
    folders: Vec<PathBuf>,
    home: Vec<PathBuf>,
}

impl Roots {
    pub(super) fn of(base: &Base) -> Self {
        let real = |folders: &[String]| {
            let mut all: Vec<PathBuf> = Vec::new();
            for folder in folders {
                let folder = Path::new(folder).canonicalize().unwrap_or_else(|_| folder.into());
                if !all.contains(&folder) {
                    all.push(folder);
                }
            }
            all
        };
        Self { folders: real(&base.folders), home: real(&base.home) }
    }
}

/// Many patterns as one: a path is compared with all of them at once, as [`PathPattern::refuses`] compares it with one.
#[derive(Debug)]
pub(super) struct Fits {
    inside: Vec<Chunk>,
    outside: Vec<Chunk>,
    folders: Vec<String>,
    /// Patterns that are too large together with their folder. Nothing is known of them.
    pub(super) unknown: Vec<usize>,
}

/// As many patterns as one set can hold, and whose they are.
#[derive(Debug)]
struct Chunk {
    set: GlobSet,
    owners: Vec<usize>,
}

impl Fits {
    /// Compiles patterns; the numbers are those of their owners.
    pub(super) fn new<'p>(patterns: impl Iterator<Item = (usize, &'p PathPattern)>, base: &Base) -> Self {
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for (owner, pattern) in patterns {
            let Texts { set, led, outside: beyond } = &*pattern.texts;
            let folders = match pattern.from {
                From::Root => None,
                From::Home => Some(&base.home),
                From::Folder => Some(&base.folders),
            };
            match folders {
                None => inside.extend(set.iter().map(|text| (text.clone(), owner))),
                Some(folders) => {
                    for folder in folders {
                        let folder = globset::escape(folder.trim_matches('/'));
                        let below = |text: &String| match text.as_str() {
                            "" => folder.clone(),
                            _ if folder.is_empty() => text.clone(),
                            _ => format!("{folder}/{text}"),
                        };
                        inside.extend(set.iter().map(|text| (below(text), owner)));
                    }
                }
            }
            inside.extend(led.iter().map(|text| (text.clone(), owner)));
            outside.extend(beyond.iter().map(|text| (text.clone(), owner)));
        }
        let mut unknown = Vec::new();
        let (inside, outside) = (chunks(&inside, &mut unknown), chunks(&outside, &mut unknown));
        Self { inside, outside, folders: base.folders.clone(), unknown }
    }

    /// Returns whether there is no pattern.
    pub(super) fn is_empty(&self) -> bool {
        self.inside.is_empty() && self.outside.is_empty()
    }

    /// Returns whether an absolute path matches one of the patterns.
    pub(super) fn any(&self, path: &str) -> bool {
        let from_root = path.trim_start_matches('/');
        let is_match = |chunks: &[Chunk]| chunks.iter().any(|chunk| chunk.set.is_match(from_root));
        is_match(&self.inside) || (!self.outside.is_empty() && self.is_outside(path) && is_match(&self.outside))
    }

    /// Returns the owners of all patterns that an absolute path matches.
    pub(super) fn owners(&self, path: &str) -> Vec<usize> {
        let from_root = path.trim_start_matches('/');
        let outside = if self.is_outside(path) { &self.outside[..] } else { &[] };
        let all = self.inside.iter().chain(outside);
        all.flat_map(|chunk| chunk.set.matches(from_root).into_iter().map(|at| chunk.owners[at])).collect()
    }

    fn is_outside(&self, path: &str) -> bool {
        self.folders.iter().all(|folder| relative(folder, path).is_none())
    }
}

/// Compiles patterns into as few sets as possible.
fn chunks(patterns: &[(String, usize)], unknown: &mut Vec<usize>) -> Vec<Chunk> {
    if patterns.is_empty() {
        return Vec::new();
    }
    let texts: Vec<&str> = patterns.iter().map(|(text, _)| text.as_str()).collect();
    match set_of(&texts) {
        Ok(set) => vec![Chunk { set, owners: patterns.iter().map(|(_, owner)| *owner).collect() }],
        Err(_) if patterns.len() == 1 => {
            unknown.push(patterns[0].1);
            Vec::new()
        }
        Err(_) => {
            let (one, other) = patterns.split_at(patterns.len() / 2);
            [chunks(one, unknown), chunks(other, unknown)].into_iter().flatten().collect()
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

fn set_of(patterns: &[impl AsRef<str>]) -> Result<GlobSet, Wrong> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern.as_ref()).literal_separator(true).backslash_escape(true).build();
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

/// Returns the parts of a word that can be a path: `a`, `-o=a`, `of=a`, `@a`, `-I/a`.
pub(super) fn path_in(word: &str) -> Option<&str> {
    if word.starts_with('-') {
        let start = word.find('=').map(|at| at + 1).or_else(|| word.find(['/', '~']))?;
        return word.get(start..).filter(|path| !path.is_empty());
    }
    let value = word.rsplit('=').next().unwrap_or(word);
    let path = value.strip_prefix('@').unwrap_or(value);
    (!path.is_empty()).then_some(path)
}

/// How many places in a word are looked at.
const MAX_ATTACHED: usize = 16;

/// Returns the texts in a word that may be a path behind letters: `-ofile`, `-sSofile`, and what a script of `sed` reads or
/// writes, as in `1wfile`.
pub(super) fn attached<'w>(program: &str, word: &'w str) -> impl Iterator<Item = &'w str> {
    let is_option = word.starts_with('-') && !word.starts_with("--");
    let is_script = matches!(program, "sed" | "gsed");
    let behind = word.char_indices().skip(1).filter(move |(at, before)| {
        (is_option && before.is_ascii_alphanumeric()) || (is_script && *at > 0 && "rRwW".contains(*before))
    });
    let texts = behind.take(MAX_ATTACHED).map(|(at, before)| word[at + before.len_utf8()..].trim_start_matches('@'));
    texts.filter(|text| !text.is_empty())
}

/// Returns whether a pathspec of git leaves something out: `:!a`, `:(exclude)a`.
pub(super) fn leaves_out(word: &str) -> bool {
    let magic = word.strip_prefix(":(").and_then(|rest| rest.split_once(')')).map_or("", |(magic, _)| magic);
    word.starts_with(":!") || word.starts_with(":^") || magic.split(',').any(|word| word == "exclude")
}

/// The longest path.
const MAX_PATH_BYTES: usize = 4096;

/// Returns whether a text is short enough for a path and has one line.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_PATH_BYTES && !text.contains(['\n', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Base {
        Base { folders: vec!["/repo".to_owned()], home: vec!["/home/me".to_owned()] }
    }

    #[test]
    fn a_path_may_stand_behind_the_letters_of_options_and_in_scripts() {
        for (program, word, path, expected) in [
            ("sort", "-olocked.txt", "locked.txt", true),
            ("curl", "-sSolocked.txt", "locked.txt", true),
            ("curl", "-d@.env", ".env", true),
            ("sed", "s/x/y/wlocked.txt", "locked.txt", true),
            ("sed", "1r.env", ".env", true),
            ("cat", "s/x/y/wlocked.txt", "locked.txt", false),
            ("cat", "--olocked.txt", "locked.txt", false),
            ("cat", "unlocked.txt", "locked.txt", false),
        ] {
            assert_eq!(attached(program, word).any(|found| found == path), expected, "{program} {word}");
        }
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
    fn a_deny_rule_for_a_file_at_any_depth_holds_in_every_folder() {
        let cases = [
            ("**/.env", "/srv/app/.env", true),
            ("**/.env", "/.env", true),
            ("**/.env", "/srv/.env/x", true),
            ("**/.env", "/srv/app/.envrc", false),
            (".env", "/srv/app/.env", true),
            ("*.pem", "/etc/a.pem", true),
            ("bin", "/usr/bin/env", false),
            ("bin", "/repo/bin/env", true),
            ("**", "/srv/x", false),
            ("config/.env", "/srv/config/.env", false),
            ("**/srv/**", "/repo/a", false),
        ];
        for (pattern, path, expected) in cases {
            let Ok(compiled) = PathPattern::new("Read", pattern) else { panic!("{pattern}") };
            assert_eq!(compiled.refuses(path, &base()), expected, "{pattern}: {path}");
            assert!(!compiled.holds(path, &base()) || path.starts_with("/repo/"), "allow {pattern}: {path}");
        }
        let in_tmp = Base { folders: vec!["/tmp/work".to_owned()], home: Vec::new() };
        let Ok(tmp) = PathPattern::new("Read", "**/tmp") else { panic!("a pattern") };
        assert!(!tmp.refuses("/tmp/work/a", &in_tmp), "the folders above the working folder do not count in it");
    }

    #[test]
    fn many_patterns_at_once_match_what_each_of_them_matches() {
        let texts =
            ["src/**", "*.rs", ".env", "**/.env", "/etc/**", "~/.ssh", "a\\*b", "docs/", "s?c/*.txt", "**", "~"];
        let paths = [
            "/repo",
            "/repo/src",
            "/repo/src/a/b.rs",
            "/repo/x.rs",
            "/other/x.rs",
            "/repo/.env",
            "/srv/.env",
            "/srv/.env/x",
            "/etc/passwd",
            "/etcetera",
            "/home/me/.ssh/id",
            "/home/you/.ssh/id",
            "/repo/a*b",
            "/repo/axb",
            "/repo/docs/x",
            "/repo/sac/y.txt",
            "/home/me",
            "/",
        ];
        let patterns: Vec<PathPattern> =
            texts.iter().map(|text| PathPattern::new("Read", text).unwrap_or_else(|_| panic!("{text}"))).collect();
        let fits = Fits::new(patterns.iter().enumerate(), &base());
        assert!(fits.unknown.is_empty());
        for path in paths {
            let one_by_one: Vec<usize> =
                (0..patterns.len()).filter(|at| patterns[*at].refuses(path, &base())).collect();
            let mut at_once = fits.owners(path);
            at_once.sort_unstable();
            at_once.dedup();
            assert_eq!(at_once, one_by_one, "{path}");
            assert_eq!(fits.any(path), !one_by_one.is_empty(), "{path}");
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
