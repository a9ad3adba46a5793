//! Reads the scripts of a hook folder for what they load from outside it: shell scripts here, other languages in `code`.
//!
//! A person reviews these scripts before they trust them. This points at the lines that make the review worthless: a script
//! that starts a build tool, or sources a work file, runs whatever an agent writes there.

use std::path::Path;

use vertebra_kit::plain;

use super::{
    code, inline,
    loads::PROJECT,
    programs::{Interpreter, Known, is_loading, known},
    shell::{Shell, Word},
};

/// How many steps a variable is followed.
const MAX_STEPS: usize = 4;

/// A text of shell commands, in a script of a hook folder.
#[derive(Clone, Copy)]
struct Script<'s> {
    /// The folder of the script.
    folder: &'s Path,
    /// The project's root.
    root: &'s Path,
    /// What the places of words refer to.
    text: &'s str,
}

/// Returns what a script loads from the project outside its folder.
pub(super) fn reported(folder: &Path, name: &Path, bytes: &[u8], root: &Path) -> Vec<String> {
    let shown = folder.strip_prefix(root).unwrap_or(folder).join(name);
    let shown = crate::shown(&shown.to_string_lossy());
    if bytes.starts_with(b"\x7fELF") {
        return vec![format!("{shown} is a compiled program, which may load anything")];
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let is_node = name.extension().is_some_and(|end| ["js", "cjs", "mjs", "ts"].iter().any(|js| end == *js));
    if (is_node || first.contains("node")) && std::env::home_dir().is_some_and(|home| home.starts_with(root)) {
        return vec![format!("{shown} is run by `node`, which looks for modules in your home folder")];
    }
    if let Some(why) = of_first_line(first.trim_start_matches("#!").trim(), folder, root) {
        return vec![format!("{shown} {why}")];
    }
    let of_first = first.trim_start_matches("#!").split(['/', ' ', '\t']).any(is_shell);
    let of_name = name.extension().is_some_and(|end| end == "sh" || end == "bash" || end == "zsh");
    let value = |variable: &str| value_of(variable, root);
    let line = |text: &str| of_text(Script { folder, root, text }, &value, 0);
    let command = |words: &[Word]| match code(words) {
        Some(Code::Known(inner)) => line(&inner).into_iter().next(),
        Some(Code::Unknown) => None,
        None => loads(words, Script { folder, root, text: "" }, Unknown::Passes),
    };
    let reasons = if of_first || first.is_empty() && of_name {
        line(text)
    } else {
        code::reported(name, text, root, &command, &line)
    };
    let mut found = Vec::new();
    for why in reasons {
        let why = format!("{shown} {why}");
        if !found.contains(&why) {
            found.push(why);
        }
    }
    found
}

/// Returns the value of a variable, if it is known when a script is read.
fn value_of(variable: &str, root: &Path) -> Option<String> {
    let of_project = PROJECT.contains(&variable) || variable == "PWD";
    of_project.then(|| root.to_string_lossy().into_owned())
}

/// Returns what the commands of a text load, if that is outside the folder.
fn of_text(script: Script<'_>, value: &dyn Fn(&str) -> Option<String>, depth: usize) -> Vec<String> {
    let Script { root, text, .. } = script;
    if depth == MAX_DEPTH {
        return vec!["nests commands too deeply to be read".to_owned()];
    }
    let mut found = Vec::new();
    let shell = Shell::read(text, value);
    if shell.is_cut {
        found.push("has more commands than can be read".to_owned());
    }
    for command in shell.commands {
        let by_hand = command.sets.iter().map(String::as_str).filter(|name| *name != "PATH");
        let exports = command.words.first().and_then(|word| word.text.as_deref());
        let exported = command.words.iter().filter_map(|word| text.get(word.range.clone())?.split_once('='));
        let exported = exported.map(|(name, _)| name).filter(|name| *name != "PATH");
        let is_export = matches!(exports, Some("export" | "declare" | "typeset" | "readonly" | "local"));
        found.extend(by_hand.chain(exported.filter(|_| is_export)).filter(|name| is_loading(name)).map(sets));
        match code(&command.words) {
            Some(Code::Known(inner)) => found.extend(of_text(Script { text: &inner, ..script }, value, depth + 1)),
            Some(Code::Unknown) => found.push("runs a text that is known only when it runs".to_owned()),
            None => found.extend(loads(&command.words, script, Unknown::Passes)),
        }
    }
    let paths = text.match_indices("PATH=").chain(text.match_indices("PATH+=")).filter(|(at, _)| {
        !text[..*at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '-')
    });
    let is_other = |part: &str| {
        let part = part.trim_matches(['"', '\'']);
        !matches!(part, "$PATH" | "${PATH}")
            && !part.starts_with("$HOME/")
            && !part.starts_with("~/")
            && (!part.starts_with('/') || plain(Path::new(part)).starts_with(root))
    };
    for (at, name) in paths {
        let rest = &text[at + name.len()..];
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | ')')).unwrap_or(rest.len());
        if rest[..end].split(':').any(is_other) {
            found.push(sets("PATH"));
        }
    }
    found
}

