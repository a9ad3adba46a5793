//! Files that a command reads or changes without naming them: all below a folder (`grep -r`, `tar`, `rm -r`), those that `find`
//! finds, and those whose names `xargs` reads.
//!
//! Our own agent does not need this: its sandbox hides and keeps what rules deny, and its results are looked through. Another
//! agent has neither.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use globset::{GlobBuilder, GlobMatcher};

use super::{
    command::parts,
    judge::{Explanation, Held, short},
    path::Place,
    programs::{READERS, target},
    reads::existing,
    rule::{Access, Effect, Part, Rule},
    subject::Subject,
    unpacked::{Unpacked, unpacked},
};

/// Programs that show at most the names and sizes of what `find` and `xargs` give them.
const LISTERS: &[&str] = &[
    "basename", "dirname", "du", "echo", "file", "ls", "printf", "readlink", "realpath", "stat", "test", "true", "wc",
    "[",
];

/// Programs that are given numbers and names of other things than files.
const ABOUT_OTHERS: &[&str] = &[
    "apt",
    "apt-get",
    "brew",
    "cargo",
    "docker",
    "gh",
    "kill",
    "kubectl",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "systemctl",
    "yarn",
];

/// Subcommands of git that are given names of other things than files.
const ABOUT_REFS: &[&str] = &["branch", "fetch", "push", "remote", "tag", "worktree"];

/// Programs in a pipeline that pass on some of the names that they read.
const FILTERS: &[&str] = &["cd", "egrep", "grep", "head", "sort", "tail", "tee", "uniq"];

/// Programs that run what they are given: what they do to a file is not known.
const INTERPRETERS: &[&str] = &["bash", "dash", "ksh", "node", "perl", "php", "python", "python3", "ruby", "sh", "zsh"];

/// What one command reads or changes.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each of them holds or not, by itself")]
pub(super) struct Combed {
    command: String,
    /// The folders and files.
    places: Vec<Place>,
    changes: bool,
    reads: bool,
    /// Whether the files are not known: they may be others.
    is_unsure: bool,
    /// Whether names that begin with a dot count.
    hidden: bool,
    /// Patterns of which a file has to match one, if there are any.
    only: Vec<GlobMatcher>,
    /// Patterns of what is left out, and which of the names of a path they are about.
    except: Vec<(GlobMatcher, Which)>,
    /// How to leave a name out.
    leave_out: &'static str,
}

/// Whether a shell and `printf` leave a word as it is.
fn is_plain(word: &str) -> bool {
    !word.contains(['$', '`', '%', '\\', '*', '?', '[', '{', '~'])
}

/// A name of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// The last one.
    File,
    /// One of a folder.
    Folder,
    Any,
}

impl Combed {
    /// Finds them among the simple commands of a line.
    pub(super) fn of(commands: &[String], place: impl Fn(&str) -> Place) -> Vec<Self> {
        let found = commands.iter().filter_map(|command| {
            let (words, _) = parts(command);
            let program = words.first()?.rsplit('/').next()?;
            let mut combed = Self {
                command: command.clone(),
                places: Vec::new(),
                changes: false,
                reads: true,
                is_unsure: false,
                hidden: true,
                only: Vec::new(),
                except: Vec::new(),
                leave_out: "",
            };
            if let Some(Unpacked { names, is_unsure }) = unpacked(program, &words) {
                let there = names.iter().map(|name| place(name));
                combed.places = there.filter(|place| place.any(|path| Path::new(path).exists())).collect();
                (combed.changes, combed.reads, combed.is_unsure) = (true, false, is_unsure);
                return Some(combed).filter(|combed| !combed.places.is_empty());
            }
            let names = match program {
                "grep" | "egrep" | "fgrep" | "ggrep" | "zgrep" | "rgrep" => combed.grep(program, &words)?,
                "rg" | "ag" | "ack" => combed.ripgrep(&words)?,
                "find" | "gfind" => combed.find(&words)?,
                "fd" | "fdfind" => combed.fd(&words)?,
                "git" if words.get(1) == Some(&"grep") => Self::git_grep(&words)?,
                "git" if words.get(1) == Some(&"rm") => combed.copier("rm", &words[1..])?,
                "xargs" | "gxargs" | "parallel" => combed.xargs(&words, commands)?,
                _ => combed.copier(program, &words)?,
            };
            let there = names.iter().map(|name| place(name)).filter(|place| place.any(|path| Path::new(path).exists()));
            combed.places = there.collect();
            // Names that `xargs` reads and that are plain text are known: if none of them exists, there is no file.
            let is_known =
                || matches!(program, "xargs" | "gxargs" | "parallel") && names.iter().all(|name| is_plain(name));
            if combed.places.is_empty() && program != "rm" && !is_known() {
                combed.places.push(place("."));
            }
            Some(combed)
        });
        found.collect()
    }

