//! Judges programs of other languages by the words they use and the texts they hold.
//!
//! No grammar of those languages: a word that runs, deletes or sends is asked about; it is denied when a text beside it would be
//! denied as a command, or when it names what is not the command's own.

use std::{ops::Range, str::Chars, sync::LazyLock};

use super::{
    Class, Decision, decode,
    judge::{Judge, Origin},
    places::Place,
    rules,
    value::{REMOTE, SECRET, is_known, known_part, shown},
};

static WORDS: LazyLock<Vec<(Class, &'static str)>> = LazyLock::new(|| {
    let lines = include_str!("tables/code.txt").lines().filter(|line| !line.starts_with('#'));
    let classes =
        lines.filter_map(|line| line.split_once(": ")).filter_map(|(class, words)| Some((Class::named(class)?, words)));
    classes.flat_map(|(class, words)| words.split_whitespace().map(move |word| (class, word))).collect()
});

/// Words that write files.
const WRITES: [&str; 27] = [
    "'w+'",
    "\"w+\"",
    "'r+'",
    "cpSync",
    "copyFile",
    "copytree",
    "shutil.copy",
    "shutil.move",
    "os.replace",
    "createWriteStream",
    "IO.write",
    "'w'",
    "\"w\"",
    "'a'",
    "\"a\"",
    "'wb'",
    "\"wb\"",
    "writeFile",
    "appendFile",
    "write_text",
    "File.write",
    "file_put_contents",
    "copyfile",
    "symlink",
    "rename",
    "chmod",
    "\">",
];
/// Words that name what is secret.
const SECRETS: [&str; 10] =
    [".ssh", "id_rsa", ".aws", ".netrc", "environ", "process.env", "ENV", "/etc/passwd", "/etc/shadow", "credentials"];
/// Words that lead out of the working folder.
const HOME_FOLDERS: [&str; 5] = ["expanduser", "homedir", "Path.home", "Dir.home", "HOME"];
/// The same, and what may be more than that.
const HOMES: [&str; 9] = ["~", "HOME", "expanduser", "homedir", "Path.home", "Dir.home", "/root", "/home", ".."];

/// Words that are followed by a file whose code runs.
const LOADS: [&str; 9] =
    ["do(", "require(", "load(", "dofile(", "loadfile(", "include(", "include_once(", "source(", "import("];

/// Words of Tcl that run or open something.
const TCL: [&str; 6] = ["exec", "spawn", "open", "socket", "file delete", "send"];

/// Modules with which a program waits for connections.
const SERVERS: [&str; 9] =
    ["socket", "socketserver", "http.server", "'http'", "\"http\"", "node:http", "'net'", "\"net\"", "node:net"];
/// Words with which it waits for them.
const SERVES: [&str; 3] = ["create_server(", "createServer(", ".bind("];
/// Parts of words that reach out, and what may put such a word together.
const MAY_REACH_OUT: [&str; 17] = [
    "connect",
    "request",
    "send",
    "get(",
    "getaddrinfo",
    "gethostby",
    "fetch",
    "://",
    "__",
    "['",
    "[\"",
    "[`",
    "\\",
    "import(",
    "Socket(",
    "eval",
    "proxy",
];

const MAX_TEXTS: usize = 24;

/// Returns whether a program that uses the network only waits for connections.
fn only_serves(code: &str, found: &[(Class, &str)]) -> bool {
    let mut network = found.iter().filter(|(class, _)| *class == Class::NetworkExfiltration);
    network.all(|(_, word)| SERVERS.contains(word))
        && SERVES.iter().any(|word| code.contains(word))
        && !MAY_REACH_OUT.iter().any(|word| code.contains(word))
}

