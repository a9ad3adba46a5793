//! Reads a git command: its options, and what it can show of the files in the repository.

use std::{io::Write as _, path::Path, process::Stdio};

use vertebra::paths::absolute;

use super::{
    super::{command::parts, path::Place},
    Line, Repository,
    history::git,
    options::{
        AROUND, EMPTY, OPEN_TO_OPTIONS, PATCH_OPTIONS, PROGRAMS, SETTINGS, SUMMARIES, TAKING_BACK_NOTHING, UNFILTERED,
        VARIABLES, WITHOUT_CONTENT, WITHOUT_VALUE, WRITING_FILES,
    },
    quoted::inner_words,
};

/// How many objects of a command are looked up.
const MAX_OBJECTS: usize = 100;

/// A git command.
#[derive(Debug)]
pub(super) struct Git<'c> {
    /// What git is asked to do, such as `show`.
    sub: &'c str,
    /// The words after it.
    args: Vec<&'c str>,
    /// An option or a variable that changes what git reads, writes or runs.
    changed_by: Option<&'c str>,
    /// Whether an option before it has a value, which may be of several words.
    has_values: bool,
    /// The values of `--git-dir`.
    folders: Vec<&'c str>,
}

/// What a git command can show of the content of files.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shows<'c> {
    /// No content.
    Nothing,
    /// The objects that it names.
    Objects,
    /// The content of these files.
    Content {
        /// What the command is limited to.
        pathspecs: Vec<&'c str>,
        /// Whether hidden parts can be removed from its output.
        filtered: bool,
    },
    /// This cannot be known, because of this.
    Unclear(String),
}

/// Reads a simple command, if its program is git.
pub(super) fn parse(command: &str) -> Option<Git<'_>> {
    let (words, _) = parts(command);
    let mut words = words.into_iter().peekable();
    let mut changed_by = None;
    while let Some(assignment) = words.next_if(|word| word.split_once('=').is_some_and(|(name, _)| is_name(name))) {
        if !is_harmless(assignment) {
            changed_by = Some(assignment);
        }
    }
    let program = words.next()?;
    let (folder, program) = program.split_at(program.rfind('/').map_or(0, |at| at + 1));
    if !PROGRAMS.contains(&folder) {
        return None;
    }
    let mut found = Git { sub: "", args: Vec::new(), changed_by, has_values: false, folders: Vec::new() };
    if let Some(sub) = program.strip_prefix("git-") {
        found.sub = sub;
    } else if program != "git" && program != "git.exe" {
        return None;
    }
    while let Some(option) = words.next_if(|word| found.sub.is_empty() && word.starts_with('-')) {
        found.has_values |= option.contains('=') || matches!(option, "-C" | "-c" | "--git-dir" | "--namespace");
        match option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value))) {
            ("-C" | "--namespace", None) => drop(words.next()),
            ("--git-dir", value) => found.folders.extend(value.or_else(|| words.next())),
            ("-c", _) => {
                let setting = words.next().unwrap_or_default();
                let is_harmless = SETTINGS.iter().any(|start| setting.to_ascii_lowercase().starts_with(start));
                found.changed_by = found.changed_by.or((!is_harmless).then_some(option));
            }
            ("--work-tree", None) => {
                found.changed_by = Some(option);
                words.next();
            }
            ("--work-tree" | "--exec-path" | "--config-env", Some(_)) => found.changed_by = Some(option),
            _ => {}
        }
    }
    if found.sub.is_empty() {
        found.sub = words.next().unwrap_or_default();
    }
    found.args = words.collect();
    Some(found)
}

/// Returns whether an assignment changes neither what git reads nor what it runs. Only the shell reads names in small letters.
pub(super) fn is_harmless(assignment: &str) -> bool {
    let goes_on = |known: &str| known.ends_with(['_', '=']);
    assignment.split('=').next().is_some_and(|name| name.bytes().any(|byte| byte.is_ascii_lowercase()))
        || VARIABLES.iter().any(|known| assignment == *known || (goes_on(known) && assignment.starts_with(known)))
}