/// How deeply texts of commands may be nested.
const MAX_DEPTH: usize = 4;

fn sets(name: &str) -> String {
    format!("sets `{name}`, by which programs load what they find")
}

/// A text that a command runs as commands of a shell.
enum Code {
    Known(String),
    /// It is made when the script runs.
    Unknown,
}

impl From<Option<String>> for Code {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Unknown, Self::Known)
    }
}

/// Returns the text that a command runs as commands of a shell.
fn code(words: &[Word]) -> Option<Code> {
    let (word, rest) = words.split_first()?;
    let name = word.text.as_deref()?;
    let base = name.rsplit('/').next().unwrap_or(name);
    if base == "eval" {
        let known: Option<Vec<&str>> = rest.iter().map(|word| word.text.as_deref()).collect();
        return Some(known.map(|words| words.join(" ")).into());
    }
    if base == "trap" {
        let code = rest.iter().find(|word| word.text.as_deref() != Some("--"))?;
        let resets = code.text.as_deref().is_some_and(|text| text.starts_with('-') || rest.len() == 1);
        return (!resets).then(|| code.text.clone().into());
    }
    if base == "alias" {
        let texts = rest.iter().filter_map(|word| word.text.as_deref()?.split_once('='));
        return Some(Code::Known(texts.map(|(_, text)| text).collect::<Vec<_>>().join("\n")));
    }
    if !is_shell(base) {
        return None;
    }
    let is_option = |word: &&Word| word.text.as_deref().is_some_and(|text| text.starts_with(['-', '+']));
    let options = rest.iter().take_while(is_option).count();
    let has = |letter: char| {
        let texts = rest[..options].iter().filter_map(|word| word.text.as_deref());
        texts.filter(|text| !text.starts_with("--")).any(|text| text.contains(letter))
    };
    if has('c') {
        return Some(rest.get(options).and_then(|word| word.text.clone()).into());
    }
    let asks_version = rest.iter().any(|word| word.text.as_deref() == Some("--version"));
    // Without an operand it runs what it reads.
    ((options == rest.len() && !asks_version) || has('s')).then_some(Code::Unknown)
}

/// What becomes of a program of which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// A command of a script: the person reads it.
    Passes,
    /// It reads the script, in a language that is not known.
    Loads,
}

/// Returns what the first line of a script starts, if that is outside the folder.
fn of_first_line(line: &str, folder: &Path, root: &Path) -> Option<String> {
    let word = |text: &str| Word { range: 0..0, text: Some(text.to_owned()) };
    // `env -S` takes the rest of the line as words.
    let parts = line.split_whitespace().flat_map(|part| match part.strip_prefix("-S") {
        Some(rest) if !rest.is_empty() => vec!["-S", rest],
        _ => vec![part],
    });
    let mut words: Vec<Word> = parts.map(word).collect();
    if words.is_empty() {
        return None;
    }
    // The script is the operand of its interpreter.
    words.push(Word { range: 0..0, text: None });
    loads(&words, Script { folder, root, text: "" }, Unknown::Loads)
}