impl Judge<'_> {
    /// Judges a program in a language where backquotes mean nothing.
    pub(super) fn code(&mut self, text: &str) {
        self.code_in("", text);
    }

    /// Judges a program.
    pub(super) fn code_in(&mut self, language: &str, text: &str) {
        if text.contains(REMOTE) {
            self.runs_download();
        } else if !is_known(text) {
            self.unknown("runs code that is only known at run time");
        }
        let code = known_part(text);
        if !self.enter(code.len()) {
            return;
        }
        if let Some((decision, why)) = rules::own::in_text(&code) {
            self.find(decision, Class::OwnPolicy, why);
        }
        let texts = literals(&code);
        let backquotes = matches!(language, "perl" | "ruby" | "php" | "julia") && code.contains('`')
            || code.contains("qx")
            || code.contains("%x");
        let bare = matches!(language, "perl" | "ruby");
        let imports = imports(&code);
        let found: Vec<(Class, &str)> = WORDS
            .iter()
            .filter(|(_, word)| uses(&code, word, bare, &imports) || is_put_together(&texts, word))
            .copied()
            .collect();
        let pipes =
            bare && code.contains("open") && texts.iter().any(|text| text.starts_with('|') || text.ends_with('|'));
        let tcl = matches!(language, "tclsh" | "wish" | "expect") && TCL.iter().any(|word| code.contains(word));
        let runs = tcl
            || pipes
            || language == "osascript"
            || backquotes
            || found.iter().any(|(class, _)| *class == Class::Unknown);
        if runs {
            let mut texts = texts.clone();
            if tcl {
                let bare = code.lines().map(|line| {
                    line.trim_start_matches(['[', '{', ' ']).trim_start_matches("exec ").trim_start_matches("spawn ")
                });
                texts.extend(bare.map(str::to_owned));
            }
            self.run_literals(&code, &texts);
            self.unknown("the code runs other commands, or code that it builds at run time");
        }
        let lua = language.starts_with("lua") && uses(&code, "load(", false, &imports);
        if lua {
            self.unknown("the code runs code that it builds at run time");
        }
        let loads = LOADS.iter().any(|word| uses(&code, word, bare, &imports));
        if loads
            && texts
                .iter()
                .any(|text| text.starts_with(['/', '~']) && text.len() > 1 && self.place(text) != Place::Inside)
        {
            self.unknown("the code loads a file from outside the working folder");
        }
        let leaves =
            HOMES.iter().any(|word| code.contains(word)) || texts.iter().any(|text| self.is_foreign_path(text));
        for (class, word) in &found {
            match class {
                Class::RecursiveDelete if leaves => {
                    self.deny(*class, format!("`{word}` may delete files outside the working folder"));
                }
                Class::RecursiveDelete if self.deletes_named(&code, word) => {}
                Class::RecursiveDelete => self.ask(*class, format!("`{word}` deletes files")),
                Class::NetworkExfiltration
                    if SECRETS.iter().any(|secret| code.contains(secret)) || text.contains(SECRET) =>
                {
                    self.deny(*class, format!("`{word}` can send secrets over the network"));
                }
                Class::NetworkExfiltration if self.only_own_hosts(&code) => {}
                Class::NetworkExfiltration if only_serves(&code, &found) => {}
                Class::Unknown => {}
                Class::NetworkExfiltration => self.ask(*class, format!("`{word}` can send data over the network")),
                Class::PrivilegeEscalation => self.ask(*class, format!("`{word}` changes the rights of the process")),
                Class::ForkBomb => self.ask(*class, format!("`{word}` starts more processes")),
                _ => self.ask(*class, format!("the code uses `{word}`")),
            }
        }
        if code.contains("://") && !self.only_own_hosts(&code) {
            let secret = SECRETS.iter().any(|secret| code.contains(secret));
            let decision = if secret { Decision::Deny } else { Decision::Ask };
            self.find(decision, Class::NetworkExfiltration, "the code names an address on another machine");
        }
        if WRITES.iter().any(|word| code.contains(word)) {
            let home = HOME_FOLDERS.iter().find(|word| code.contains(**word)).map(|word| (*word).to_owned());
            if let Some(path) = texts.iter().find(|text| self.is_foreign_path(text)).cloned().or(home) {
                self.ask(
                    Class::WriteOutside,
                    format!("the code may write outside the working folder: {}", shown(&path)),
                );
            }
        }
        self.leave();
    }

    /// Texts in the program may be commands, alone or one after the other.
    fn run_literals(&mut self, code: &str, texts: &[String]) {
        let whole = [texts.join(" "), texts.concat()];
        let backquoted = code.split('`').skip(1).step_by(2).map(str::to_owned);
        let piped = texts.iter().filter(|text| text.contains('|')).map(|text| text.trim_matches('|').to_owned());
        let decoded = texts
            .iter()
            .filter(|text| text.len() >= 8)
            .flat_map(|text| [decode::base64(text), decode::hex(text)])
            .flatten();
        let all = texts.iter().cloned().chain(whole).chain(backquoted).chain(piped).chain(decoded);
        for text in all.take(2 * MAX_TEXTS) {
            let judged = self.trial(|judge| drop(judge.script(&text, &Origin::Within(judge.at.clone()), &None)));
            if let Some((Decision::Deny, class, reason)) = judged {
                self.deny(class, reason);
                return;
            }
        }
    }

    fn is_foreign_path(&self, text: &str) -> bool {
        let path = text.replacen('~', &self.ground.home, usize::from(text.starts_with("~/")));
        let looks_like_a_path =
            path.starts_with('/') && path.len() > 1 && !path.contains([' ', '\n', '(', '<', ',', '\\']);
        looks_like_a_path && !matches!(self.place(&path), Place::Inside | Place::Scratch)
    }

    fn only_own_hosts(&self, code: &str) -> bool {
        let mut hosts = code.match_indices("://").map(|(at, mark)| &code[at + mark.len()..]).peekable();
        hosts.peek().is_some() && hosts.all(|rest| self.is_own_host(rest))
    }
}

