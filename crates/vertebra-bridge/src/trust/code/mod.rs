//! Reads the scripts of a hook folder in Python, JavaScript, Ruby and Perl for what they load from outside it.
//!
//! This finds the ways in which people write it, and is no interpreter. What it cannot tell to be the script's own folder, or
//! a place outside the project, is reported.

mod expression;

use std::path::Path;

use self::expression::{Source, elements};
use super::{
    programs::{Interpreter, Known, known},
    shell::Word,
};

/// A language of scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Ruby,
    Perl,
}

const ALL: &[Language] = &[Language::Python, Language::JavaScript, Language::Ruby, Language::Perl];

/// Endings of files that no interpreter of these languages is given.
const OTHER: &[&str] = &[
    "awk", "bash", "bat", "c", "cfg", "conf", "css", "csv", "fish", "go", "html", "ini", "jq", "json", "jsonl", "lock",
    "log", "lua", "map", "md", "png", "ps1", "rs", "rst", "sed", "sh", "so", "sql", "svg", "toml", "tsv", "txt",
    "wasm", "xml", "yaml", "yml", "zsh",
];

impl Language {
    /// Returns the languages that a file may be in, by its first line or its name.
    fn of(name: &Path, first_line: &str) -> &'static [Self] {
        let of_word = |word: &str| match known(word) {
            Known::Interpreter(Interpreter::Python) => Some(0),
            Known::Interpreter(Interpreter::Node) => Some(1),
            Known::Interpreter(Interpreter::Ruby) => Some(2),
            Known::Interpreter(Interpreter::Perl) => Some(3),
            _ => None,
        };
        if let Some(line) = first_line.strip_prefix("#!") {
            let at = line.split(['/', ' ', '\t']).find_map(of_word);
            return at.map_or(&[], |at| &ALL[at..=at]);
        }
        match name.extension().and_then(|end| end.to_str()) {
            Some("py" | "pyw") => &ALL[..1],
            Some("js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx") => &ALL[1..2],
            Some("rb") => &ALL[2..3],
            Some("pl" | "pm") => &ALL[3..],
            Some(end) if OTHER.contains(&end) => &[],
            _ => ALL,
        }
    }

    /// Names that stand for the script's own place.
    fn own(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["__file__"],
            Self::JavaScript => &["__dirname", "__filename", "meta"],
            Self::Ruby => &["__dir__", "__FILE__", "$0"],
            Self::Perl => &["Bin", "RealBin", "__FILE__", "$0"],
        }
    }

    /// Names that lead nowhere by themselves.
    fn harmless(self) -> &'static [&'static str] {
        match self {
            Self::Python => &[
                "Path",
                "abspath",
                "absolute",
                "as_posix",
                "compile",
                "dirname",
                "encoding",
                "exec",
                "fspath",
                "join",
                "joinpath",
                "normpath",
                "open",
                "os",
                "parent",
                "parents",
                "path",
                "pathlib",
                "read",
                "read_text",
                "realpath",
                "resolve",
                "rstrip",
                "str",
                "sys",
            ],
            Self::JavaScript => &[
                "URL",
                "String",
                "dirname",
                "fileURLToPath",
                "fs",
                "href",
                "import",
                "join",
                "new",
                "normalize",
                "path",
                "pathToFileURL",
                "pathname",
                "readFileSync",
                "require",
                "resolve",
                "toString",
                "url",
                "utf8",
            ],
            Self::Ruby => &[
                "File",
                "LOAD_PATH",
                "Pathname",
                "dirname",
                "expand_path",
                "include",
                "join",
                "new",
                "parent",
                "read",
                "realpath",
                "to_s",
                "unless",
            ],
            Self::Perl => &[
                "Cwd",
                "File",
                "FindBin",
                "Spec",
                "abs_path",
                "canonpath",
                "catdir",
                "catfile",
                "dirname",
                "my",
                "our",
                "realpath",
                "rel2abs",
            ],
        }
    }
}

