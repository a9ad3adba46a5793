//! Which files a command has shown: reading a file with `cat` is reading it.

use std::collections::HashMap;

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

/// The programs that show files.
const SHOW: &[&str] = &["cat", "head", "less", "more", "nl", "sed", "tac", "tail"];

/// Returns whether a command may show a file: most commands do not even name a program that does.
pub(crate) fn may_show(command: &str) -> bool {
    command.split(|letter: char| !letter.is_alphanumeric()).any(|word| SHOW.contains(&word))
}

/// Returns the files that a command has shown whole or in part, as absolute paths. `here` is the folder in which it ended. A
/// command shows nothing if one of its parts may have changed files: what it showed may be gone.
///
/// May block, because it expands globs.
pub(crate) fn shown_by(command: &str, here: &str) -> Vec<String> {
    let clock = SystemClock::default();
    let tree = if command.len() > MAX_BYTES { None } else { parse(command, &mut Budget::new(command.len(), &clock)) };
    let Some(tree) = tree.filter(|tree| !tree.root_node().has_error()) else { return Vec::new() };
    let ground = Ground::new(here, "/");
    let mut shown = Shown { text: command, ground, values: HashMap::new(), commands: 0, files: Vec::new() };
    if !shown.substitutes_only_reading(tree.root_node()) || shown.statement(tree.root_node()).is_none() {
        return Vec::new();
    }
    let mut left = MAX_NAMES;
    let mut files = Vec::new();
    for file in shown.files {
        let path = absolute(here, &file);
        if is_pattern(&file) {
            files.extend(expanded(&path, &mut left).unwrap_or_default());
        } else {
            files.push(path);
        }
    }
    files.truncate(MAX_FILES);
    files
}

