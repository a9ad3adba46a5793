//! Finds the project files that a command names, so that trust covers the scripts and not only their names.

use std::path::{Path, PathBuf};

use vertebra::shell::{ParseLimits, Word, parse};
use vertebra_kit::plain;

/// How many folders of a command are searched for the words that follow them.
const MAX_BASES: usize = 16;

/// How many files one project's hooks may name.
pub(super) const MAX_SCRIPTS: usize = 256;

/// Programs that follow a file which their command line does not name, and those files.
const OBEYED: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["npm", "npx", "pnpm", "yarn", "bun", "bunx"], &["package.json"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
];

/// Files that are started if a command names their folder.
const ENTRIES: &[&str] = &["__main__.py", "index.js", "index.mjs", "index.ts"];

/// Returns the existing project files that these words name, in any way that a shell would find them: as written, in the
/// project, in a folder that was named before, after a variable. In doubt a file is included.
///
/// A deleted file is included if the caller says that it existed.
pub(super) fn named(
    words: &[String],
    root: &Path,
    folders: &[&Path],
    was_there: &dyn Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut search = Search { root, bases: vec![root.to_owned()], found: Vec::new(), was_there };
    for folder in folders.iter().filter(|folder| **folder != root) {
        search.bases.push((*folder).to_owned());
    }
    for word in words {
        for piece in pieces(word) {
            search.piece(&piece);
        }
    }
    search.found
}

struct Search<'p> {
    root: &'p Path,
    bases: Vec<PathBuf>,
    found: Vec<PathBuf>,
    was_there: &'p dyn Fn(&Path) -> bool,
}

impl Search<'_> {
    fn piece(&mut self, piece: &str) {
        let program = piece.rsplit('/').next().unwrap_or(piece);
        for (_, files) in OBEYED.iter().filter(|(programs, _)| programs.contains(&program)) {
            for file in *files {
                self.file(file);
            }
        }
        // `python3 -m tools.check`
        if !piece.contains('/') && piece.contains(|letter: char| letter.is_alphanumeric()) {
            let module = piece.replace('.', "/");
            for form in ["{}.py", "{}/__main__.py", "{}/__init__.py"] {
                self.file(&form.replace("{}", &module));
            }
        }
        if piece.starts_with(['$', '~']) {
            // The value of a variable is unknown here, so every suffix of the path is looked up in the project.
            for (at, _) in piece.match_indices('/').take(MAX_BASES) {
                self.file(&piece[at + 1..]);
            }
        } else {
            self.file(piece);
        }
        // `$(git rev-parse --show-toplevel)/hooks/check.sh` comes in pieces.
        if let Some(relative) = piece.strip_prefix('/') {
            self.file(relative);
        }
    }

    fn file(&mut self, name: &str) {
        if name.is_empty() {
            return;
        }
        for base in self.bases.clone() {
            let path = plain(&base.join(name));
            let Ok(real) = path.canonicalize() else {
                if (self.was_there)(&path) && !self.found.contains(&path) {
                    self.found.push(path);
                }
                continue;
            };
            let is_spelled_inside = path.starts_with(self.root);
            if is_spelled_inside && path != real && !path.is_dir() {
                // Record the link itself too: replacing one script by another is a change.
                self.add(path.clone());
            }
            // A link out of the project still belongs to the project.
            let path = match (real.starts_with(self.root), is_spelled_inside) {
                (true, _) => real,
                (false, true) => path,
                (false, false) => continue,
            };
            if path.is_dir() {
                for entry in ENTRIES.iter().map(|entry| path.join(entry)).filter(|entry| entry.is_file()) {
                    self.add(entry);
                }
                if self.bases.len() < MAX_BASES && !self.bases.contains(&path) {
                    self.bases.push(path);
                }
            } else {
                self.add(path);
            }
        }
    }

    fn add(&mut self, path: PathBuf) {
        if self.found.len() <= MAX_SCRIPTS && !self.found.contains(&path) {
            self.found.push(path);
        }
    }
}