fn is_shell(name: &str) -> bool {
    known(name) == Known::Interpreter(Interpreter::Shell)
}

/// Returns what a command of a script loads, if that is outside the folder.
fn loads(words: &[Word], script: Script<'_>, unknown: Unknown) -> Option<String> {
    let (word, rest) = words.split_first()?;
    let Some(name) = word.text.as_deref() else {
        return script.is_elsewhere(word).then(|| "runs a program that is known only when it runs".to_owned());
    };
    let base = name.rsplit('/').next().unwrap_or(name);
    let runs = |text: &str| script.is_other(text).then(|| format!("runs `{}` of the project", crate::shown(text)));
    if name.contains('/')
        && let Some(why) = runs(name)
    {
        return Some(why);
    }
    let given = rest.iter().find(|word| word.text.as_deref().is_none_or(|text| !text.starts_with('-')));
    let operand = given.and_then(|word| word.text.as_deref());
    if let Some(why) = script.runs_unknown(base, rest, given) {
        return Some(why);
    }
    if let Some(why) = script.runs_inline(base, rest) {
        return Some(why);
    }
    let options = || rest.iter().filter_map(|word| word.text.as_deref()).filter(|text| text.starts_with('-'));
    match (base, known(base)) {
        ("." | "source", _) if operand.is_some_and(is_stream) => Some(format!("runs what `{base}` reads")),
        ("." | "source", _) => operand
            .filter(|text| script.is_other(text))
            .map(|text| format!("sources `{}` of the project", crate::shown(text))),
        ("find", _) => found_by(rest, script, unknown),
        ("flock", _) => {
            // The first operand is the file that is locked.
            let of_lock = rest.iter().position(is_operand)?;
            let inner = rest[of_lock + 1..].iter().position(is_operand)?;
            loads(&rest[of_lock + 1 + inner..], script, unknown)
        }
        (_, Known::Wrapper)
        | ("xargs" | "parallel" | "sudo" | "doas" | "setsid" | "coproc" | "busybox" | "toybox", _) => {
            wrapped(base, rest, script, unknown)
        }
        (_, Known::Open) => Some(format!("starts `{base}`, which loads what it finds in the project")),
        (_, Known::Interpreter(Interpreter::Python)) => {
            let is_alone = options().any(|option| !option.starts_with("--") && option.contains(['I', 'P']));
            let has_file =
                rest.first().is_some_and(|word| word.text.as_deref().is_none_or(|text| !text.starts_with('-')));
            match operand.filter(|_| has_file) {
                Some(file) => runs(file),
                None if has_file || is_alone => None,
                None if options().any(|option| matches!(option, "--version" | "-V")) => None,
                None => Some(format!("runs `{base}` with modules of the project: write `{base} -I`")),
            }
        }
        (_, Known::Interpreter(Interpreter::Node)) => {
            let is_harmless = |option: &str| {
                matches!(
                    option,
                    "--no-warnings" | "--experimental-strip-types" | "--enable-source-maps" | "--version" | "-v"
                )
            };
            match options_first(rest).find(|option| !is_harmless(option)) {
                Some(option) => Some(format!(
                    "runs `{base} {}`, which may load modules of the project: use a file beside the script",
                    crate::shown(option)
                )),
                None => operand.and_then(runs),
            }
        }
        (_, Known::Interpreter(Interpreter::Ruby | Interpreter::Perl)) => {
            // `-MIO::File` and `-rjson` name a module.
            let loads = |option: &&str| {
                let cluster = option.trim_start_matches('-');
                let names = cluster.starts_with(['M', 'm', 'r', 'e', 'E']);
                (!names && cluster.contains(['I', 'S', 'C', 'x']))
                    || option.contains("lib")
                    || (cluster.starts_with('r') && (cluster.len() == 1 || cluster.contains('/')))
            };
            match options_first(rest).find(loads) {
                Some(option) => Some(format!("runs `{base} {}`, which loads from a folder", crate::shown(option))),
                None => {
                    operand.filter(|_| rest.first().is_some_and(|word| word.text.as_deref() == operand)).and_then(runs)
                }
            }
        }
        (_, Known::Interpreter(Interpreter::Shell))
            if options().any(|option| option.starts_with("--rcfile") || option.starts_with("--init-file"))
                || operand.is_some_and(is_stream) =>
        {
            Some(format!("runs `{base}` with another file first, or what it reads"))
        }
        (_, Known::Interpreter(Interpreter::Shell)) => {
            operand.filter(|_| rest.first().is_some_and(|word| word.text.as_deref() == operand)).and_then(runs)
        }
        (_, Known::Unknown) if unknown == Unknown::Loads => {
            Some(format!("is run by `{}`, of which nothing is known", crate::shown(base)))
        }
        (_, Known::Unknown) => script.given_file(rest).map(|file| {
            let file = crate::shown(file);
            format!("gives `{file}` of the project to `{}`, of which nothing is known", crate::shown(base))
        }),
        (_, Known::Interpreter(Interpreter::Filter) | Known::Bounded) => None,
    }
}

