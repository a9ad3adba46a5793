//! What a hook's command line loads from the project: scripts that can be hashed and copied, and what cannot be bounded.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use vertebra_kit::plain;

use super::{
    inline,
    programs::{Interpreter, Known, is_loading, known},
    shell::{Shell, Simple, Word},
};
use crate::settings::Words;

/// Where a command line starts.
pub(super) struct Ground<'g> {
    /// The project's root, without symbolic links.
    pub(super) root: &'g Path,
    /// The folder in which it starts, without symbolic links.
    pub(super) folder: &'g Path,
    /// The values of variables that are known.
    pub(super) value: &'g dyn Fn(&str) -> Option<String>,
}

/// What a command line loads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Loads {
    /// The scripts that it starts, and the words that name them.
    pub(super) scripts: Vec<(Range<usize>, PathBuf)>,
    /// Other files of the project that it names.
    pub(super) data: Vec<(Range<usize>, PathBuf)>,
    /// Scripts of the project that it would start and that do not exist.
    pub(super) missing: Vec<PathBuf>,
    /// Words after which an interpreter is given options.
    pub(super) flags: Vec<(usize, &'static [&'static str])>,
    /// The same for modules of the project.
    pub(super) modules: Vec<(usize, &'static [&'static str])>,
    /// The names of the programs that it finds on the `PATH`.
    pub(super) names: Vec<String>,
    /// Why it loads more than can be known.
    pub(super) open: Vec<String>,
}

/// Options with which python loads the script's own folder, but nothing that variables or the user's site folder name.
const PYTHON: &[&str] = &["-E", "-s", "-B"];

/// The same without the working folder, for code that is not in a file.
pub(super) const PYTHON_ALONE: &[&str] = &["-I", "-B"];

/// Variables whose value is the project's folder.
pub(super) const PROJECT: &[&str] = &["CLAUDE_PROJECT_DIR", "VERTEBRA_PROJECT_DIR"];

impl Loads {
    /// Reads a command line.
    pub(super) fn of(words: &Words, ground: &Ground<'_>) -> Self {
        let mut reader = Reader { ground, folder: Some(ground.folder.to_owned()), loads: Self::default() };
        match words {
            Words::Line(line) => reader.line(line),
            Words::List(list) => {
                let word = |(at, text): (usize, &String)| Word { range: at..at + 1, text: Some(filled(text, ground)) };
                let words = list.iter().enumerate().map(word).collect();
                reader.simple(&Simple { words, ..Simple::default() });
            }
        }
        reader.loads
    }
}

/// Returns a word of a list with `${CLAUDE_PROJECT_DIR}` filled in, which the handler does before it starts the program.
fn filled(text: &str, ground: &Ground<'_>) -> String {
    PROJECT.iter().fold(text.to_owned(), |text, name| match (ground.value)(name) {
        Some(value) => text.replace(&format!("${{{name}}}"), &value),
        None => text,
    })
}

struct Reader<'g> {
    ground: &'g Ground<'g>,
    /// The folder that relative paths start from; none if it is known only when the line runs.
    folder: Option<PathBuf>,
    loads: Loads,
}