/// Returns whether a word makes a merge look for renames, which is switched off where files are hidden.
fn follows_renames(word: &str) -> bool {
    word.starts_with("find-renames")
        || word.starts_with("rename-threshold")
        || word.starts_with('-') && word.contains("rename") && !word.contains("no-renames")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl<'c> Git<'c> {
    /// Returns the folders of other repositories that the command names.
    pub(super) fn repositories(&self, line: &Line<'_>) -> Vec<String> {
        let named = self.folders.iter().copied().chain(self.local_repositories());
        named.flat_map(|folder| line.here.iter().map(move |here| absolute(here, folder))).collect()
    }

    /// Returns the words that can be the path of a repository to copy from or to.
    fn local_repositories(&self) -> impl Iterator<Item = &'c str> {
        let copies = matches!(self.sub, "clone" | "fetch" | "pull" | "push" | "remote" | "submodule" | "archive");
        let words = self.args.iter().filter(move |word| copies && !word.starts_with("--upload-pack"));
        let values = words
            .map(|word| word.strip_prefix("--").and_then(|option| Some(option.split_once('=')?.1)).unwrap_or(word));
        let paths = values.map(|word| word.strip_prefix("file://").unwrap_or(word));
        paths.filter(|word| !word.starts_with('-') && !word.contains("://"))
    }

    /// Returns the paths in words such as `HEAD:PATH`.
    pub(super) fn named(&self, line: &Line<'_>, root: &str) -> Vec<Place> {
        let mut places = Vec::new();
        for path in self.paths_behind_colons() {
            let mut spellings = vec![absolute(root, path)];
            if path.starts_with('.') {
                spellings.extend(line.here.iter().map(|here| absolute(here, path)));
            }
            places.push(Place(spellings));
        }
        places
    }

    /// Returns the texts behind the colons of words such as `HEAD:PATH`.
    pub(super) fn paths_behind_colons(&self) -> impl Iterator<Item = &'c str> {
        let words = self
            .args
            .iter()
            .filter(|word| !word.contains("://") && ![":(", ":!", ":^"].iter().any(|magic| word.starts_with(magic)));
        words.flat_map(|word| word.match_indices(':').map(|(at, _)| &word[at + 1..])).filter(|path| !path.is_empty())
    }

    /// Returns the objects that the command names other than as `REVISION:PATH`.
    pub(super) fn objects(&self) -> Vec<&'c str> {
        if !matches!(self.sub, "show" | "cat-file" | "diff" | "tag" | "log" | "notes" | "archive" | "update-ref") {
            return Vec::new();
        }
        let words = self.args.iter().take_while(|word| **word != "--").filter(|word| !word.starts_with('-'));
        let revisions = words.filter(|word| !word.contains(':')).flat_map(|word| word.split(".."));
        revisions.map(|word| word.trim_matches('.')).filter(|word| !word.is_empty()).take(MAX_OBJECTS).collect()
    }

    /// Returns whether the command shows objects that it does not name.
    pub(super) fn shows_all_objects(&self) -> bool {
        (self.sub == "fsck" && self.has(&["--l"]))
            || self.sub == "cat-file"
                && self.has(&["--batch", "--batch-command", "--batch-all-objects"])
                && !self.is_check()
    }

    /// Returns whether the command shows or writes something that only a substitution or a variable names.
    pub(super) fn is_open(&self) -> bool {
        (OPEN_TO_OPTIONS.contains(&self.sub) || self.writes_files() || self.sub == "read-tree")
            && self.args.iter().any(|word| word.contains(['$', '`']))
    }

    /// Returns whether a variable or a substitution may name a file by its hash, and the command would show it.
    pub(super) fn may_show_any_file(&self) -> bool {
        matches!(self.sub, "show" | "cat-file" | "diff") && !names_only_commits(&self.args.join(" "))
    }

    /// Returns whether the command may show or copy content, of whatever repository.
    pub(super) fn may_show(&self) -> bool {
        OPEN_TO_OPTIONS.contains(&self.sub) || !WITHOUT_CONTENT.contains(&self.sub)
    }

    /// Returns whether the command at most shows the names in the index, or takes some out of it.
    pub(super) fn mends_index(&self) -> bool {
        matches!(self.sub, "ls-files" | "reset" | "rev-parse" | "rm" | "status") && !self.has_letter('v', "--verbose")
    }

    /// Returns whether the command may write committed files to the work tree.
    pub(super) fn writes_files(&self) -> bool {
        WRITING_FILES.contains(&self.sub)
    }

    fn is_check(&self) -> bool {
        self.args.iter().any(|word| word.starts_with("--batch-check"))
            && !self.args.iter().any(|word| *word == "--batch" || word.starts_with("--batch="))
    }

    /// Returns what the command can show of the repository's files.
    pub(super) fn shows(&self, line: &Line<'_>, repository: &Repository) -> Shows<'c> {
        if let Some(by) = self.changed_by {
            return Shows::Unclear(format!("`{by}` changes what git does"));
        }
        if self.is_blurred(line.text) {
            return Shows::Unclear("an option of several words in quotes hides what git is asked".to_owned());
        }
        if !self.folders.is_empty() && self.writes_files() {
            return Shows::Unclear("with `--git-dir`, git writes files to the folder that it runs in".to_owned());
        }
        let is_known = WITHOUT_CONTENT.contains(&self.sub);
        if repository.replaces_objects() {
            return Shows::Unclear("`refs/replace` shows objects under other names".to_owned());
        }
        let unclear = || Shows::Unclear(format!("`git {}` can show or copy any file", self.sub));
        let content = |pathspecs, filtered| Shows::Content { pathspecs, filtered };
        let is_open = self.args.iter().any(|word| word.contains(['$', '`']));
        let takes_back = self.args.iter().any(|word| word.starts_with("--no-") && !TAKING_BACK_NOTHING.contains(word));
        let summary = self.has(SUMMARIES) && !self.has(PATCH_OPTIONS) && !takes_back;
        let names_trees = || self.names_trees(&repository.git);
        match self.sub {
            sub if is_open && OPEN_TO_OPTIONS.contains(&sub) => unclear(),
            "archive" | "cat-file" | "checkout" | "diff" | "diff-index" | "diff-tree" | "grep" | "read-tree"
            | "restore" | "show"
                if names_trees() =>
            {
                Shows::Unclear("a folder of a commit is named, from which paths are others; name the commit".to_owned())
            }
            "log" | "reflog" | "whatchanged" | "diff-tree" | "diff-index" | "diff-files" if self.has(PATCH_OPTIONS) => {
                content(self.pathspecs(line, 0), self.is_filtered(line, repository))
            }
            "diff-tree" | "diff-index" | "diff-files" => Shows::Nothing,
            // With `stash.showPatch`, it needs no option.
            "stash" if self.args.first() == Some(&"show") && !summary => {
                content(self.pathspecs(line, 1), self.is_filtered(line, repository))
            }
            "rebase" | "am" if self.has(&["--show"]) => content(Vec::new(), self.is_filtered(line, repository)),
            // With these, git writes a hidden file under another name.
            "merge" | "pull" | "rebase" | "cherry-pick" | "revert" | "am" | "stash" | "checkout" | "switch"
                if self.args.iter().any(|word| word.contains("subtree") || follows_renames(word)) =>
            {
                unclear()
            }
            "config" if self.has(&["--bl"]) => unclear(),
            "fsck" if self.has(&["--l"]) => unclear(),
            "gc" | "repack" if self.has(&["--exp", "--filter-t"]) => unclear(),
            "update-ref" if self.has(&["--st"]) => unclear(),
            "status" | "commit" if self.has_letter('v', "--verbose") => {
                content(Vec::new(), self.is_filtered(line, repository))
            }
            "add" | "checkout" | "commit" | "reset" | "restore" | "stash"
                if self.has_letter('p', "--patch")
                    || self.has_letter('i', "--interactive")
                    || self.has(&["-e", "--edit"]) =>
            {
                content(Vec::new(), false)
            }
            "show" if summary || self.names_only_files() => Shows::Objects,
            "diff" if summary => Shows::Objects,
            "show" | "diff" => content(self.pathspecs(line, 0), self.is_filtered(line, repository)),
            "cat-file" if self.shows_all_objects() => unclear(),
            "grep"
                if !takes_back
                    && self.has(&[
                        "-l",
                        "-L",
                        "-c",
                        "-q",
                        "--files-with",
                        "--files-without",
                        "--name-only",
                        "--count",
                        "--quiet",
                    ]) =>
            {
                Shows::Nothing
            }
            "grep" => content(self.pathspecs(line, 1), self.is_filtered(line, repository)),
            // What is moved is kept under another name.
            "blame" | "annotate" | "mv" => content(self.pathspecs(line, 0), false),
            "archive" if !self.has(&["--remote"]) => content(self.pathspecs(line, 1), false),
            "format-patch" => {
                content(self.pathspecs(line, 0), self.has(&["--stdout"]) && self.is_filtered(line, repository))
            }
            "checkout-index" if !self.has(&["-a", "--all", "--stdin"]) => content(self.pathspecs(line, 0), false),
            "rebase" if self.has(&["-x", "--exec", "-i", "--interactive"]) => unclear(),
            "notes" if self.has(&["-C", "-c", "--reuse"]) => unclear(),
            "submodule" if matches!(self.args.first(), Some(&"foreach" | &"add")) => unclear(),
            "worktree" if self.args.first() == Some(&"add") => unclear(),
            "for-each-ref" | "branch" | "tag"
                if self.args.iter().any(|word| word.contains("raw") || word.contains("contents")) =>
            {
                unclear()
            }
            "cat-file" | "tag" | "update-ref" => Shows::Objects,
            "clone" | "fetch" | "pull" | "push" | "remote" if self.copies(line, repository) => unclear(),
            _ if is_known || self.has(&["--version", "--help"]) => Shows::Nothing,
            "read-tree" if !self.has(&["--prefix"]) && !is_open => Shows::Nothing,
            "update-index" if !self.has(&["--cacheinfo", "--index-info", "--stdin"]) => Shows::Nothing,
            _ => unclear(),
        }
    }

    /// Returns whether words in quotes look like the subcommand or like options of their own.
    fn is_blurred(&self, text: &str) -> bool {
        let inner = inner_words(text);
        let is_inner = |word: &str| inner.contains(&word.trim_end_matches([')', '`', '\'', '"']));
        (self.has_values && is_inner(self.sub))
            || (self.may_show() && self.args.iter().any(|word| word.starts_with('-') && is_inner(word)))
    }

    /// Returns whether the command copies objects of the repository from or to a folder of this machine.
    fn copies(&self, line: &Line<'_>, repository: &Repository) -> bool {
        let words: Vec<&str> = self.local_repositories().collect();
        if matches!(self.sub, "push" | "remote") {
            return words.iter().any(|word| {
                let is_path = ["/", "./", "../", "~"].iter().any(|start| word.starts_with(start));
                let is_open = word.starts_with('$') && word.contains('/');
                is_path || is_open || line.here.iter().any(|here| Path::new(here).join(word).is_dir())
            });
        }
        let is_source = |word: &&str| {
            let mut places = line.here.iter().map(|here| absolute(here, word));
            places.any(|place| Path::new(&place).exists() && Repository::around(&place).as_ref() == Some(repository))
        };
        let sources = if words.len() > 1 { &words[..words.len() - 1] } else { &words[..] };
        words.iter().any(is_source) || sources.iter().any(|word| word.starts_with(['$', '`', '~']))
    }

    /// Returns whether an option is there, alone, with a value, or as the start of a longer one.
    fn has(&self, options: &[&str]) -> bool {
        self.args.iter().take_while(|word| **word != "--").any(|word| {
            options.iter().any(|option| match option.strip_prefix("--") {
                Some(_) => word.starts_with(option),
                None => word.starts_with(option) && !word.starts_with("--"),
            })
        })
    }

    /// Returns whether a letter is among the short options, or the long option is there.
    fn has_letter(&self, letter: char, long: &str) -> bool {
        self.args.iter().take_while(|word| **word != "--").any(|word| match word.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => long.starts_with(*word) && word.len() > 3 || word == &long,
            // What follows these letters is a value.
            Some(letters) => letters.chars().take_while(|c| !"mFCctSuO".contains(*c)).any(|c| c == letter),
            None => false,
        })
    }

    /// Returns the pathspecs: the words behind `--`, or the existing paths after the first few words that are no options.
    fn pathspecs(&self, line: &Line<'_>, skipped: usize) -> Vec<&'c str> {
        if let Some(at) = self.args.iter().position(|word| *word == "--") {
            return self.args[at + 1..].to_vec();
        }
        let is_value = |at: usize| {
            let before = at.checked_sub(1).map_or("", |before| self.args[before]);
            before.starts_with('-') && !before.contains('=') && !WITHOUT_VALUE.contains(&before)
        };
        let words = (0..self.args.len()).filter(|at| !self.args[*at].starts_with('-'));
        let words = words.skip(skipped).filter(|at| !is_value(*at)).map(|at| self.args[at]);
        let exists = |word: &&str| line.here.iter().any(|here| Path::new(here).join(word).symlink_metadata().is_ok());
        // Without `--`, `:/text` is a commit.
        let is_spec = |word: &&str| word.starts_with(':') && !word.starts_with(":/");
        words.filter(|word| is_spec(word) || exists(word)).collect()
    }

    /// Returns whether the output of the command reaches the result as it is, in a form in which each line has its path.
    fn is_filtered(&self, line: &Line<'_>, repository: &Repository) -> bool {
        // `-h` and `-o` mean other things to other commands than `grep`, where they do no harm.
        let has_no_names =
            |word: &&str| !word.starts_with("--") && word.starts_with('-') && word.contains(['h', 'z', 'O']);
        let is_numbered = || self.has_letter('n', "--line-number");
        let greps = self.sub == "grep" && (self.args.iter().any(has_no_names) || (self.has(AROUND) && !is_numbered()));
        is_direct(line.text) && !self.has(UNFILTERED) && !greps && !repository.has_other_diffs()
    }

    /// Returns whether all that is named is `REVISION:PATH`. `:/text` and `HEAD@{10:00}` are commits.
    fn names_only_files(&self) -> bool {
        let mut words = self.args.iter().filter(|word| !word.starts_with('-')).peekable();
        let is_file = |word: &str| word.contains(':') && !word.starts_with(":/") && !word.contains(['{', '}']);
        words.peek().is_some() && words.all(|word| is_file(word))
    }

    /// Returns whether paths are named that do not begin at the top of a commit: those of `TREE:PATH`, and all paths of a
    /// command that reads a tree.
    fn names_trees(&self, folder: &Path) -> bool {
        let words =
            self.args.iter().take_while(|word| **word != "--").map(|word| match word.strip_prefix("--source=") {
                Some(source) => source,
                None => word.strip_prefix("-s").filter(|_| self.sub == "restore").unwrap_or(word),
            });
        let ends = words.flat_map(|word| word.split("..")).map(|word| word.trim_matches('.'));
        let ends = ends.filter(|word| !word.starts_with('-'));
        let shows_named = matches!(self.sub, "cat-file" | "show");
        let revisions = ends.flat_map(|word| {
            let before = word.split_once(':').map(|(before, _)| before);
            before.into_iter().chain((!shows_named).then_some(word)).filter(|word| !word.is_empty())
        });
        let revisions: Vec<&str> = revisions.take(MAX_OBJECTS).collect();
        let is_empty = |word: &str| EMPTY.iter().any(|empty| empty.starts_with(word));
        objects_in(folder, &revisions).iter().any(|(word, kind)| kind == "tree" && !is_empty(word))
    }

    /// Returns the words that may be the hash of an object, with or without what follows it.
    pub(super) fn hashes(&self) -> impl Iterator<Item = &'c str> {
        let parts = self.args.iter().flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric()));
        parts.filter(|part| part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_hexdigit())).take(MAX_OBJECTS)
    }
}