struct Shown<'t> {
    text: &'t str,
    ground: Ground,
    /// The values of the variables of loops.
    values: HashMap<&'t str, Vec<String>>,
    commands: usize,
    files: Vec<String>,
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

    /// Follows a statement; `None` if it is not known to only read.
    fn statement(&mut self, node: Node<'_>) -> Option<()> {
        match node.kind() {
            "program" | "do_group" => children(node).try_for_each(|part| match part.kind() {
                "&" => None,
                "comment" => Some(()),
                _ if part.is_named() => self.statement(part),
                _ => Some(()),
            }),
            "list" | "pipeline" | "redirected_statement" => {
                chain(node).iter().try_for_each(|pipeline| self.pipeline(pipeline))
            }
            "for_statement" => {
                let name = self.of(node.child_by_field_name("variable")?);
                let values = children(node).skip_while(|part| part.kind() != "in").skip(1).filter(Node::is_named);
                let values: Vec<Node<'_>> = values.filter(|part| part.kind() != "do_group").collect();
                let values = values.into_iter().flat_map(|value| self.words(value)).collect();
                self.values.insert(name, values);
                self.statement(node.child_by_field_name("body")?)
            }
            "command" => self.command(node),
            _ => None,
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline<'_>) -> Option<()> {
        let before = self.files.len();
        for stage in &pipeline.stages {
            let writes = |redirect: &Node<'_>| {
                let text: String = self.of(*redirect).split_whitespace().collect();
                !matches!(&*text, "2>&1" | "2>/dev/null" | "&>/dev/null")
            };
            if stage.redirects.iter().any(writes) {
                return None;
            }
            self.statement(stage.body?)?;
        }
        let mut filters = pipeline.stages.iter().skip(1).filter_map(|stage| stage.body);
        if pipeline.is_else || !filters.all(|filter| self.passes_on(filter)) {
            self.files.truncate(before);
        }
        Some(())
    }

    /// Returns whether a part of a pipeline shows what it reads, at least the beginning or the end.
    fn passes_on(&self, node: Node<'_>) -> bool {
        let name = node.child_by_field_name("name").map(|name| self.of(name));
        name.is_some_and(|name| matches!(name, "cat" | "nl" | "tac" | "less" | "more" | "head" | "tail"))
    }

    fn command(&mut self, node: Node<'_>) -> Option<()> {
        let is_first = self.commands == 0;
        self.commands += 1;
        let program = self.of(node.child_by_field_name("name")?);
        let parts: Vec<Node<'_>> = children(node).filter(|part| part.kind() != "command_name").collect();
        if parts.iter().any(|part| part.kind() == "variable_assignment" || part.kind().ends_with("redirect")) {
            return None;
        }
        let words: Vec<String> = parts.into_iter().flat_map(|part| self.words(part)).collect();
        // What comes after it is relative to the folder in which the command ended.
        if program == "cd" {
            return (is_first && words.len() == 1).then_some(());
        }
        match files(program, &words) {
            Some(files) => self.files.extend(files),
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

    fn shown(command: &str) -> String {
        shown_by(command, "/nowhere").iter().map(|path| path.replace("/nowhere/", "")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn a_command_of_readers_shows_the_files_it_names() {
        for (command, expected) in [
            ("cat a.txt", "a.txt"),
            ("cat -n 'a b.txt' \"c.txt\"", "a b.txt,c.txt"),
            ("cd src && cat main.rs; head -n 20 lib.rs", "main.rs,lib.rs"),
            ("sed -n '1,20p' a.txt", "a.txt"),
            ("tail -5 a.txt && echo done", "a.txt"),
            ("cat a.txt | head -50", "a.txt"),
            ("ls -la && cat a.txt", "a.txt"),
            ("cat a.txt 2>/dev/null || echo none", "a.txt"),
            ("cat /etc/hosts", "/etc/hosts"),
            ("git status --short; cat a.txt; grep -rn 'x' src | sort", "a.txt"),
            ("for f in a.txt docs/b.md; do echo \"== $f\"; cat \"$f\"; done", "a.txt,docs/b.md"),
            ("for n in a b; do cat src/$n.py; done", "src/a.py,src/b.py"),
            ("for f in $(git ls-files); do cat $f; done", ""),
            ("find . -name '*.ts' | sort; cat src/c.rs", "src/c.rs"),
            ("cat a.txt | grep x", ""),
            ("cat a.txt | wc -l", ""),
            ("true || cat a.txt", ""),
            ("cat a.txt && ls 2>&1 | wc -l", "a.txt"),
            ("true || ls 2>&1 | cat a.txt", ""),
            ("for f in a b; do cat $f; done | grep x", ""),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }

    #[test]
    fn globs_are_expanded_where_the_command_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.py", "b.py", "c.txt"] {
            std::fs::write(folder.path().join(name), "x").expect("a file");
        }
        let here = folder.path().to_str().expect("text");
        for command in ["cat *.py", "for f in *.py; do echo $f; cat \"$f\"; done"] {
            let mut shown = shown_by(command, here);
            shown.sort();
            assert_eq!(shown, [format!("{here}/a.py"), format!("{here}/b.py")], "{command}");
        }
    }

    #[test]
    fn a_command_that_may_do_more_shows_nothing() {
        for command in [
            "cat a.txt > b.txt",
            "cat a.txt; cargo fmt",
            "cat $FILE",
            "sed -i 's/a/b/' a.txt",
            "sed -n 'w b.txt' a.txt",
            "cat a.txt | tee b.txt",
            "cat a.txt || rm a.txt",
            "cat a.txt &",
            "tail -f a.txt",
            "cat 'a.txt",
            "A=1 cat a.txt",
            "for f in a.txt; do cat $f; sed -i s/a/b/ $f; done",
            "cat a.txt; cd src",
            "echo $(rm a.txt); cat a.txt",
            "for f in $(touch b.txt); do cat a.txt; done",
            "cat a.txt <(rm b.txt)",
            "",
        ] {
            assert_eq!(shown(command), "", "{command}");
        }
    }
}