/// Whether texts beside each other make up a word, as in `"sys" + "tem"`.
fn is_put_together(texts: &[String], word: &str) -> bool {
    let word = word.trim_end_matches('(');
    texts.windows(2).any(|pair| !pair[0].is_empty() && !pair[1].is_empty() && pair.concat() == word)
}

/// Returns where a name stands as a word of its own.
pub(super) fn uses_at<'c>(code: &'c str, name: &'c str) -> impl Iterator<Item = usize> + 'c {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let found = code.match_indices(name).map(|(at, _)| at);
    found.filter(move |at| !code[..*at].ends_with(is_name) && !code[at + name.len()..].starts_with(is_name))
}

/// Whether a program uses a word. In some languages a call needs no parentheses.
fn uses(code: &str, word: &str, bare: bool, imports: &[Range<usize>]) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let (name, called) = word.strip_suffix('(').map_or((word, false), |name| (name, true));
    uses_at(code, name).any(|at| {
        let rest = &code[at + name.len()..];
        let next = rest.trim_start_matches([' ', '\t']).chars().next();
        let is_called = match next {
            Some('(' | '"' | '\'' | '`' | '[' | '$' | '@' | '%' | '{') => true,
            Some('q') if rest.trim_start().starts_with("qw") || rest.trim_start().starts_with("q(") => true,
            Some(c) => bare && rest.starts_with(' ') && (is_name(c) || c == ':') && begins_statement(&code[..at]),
            None => false,
        };
        // Ranges are in order, and none overlaps another.
        let is_imported = || {
            let next = imports.partition_point(|names| names.end <= at);
            imports.get(next).is_some_and(|names| names.start <= at)
        };
        !called || is_called || is_imported()
    })
}

/// Returns whether a word after this text is the first of a statement or of an expression.
fn begins_statement(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    before.is_empty()
        || before.ends_with([';', '{', '(', '=', '&', '|', ',', '?', ':', '!', '\n'])
        || matches!(
            word,
            "and"
                | "or"
                | "not"
                | "if"
                | "unless"
                | "while"
                | "until"
                | "return"
                | "do"
                | "then"
                | "else"
                | "print"
                | "puts"
        )
}

/// Returns where words are imported by name, perhaps under another name.
fn imports(code: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut begin = 0;
    for statement in code.split([';', '\n']) {
        let end = begin + statement.len();
        if statement.trim_start().starts_with("from ")
            && let Some(at) = statement.find(" import ")
        {
            found.push(begin + at + " import ".len()..end);
        }
        begin = end + 1;
    }
    found
}

/// What stands before a closing mark, with escapes read.
pub(super) fn until(chars: &mut Chars<'_>, end: char) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            _ if c == end => break,
            '\\' => text.extend(chars.next()),
            _ => text.push(c),
        }
    }
    text
}

/// The texts in quotes.
fn literals(code: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        if !matches!(c, '"' | '\'') || texts.len() >= MAX_TEXTS {
            continue;
        }
        texts.push(until(&mut chars, c));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_where_they_are_used() {
        let uses = |code: &str, word: &str, bare: bool| uses(code, word, bare, &imports(code));
        assert!(uses("import os; os.system('x')", "system(", false));
        assert!(uses("system qw(rm -rf x)", "system(", false));
        assert!(!uses("print('the system works')", "system(", true));
        assert!(!uses("rmtreeless()", "rmtree", false));
        assert!(uses("my $x = system decode $y", "system(", true));
        assert!(!uses("system decode", "system(", false));
        assert!(uses("from os import path, system as s", "system(", false));
    }
}