/// Returns whether a word may be an operand.
fn is_operand(word: &Word) -> bool {
    word.text.as_deref().is_none_or(|text| !text.starts_with('-'))
}

/// Returns what the command loads that a program such as `timeout` runs.
fn wrapped(base: &str, rest: &[Word], script: Script<'_>, unknown: Unknown) -> Option<String> {
    let set = |word: &Word| {
        let name = word.text.as_deref().and_then(|text| text.split_once('=')).map(|(name, _)| name);
        name.filter(|name| is_loading(name)).map(sets)
    };
    let inner = rest.iter().position(|word| {
        // `-I{}` is known only when it runs, and an option all the same.
        let text = word.text.as_deref().or_else(|| script.text.get(word.range.clone())).unwrap_or_default();
        let is_number = text.trim_end_matches(['s', 'm', 'h']).parse::<f64>().is_ok();
        !text.starts_with('-') && !text.contains('=') && !is_number
    });
    let before = &rest[..inner.unwrap_or(rest.len())];
    if let Some(why) = before.iter().find_map(set) {
        return Some(why);
    }
    if inner.is_none() && base == "parallel" {
        return Some(format!("runs what `{base}` reads"));
    }
    let inner = &rest[inner?..];
    match code(inner) {
        Some(Code::Unknown) if unknown == Unknown::Passes => Some(format!("runs what `{base}` is given")),
        _ => loads(inner, script, unknown),
    }
}

/// Returns whether a file is what the program reads: its content is known only when it runs.
fn is_stream(file: &str) -> bool {
    file == "/dev/stdin" || ["/dev/fd/", "/proc/"].iter().any(|start| file.starts_with(start))
}

impl<'s> Script<'s> {
    /// Returns whether a path is in the project, outside the folder of the script.
    fn is_other(self, path: &str) -> bool {
        let path = plain(&self.root.join(path));
        path.starts_with(self.root) && !path.starts_with(self.folder)
    }

    /// Returns the first operand that is a file of the project, or may be one later: its folder is there.
    fn given_file(self, rest: &[Word]) -> Option<&str> {
        let operands = rest.iter().filter_map(|word| word.text.as_deref()).filter(|text| !text.starts_with('-'));
        let may_be_file = |text: &&str| {
            let path = self.root.join(text);
            path.is_file() || text.starts_with("./") || text.contains('/') && path.parent().is_some_and(Path::is_dir)
        };
        operands.filter(|text| self.is_other(text)).find(may_be_file)
    }

    /// Returns what an interpreter is given, if that is known only when the script runs.
    fn runs_unknown(self, program: &str, rest: &[Word], given: Option<&Word>) -> Option<String> {
        let is_first = || rest.first().zip(given).is_some_and(|(first, given)| std::ptr::eq(first, given));
        let is_interpreter = matches!(known(program), Known::Interpreter(kind) if kind != Interpreter::Filter);
        let runs_file = matches!(program, "." | "source") || is_interpreter && is_first();
        let word = given.filter(|word| runs_file && word.text.is_none() && self.is_elsewhere(word))?;
        let raw = crate::shown(self.text.get(word.range.clone()).unwrap_or_default());
        Some(format!("runs `{program} {raw}`, a file that is known only when it runs"))
    }

