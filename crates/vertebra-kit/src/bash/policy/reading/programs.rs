//! What each program may do and still only read.

use std::path::Path;

use super::{
    scripts,
    table::{Meaning, Operands, reader},
    walk::{Flow, Walk},
    words::{GLOB, Names, Word},
};

/// Tests and actions of `find` without a value, and those with one.
const FIND_ALONE: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-empty",
    "-not",
    "!",
    "(",
    ")",
    "-a",
    "-o",
    "-and",
    "-or",
    "-true",
    "-false",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-daystart",
    "-noleaf",
    "-P",
];
const FIND_TEXT: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-maxdepth",
    "-mindepth",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-printf",
    "-newermt",
    "-used",
];
const FIND_PATH: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile"];

impl Walk<'_> {
    /// Returns what a program prints that only reads, and `None` if it does more.
    pub(super) fn program(&mut self, name: &str, words: &[Word], input: Flow) -> Option<Flow> {
        let known = || words.iter().map(Word::text).collect::<Option<Vec<&str>>>();
        match name {
            "cd" => self.change_folder(words),
            "read" => self.read_line(&known()?, input),
            "set" => {
                let options = known()?;
                let is_harmless = |option: &&str| {
                    *option == "pipefail"
                        || option.strip_prefix(['-', '+']).is_some_and(|letters| {
                            !letters.is_empty() && letters.bytes().all(|letter| b"euxo".contains(&letter))
                        })
                };
                let takes_name = options.last().is_some_and(|last| !last.ends_with('o'));
                (takes_name && options.iter().all(is_harmless)).then_some(Flow::Any)
            }
            "command" => {
                let known = known()?;
                let ["-v" | "-V", named @ ..] = &known[..] else { return None };
                self.programs.extend(named.iter().map(ToString::to_string));
                Some(Flow::Any)
            }
            "test" => {
                let words = known()?;
                let stays = words.iter().all(|word| self.stays(word));
                (stays && !words.iter().any(|word| matches!(*word, "-v" | "-R"))).then_some(Flow::Any)
            }
            "printf" => words.first()?.text().is_some_and(|format| !format.starts_with('-')).then_some(Flow::Any),
            "date" => {
                let has_pattern = words.iter().any(|word| !matches!(word.text(), Some(text) if !text.contains(GLOB)));
                self.date(words).map(|flow| if has_pattern { flow } else { Flow::Plain })
            }
            "find" => self.find(words),
            "sed" | "gsed" => self.sed(words),
            "awk" | "gawk" | "mawk" => self.awk(words),
            "jq" => self.jq(words),
            "xargs" => self.xargs(words, input),
            "timeout" => self.wrapped(words, 1, input),
            "time" => self.wrapped(words, 0, input),
            "git" => self.git(words),
            _ => {
                self.listed(name, words)?;
                Some(Self::printed(name, words, input))
            }
        }
    }

    /// Accepts a program of the table.
    fn listed(&mut self, name: &str, words: &[Word]) -> Option<()> {
        let reader = reader(name)?;
        self.needs.picks_version |= reader.operands == Operands::Version;
        let words: Vec<Word> = words
            .iter()
            .map(|word| match word {
                // That no name begins with a dash is looked at later.
                Word::Names(names) if names.dash && !reader.any => {
                    self.needs.no_dashes = true;
                    self.needs.is_wide |= names.wide;
                    Word::Names(Names { dash: false, ..*names })
                }
                word => word.clone(),
            })
            .collect();
        for meaning in reader.read(&words)? {
            match meaning {
                Meaning::Path(word) => self.reads(&word).then_some(())?,
                Meaning::Text(_) => {}
            }
        }
        Some(())
    }

    /// Returns whether a program of the table prints names of files.
    fn printed(name: &str, words: &[Word], input: Flow) -> Flow {
        let Some(texts) = words.iter().map(|word| word.text().or(Some(""))).collect::<Option<Vec<&str>>>() else {
            return Flow::Any;
        };
        let options = || texts.iter().filter(|text| text.starts_with('-') && **text != "-");
        let has = |some: &[&str]| options().any(|option| some.contains(option));
        let lists = match name {
            "ls" => options().all(|option| *option == "-1"),
            "rg" => has(&["-l", "--files", "--files-with-matches"]) && !has(&["-0", "--null", "--json"]),
            "grep" | "egrep" | "fgrep" => {
                has(&["-l", "-rl", "-lr", "-rli", "-ril", "-rlE", "-rlF", "--files-with-matches"])
            }
            "fd" | "fdfind" => options()
                .all(|option| matches!(*option, "-e" | "-t" | "-H" | "-I" | "-g" | "-d" | "--type" | "--extension")),
            _ => false,
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let passes_on = input == Flow::Names
            && match name {
                "head" | "tail" => texts.iter().all(|text| {
                    matches!(*text, "-n") || is_number(text.trim_start_matches("-n").trim_start_matches('-'))
                }),
                "sort" => texts.iter().all(|text| text.starts_with('-')),
                "cat" | "tac" | "uniq" => texts.is_empty(),
                "grep" | "egrep" | "fgrep" => {
                    options().all(|option| {
                        matches!(*option, "-v" | "-i" | "-E" | "-F" | "-w" | "-vE" | "-Ev" | "-iv" | "-vi" | "-vF")
                    }) && texts.len() - options().count() == 1
                }
                _ => false,
            };
        let is_plain = matches!(name, "wc" | "pwd" | "whoami" | "nproc" | "uname" | "id" | "arch" | "hostname" | "seq")
            && texts.iter().all(|text| !text.contains(GLOB));
        match (lists || passes_on, is_plain) {
            (true, _) => Flow::Names,
            (false, true) => Flow::Plain,
            (false, false) => Flow::Any,
        }
    }

    /// Notes that a word is read as a path, and returns whether that stays in the folder.
    pub(super) fn reads(&mut self, word: &Word) -> bool {
        match word {
            Word::Known(text) => self.stays(text),
            Word::Names(names) => {
                self.needs.is_wide |= names.wide;
                self.needs.no_dashes |= names.dash;
                true
            }
            Word::Any { .. } => false,
        }
    }

    /// Returns whether a path is in the folder, as far as its text shows. Links are looked at later.
    pub(super) fn stays(&mut self, path: &str) -> bool {
        if matches!(path, "" | "-" | "/dev/null" | "/dev/stdin") {
            return true;
        }
        if path.split('/').any(|part| part != ".." && part.ends_with(":..")) {
            return false;
        }
        if path.split('/').any(|part| part == "..") {
            let risen = self.risen(path);
            self.paths.extend(risen.iter().map(|path| path.to_string_lossy().into_owned()));
            return risen.is_some();
        }
        let inside =
            path.strip_prefix(&self.ground.folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let stays = !path.starts_with('/') || inside;
        if stays {
            self.paths.push(path.to_owned());
        }
        stays
    }

    fn change_folder(&mut self, words: &[Word]) -> Option<Flow> {
        let [Word::Known(folder)] = words else { return None };
        if folder.starts_with('-') || folder.is_empty() || !self.stays(folder) {
            return None;
        }
        self.moves(folder);
        Some(Flow::Any)
    }

    fn read_line(&mut self, words: &[&str], input: Flow) -> Option<Flow> {
        let names: Vec<&&str> = words.iter().filter(|word| **word != "-r").collect();
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let input = if names.len() == 1 { input } else { Flow::Any };
        names.iter().all(|name| is_name(name) && self.reads_into(name, input)).then_some(Flow::Any)
    }

    fn date(&mut self, words: &[Word]) -> Option<Flow> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.text()? {
                "-u" | "--utc" | "-R" | "--rfc-email" | "-I" => {}
                "-d" | "--date" => drop(words.next().filter(|date| date.is_one())?),
                "-r" => {
                    let path = words.next()?.clone();
                    self.reads(&path).then_some(())?;
                }
                text if text.starts_with('+') || text.starts_with("-I") || text.starts_with("--iso-8601") => {}
                text if text.starts_with("--date=") || text.starts_with("--rfc-3339=") => {}
                _ => return None,
            }
        }
        Some(Flow::Any)
    }

    fn find(&mut self, words: &[Word]) -> Option<Flow> {
        let (mut words, mut in_expression, mut is_plain) = (words.iter(), false, true);
        while let Some(word) = words.next() {
            let text = match word.text() {
                Some(text) => text,
                None if !in_expression && !word.may_be_option() && self.reads(word) => continue,
                None => return None,
            };
            if FIND_ALONE.contains(&text) {
                in_expression = text != "-P";
                is_plain &= text != "-ls";
            } else if FIND_TEXT.contains(&text) {
                in_expression = true;
                is_plain &= text != "-printf";
                words.next()?.text()?;
            } else if FIND_PATH.contains(&text) {
                in_expression = true;
                let path = words.next()?.clone();
                self.reads(&path).then_some(())?;
            } else if in_expression || text.starts_with(['-', '!', '(', ',']) || !self.stays(text) {
                return None;
            }
        }
        Some(if is_plain { Flow::Names } else { Flow::Any })
    }

    fn sed(&mut self, words: &[Word]) -> Option<Flow> {
        let (mut words, mut scripts, mut operands) = (words.iter(), Vec::new(), Vec::new());
        while let Some(word) = words.next() {
            match word.text() {
                Some(
                    "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-En" | "-nr" | "-rn" | "--quiet" | "--silent"
                    | "--regexp-extended",
                ) => {}
                Some("-e" | "--expression" | "-ne" | "-nEe" | "-Ee") => scripts.push(words.next()?.text()?),
                Some(text) if text.starts_with("--expression=") => scripts.push(&text["--expression=".len()..]),
                Some(text) if text.starts_with('-') && text.len() > 1 => return None,
                None if word.may_be_option() => {
                    self.needs.no_dashes = true;
                    operands.push(word);
                }
                Some(_) | None => operands.push(word),
            }
        }
        let mut operands = operands.into_iter();
        if scripts.is_empty() {
            scripts.push(operands.next()?.text()?);
        }
        let files = operands.all(|word| self.reads(word));
        (files && scripts.iter().all(|script| scripts::sed_only_prints(script))).then_some(Flow::Any)
    }

    fn awk(&mut self, words: &[Word]) -> Option<Flow> {
        let mut words = words.iter();
        let script = loop {
            match words.next()?.text()? {
                "-F" | "-v" => drop(words.next()?.text()?),
                "--" => break words.next()?.text()?,
                text if text.starts_with("-F") || text.starts_with("-v") => {}
                text if text.starts_with('-') => return None,
                text => break text,
            }
        };
        let files = words.all(|word| match word {
            Word::Known(text) => !text.starts_with('-') && (sets_variable(text) || self.stays(text)),
            word => self.reads(word),
        });
        (files && scripts::awk_only_prints(script)).then_some(Flow::Any)
    }

    fn jq(&mut self, words: &[Word]) -> Option<Flow> {
        let (mut words, mut filter) = (words.iter(), None);
        while let Some(word) = words.next() {
            match word.text() {
                Some("--arg" | "--argjson") => {
                    words.next()?.text()?;
                    words.next().filter(|value| value.is_one())?;
                }
                Some("--indent") => drop(words.next()?.text()?),
                Some(
                    "--tab"
                    | "--raw-output"
                    | "--compact-output"
                    | "--null-input"
                    | "--slurp"
                    | "--sort-keys"
                    | "--exit-status"
                    | "--raw-input"
                    | "--join-output"
                    | "--ascii-output"
                    | "--color-output"
                    | "--monochrome-output",
                ) => {}
                Some(text) if text.starts_with('-') && text.len() > 1 => {
                    let plain = text[1..].bytes().all(|letter| b"rcnsSeRjaCM".contains(&letter));
                    plain.then_some(())?;
                }
                Some(text) if filter.is_none() => filter = Some(text),
                Some(text) => self.stays(text).then_some(())?,
                None => self.reads(word).then_some(())?,
            }
        }
        scripts::jq_only_filters(filter?).then_some(Flow::Any)
    }

    /// Accepts `xargs` if it gives names of the folder to a program that only reads.
    fn xargs(&mut self, words: &[Word], input: Flow) -> Option<Flow> {
        let (mut at, mut mark) = (0, None);
        loop {
            match words.get(at)?.text()? {
                "-0" | "-r" | "--no-run-if-empty" | "--null" => at += 1,
                "-n" | "-P" | "-L" => at += 2,
                "-I" => {
                    mark = Some(words.get(at + 1)?.text()?);
                    at += 2;
                }
                "-I{}" => {
                    mark = Some("{}");
                    at += 1;
                }
                text if text.starts_with('-') => return None,
                _ => break,
            }
        }
        let name = words[at].text()?.to_owned();
        let names = Word::Names(Names { dash: true, wide: true, one: mark.is_some() });
        let mut inner: Vec<Word> = words[at + 1..].to_vec();
        match mark {
            Some(mark) => {
                for word in &mut inner {
                    match word.text() {
                        Some(text) if text == mark => *word = names.clone(),
                        Some(text) if text.contains(mark) => return None,
                        _ => {}
                    }
                }
            }
            None => inner.push(names),
        }
        // Only programs of the table: what others do with names is not known.
        if input != Flow::Names {
            return None;
        }
        self.listed(&name, &inner)?;
        let flow = Self::printed(&name, &inner, Flow::Any);
        self.programs.insert(name);
        Some(flow)
    }

    /// Accepts a command behind another one that only starts it.
    fn wrapped(&mut self, words: &[Word], skipped: usize, input: Flow) -> Option<Flow> {
        let is_time = |word: &Word| {
            word.text().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit() || b".smh".contains(&byte)))
        };
        if !words.iter().take(skipped).all(is_time) {
            return None;
        }
        let name = words.get(skipped)?.text()?.to_owned();
        if matches!(&*name, "cd" | "read" | "set" | "timeout" | "time" | "xargs" | "command") {
            return None;
        }
        let flow = self.program(&name, &words[skipped + 1..], input)?;
        self.programs.insert(name);
        Some(flow)
    }

    fn git(&mut self, words: &[Word]) -> Option<Flow> {
        let mut at = 0;
        let mut folder: Option<String> = None;
        let sub = loop {
            match words.get(at)?.text()? {
                "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" => at += 1,
                "-C" => {
                    let path = words.get(at + 1)?.text()?;
                    // Each counts from the one before.
                    let path = Path::new(&folder.unwrap_or_default()).join(path).to_string_lossy().into_owned();
                    self.stays(&path).then_some(())?;
                    folder = Some(path);
                    at += 2;
                }
                sub => break sub.to_owned(),
            }
        };
        let rest = &words[at + 1..];
        let first = rest.first().and_then(Word::text);
        // `%G` starts gpg, and `:/` is the top of the repository, which may be above the folder.
        let leaves = |text: &str| text.contains("%G") || text.starts_with(":/") || text.starts_with(":(");
        if rest.iter().filter_map(Word::text).any(leaves) {
            return None;
        }
        match (&*sub, first) {
            ("stash", Some("list")) => self.listed("git log", &rest[1..])?,
            ("stash", Some("show")) => self.listed("git stash-show", &rest[1..])?,
            ("reflog", Some("show")) => self.listed("git reflog", &rest[1..])?,
            ("reflog", Some(first)) if !first.starts_with('-') => return None,
            ("worktree", Some("list")) => matches!(rest, [_] | [_, Word::Known(_)]).then_some(())?,
            ("remote", None) if rest.is_empty() => {}
            ("remote", Some("-v")) if rest.len() == 1 => {}
            ("remote", Some("get-url"))
                if rest.len() == 2 && rest[1].text().is_some_and(|name| !name.starts_with('-')) => {}
            ("branch", _) => lists_branches(rest)?,
            // It only says what it would remove, whatever else it is told.
            ("clean", _) => {
                let is_dry = |word: &Word| matches!(word.text(), Some("-n" | "-nd" | "-dn" | "-ndx" | "--dry-run"));
                rest.iter().any(is_dry).then_some(())?;
                self.listed("git clean", rest)?;
            }
            ("tag", _) => lists_tags(rest)?,
            _ => self.listed(&format!("git {sub}"), rest)?,
        }
        self.needs.uses_git = true;
        self.git.extend(folder);
        let has = |option: &str| rest.iter().any(|word| word.text() == Some(option));
        let lists = sub == "ls-files" && !has("-s") && !has("--stage") && !has("-t") && !has("-v")
            || sub == "diff" && has("--name-only");
        let is_plain = matches!(&*sub, "rev-parse" | "describe" | "rev-list" | "merge-base" | "count-objects")
            && !rest.iter().any(|word| word.text().is_none_or(|text| text.contains(GLOB)));
        Some(match (lists, is_plain) {
            (true, _) => Flow::Names,
            (false, true) => Flow::Plain,
            (false, false) => Flow::Any,
        })
    }
}