/// Returns the words of a line and the words inside them: `sh -c 'tools/check.sh'`, `--config=tools/check.toml`. A file that is
/// only written is left out: a log changes whenever its hook runs.
fn pieces(line: &str) -> Vec<String> {
    let parsed = parse(line, ParseLimits::default());
    // A path in a list may contain spaces, and code is not a command line. A text with a redirection is a command line.
    let is_line = parsed.commands().iter().any(|command| !command.redirects().is_empty());
    let whole = Some(line).filter(|_| !is_line);
    let documents = parsed.documents().iter().map(|document| document.text.as_str());
    let mut pieces = Vec::new();
    for word in parsed.read_words().map(Word::text).chain(documents).chain(whole) {
        let parts = word.split(|letter: char| is_between(letter) || matches!(letter, '"' | '\'' | '=' | ',' | ':'));
        pieces.extend(parts.filter(|part| !part.is_empty() && *part != word).map(str::to_owned));
        pieces.extend(word.strip_prefix('-').and_then(|glued| Some(glued.get(1..)?.to_owned())));
        pieces.push(word.to_owned());
    }
    pieces
}

fn is_between(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`' | '{' | '}')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_script_is_found_however_a_command_names_it() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().canonicalize().expect("a path");
        for name in ["hooks/x.sh", "hooks/a b.py", "tools/check.py", "tools/__main__.py", "Makefile", "sub/in.txt"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        let found = |line: &str| {
            let files = named(&[line.to_owned()], &root, &[&root.join("sub")], &|_| false);
            let mut names: Vec<String> =
                files.iter().map(|file| file.strip_prefix(&root).expect("inside").display().to_string()).collect();
            names.sort();
            names.join(", ")
        };
        for (line, names) in [
            ("./hooks/x.sh --fast", "hooks/x.sh"),
            ("\"$CLAUDE_PROJECT_DIR\"/hooks/x.sh", "hooks/x.sh"),
            ("${CLAUDE_PROJECT_DIR}/hooks/'a b.py'", "hooks/a b.py"),
            ("python3 \"$CLAUDE_PROJECT_DIR/hooks/a b.py\"", "hooks/a b.py"),
            ("hooks/a\\ b.py", "hooks/a b.py"),
            ("../hooks/x.sh", "hooks/x.sh"),
            ("cd hooks && ./x.sh", "hooks/x.sh"),
            ("bash -c 'set -e; hooks/x.sh | cat'", "hooks/x.sh"),
            ("sh <hooks/x.sh", "hooks/x.sh"),
            ("$(git rev-parse --show-toplevel)/hooks/x.sh", "hooks/x.sh"),
            ("~/projects/this/hooks/x.sh", "hooks/x.sh"),
            ("env --split-string='python3 -I' tools/check.py", "tools/check.py"),
            ("python3 -m tools.check", "tools/check.py"),
            ("python3 tools", "tools/__main__.py"),
            ("make -s lint", "Makefile"),
            ("checker --rules=sub/in.txt", "sub/in.txt"),
            ("checker -fsub/in.txt", "sub/in.txt"),
            ("cat in.txt", "sub/in.txt"),
            ("jq -r .tool_input.command >> sub/in.txt", ""),
            ("jq . >sub/in.txt 2>&1; hooks/x.sh &>> \"$CLAUDE_PROJECT_DIR/sub/in.txt\"", "hooks/x.sh"),
            ("$CLAUDE_PROJECT_DIR/hooks/x.sh >> ./Makefile", "hooks/x.sh"),
            ("cat >| hooks/x.sh | sh hooks/x.sh", "hooks/x.sh"),
            ("exec 3<>hooks/x.sh; sh <&3", "hooks/x.sh"),
            ("true > \"$(hooks/x.sh)\"", "hooks/x.sh"),
            ("tee >(hooks/x.sh)", "hooks/x.sh"),
            ("node -e 'run(() =>\"hooks/x.sh\")'", "hooks/x.sh"),
            ("jq -r .tool_input.command", ""),
            ("/bin/sh -c true", ""),
        ] {
            assert_eq!(found(line), names, "{line}");
        }
    }

    #[test]
    fn a_link_that_leads_out_of_the_project_is_a_script_of_the_project() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().canonicalize().expect("a path").join("project");
        fs::create_dir(&root).expect("a folder");
        fs::write(outer.path().join("evil.sh"), "").expect("a file");
        std::os::unix::fs::symlink("../evil.sh", root.join("x.sh")).expect("a link");
        assert_eq!(named(&["./x.sh".to_owned()], &root, &[], &|_| false), [root.join("x.sh")]);
        assert!(
            named(&["../evil.sh".to_owned()], &root, &[], &|_| false).is_empty(),
            "what is not the project's is not asked about"
        );
    }
}