    /// Returns what code on the command line of an interpreter loads. Code that is made when the script runs is the script's.
    fn runs_inline(self, program: &str, rest: &[Word]) -> Option<String> {
        let operand = rest.iter().filter_map(|word| word.text.as_deref()).find(|text| !text.starts_with('-'));
        if operand.is_some_and(|text| inline::filter_starts(program, text)) {
            return Some(format!("starts programs by `{program}`"));
        }
        let file = rest.windows(2).find(|words| matches!(words[0].text.as_deref(), Some("-f" | "--file")));
        let is_other = |text: &str| {
            let path = plain(&self.root.join(text));
            path.starts_with(self.root) && !path.starts_with(self.folder)
        };
        let is_filter = known(program) == Known::Interpreter(Interpreter::Filter);
        let file = file.and_then(|words| words[1].text.as_deref()).filter(|text| is_filter && is_other(text));
        if let Some(file) = file {
            return Some(format!("runs `{}` of the project", crate::shown(file)));
        }
        let value = |variable: &str| value_of(variable, self.root);
        let line = |text: &str| of_text(Script { text, ..self }, &value, 1);
        let command = |words: &[Word]| match code(words) {
            Some(Code::Known(inner)) => line(&inner).into_iter().next(),
            Some(Code::Unknown) => None,
            None => loads(words, Script { text: "", ..self }, Unknown::Passes),
        };
        let given = inline::given(program, rest).into_iter();
        let mut known = given.filter_map(|(file, word)| Some((file, word.text.as_deref()?)));
        known.find_map(|(file, text)| inline::reported(file, text, self.root, &command, &line))
    }

    /// Returns whether a word that is known only when the script runs may name a file that an agent writes.
    fn is_elsewhere(self, word: &Word) -> bool {
        let Some(raw) = self.text.get(word.range.clone()).filter(|raw| !raw.is_empty()) else { return false };
        if raw.contains('/') || raw.trim_start_matches('"').starts_with("$(") {
            return !self.is_own(raw, MAX_STEPS);
        }
        // A name alone is found on the `PATH`.
        let name = raw.trim_matches('"').trim_start_matches(['$', '{']).trim_end_matches('}');
        let name = name.split('[').next().unwrap_or_default();
        let names_file = |value: &str| value.contains('/') || value.trim_start_matches('"').starts_with("$(");
        self.assigned(name).any(|value| names_file(value) && !self.is_own(value, MAX_STEPS))
    }

    /// Returns whether a word begins with the place of the script itself, or with one that no agent writes.
    fn is_own(self, raw: &str, steps: usize) -> bool {
        let raw = raw.trim_start_matches('"');
        let is_own_place = |text: &str| ["$0", "${0", "BASH_SOURCE", "$ZSH_"].iter().any(|own| text.contains(own));
        if let Some(inner) = raw.strip_prefix("$(") {
            let inner = inner[..raw_end(inner, true)].trim();
            let program = inner.split_whitespace().next().unwrap_or_default();
            let mut names = inner.split('$').skip(1).map(name_in).filter(|name| !name.is_empty());
            return match program {
                "mktemp" => !inner.contains("-p") && !inner.contains("--tmpdir"),
                "cd" | "dirname" | "readlink" | "realpath" => {
                    is_own_place(inner) || names.next().is_some_and(|name| self.is_own_variable(name, steps))
                }
                _ => false,
            };
        }
        if raw.starts_with("$0")
            || raw.starts_with("${0")
            || raw.starts_with("${BASH_SOURCE")
            || raw.starts_with("$BASH_SOURCE")
        {
            return true;
        }
        if ["$HOME/", "${HOME}/", "~/"].iter().any(|home| raw.starts_with(home)) {
            return true;
        }
        match raw.strip_prefix('$') {
            Some(rest) => self.is_own_variable(name_in(rest), steps),
            None => raw.starts_with('/') && !raw.contains('$') && !plain(Path::new(raw)).starts_with(self.root),
        }
    }