    /// `grep -r`, unless it shows names only.
    fn grep<'w>(&mut self, program: &str, words: &[&'w str]) -> Option<Vec<&'w str>> {
        let recurses = program == "rgrep"
            || has_letter(words, &['r', 'R'])
            || has_long(words, &["--recursive", "--dereference-recursive", "--directories=recurse"])
            || words.windows(2).any(|pair| pair == ["-d", "recurse"]);
        if !recurses || has_letter(words, &['l', 'L', 'c', 'q']) || shows_names(words) {
            return None;
        }
        self.leave_out = " with `--exclude=NAME`";
        let at =
            |name: &str| words.iter().position(|word| word.starts_with(name) && !word.starts_with("--exclude-dir"));
        // If the first of these options leaves something out, every other file is searched.
        let is_limited = at("--include").is_some_and(|only| at("--exclude").is_none_or(|except| only < except));
        let only = globs(values(words, &["--include"]));
        let except = if only.is_empty() { values(words, &["--exclude"]) } else { Vec::new() };
        self.only = if is_limited { only } else { Vec::new() };
        self.leave_out_all(except, Which::File);
        self.leave_out_all(values(words, &["--exclude-dir"]), Which::Folder);
        Some(operands(words))
    }

    fn ripgrep<'w>(&mut self, words: &[&'w str]) -> Option<Vec<&'w str>> {
        if has_letter(words, &['l', 'c', 'q']) || shows_names(words) || has_long(words, &["--files", "--type-list"]) {
            return None;
        }
        self.hidden =
            words[0] == "ack" || has_long(words, &["--hidden", "--unrestricted"]) || has_letter(words, &['u', '.']);
        self.leave_out = " with `-g '!NAME'`";
        let (except, only): (Vec<&str>, Vec<&str>) =
            values(words, &["-g", "--glob", "--iglob"]).into_iter().partition(|glob| glob.starts_with('!'));
        // A later one takes back an earlier one.
        if only.is_empty() {
            self.leave_out_all(except.iter().map(|glob| glob.trim_start_matches('!')), Which::Any);
        }
        self.only = globs(only);
        let kinds = values(words, &["-t", "--type"]);
        self.only.extend(globs(kinds.iter().flat_map(|kind| endings(kind)).map(|ending| format!("*.{ending}"))));
        Some(operands(words))
    }

    /// `find` with an action. A search that only lists names reads no file.
    fn find<'w>(&mut self, words: &[&'w str]) -> Option<Vec<&'w str>> {
        let acts = |word: &&&str| matches!(**word, "-exec" | "-execdir" | "-ok" | "-okdir");
        let runs = words.iter().position(|word| acts(&word)).map(|at| at + 1).filter(|at| *at < words.len());
        if !words.contains(&"-delete") {
            self.runs(&words[runs?..])?;
        }
        self.changes |= words.contains(&"-delete");
        self.reads &= runs.is_some();
        self.named(words);
        Some(starts(words))
    }

    /// `fd` with an action.
    fn fd<'w>(&mut self, words: &[&'w str]) -> Option<Vec<&'w str>> {
        let at = words.iter().position(|word| matches!(*word, "-x" | "-X" | "--exec" | "--exec-batch"))?;
        self.hidden = has_long(words, &["--hidden", "--unrestricted"]) || has_letter(&words[..at], &['H', 'u']);
        self.runs(words.get(at + 1..)?)?;
        Some(vec!["."])
    }

    /// `git grep` in files that git does not know.
    fn git_grep<'w>(words: &[&'w str]) -> Option<Vec<&'w str>> {
        let is_wide = words.iter().any(|word| word.starts_with("--no-i") || word.starts_with("--unt"));
        if !is_wide || has_letter(words, &['l', 'L', 'c', 'q']) || shows_names(words) {
            return None;
        }
        Some(vec!["."])
    }

    fn leave_out_all<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>, which: Which) {
        let kept = texts.into_iter().filter_map(|text| glob(text.as_ref(), false));
        self.except.extend(kept.map(|glob| (glob, which)));
    }

    /// Notes what a program does that gets the names.
    fn runs(&mut self, words: &[&str]) -> Option<()> {
        let program = words.first()?.rsplit('/').next()?;
        let is_about_refs = program == "git" && words.get(1).is_some_and(|sub| ABOUT_REFS.contains(sub));
        if LISTERS.contains(&program) || ABOUT_OTHERS.contains(&program) || is_about_refs {
            return None;
        }
        self.is_unsure |= INTERPRETERS.contains(&program);
        self.changes = !READERS.contains(&program);
        self.reads = !matches!(program, "rm" | "touch" | "truncate" | "chmod" | "chown" | "unlink" | "rmdir");
        Some(())
    }

    /// Limits it to what `find` finds by name.
    fn named(&mut self, words: &[&str]) {
        if words.iter().any(|word| matches!(*word, "-o" | "-or" | "(" | "\\(" | ",")) {
            return;
        }
        // Tests after an action do not limit it.
        let actions =
            ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-print", "-print0", "-printf", "-ls", "-prune"];
        let end = words.iter().position(|word| actions.contains(word) || word.starts_with("-fp"));
        let tests = &words[..end.unwrap_or(words.len())];
        for at in 1..tests.len().saturating_sub(1) {
            if matches!(tests[at], "-name" | "-iname") {
                let not = |word: &&&str| matches!(**word, "!" | "\\!" | "-not");
                if tests[..at].iter().rev().take_while(not).count() % 2 == 1 {
                    self.leave_out_all([tests[at + 1]], Which::File);
                } else {
                    self.only.extend(globs([tests[at + 1]]));
                }
            }
        }
        self.leave_out = " with `-not -name NAME`";
    }

    /// `… | xargs PROGRAM`: the names that `find` finds, those of an `echo`, or any.
    fn xargs<'w>(&mut self, words: &[&'w str], commands: &'w [String]) -> Option<Vec<&'w str>> {
        const WITH_VALUE: &[&str] = &["-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--delimiter"];
        let mut at = 1;
        while words.get(at).is_some_and(|word| word.starts_with('-')) {
            at += if WITH_VALUE.contains(&words[at]) { 2 } else { 1 };
        }
        self.runs(words.get(at..)?)?;
        let own = words[at.min(words.len())..].join(" ");
        let beside = commands.iter().filter(|command| **command != self.command && **command != own);
        let beside: Vec<Vec<&str>> = beside.map(|command| parts(command).0).filter(|words| !words.is_empty()).collect();
        let sources: Vec<&Vec<&str>> = beside.iter().filter(|words| !FILTERS.contains(&words[0])).collect();
        let is_from_file = words.iter().any(|word| word.starts_with("-a") || word.starts_with("--arg"));
        match &*sources {
            _ if is_from_file => {}
            [words] if matches!(words[0], "find" | "ls") => {
                self.named(words);
                return Some(if words[0] == "find" { starts(words) } else { vec!["."] });
            }
            [words]
                if words.starts_with(&["git", "ls-files"]) && words[2..].iter().any(|word| !word.starts_with('-')) =>
            {
                self.only.extend(globs(words[2..].iter().filter(|word| !word.starts_with('-'))));
                return Some(vec!["."]);
            }
            [words] if matches!(words[0], "echo" | "printf") => {
                let said: Vec<&str> = words[1..].iter().flat_map(|word| word.split("\\n")).collect();
                if said.iter().all(|word| is_plain(word)) {
                    return said.iter().any(|word| Path::new(word).file_name().is_some()).then_some(said);
                }
            }
            _ => {}
        }
        self.is_unsure = true;
        Some(vec!["."])
    }

    /// Programs that copy, pack or remove folders.
    fn copier<'w>(&mut self, program: &str, words: &[&'w str]) -> Option<Vec<&'w str>> {
        let recurses = || has_letter(words, &['r', 'R', 'a']) || has_long(words, &["--recursive", "--archive"]);
        let mut names = operands_from(words, 0);
        match program {
            "cp" | "gcp" | "rsync" | "scp" if recurses() => {
                // The last one is where the copy goes.
                if target(program, words).is_none() {
                    names.pop();
                }
                if program == "rsync" {
                    self.leave_out = " with `--exclude=NAME`";
                    self.leave_out_all(values(words, &["--exclude"]), Which::Any);
                }
            }
            "tar" | "gtar" | "bsdtar" => {
                let mode = words.get(1).copied().unwrap_or_default();
                let creates = (!mode.starts_with("--") && mode.contains(['c', 'r', 'u']))
                    || has_letter(words, &['c', 'r', 'u'])
                    || has_long(words, &["--create", "--append", "--update"]);
                if !creates {
                    return None;
                }
                self.leave_out = " with `--exclude=NAME`";
                self.leave_out_all(values(words, &["--exclude"]), Which::Any);
            }
            "zip" if has_letter(words, &['r', 'R']) => self.leave_out = " with `-x NAME`",
            "7z" | "7za" if words.get(1) == Some(&"a") => {}
            "diff" if has_letter(words, &['r']) || has_long(words, &["--recursive"]) => {
                self.leave_out = " with `--exclude=NAME`";
                self.leave_out_all(values(words, &["-x", "--exclude"]), Which::Any);
            }
            "rm" if recurses() => {
                self.changes = true;
                self.reads = false;
            }
            _ => return None,
        }
        // Without a name, these do nothing.
        (!names.is_empty()).then_some(names)
    }

    /// Whether it reads or changes this path.
    fn reaches(&self, path: &Path) -> bool {
        self.places.iter().flat_map(|place| &place.0).any(|place| {
            let Ok(below) = path.strip_prefix(place) else { return false };
            let names: Vec<_> = below.iter().map(|name| name.to_string_lossy()).collect();
            let Some((last, above)) = names.split_last() else { return true };
            let is_only = |glob: &GlobMatcher| glob.is_match(below) || glob.is_match(&**last);
            let is_left_out = |(glob, which): &(GlobMatcher, Which)| {
                let is_folder = || above.iter().any(|name| glob.is_match(&**name)) || (path.is_dir() && is_only(glob));
                match which {
                    Which::File => !path.is_dir() && glob.is_match(&**last),
                    Which::Folder => is_folder(),
                    Which::Any => is_only(glob) || is_folder(),
                }
            };
            (self.hidden || names.iter().all(|name| !name.starts_with('.')))
                && (self.only.is_empty() || path.is_dir() || self.only.iter().any(is_only))
                && !self.except.iter().any(is_left_out)
        })
    }
}

