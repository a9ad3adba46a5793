//! Which files a command has shown: reading a file with `cat` is reading it.

use std::{
    collections::{HashMap, HashSet},
    fs,
};

use tree_sitter::Node;
use vertebra::{SystemClock, paths::absolute};

use super::{
    Ground,
    budget::Budget,
    chain::{Pipeline, chain},
    parse::parse,
    reading::only_reads,
    walk::children,
};
use crate::permissions::{expanded, is_pattern};

/// The longest command that is looked at.
const MAX_BYTES: usize = 4096;

/// How many files one command may show.
const MAX_FILES: usize = 50;

/// How many names are looked at to expand globs.
const MAX_NAMES: usize = 2000;

/// In how many folders names are looked for.
const MAX_FOLDERS: usize = 8;

/// How many files are compared with what was printed.
const MAX_PRINTED: usize = 200;

/// The programs that show files.
const SHOW: &[&str] = &["cat", "head", "less", "more", "nl", "sed", "tac", "tail"];

/// Returns whether a command may show a file: most commands do not even name a program that does.
pub(crate) fn may_show(command: &str) -> bool {
    command.split(|letter: char| !letter.is_alphanumeric()).any(|word| SHOW.contains(&word))
}

/// How sure it is that the model has seen a file as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sure {
    /// The command has shown it, and nothing after that changes files.
    Yes,
    /// The command has shown it, and may have changed it since.
    IfUnchanged,
    /// The command may have shown it.
    IfPrinted,
}

/// Returns the files that a command has shown whole or in part, or may have shown, as absolute paths. `from` is the folder in
/// which it began, and `printed` is what it printed: it may name files that the command does not.
///
/// May block, because it expands globs and looks for files.
pub(crate) fn shown_by(command: &str, from: &str, printed: &str) -> Vec<(String, Sure)> {
    let clock = SystemClock::default();
    let parsed = if command.len() > MAX_BYTES { None } else { parse(command, &mut Budget::new(command.len(), &clock)) };
    let text = parsed.as_ref().map_or(command, |parsed| &*parsed.text);
    let (ground, folder) = (Ground::new(from, "/"), Some(from.to_owned()));
    let folders = vec![from.to_owned()];
    let (values, left, files) = (HashMap::new(), MAX_NAMES, Vec::new());
    let mut shown = Shown { text, ground, folder, folders, values, left, changes: 0, goes_on: false, files };
    let root = parsed.as_ref().map(|parsed| parsed.tree.root_node());
    if let Some(root) = root.filter(|root| !root.has_error()) {
        shown.statement(root);
        if shown.goes_on || !shown.substitutes_only_reading(root) {
            shown.changed();
        }
    }
    let mut files = shown.files;
    files.truncate(MAX_FILES);
    let mut known: HashSet<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let apart = |letter: char| letter.is_whitespace() || "'\"`=:;,()<>|&".contains(letter);
    let names = command.split(apart).chain(printed.split(apart)).filter(|name| !name.is_empty());
    let paths = names.flat_map(|name| shown.folders.iter().take(MAX_FOLDERS).map(move |folder| absolute(folder, name)));
    // A file that was printed whole is no longer than what was printed.
    let fits =
        |path: &String| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= printed.len() as u64);
    let printed_whole = paths.filter(|path| known.insert(path.clone())).take(MAX_NAMES).filter(fits).take(MAX_PRINTED);
    files.extend(printed_whole.map(|path| (path, Sure::IfPrinted)));
    files
}

struct Shown<'t> {
    text: &'t str,
    ground: Ground,
    /// Where a part runs, if that is known.
    folder: Option<String>,
    /// Where some part runs.
    folders: Vec<String>,
    /// The values of the variables of loops.
    values: HashMap<&'t str, Vec<String>>,
    /// How many names may still be looked at.
    left: usize,
    /// How many parts may have changed files.
    changes: usize,
    /// Whether a part goes on while others run.
    goes_on: bool,
    files: Vec<(String, Sure)>,
}

impl<'t> Shown<'t> {
    fn of(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Returns whether the commands whose output becomes words only read.
    fn substitutes_only_reading(&self, root: Node<'_>) -> bool {
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            let inside = || self.of(node).trim_start_matches(['$', '(', '`']).trim_end_matches([')', '`']);
            match node.kind() {
                "process_substitution" => return false,
                "command_substitution" if !only_reads(inside(), &self.ground) => return false,
                _ => nodes.extend(children(node)),
            }
        }
        true
    }