/// Returns whether an operand of `awk` is `name=value`, and no file.
fn sets_variable(operand: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.as_bytes()[0].is_ascii_digit()
    };
    operand.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Accepts `git branch` that lists: with a name and no option, it makes a branch.
fn lists_branches(words: &[Word]) -> Option<()> {
    let mut may_name = false;
    for word in words {
        let text = word.text()?;
        match text {
            "-a" | "-r" | "-v" | "-vv" | "-av" | "-avv" | "-rv" | "--all" | "--remotes" | "--verbose"
            | "--show-current" | "--no-color" | "--ignore-case" => {}
            "--list" | "--contains" | "--no-contains" | "--merged" | "--no-merged" | "--points-at" => {
                may_name = true;
            }
            _ if ["--sort=", "--format=", "--color=", "--contains=", "--merged=", "--no-merged="]
                .iter()
                .any(|start| text.starts_with(start)) => {}
            _ if may_name && !text.starts_with('-') => {}
            _ => return None,
        }
    }
    Some(())
}

fn lists_tags(words: &[Word]) -> Option<()> {
    let mut may_name = false;
    for word in words {
        let text = word.text()?;
        match text {
            "-l" | "--list" | "--contains" | "--merged" | "--no-merged" | "--points-at" => may_name = true,
            "-n" | "--column" => {}
            _ if ["--sort=", "--format=", "--color="].iter().any(|start| text.starts_with(start)) => {}
            _ if may_name && !text.starts_with('-') => {}
            _ => return None,
        }
    }
    Some(())
}