    fn is_own_variable(self, name: &str, steps: usize) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        let mut assigned = self.assigned(name).peekable();
        assigned.peek().is_some() && assigned.all(|value| self.is_own(value, steps))
    }

    /// Returns what is assigned to a variable: by `=`, by a `for`, or by a command that reads it. The arguments are those
    /// after `set --`.
    fn assigned<'n>(self, name: &'n str) -> impl Iterator<Item = &'s str> + use<'s, 'n> {
        let begins =
            move |at: usize| self.text[..at].chars().next_back().is_none_or(|before| " \t\n;&|({".contains(before));
        let places = self.text.match_indices(name).filter(move |(at, _)| !name.is_empty() && begins(*at));
        let by_hand = places.filter_map(move |(at, _)| {
            let value = self.text[at + name.len()..].strip_prefix('=')?;
            Some(&value[..raw_end(value, false)])
        });
        let is_argument = matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit());
        let lines = self.text.split(['\n', ';', '&', '|']).map(str::trim);
        let told = lines.flat_map(move |line| {
            let mut words =
                line.split_whitespace().skip_while(|word| matches!(*word, "do" | "then" | "while" | "until" | "{"));
            let command = words.next().unwrap_or_default();
            let rest: Vec<&str> = words.collect();
            match command {
                "for" | "select" if rest.first() == Some(&name) => rest[1..].iter().skip(1).copied().collect(),
                "read" | "mapfile" | "readarray" if rest.contains(&name) => vec![READ],
                "printf" if rest.starts_with(&["-v", name]) => vec![READ],
                "declare" | "local" | "typeset" if rest.first() == Some(&"-n") && refers(&rest, name) => vec![READ],
                "set" if is_argument && rest.first() == Some(&"--") => rest[1..].to_vec(),
                _ => Vec::new(),
            }
        });
        by_hand.chain(told)
    }
}

/// A value that is known only when the script runs.
const READ: &str = "$(read)";

/// Returns whether one of the words of `declare -n` makes the name refer to another.
fn refers(words: &[&str], name: &str) -> bool {
    words.iter().any(|word| word.split('=').next() == Some(name))
}

/// Returns the name at the start of what follows a `$`.
fn name_in(rest: &str) -> &str {
    let rest = rest.strip_prefix('{').unwrap_or(rest);
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
    &rest[..end]
}

/// Returns where a word ends, or what is in a bracket.
fn raw_end(text: &str, in_bracket: bool) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (_, '\\') => drop(letters.next()),
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '(') => depth += 1,
            (_, ')') => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return at,
            },
            (Some('"'), '"') if depth == 0 => quote = None,
            (None, '"' | '\'') if depth == 0 => quote = Some(letter),
            (None, _) if depth == 0 && !in_bracket && (letter.is_whitespace() || ";&|".contains(letter)) => return at,
            (_, _) => {}
        }
    }
    text.len()
}

/// Returns what `find` runs, if that is outside the folder.
fn found_by(rest: &[Word], script: Script<'_>, unknown: Unknown) -> Option<String> {
    let begins =
        rest.iter().position(|word| matches!(word.text.as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir")));
    let inner = &rest[begins? + 1..];
    match inner.first().and_then(|word| word.text.as_deref()) {
        Some("{}") | None => Some("runs what `find` finds".to_owned()),
        Some(name)
            if is_shell(name.rsplit('/').next().unwrap_or(name))
                && inner.get(1).is_none_or(|word| word.text.as_deref().is_none_or(|text| text == "{}")) =>
        {
            Some("runs what `find` finds".to_owned())
        }
        _ if matches!(code(inner), Some(Code::Unknown)) => Some("runs what `find` finds".to_owned()),
        _ => loads(inner, script, unknown),
    }
}

/// The options before the first operand.
fn options_first(words: &[Word]) -> impl Iterator<Item = &str> {
    let texts = words.iter().map_while(|word| word.text.as_deref());
    texts.take_while(|text| text.starts_with('-') && *text != "-")
}

#[cfg(test)]
mod tests;