/// Variables by which programs load code, as scripts set them for what they start.
const VARIABLES: &[&str] = &[
    "BASH_ENV",
    "CLASSPATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH_COMMAND",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
];

/// Returns what a script loads from outside its folder. `command` says the same of the words of a command and of a shell line.
pub(super) fn reported(
    name: &Path,
    text: &str,
    root: &Path,
    command: &dyn Fn(&[Word]) -> Option<String>,
    line: &dyn Fn(&str) -> Vec<String>,
) -> Vec<String> {
    let first = text.lines().next().unwrap_or_default();
    let mut found = Vec::new();
    for language in Language::of(name, first) {
        let source = Source::new(text, *language, root);
        let search = Search { source: &source, command, line };
        found.extend(match language {
            Language::Python => search.python(),
            Language::JavaScript => search.javascript(),
            Language::Ruby => search.ruby(),
            Language::Perl => search.perl(),
        });
        found.extend(search.variables());
    }
    found
}

struct Search<'s> {
    source: &'s Source<'s>,
    command: &'s dyn Fn(&[Word]) -> Option<String>,
    line: &'s dyn Fn(&str) -> Vec<String>,
}

fn loads(what: &str) -> String {
    format!("uses `{what}`, which may load what an agent writes")
}

fn runs(what: &str) -> String {
    format!("uses `{what}`, which runs a text that is known only when it runs")
}

/// Whether a literal name is looked for on the interpreter's own search path.
fn is_module(text: &str) -> bool {
    !text.starts_with(['.', '/', '~']) && !text.contains("://") && !text.starts_with("file:")
}