/// What a path leads to.
enum Place {
    Inside(PathBuf),
    Missing(PathBuf),
    Outside,
    Unknown,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        let shell = Shell::read(line, self.ground.value);
        if let Some(odd) = shell.odd {
            self.open(format!("it contains {odd}"));
        }
        for command in &shell.commands {
            self.simple(command);
        }
    }

    fn open(&mut self, why: impl Into<String>) {
        let why = why.into();
        if !self.loads.open.contains(&why) {
            self.loads.open.push(why);
        }
    }

    fn place(&self, path: &str) -> Place {
        let Some(folder) = self.folder.as_ref().filter(|_| !path.is_empty()) else { return Place::Unknown };
        let path = plain(&folder.join(path));
        let root = self.ground.root;
        match path.canonicalize() {
            Ok(_) if path.starts_with(root) => Place::Inside(path),
            Ok(real) if real.starts_with(root) => Place::Inside(real),
            Err(_) if path.starts_with(root) => Place::Missing(path),
            Ok(_) | Err(_) => Place::Outside,
        }
    }

    fn simple(&mut self, command: &Simple) {
        for name in command.sets.iter().filter(|name| is_loading(name)) {
            self.loads.open.push(format!("it sets `{name}`"));
        }
        for word in command.words.iter().skip(1).chain(&command.inputs) {
            if let Some(Place::Inside(path)) = word.text.as_deref().map(|text| self.place(text))
                && path.is_file()
            {
                self.loads.data.push((word.range.clone(), path));
            }
        }
        self.program(&command.words, command.is_nested);
    }

    /// Judges the program at the start of these words.
    fn program(&mut self, words: &[Word], is_nested: bool) {
        let Some((word, rest)) = words.split_first() else { return };
        let Some(name) = &word.text else { return self.open("its program is known only when it runs") };
        let base = name.rsplit('/').next().unwrap_or(name);
        let mut is_own = false;
        if name.contains('/') {
            match self.place(name) {
                Place::Inside(path) => return self.script(word, path),
                Place::Missing(path) => return self.loads.missing.push(path),
                Place::Unknown => return self.open(format!("`{name}` is found only when it runs")),
                Place::Outside => is_own = true,
            }
        }
        match base {
            "cd" | "pushd" | "popd" if !is_own => return self.moved(rest, is_nested),
            "." | "source" if !is_own => return self.operand(rest.first(), base),
            "eval" => return self.open("it evaluates text as a command"),
            "for" | "select" | "function" => return,
            _ => {}
        }
        if !is_own {
            self.loads.names.push(name.clone());
        }
        match known(base) {
            Known::Bounded => {}
            Known::Wrapper => self.wrapped(base, rest, is_nested),
            Known::Interpreter(kind) => self.interpreter(kind, word, rest),
            // A program outside the project is the person's own.
            Known::Unknown if is_own => {}
            Known::Open | Known::Unknown => self.open(format!("`{base}` loads what it finds in the project")),
        }
    }

    fn script(&mut self, word: &Word, path: PathBuf) {
        if path.is_dir() {
            return self.open(format!("`{}` is a folder", path.display()));
        }
        self.loads.data.retain(|(range, _)| *range != word.range);
        self.loads.scripts.push((word.range.clone(), path));
    }

    /// Judges the word that names the script which `program` runs.
    fn operand(&mut self, word: Option<&Word>, program: &str) {
        let Some(word) = word else { return self.open(format!("`{program}` runs what it reads")) };
        let Some(text) = &word.text else {
            return self.open(format!("what `{program}` runs is known only when it runs"));
        };
        match self.place(text) {
            Place::Inside(path) => self.script(word, path),
            Place::Missing(path) => self.loads.missing.push(path),
            Place::Outside => {}
            Place::Unknown => self.open(format!("what `{program}` runs is known only when it runs")),
        }
    }

    fn moved(&mut self, rest: &[Word], is_nested: bool) {
        let to = rest.iter().filter_map(|word| word.text.as_deref()).find(|text| !text.starts_with('-'));
        let to = to.zip(self.folder.as_ref()).map(|(to, folder)| plain(&folder.join(to)));
        self.folder = to.filter(|to| to.is_dir() && rest.len() == 1 && !is_nested);
    }

    fn wrapped(&mut self, name: &str, rest: &[Word], is_nested: bool) {
        let mut words = rest.iter();
        let mut operands = usize::from(name == "timeout");
        let mut left = rest;
        while let Some(word) = words.next() {
            let Some(text) = word.text.as_deref() else { break };
            let set = text.split_once('=').map(|(set, _)| set).filter(|_| name == "env" && !text.starts_with('-'));
            match text {
                "-S" | "-C" if name == "env" => return self.open(format!("`env {text}`")),
                _ if text.starts_with("--split-string") || text.starts_with("--chdir") => {
                    return self.open("`env` with an option that hides the program");
                }
                "-n" | "-s" | "-k" | "-a" | "-u" => drop(words.next()),
                _ if text.starts_with('-') => {}
                _ if set.is_some() => {
                    if let Some(set) = set.filter(|set| is_loading(set)) {
                        self.open(format!("it sets `{set}`"));
                    }
                }
                _ if operands > 0 => operands -= 1,
                _ => break,
            }
            left = words.as_slice();
        }
        self.program(left, is_nested);
    }

    fn interpreter(&mut self, kind: Interpreter, program: &Word, rest: &[Word]) {
        let name = program.text.clone().unwrap_or_default();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let Some(text) = word.text.as_deref() else { break };
            if !text.starts_with('-') || text == "-" {
                if kind == Interpreter::Filter {
                    // The program itself, on the command line.
                    if inline::filter_starts(&name, text) {
                        self.open(format!("`{name}` starts programs"));
                    }
                    return;
                }
                if kind == Interpreter::Python {
                    self.loads.flags.push((program.range.end, PYTHON));
                }
                return match text {
                    "-" => self.open(format!("`{name}` runs what it reads")),
                    _ => self.operand(Some(word), &name),
                };
            }
            let cluster = text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-')).unwrap_or_default();
            // `-Wdefault`, `-MJSON::PP` and `-rjson` have a value; other clusters end with the option that takes code.
            let ends = |letter: char| cluster.ends_with(letter) && !cluster.starts_with(['W', 'X', 'M', 'm', 'r']);
            match kind {
                Interpreter::Python if ends('c') => {
                    self.loads.flags.push((program.range.end, PYTHON_ALONE));
                    return self.inline(&name, rest);
                }
                Interpreter::Python if cluster == "m" || ends('m') => {
                    let module = words.next().and_then(|word| word.text.as_deref()).unwrap_or_default();
                    let first = module.split('.').next().unwrap_or_default();
                    let here = |end: &str| matches!(self.place(&format!("{first}{end}")), Place::Inside(_));
                    let is_here = module.is_empty() || here("") || here(".py");
                    self.loads.modules.push((program.range.end, PYTHON_ALONE));
                    if is_here {
                        return self.open(format!("`{name} -m {module}` is a module of the project: name its file"));
                    }
                    return self.loads.flags.append(&mut self.loads.modules);
                }
                Interpreter::Python if matches!(cluster, "W" | "X") => drop(words.next()),
                Interpreter::Node
                    if !matches!(text, "--no-warnings" | "--experimental-strip-types" | "--enable-source-maps") =>
                {
                    return self.open(format!("`{name} {text}` may load modules of the project"));
                }
                Interpreter::Ruby | Interpreter::Perl
                    if cluster.starts_with(['I', 'S', 'C', 'x'])
                        || text.contains("lib")
                        || (cluster.contains('I') && !cluster.starts_with(['M', 'm', 'r'])) =>
                {
                    return self.open(format!("`{name} {text}` loads from a folder"));
                }
                Interpreter::Ruby if cluster.starts_with('r') && (text.contains('/') || text == "-r") => {
                    return self.open(format!("`{name} {text}` loads a file"));
                }
                // The code is on the command line.
                Interpreter::Ruby | Interpreter::Perl if ends('e') || ends('E') => return self.inline(&name, rest),
                Interpreter::Shell if cluster.contains('c') => return self.code(words.next(), &name),
                Interpreter::Shell if cluster.contains('s') || text.starts_with("--") => {
                    return self.open(format!("`{name} {text}` runs what it reads"));
                }
                Interpreter::Shell if ends('o') || ends('O') => drop(words.next()),
                Interpreter::Filter if matches!(text, "-f" | "--file" | "--from-file") => {
                    self.operand(words.next(), &name);
                }
                Interpreter::Filter
                    if cluster.starts_with(['L', 'i']) && name.ends_with("jq") || text.contains("file=") =>
                {
                    return self.open(format!("`{name} {text}` loads a file"));
                }
                _ => {}
            }
        }
        match kind {
            Interpreter::Filter => {}
            _ if words.as_slice().is_empty() && !rest.iter().any(|word| word.text.is_none()) => {
                if !rest.iter().any(|word| matches!(word.text.as_deref(), Some("--version" | "-V" | "-v"))) {
                    self.open(format!("`{name}` runs what it reads"));
                }
            }
            _ => self.open(format!("what `{name}` runs is known only when it runs")),
        }
    }

    /// Judges the code after `python3 -c` and the like.
    fn inline(&mut self, name: &str, rest: &[Word]) {
        let read = |read: &dyn Fn(&mut Self)| {
            let mut inner = Self { ground: self.ground, folder: self.folder.clone(), loads: Loads::default() };
            read(&mut inner);
            let Loads { scripts, data, missing, mut open, .. } = inner.loads;
            if !scripts.is_empty() || !data.is_empty() || !missing.is_empty() {
                open.push(format!("code on the command line of `{name}` runs a file of the project"));
            }
            open
        };
        let command = |words: &[Word]| read(&|reader| reader.program(words, true)).into_iter().next();
        let line = |text: &str| read(&|reader| reader.line(text));
        let base = name.rsplit('/').next().unwrap_or(name);
        let mut found = Vec::new();
        for (file, word) in inline::given(base, rest) {
            found.extend(match &word.text {
                Some(text) => inline::reported(file, text, self.ground.root, &command, &line),
                None => Some(format!("what `{name}` runs is known only when it runs")),
            });
        }
        for why in found {
            self.open(why);
        }
    }

    /// Judges the code after `sh -c`.
    fn code(&mut self, word: Option<&Word>, name: &str) {
        let Some(code) = word.and_then(|word| word.text.as_deref()) else {
            return self.open(format!("what `{name}` runs is known only when it runs"));
        };
        let mut inner = Reader { ground: self.ground, folder: self.folder.clone(), loads: Loads::default() };
        inner.line(code);
        let Loads { scripts, data, missing, flags, modules: _, names, open } = inner.loads;
        self.loads.names.extend(names);
        if !scripts.is_empty() || !data.is_empty() || !missing.is_empty() || !flags.is_empty() {
            self.open(format!("it names a file of the project inside `{name} -c`: write the command without it"));
        }
        for why in open {
            self.open(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns what a line loads, in short.
    fn found(line: &str) -> String {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().canonicalize().expect("a path");
        for name in ["hooks/x.sh", "hooks/a b.py", "hooks/f.jq", "tools/check.py", "Makefile", "go/main.go"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        let text = root.to_string_lossy().into_owned();
        let value = |name: &str| PROJECT.contains(&name).then(|| text.clone());
        let loads = Loads::of(&Words::Line(line.to_owned()), &Ground { root: &root, folder: &root, value: &value });
        if !loads.open.is_empty() {
            return "open".to_owned();
        }
        let scripts = loads.scripts.iter().chain(&loads.data).map(|(_, path)| path).chain(&loads.missing);
        let names = scripts.map(|path| path.strip_prefix(&root).expect("inside").to_string_lossy().into_owned());
        names.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_scripts_of_a_line_are_found_and_what_cannot_be_bounded_is_open() {
        for (line, expected) in [
            ("./hooks/x.sh", "hooks/x.sh"),
            ("sh hooks/x.sh --fast", "hooks/x.sh"),
            ("python3 'hooks/a b.py'", "hooks/a b.py"),
            ("python3 -u \"$CLAUDE_PROJECT_DIR\"/hooks/a\\ b.py", "hooks/a b.py"),
            ("\"${CLAUDE_PROJECT_DIR}/hooks/x.sh\"", "hooks/x.sh"),
            ("cd hooks && ./x.sh", "hooks/x.sh"),
            ("env -i timeout 5 ./hooks/x.sh", "hooks/x.sh"),
            ("cat | ./hooks/x.sh >> log.txt 2>&1", "hooks/x.sh"),
            ("if ! ./hooks/x.sh; then exit 2; fi", "hooks/x.sh"),
            (". hooks/x.sh", "hooks/x.sh"),
            ("jq -f hooks/f.jq", "hooks/f.jq"),
            ("./hooks/missing.sh", "hooks/missing.sh"),
            ("jq -r '.tool_input.command' >> ~/log.txt", ""),
            ("echo '{\"verdict\": \"deny\"}'", ""),
            ("x=$(cat); [ -n \"$x\" ] && exit 2", ""),
            ("python3 -c 'import json, sys'", ""),
            ("python3 -m json.tool", ""),
            ("bash -c 'exit 2'", ""),
            ("perl -ne 'print if /x/'", ""),
            ("case $1 in make|npm) exit 2;; *) true;; esac", ""),
            ("make lint", "open"),
            ("make -C tools", "open"),
            ("npm --prefix tools run x", "open"),
            ("go run ./go", "open"),
            ("cargo run --manifest-path go/Cargo.toml", "open"),
            ("just check", "open"),
            ("task check", "open"),
            ("eslint .", "open"),
            ("unheard-of --now", "open"),
            ("python3 -m tools.check", "open"),
            ("python3 tools", "open"),
            ("python3", "open"),
            ("python3 - < hooks/x.sh", "open"),
            ("sh < hooks/x.sh", "open"),
            ("cat hooks/x.sh | sh", "open"),
            ("node -e 'require(\"x\")'", "open"),
            ("perl -e 'do q(./x.pl)'", "open"),
            ("python3 -c 'exec(open(\"x.txt\").read())'", "open"),
            ("python3 -c \"$CODE\"", "open"),
            ("awk 'BEGIN { while ((getline l < \"x\") > 0) system(l) }'", "open"),
            ("awk '{ print $1 }'", ""),
            ("node --require ./x hooks/x.sh", "open"),
            ("perl -I. hooks/x.sh", "open"),
            ("ruby -r./x -e 1", "open"),
            ("$TOOL x", "open"),
            ("$(git rev-parse --show-toplevel)/hooks/x.sh", "open"),
            ("PATH=tools:$PATH check", "open"),
            ("PYTHONPATH=tools python3 'hooks/a b.py'", "open"),
            ("env PYTHONPATH=tools python3 'hooks/a b.py'", "open"),
            ("env --split-string='sh -c x'", "open"),
            ("eval \"$(cat)\"", "open"),
            ("bash -c 'hooks/x.sh'", "open"),
            ("cd \"$SOMEWHERE\" && ./x.sh", "open"),
            ("ls | xargs sh", "open"),
            ("echo \"`make x`\"", "open"),
            ("echo \"$(make x)\"", "open"),
            ("(cd tools; make)", "open"),
            ("hooks/*.sh", "open"),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }
}