/// Judges what a call reads or changes without naming it, by the rules about paths. Where it is not known what that is, a
/// person is asked.
pub(super) fn combed_by(subject: &Subject, rules: &[&Held]) -> Option<Explanation> {
    if subject.combed.is_empty() {
        return None;
    }
    let about = |effect: Effect| {
        rules.iter().filter(move |held| held.effect == effect).filter_map(|held| match &held.rule.part {
            Part::Path(access @ (Access::Read | Access::Edit), pattern) => Some((*held, *access, pattern)),
            Part::All | Part::Command(_) | Part::Path(..) | Part::Host(_) => None,
        })
    };
    let refusing = || [Effect::Deny, Effect::Ask].into_iter().flat_map(about);
    let texts: Vec<Arc<Rule>> = refusing().map(|(held, ..)| held.rule.clone()).collect();
    if texts.is_empty() {
        return None;
    }
    let there: Option<Vec<PathBuf>> = existing(&texts, &subject.wide_base);
    let mut asked = None;
    for (held, access, pattern) in refusing() {
        for combed in &subject.combed {
            if !(if access == Access::Edit { combed.changes } else { combed.reads }) {
                continue;
            }
            let is_it =
                |path: &&PathBuf| combed.reaches(path) && pattern.refuses(&path.to_string_lossy(), &subject.wide_base);
            let found = match &there {
                Some(there) => there.iter().find(is_it),
                None => None,
            };
            let Some(path) = found.map(|path| path.display().to_string()).or_else(|| there.is_none().then(String::new))
            else {
                continue;
            };
            let does = if access == Access::Edit { "change" } else { "read" };
            let command = short(&combed.command);
            if held.effect == Effect::Deny && !combed.is_unsure && there.is_some() {
                let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
                let how = combed.leave_out.replace("NAME", &name);
                let reason = format!("denied by {}: `{command}` would {does} {path}; leave it out{how}", held.listed());
                return Some(Explanation::by_rules(Effect::Deny, reason, vec![held.listed()]));
            }
            asked.get_or_insert_with(|| {
                let what = if path.is_empty() { "files that it is about" } else { &path };
                let reason = format!(
                    "`{command}` may {does} {what}, and {} {}",
                    held.listed(),
                    match held.effect {
                        Effect::Deny => "denies that",
                        Effect::Ask | Effect::Allow => "asks",
                    }
                );
                Explanation::by_rules(Effect::Ask, reason, vec![held.listed()])
            });
        }
    }
    asked
}