/// Returns whether no output of a line goes to a pipe, a file or a substitution.
fn is_direct(line: &str) -> bool {
    let line = line.replace("2>&1", "").replace("2>/dev/null", "").replace("2> /dev/null", "");
    let (mut quote, mut escaped) = (None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some('\''), c) if c != '\'' => {}
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (_, '$' | '`') | (None, '|' | '<' | '>' | '(' | '{') => return false,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (Some(_) | None, _) => {}
        }
    }
    quote.is_none()
}

/// Returns whether `^{commit}` follows each variable and each substitution: git takes nothing else then.
fn names_only_commits(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        let Some(behind) = rest[at..].strip_prefix('$') else { return false };
        let mut depth = 0_usize;
        let end = if behind.starts_with(['(', '{']) {
            behind.find(|c: char| {
                depth = if "({".contains(c) { depth + 1 } else { depth - usize::from(")}".contains(c)) };
                depth == 0
            })
        } else {
            let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(behind.len());
            end.checked_sub(1)
        };
        let Some(behind) = end.and_then(|end| behind[end + 1..].strip_prefix("^{commit}")) else { return false };
        rest = behind;
    }
    true
}

/// Returns which of these objects are files.
pub(super) fn blobs_in(folder: &Path, objects: &[&str]) -> Vec<String> {
    let blobs = objects_in(folder, objects).into_iter().filter(|(_, kind)| kind == "blob");
    blobs.map(|(object, _)| object.to_owned()).collect()
}