    /// A part may have changed the files shown so far.
    fn changed(&mut self) {
        self.changes += 1;
        self.doubt(0, Sure::IfUnchanged);
    }

    /// The files from this one on are not surer than this.
    fn doubt(&mut self, first: usize, sure: Sure) {
        self.files.iter_mut().skip(first).for_each(|(_, so_far)| *so_far = sure.max(*so_far));
    }

    /// Follows a statement.
    fn statement(&mut self, node: Node<'_>) {
        let (shown_before, changes_before) = (self.files.len(), self.changes);
        match node.kind() {
            "program" | "do_group" | "compound_statement" => self.parts(node),
            "list" | "pipeline" | "redirected_statement" => self.list(node),
            "subshell" => {
                let folder = self.folder.clone();
                self.parts(node);
                self.folder = folder;
            }
            "for_statement" => {
                let values = children(node).skip_while(|part| part.kind() != "in").skip(1).filter(Node::is_named);
                let values: Vec<Node<'_>> = values.filter(|part| part.kind() != "do_group").collect();
                let values = values.into_iter().flat_map(|value| self.words(value)).collect();
                if let Some(name) = node.child_by_field_name("variable") {
                    self.values.insert(self.of(name), values);
                }
                if let Some(body) = node.child_by_field_name("body") {
                    self.statement(body);
                }
                // The parts of a loop run again.
                if self.changes > changes_before {
                    self.doubt(shown_before, Sure::IfUnchanged);
                }
            }
            "command" => {
                if self.command(node).is_none() {
                    self.changed();
                }
            }
            _ => self.changed(),
        }
    }

    /// Follows one part after the other.
    fn parts(&mut self, node: Node<'_>) {
        for part in children(node) {
            match part.kind() {
                "&" => self.goes_on = true,
                "comment" => {}
                _ if part.is_named() => self.statement(part),
                _ => {}
            }
        }
    }