fn globs<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<GlobMatcher> {
    texts.into_iter().filter_map(|text| glob(text.as_ref(), true)).collect()
}

fn glob(text: &str, ignores_case: bool) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(text.trim_matches(['\'', '"'])).case_insensitive(ignores_case).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

/// The endings of the names of files of a type, as `rg -t` has them.
fn endings(kind: &str) -> Vec<&str> {
    match kind {
        "all" => vec!["*"],
        "rust" => vec!["rs"],
        "py" | "python" => vec!["py", "pyi"],
        "yaml" => vec!["yaml", "yml"],
        "md" | "markdown" => vec!["md", "markdown"],
        "js" => vec!["js", "jsx", "mjs", "cjs"],
        "ts" => vec!["ts", "tsx", "mts", "cts"],
        "ruby" => vec!["rb"],
        "txt" => vec!["txt"],
        other => vec![other],
    }
}

/// Whether one of these letters is among the short options. What follows a letter with a value is that value.
fn has_letter(words: &[&str], letters: &[char]) -> bool {
    let short = options(words).filter(|word| !word.starts_with("--"));
    short.flat_map(|word| word[1..].chars().take_while(|c| !"efmABCgtTjM".contains(*c))).any(|c| letters.contains(&c))
}

fn has_long(words: &[&str], names: &[&str]) -> bool {
    // A long option may be cut short, but not to a letter.
    options(words).any(|word| names.iter().any(|name| word.len() > 4 && name.starts_with(word)))
}