/// Returns the kinds of those objects that are there.
pub(super) fn objects_in<'o>(folder: &Path, objects: &[&'o str]) -> Vec<(&'o str, String)> {
    if objects.is_empty() {
        return Vec::new();
    }
    let mut command = git(folder);
    command.args(["cat-file", "--batch-check=%(objecttype)"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return Vec::new() };
    if let Some(mut input) = child.stdin.take() {
        let lines = objects.join("\n") + "\n";
        // Git may end early; then it lists nothing.
        let _ = input.write_all(lines.as_bytes());
    }
    let Ok(output) = child.wait_with_output() else { return Vec::new() };
    let kinds = String::from_utf8_lossy(&output.stdout).into_owned();
    let known = objects.iter().zip(kinds.lines()).filter(|(_, kind)| !kind.contains(' '));
    known.map(|(object, kind)| (*object, kind.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::names_only_commits;

    #[test]
    fn what_git_takes_for_a_commit_only_is_known() {
        for (words, expected) in [
            ("HEAD~1 --stat", true),
            ("$c^{commit}", true),
            ("--stat ${c}^{commit}", true),
            ("$(git rev-parse $(echo x))^{commit} $d^{commit}", true),
            ("$c", false),
            ("$", false),
            ("$c^{tree}", false),
            ("$c^{commit} $d", false),
            ("$(echo x", false),
            ("$(git rev-parse x)", false),
            ("`git rev-parse x`^{commit}", false),
        ] {
            assert_eq!(names_only_commits(words), expected, "{words}");
        }
    }
}