    /// Follows the pipelines of a list. What comes after `||` may not run.
    fn list(&mut self, node: Node<'_>) {
        let mut may_not_run = false;
        for pipeline in &chain(node) {
            let (before, folder) = (self.files.len(), self.folder.clone());
            self.pipeline(pipeline);
            may_not_run |= pipeline.is_else;
            if may_not_run {
                self.doubt(before, Sure::IfPrinted);
                self.folder = self.folder.take().filter(|now| folder.as_ref() == Some(now));
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline<'_>) {
        let (before, changes, folder) = (self.files.len(), self.changes, self.folder.clone());
        for stage in &pipeline.stages {
            let writes = |redirect: &Node<'_>| {
                let text: String = self.of(*redirect).split_whitespace().collect();
                !matches!(&*text, "2>&1" | "2>/dev/null" | "&>/dev/null")
            };
            match stage.body.filter(|_| !stage.redirects.iter().any(writes)) {
                Some(body) => self.statement(body),
                None => self.changed(),
            }
        }
        let Some(filters) = pipeline.stages.get(1..).filter(|filters| !filters.is_empty()) else { return };
        self.folder = folder;
        if !filters.iter().filter_map(|stage| stage.body).all(|filter| self.passes_on(filter)) {
            self.files.truncate(before);
        }
        // The parts of a pipeline run at the same time.
        if self.changes > changes {
            self.doubt(before, Sure::IfUnchanged);
        }
    }

    /// Returns whether a part of a pipeline shows what it reads, at least the beginning or the end.
    fn passes_on(&self, node: Node<'_>) -> bool {
        let name = node.child_by_field_name("name").map(|name| self.of(name));
        name.is_some_and(|name| matches!(name, "cat" | "nl" | "tac" | "less" | "more" | "head" | "tail"))
    }

    /// Follows a simple command; `None` if it may change files.
    fn command(&mut self, node: Node<'_>) -> Option<()> {
        let program = self.of(node.child_by_field_name("name")?);
        let parts: Vec<Node<'_>> = children(node).filter(|part| part.kind() != "command_name").collect();
        if parts.iter().any(|part| part.kind() == "variable_assignment" || part.kind().ends_with("redirect")) {
            return None;
        }
        let words: Vec<String> = parts.iter().flat_map(|part| self.words(*part)).collect();
        if matches!(program, "cd" | "pushd" | "popd") {
            let to = words.first().filter(|to| program == "cd" && parts.len() == 1 && !to.starts_with('-'));
            self.folder = self.folder.as_ref().zip(to).map(|(folder, to)| absolute(folder, to));
            self.folders.extend(self.folder.clone());
            return Some(());
        }
        match files(program, &words) {
            Some(files) => {
                for file in files {
                    let folder = self.folder.as_deref().or(file.starts_with('/').then_some("/"));
                    let Some(path) = folder.map(|folder| absolute(folder, &file)) else { continue };
                    let all = if is_pattern(&file) { expanded(&path, &mut self.left, false) } else { Some(vec![path]) };
                    self.files.extend(all.unwrap_or_default().into_iter().map(|path| (path, Sure::Yes)));
                }
            }
            None if matches!(program, "echo" | "printf" | "pwd" | "true") => {}
            None if only_reads(self.of(node), &self.ground) => {}
            None => return None,
        }
        Some(())
    }

    /// Returns the words that a word becomes, with globs as they are. What is not known becomes none.
    fn words(&self, node: Node<'_>) -> Vec<String> {
        let text = self.of(node);
        match node.kind() {
            "word" | "number" if !text.contains(['\\', '{', '~', '$', '`']) => vec![text.to_owned()],
            "raw_string" => vec![text.trim_matches('\'').to_owned()],
            "string" => {
                let inside = text.trim_matches('"');
                match inside.strip_prefix('$') {
                    Some(name) => self.values_of(name),
                    None if inside.contains(['$', '`', '\\']) => Vec::new(),
                    None => vec![inside.to_owned()],
                }
            }
            "simple_expansion" | "expansion" => self.values_of(text.trim_start_matches('$')),
            "concatenation" => {
                let mut joined = vec![String::new()];
                for part in children(node) {
                    let ends = self.words(part);
                    joined =
                        joined.iter().flat_map(|start| ends.iter().map(move |end| format!("{start}{end}"))).collect();
                    joined.truncate(MAX_FILES);
                }
                joined
            }
            _ => Vec::new(),
        }
    }

    fn values_of(&self, name: &str) -> Vec<String> {
        let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
        self.values.get(name).cloned().unwrap_or_default()
    }
}

/// Returns the files that one simple command shows; `None` if it is not one that shows files.
fn files(program: &str, arguments: &[String]) -> Option<Vec<String>> {
    let mut rest = arguments.iter();
    let mut files = Vec::new();
    match program {
        "cat" | "nl" | "tac" | "less" | "more" => files.extend(rest.filter(|word| !word.starts_with('-')).cloned()),
        "head" | "tail" => {
            while let Some(word) = rest.next() {
                match word.as_str() {
                    "-n" | "-c" | "--lines" | "--bytes" => drop(rest.next()),
                    // It goes on, and shows what comes.
                    "-f" | "-F" | "--follow" => return None,
                    option if option.starts_with('-') => {}
                    file => files.push(file.to_owned()),
                }
            }
        }
        "sed" => {
            let (quiet, script) = (rest.next()?, rest.next()?);
            let prints = |script: &str| script.ends_with('p') && script.chars().all(|c| "0123456789,;$p ".contains(c));
            if quiet != "-n" || !prints(script) || arguments.iter().skip(2).any(|word| word.starts_with('-')) {
                return None;
            }
            files.extend(rest.cloned());
        }
        _ => return None,
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a command shows, with `?` after what it may have changed since, and without what it may not have shown.
    fn shown(command: &str) -> String {
        let mark = |(path, sure): (String, Sure)| match sure {
            Sure::Yes => Some(path.replace("/nowhere/", "")),
            Sure::IfUnchanged => Some(path.replace("/nowhere/", "") + "?"),
            Sure::IfPrinted => None,
        };
        shown_by(command, "/nowhere", "").into_iter().filter_map(mark).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn a_command_of_readers_shows_the_files_it_names() {
        for (command, expected) in [
            ("cat a.txt", "a.txt"),
            ("cat -n 'a b.txt' \"c.txt\"", "a b.txt,c.txt"),
            ("cat a.txt; cd src && cat main.rs; head -n 20 lib.rs", "a.txt,src/main.rs,src/lib.rs"),
            ("(cd src && cat main.rs); cat a.txt", "src/main.rs,a.txt"),
            ("cd $(pwd) && cat a.txt /etc/hosts", "/etc/hosts"),
            ("sed -n '1,20p' a.txt", "a.txt"),
            ("tail -5 a.txt && echo done", "a.txt"),
            ("cat a.txt | head -50", "a.txt"),
            ("ls -la && cat a.txt", "a.txt"),
            ("cat a.txt 2>/dev/null || echo none", "a.txt"),
            ("cat /etc/hosts", "/etc/hosts"),
            ("git status --short; cat a.txt; grep -rn 'x' src | sort", "a.txt"),
            ("for f in a.txt docs/b.md; do echo \"== $f\"; cat \"$f\"; done", "a.txt,docs/b.md"),
            ("for n in a b; do cat src/$n.py; done", "src/a.py,src/b.py"),
            ("find . -name '*.ts' | sort; cat src/c.rs", "src/c.rs"),
            ("cat a.txt | grep x", ""),
            ("cat a.txt | wc -l", ""),
            ("true || cat a.txt", ""),
            ("cat a.txt && ls 2>&1 | wc -l", "a.txt"),
            ("true || ls 2>&1 | cat a.txt", ""),
            ("for f in a b; do cat $f; done | grep x", ""),
            ("sed -i 's/a/b/' a.toml && cat a.txt", "a.txt"),
            ("cargo fmt && cargo clippy 2>&1 | tail -5; cat .env; git status", ".env"),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }

    #[test]
    fn what_is_not_shown_or_not_known_to_be_shown_does_not_count() {
        for command in [
            "for f in $(git ls-files); do cat $f; done",
            "cat a.txt | grep x",
            "cat a.txt | wc -l",
            "true || cat a.txt",
            "for f in a b; do cat $f; done | grep x",
            "cat a.txt > b.txt",
            "cat $FILE",
            "sed -i 's/a/b/' a.txt",
            "sed -n 'w b.txt' a.txt",
            "cat a.txt | tee b.txt",
            "tail -f a.txt",
            "cat 'a.txt",
            "A=1 cat a.txt",
            "",
        ] {
            assert_eq!(shown(command), "", "{command}");
        }
    }

    #[test]
    fn a_file_that_the_command_may_have_changed_since_counts_only_if_it_has_not() {
        for (command, expected) in [
            ("cat a.txt; cargo fmt", "a.txt?"),
            ("cat a.txt; cargo fmt; cat b.txt", "a.txt?,b.txt"),
            ("cat a.txt || rm a.txt", "a.txt?"),
            ("cat a.txt &", "a.txt?"),
            ("make & cat a.txt", "a.txt?"),
            ("make | cat a.txt", "a.txt?"),
            ("for f in a b; do make; cat $f; done", "a?,b?"),
            ("cat a.txt; echo x > a.txt", "a.txt?"),
            ("cat a.txt; if true; then rm a.txt; fi", "a.txt?"),
            ("echo $(rm a.txt); cat a.txt", "a.txt?"),
            ("for f in $(touch b.txt); do cat a.txt; done", "a.txt?"),
            ("cat a.txt <(rm a.txt)", "a.txt?"),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }

    #[test]
    fn globs_are_expanded_where_they_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.py", "b.py", "c.txt"] {
            std::fs::write(folder.path().join(name), "x").expect("a file");
        }
        let here = folder.path().to_str().expect("text");
        for command in ["cat *.py", "for f in *.py; do echo $f; cat \"$f\"; done"] {
            let mut shown = shown_by(command, here, "");
            shown.sort();
            assert_eq!(shown, ["a.py", "b.py"].map(|name| (format!("{here}/{name}"), Sure::Yes)), "{command}");
        }
        let may_be = shown_by("for f in $(ls); do echo \"== $f\"; cat $f; done", here, "== c.txt\nx\n");
        assert_eq!(may_be, [(format!("{here}/c.txt"), Sure::IfPrinted)]);
    }
}