fn shows_names(words: &[&str]) -> bool {
    has_long(words, &["--files-with-matches", "--files-without-match", "--count", "--quiet", "--silent"])
}

fn options<'w>(words: &[&'w str]) -> impl Iterator<Item = &'w str> {
    words
        .iter()
        .skip(1)
        .take_while(|word| **word != "--")
        .filter(|word| word.len() > 1 && word.starts_with('-'))
        .copied()
}

/// The values of options: `--include=x`, `--include x`, `-gx`.
fn values<'w>(words: &[&'w str], names: &[&str]) -> Vec<&'w str> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        for name in names {
            match word.strip_prefix(name) {
                Some("") => found.extend(words.get(at + 1)),
                Some(rest) if name.starts_with("--") => found.extend(rest.strip_prefix('=')),
                Some(rest) => found.push(rest),
                None => {}
            }
        }
    }
    found
}

/// The words that may be folders: those after the pattern. Words are split at blanks, so that a pattern may be several.
fn operands<'w>(words: &[&'w str]) -> Vec<&'w str> {
    operands_from(words, usize::from(!words.iter().any(|word| word.starts_with("-e") || word.starts_with("-f"))))
}

fn operands_from<'w>(words: &[&'w str], skipped: usize) -> Vec<&'w str> {
    words.iter().skip(1).filter(|word| !word.starts_with('-')).skip(skipped).copied().collect()
}