impl Search<'_> {
    fn python(&self) -> Vec<String> {
        let source = self.source;
        let mut found = Vec::new();
        let text = &source.text;
        for name in
            ["from sys import path", "getattr(sys", "sys.meta_path", "sys.path_hooks", "vars(sys)", "sys.__dict__"]
        {
            found.extend(source.places(name).next().map(|_| loads(name)));
        }
        let renamed = text.match_indices("import sys as ").map(|(at, found)| {
            let rest = &text[at + found.len()..];
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
            format!("{}.path", &rest[..end])
        });
        for name in renamed.chain(["sys.path", "__path__"].map(str::to_owned)) {
            found.extend(self.changed_list(&name));
        }
        for (name, skipped) in [
            ("addsitedir", 0),
            ("spec_from_file_location", 1),
            ("SourceFileLoader", 1),
            ("SourcelessFileLoader", 1),
            ("ExtensionFileLoader", 1),
            ("load_source", 1),
            ("FileFinder", 0),
            ("find_spec", 1),
            ("zipimporter", 0),
            ("run_path", 0),
            ("extend_path", 0),
            ("execfile", 0),
        ] {
            found.extend(self.unowned(name, skipped).then(|| loads(name)));
        }
        for name in ["exec", "eval"] {
            let is_bare = |at: &usize| !text[..*at].ends_with('.');
            let given = source.places(name).filter(is_bare).filter_map(|at| source.arguments(at + name.len()));
            let is_fixed = |given: &str| {
                elements(given).first().is_none_or(|first| source.literal(first).is_some() || source.is_own(first))
            };
            found.extend(given.filter(|given| !is_fixed(given)).map(|_| runs(name)).next());
        }
        for module in ["pickle", "marshal", "dill", "joblib", "cloudpickle", "shelve"] {
            for call in ["load", "loads", "open", "Unpickler"] {
                let name = format!("{module}.{call}");
                found.extend(self.unowned(&name, 0).then(|| runs(&name)));
            }
        }
        for name in ["CDLL", "PyDLL", "LoadLibrary"] {
            found.extend(self.foreign(name, |text| !text.contains('/')).then(|| loads(name)));
        }
        let starts = [
            "subprocess.run",
            "subprocess.call",
            "subprocess.check_call",
            "subprocess.check_output",
            "subprocess.Popen",
            "subprocess.getoutput",
            "subprocess.getstatusoutput",
            "os.system",
            "os.popen",
            "Popen",
            "check_output",
            "check_call",
            "create_subprocess_shell",
            "create_subprocess_exec",
        ];
        found.extend(starts.iter().flat_map(|name| self.started(name)));
        found
    }

    fn javascript(&self) -> Vec<String> {
        let source = self.source;
        let mut found = Vec::new();
        for name in ["require", "import"] {
            let is_bounded = |text: &str| is_module(text) || text.starts_with("./") || text.starts_with("../");
            found.extend(self.foreign(name, is_bounded).then(|| loads(name)));
        }
        for at in source.places("from") {
            let named = source.statement(at + "from".len());
            let literal = source.literal(named.trim_end_matches(';'));
            found
                .extend(literal.filter(|text| text.starts_with('/') && !source.is_own(named)).map(|_| loads("import")));
        }
        for name in ["createRequire", "dlopen", "Worker", "fork", "SourceTextModule", "Script"] {
            found.extend(self.unowned(name, 0).then(|| loads(name)));
        }
        for name in ["runInThisContext", "runInNewContext", "runInContext", "compileFunction", "Function"] {
            found.extend(self.unowned(name, 0).then(|| runs(name)));
        }
        found.extend(self.foreign("eval", |_| true).then(|| runs("eval")));
        for name in ["module.paths", "main.paths", "globalPaths"] {
            found.extend(self.changed_list(name));
        }
        for name in ["_nodeModulePaths", "_resolveFilename", "_initPaths", "_load", "registerHooks", "_extensions"] {
            found.extend(source.places(name).next().map(|_| loads(name)));
        }
        let resolved = source.calls("require.resolve");
        found.extend(
            resolved
                .filter(|given| given.contains("paths") && !source.is_own(given))
                .map(|_| loads("require.resolve"))
                .next(),
        );
        let starts = ["exec", "execSync", "execFile", "execFileSync", "spawn", "spawnSync"];
        found.extend(starts.iter().flat_map(|name| self.started(name)));
        found
    }

    fn ruby(&self) -> Vec<String> {
        let source = self.source;
        let mut found = Vec::new();
        for name in ["$:", "$LOAD_PATH", "$-I", "$LOADED_FEATURES"] {
            found.extend(self.changed_list(name));
        }
        let is_gem = |text: &str| is_module(text) && !text.starts_with("bundler");
        found.extend(self.foreign("require", is_gem).then(|| loads("require")));
        found.extend(
            self.foreign("require_relative", |text| !text.starts_with(['/', '~'])).then(|| loads("require_relative")),
        );
        let loaded = source
            .places("load")
            .filter(|at| !source.text[..*at].ends_with(['.', ':']) || source.text[..*at].ends_with("Kernel."));
        let loaded = loaded.filter_map(|at| source.arguments(at + "load".len()));
        found.extend(loaded.filter(|given| !source.is_own(given)).map(|_| loads("load")).next());
        found.extend(self.unowned("Marshal.load", 0).then(|| runs("Marshal.load")));
        let autoloaded = source.calls("autoload").filter_map(|given| elements(given).pop());
        let is_bounded =
            |given: &str| source.is_own(given) || source.literal(given).is_some_and(|text| is_module(&text));
        found.extend(autoloaded.filter(|given| !is_bounded(given)).map(|_| loads("autoload")).next());
        for name in ["eval", "instance_eval", "class_eval", "module_eval"] {
            let given = source.calls(name).filter(|given| !given.starts_with(['{', '|']) && !given.starts_with("do"));
            let is_fixed = |given: &str| {
                elements(given).first().is_none_or(|first| source.literal(first).is_some() || source.is_own(first))
            };
            found.extend(given.filter(|given| !is_fixed(given)).map(|_| runs(name)).next());
        }
        for name in ["Bundler", "RubyVM", "Gem.paths", "Gem.use_paths", "dlopen"] {
            found.extend(source.places(name).next().map(|_| loads(name)));
        }
        found.extend(
            ["system", "exec", "spawn", "popen", "capture2", "capture2e", "capture3", "%x"]
                .iter()
                .flat_map(|name| self.started(name)),
        );
        found.extend(self.quoted('`'));
        found
    }

    fn perl(&self) -> Vec<String> {
        let source = self.source;
        let mut found = Vec::new();
        for at in source.places("use lib") {
            let given = source.statement(at + "use lib".len());
            found.extend((!source.is_own(given)).then(|| loads("use lib")));
        }
        for at in source.places("@INC").chain(source.places("$INC[")) {
            let line = source.text[..at].rfind('\n').map_or(0, |start| start + 1);
            let begins = source.text[line..at].trim_end_matches(['(', ' ']);
            let changes = ["unshift", "push", "splice", "local"].iter().any(|verb| begins.ends_with(verb));
            let rest = source.statement(at + "@INC".len());
            let is_set = rest
                .trim_start_matches(|letter: char| letter.is_ascii_digit() || "[] ".contains(letter))
                .starts_with('=');
            let given = rest.trim_start_matches([' ', ',', '=']);
            found.extend(((changes || is_set) && !source.is_own(given)).then(|| loads("@INC")));
        }
        for name in ["require", "do"] {
            for at in source.places(name) {
                let given = source.statement(at + name.len());
                let word = given.trim_start().trim_start_matches('(');
                let names_file = word.starts_with(['"', '\'', '$']) || word.starts_with("q(") || word.starts_with("qq");
                let is_found = source.literal(word.trim_end_matches(')')).is_some_and(|text| is_module(&text));
                found.extend((names_file && !is_found && !source.is_own(word)).then(|| loads(name)));
            }
        }
        for at in source.places("eval") {
            let given = source.statement(at + "eval".len());
            let word = given.trim_start();
            let is_text = word.starts_with(['"', '$', '`', '(']) || word.starts_with("join") || word.starts_with("do");
            found.extend((is_text && source.literal(word).is_none()).then(|| runs("eval")));
        }
        found.extend(["system", "exec", "qx"].iter().flat_map(|name| self.started(name)));
        found.extend(self.quoted('`'));
        found
    }

    /// Returns whether a function is given something else than the script's own folder.
    fn unowned(&self, name: &str, skipped: usize) -> bool {
        self.source.calls(name).any(|given| {
            let given = elements(given);
            given.len() > skipped && !given[skipped..].iter().take(1).all(|given| self.source.is_own(given))
        })
    }

    /// Returns whether a function is given something else than a literal name that is bounded, or the script's own folder.
    fn foreign(&self, name: &str, is_bounded: impl Fn(&str) -> bool) -> bool {
        self.source.calls(name).any(|given| {
            let Some(given) = elements(given).first().copied() else { return false };
            let given = given.split(" unless ").next().unwrap_or(given).split(" if ").next().unwrap_or(given);
            !self.source.literal(given).is_some_and(|text| is_bounded(&text)) && !self.source.is_own(given)
        })
    }

    /// Returns whether a list of folders is given another folder than the script's own, or gets another name.
    fn changed_list(&self, name: &str) -> Option<String> {
        let source = self.source;
        let changes = |at: usize| {
            let rest = source.text[at + name.len()..].trim_start_matches([' ', '\t']);
            let from = source.text.len() - rest.len();
            for verb in [".insert", ".append", ".extend", ".unshift", ".push", ".prepend", ".concat", ".splice"] {
                if rest.starts_with(verb) {
                    let given = source.arguments(from + verb.len()).unwrap_or_default();
                    let given = elements(given);
                    // The place in the list comes first.
                    let is_place = |element: &&&str| element.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                    return !given.iter().filter(|element| !is_place(element)).all(|given| source.is_own(given));
                }
            }
            let rest = match rest.strip_prefix('[') {
                Some(index) => index.split_once(']').map_or("", |(_, rest)| rest).trim_start(),
                None => rest,
            };
            let set = ["<<", "+=", "|=", "="].iter().find_map(|sign| rest.strip_prefix(sign));
            if let Some(set) = set.filter(|set| !set.starts_with(['=', '~'])) {
                let from = source.text.len() - set.len();
                let given = source.statement(from).replace(name, "");
                return !source.is_own(&given);
            }
            // Under another name it may change as well.
            let before = source.text[..at].trim_end();
            before.ends_with('=') && !before.ends_with("==") && rest.starts_with(['\n', ';', ','])
                || before.ends_with('=') && rest.is_empty()
        };
        source.places(name).any(changes).then(|| loads(name))
    }

    /// Returns what a function starts that loads from the project.
    fn started(&self, name: &str) -> Vec<String> {
        let source = self.source;
        let mut found = Vec::new();
        for given in source.calls(name) {
            let given = elements(given);
            let is_option = |element: &&&str| !element.starts_with('{') && !is_keyword(element);
            let words: Vec<Option<String>> =
                given.iter().filter(is_option).map(|element| source.literal(element)).collect();
            match words.as_slice() {
                [Some(text)] => found.extend((self.line)(text)),
                [Some(_), ..] => {
                    let word = |text: &Option<String>| Word { range: 0..0, text: text.clone() };
                    let words: Vec<Word> = words.iter().map(word).collect();
                    found.extend((self.command)(&words));
                }
                _ => {}
            }
        }
        found
    }

    /// Returns what the commands in these quotes load.
    fn quoted(&self, quote: char) -> Vec<String> {
        let texts = self.source.text.lines().flat_map(|line| line.split(quote).skip(1).step_by(2));
        texts.flat_map(|text| (self.line)(text)).collect()
    }

    /// Returns the variables by which programs load code that a script sets.
    fn variables(&self) -> Vec<String> {
        let source = self.source;
        let mut found = Vec::new();
        for name in VARIABLES {
            for at in source.places(name) {
                let before = source.text[..at].chars().next_back().unwrap_or('\n');
                let is_quoted = matches!(before, '"' | '\'');
                let is_set_call = is_quoted
                    && ["putenv(", "setdefault(", "setenv("].iter().any(|call| source.text[..at - 1].ends_with(call));
                if !is_quoted
                    && before != '.'
                    && before != '{'
                    && (*name == "PATH" || !matches!(before, ' ' | ',' | '('))
                {
                    continue;
                }
                let rest = source.text[at + name.len()..].trim_start_matches(['"', '\'', ']', '}', ' ']);
                let signs: &[&str] = if is_set_call { &[","] } else { &["||=", "+=", "=>", "=", ":"] };
                let Some(value) = signs.iter().find_map(|sign| rest.strip_prefix(sign)) else { continue };
                if value.starts_with(['=', ':', '~']) {
                    continue;
                }
                let given = source.statement(source.text.len() - value.len());
                let is_usual = *name == "PATH" && self.is_usual_path(given);
                if !is_usual && !source.is_own(given) {
                    found.push(format!("sets `{name}`, by which programs load what they find"));
                }
            }
        }
        found
    }

    /// Returns whether a value for `PATH` is the one that the script got, with nothing but absolute folders added.
    fn is_usual_path(&self, given: &str) -> bool {
        const NAMES: &[&str] = &["ENV", "PATH", "env", "environ", "get", "getenv", "os", "process"];
        let parts = self.source.parts(given);
        let is_folder = |part: &str| part.is_empty() || self.source.is_own(&format!("'{part}'"));
        parts.names.iter().all(|name| NAMES.contains(&name.as_str()))
            && parts.strings.iter().all(|text| text == "PATH" || text.split(':').all(is_folder))
    }
}

/// Returns whether an argument is given by its name: `cwd=here`, `env: all`.
fn is_keyword(element: &str) -> bool {
    let end = element.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(element.len());
    let rest = element[end..].trim_start();
    end > 0
        && ((rest.starts_with('=') && !rest.starts_with("==")) || (rest.starts_with(':') && !rest.starts_with("::")))
}

#[cfg(test)]
mod tests;