/// The folders in which `find` begins.
fn starts<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let is_start = |word: &&&str| !word.starts_with(['-', '(', '!', '\\']);
    words.iter().skip(1).skip_while(|word| matches!(**word, "-L" | "-H" | "-P")).take_while(is_start).copied().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whether commands reach a file in a folder, and whether that is known.
    fn reached(commands: &[&str], file: &str) -> Option<bool> {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [".env", "lock.txt", "sub/.env", "src/main.rs", "locked.txt"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "x").expect("a file");
        }
        let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
        let place = |path: &str| Place(vec![vertebra::paths::absolute(&folder.path().to_string_lossy(), path)]);
        let found = Combed::of(&commands, place);
        found.iter().find(|combed| combed.reaches(&folder.path().join(file))).map(|combed| !combed.is_unsure)
    }

    #[test]
    fn a_command_reaches_what_it_does_not_name() {
        for (command, expected) in [
            ("grep -r KEY", true),
            ("grep -rn KEY .", true),
            ("grep -R two words sub", false),
            ("grep --recursive KEY src", false),
            ("grep KEY src/main.rs", false),
            ("grep -rl KEY .", false),
            ("grep -r --include=*.rs KEY .", false),
            ("grep -r --include=.e* KEY .", true),
            ("grep -r --exclude=.env KEY .", false),
            ("grep -r --exclude=.env --include=.env KEY .", true),
            ("grep -r --exclude=x --include=y KEY .", true),
            ("grep -r --exclude-dir=.env KEY .", true),
            ("rg KEY", false),
            ("rg -uu KEY", true),
            ("rg --hidden KEY .", true),
            ("rg --hidden -g !.env KEY .", false),
            ("find . -name .env -exec cat {} +", true),
            ("find . -iname .ENV -exec cat {} +", true),
            ("find . -name *.rs -exec cat {} +", false),
            ("find . -exec cat {} + -name x", true),
            ("find . -name x -o -exec cat {} +", true),
            ("find . ! -name .env -exec cat {} +", false),
            ("find . ! ! -name .env -exec cat {} +", true),
            ("find . -name .env", false),
            ("find . -exec ls {} +", false),
            ("tar cz .", true),
            ("tar -cf x.tar --exclude=.env .", false),
            ("tar xf x.tar", true),
            ("tar xOf x.tar", false),
            ("cp -r . /tmp/x", true),
            ("cp -r src /tmp/x", false),
            ("cp -rt /tmp/x .", true),
            ("cp -rt src .", true),
            ("cp -at src sub", false),
            ("rsync -rt src sub", false),
            ("fd -H . -x cat", true),
            ("fd . -x cat", false),
            ("git grep --no-index KEY", true),
            ("git grep KEY", false),
            ("git rm -rq .", true),
            ("git rm -r src", false),
            ("ack KEY .", true),
            ("zip -r x.zip .", true),
            ("make -C .", false),
            ("rm -r sub", false),
        ] {
            assert_eq!(reached(&[command], ".env").is_some(), expected, "{command}");
        }
        assert_eq!(reached(&["rm -r sub"], "sub/.env"), Some(true));
    }

    #[test]
    fn xargs_reaches_the_names_that_it_reads() {
        for (commands, expected) in [
            (&["echo locked.txt", "xargs rm", "rm"][..], Some(true)),
            (&["echo other.txt", "xargs rm", "rm"], None),
            (&["echo locked*", "xargs rm", "rm"], Some(false)),
            (&["printf lock%s ed.txt", "xargs rm"], Some(false)),
            (&["echo locked_txt", "tr _ .", "xargs rm"], Some(false)),
            (&["find . -name lock*", "sort", "xargs rm"], Some(true)),
            (&["find . -name *.rs", "xargs rm"], None),
            (&["ls", "xargs -n 1 rm"], Some(true)),
            (&["cat list", "xargs -I{} rm {}"], Some(false)),
            (&["git ls-files", "xargs sed -i s/a/b/"], Some(false)),
            (&["xargs -a list rm"], Some(false)),
            (&["ls", "xargs sh -c rm"], Some(false)),
            (&["ls", "xargs basename"], None),
            (&["ps -ef", "xargs kill"], None),
            (&["git branch --merged", "xargs git branch -d"], None),
            (&["git branch --merged", "xargs git rm"], Some(false)),
            (&["git ls-files *.rs", "xargs rustfmt"], None),
            (&["git ls-files *.txt", "xargs rustfmt"], Some(true)),
        ] {
            assert_eq!(reached(commands, "locked.txt"), expected, "{commands:?}");
        }
    }
}
