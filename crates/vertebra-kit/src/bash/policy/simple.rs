//! Simple commands: assignments, words, redirections; declarations and tests.

use tree_sitter::Node;

use super::{
    Class,
    fields::Field,
    judge::{Input, Judge, Origin},
    lex::{command_words, raw_words},
    redirect::Redirects,
    scope::{Made, Var},
    value::{UNKNOWN, is_known, shown},
    walk::{Source, children},
};

/// Variables whose value is a command of its own.
const COMMANDS: [&str; 26] = [
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_PROXY_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "PROMPT_COMMAND",
    "FCEDIT",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CC",
    "CXX",
    "RSYNC_RSH",
    "CVS_RSH",
    "SYSTEMD_PAGER",
];
/// Variables whose value is expanded as a prompt.
const PROMPTS: [&str; 5] = ["PS0", "PS1", "PS2", "PS3", "PS4"];
/// Variables that name a script to run first.
const SCRIPTS: [&str; 4] = ["BASH_ENV", "ENV", "PYTHONSTARTUP", "ZDOTDIR"];
/// Variables that load foreign code or settings into programs.
const LOADERS: [&str; 22] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "PERL5OPT",
    "PERL5DB",
    "PERL5LIB",
    "RUBYOPT",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "INPUTRC",
    "CURL_HOME",
    "WGETRC",
    "BASH_LOADABLES_PATH",
    "GCONV_PATH",
    "SSLKEYLOGFILE",
    "MAKEFILES",
];

impl Judge<'_> {
    /// Follows a simple command, and says what it prints.
    pub(super) fn simple(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input, more: Vec<Field>) -> String {
        let mut redirects = Redirects::default();
        let mut after = Vec::new();
        let mut assignments: Vec<Node<'_>> = Vec::new();
        let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
        let mut joined = false;
        for child in children(node) {
            match child.kind() {
                "variable_assignment" if parts.is_empty() => assignments.push(child),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(source, child, &mut redirects, &mut after);
                    joined = false;
                }
                "comment" => {}
                _ => match parts.last_mut() {
                    Some(part) if joined => part.end = child.end_byte(),
                    _ => {
                        parts.push(child.byte_range());
                        joined = true;
                    }
                },
            }
        }
        let mut argv = Vec::new();
        let mut next = None;
        for part in parts {
            let (words, rest) = command_words(source.slice(part.clone()));
            next = next.or(rest.map(|rest| part.start + rest..part.end));
            for (begin, raw) in words {
                if argv.is_empty() {
                    self.name(raw);
                }
                argv.extend(self.fields(raw, &source.origin.inner(part.start + begin)));
                self.expand_alias(raw, &mut argv);
            }
        }
        // Words are expanded before the assignments in front of them.
        let mut assigned: Vec<(String, Option<Var>)> = Vec::new();
        for assignment in assignments {
            let raw = source.of(assignment);
            let name = raw.split(['=', '+', '[']).next().unwrap_or_default().to_owned();
            assigned.push((name.clone(), self.scope.vars.get(&name).cloned()));
            self.assign(raw, &source.origin.inner(assignment.start_byte()));
        }
        argv.extend(std::mem::take(&mut redirects.words));
        argv.extend(more);
        let input = redirects.input.take().or_else(|| input.clone());
        if argv.is_empty() {
            return self.deliver(String::new(), redirects.outputs);
        }
        let printed = self.invoke(argv, &input);
        for (name, before) in assigned {
            match before {
                Some(var) => self.scope.vars.insert(name, var),
                None => self.scope.vars.remove(&name),
            };
        }
        if let Some(next) = next {
            self.script(source.slice(next.clone()), &source.origin.inner(next.start), &None);
        }
        self.deliver(printed, redirects.outputs)
    }

    /// The first word may be an alias, written as it is.
    fn expand_alias(&mut self, raw: &str, argv: &mut Vec<Field>) {
        if argv.len() != 1 || argv[0].text != raw {
            return;
        }
        let Some(text) = self.scope.aliases.get(raw).cloned() else { return };
        let within = Origin::Within(self.at.clone());
        if text.contains([';', '&', '|', '<', '>', '\n']) {
            self.script(&text, &within, &None);
            return;
        }
        let words = raw_words(&text);
        // An alias of its own name is not expanded again.
        *argv = words.iter().flat_map(|(_, raw)| self.fields(raw, &within)).collect();
    }

    /// `name=value`, `name+=value`, `name[index]=value`, `name=(values)`.
    pub(super) fn assign(&mut self, raw: &str, origin: &Origin) {
        let end = raw.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(raw.len());
        let (name, rest) = raw.split_at(end);
        let mut at = end;
        let mut index = None;
        let mut rest = rest;
        if let Some(inner) = rest.strip_prefix('[') {
            let mut cursor = super::lex::Cursor::new(inner);
            let text = cursor.bracketed('[', ']');
            index = Some(self.arithmetic(text, &origin.inner(at + 1)));
            at += 1 + cursor.at;
            rest = cursor.rest();
        }
        let append = rest.starts_with("+=");
        let skip = if append { 2 } else { 1 };
        let value = rest.get(skip..).unwrap_or_default();
        let at = origin.inner(at + skip);
        if let Some(list) = value.strip_prefix('(').and_then(|list| list.strip_suffix(')')) {
            let mut values = if append { self.scope.elements(name).unwrap_or_default() } else { Vec::new() };
            for (begin, raw) in raw_words(list) {
                let element =
                    raw.strip_prefix('[').and_then(|raw| raw.split_once("]=")).map_or(raw, |(_, value)| value);
                values.extend(self.fields(element, &at.inner(1 + begin)).into_iter().map(|field| field.text));
            }
            self.scope.set_all(name, values);
            return;
        }
        let mut value = self.text(value, &at);
        let span = origin.span(0..raw.len());
        if self.scope.vars.get(name).is_some_and(|var| var.integer) {
            self.latent(&value, &span);
            self.latent_values(&value, &span);
            value = self.arithmetic(&value.clone(), &Origin::Within(span.clone()));
        } else if append {
            value = self.variable(name) + &value;
        }
        match index.map(|index| index.parse::<usize>()) {
            Some(Ok(index)) => self.scope.set_element(name, index, value),
            Some(Err(_)) => self.scope.set_all(name, vec![UNKNOWN.to_string()]),
            None => self.set(name, value),
        }
    }

    /// Sets a variable, and judges what that does to programs.
    pub(super) fn set(&mut self, name: &str, value: String) {
        let within = Origin::Within(self.at.clone());
        let lower = name.to_ascii_lowercase();
        if COMMANDS.contains(&name) {
            self.subshell(|judge| judge.script(&value, &within, &None));
        } else if PROMPTS.contains(&name) {
            self.latent(&value, &self.at.clone());
        } else if SCRIPTS.contains(&name) && !value.is_empty() {
            let made = self.resolved(&value).and_then(|path| self.scope.made(&path).cloned());
            match made {
                Some(Made::Text(text)) => self.run_text(&text, &[]),
                _ => self.unknown(format!("{name} names a script that runs first")),
            }
        } else if LOADERS.contains(&name) && !value.is_empty() {
            self.ask(Class::Unknown, format!("{name} loads foreign code or settings into programs"));
        } else if name == "NODE_OPTIONS" || name == "JAVA_TOOL_OPTIONS" || name == "GIT_TRACE_SETUP" {
            if ["-r", "--require", "--import", "--loader", "agent", "--inspect"].iter().any(|word| value.contains(word))
            {
                self.unknown(format!("{name} loads foreign code into programs"));
            }
        } else if lower.ends_with("_proxy") && lower != "no_proxy" && !value.is_empty() && !self.is_own_host(&value) {
            self.deny(Class::NetworkExfiltration, format!("{name} leads all connections through another machine"));
        } else if name == "PATH" {
            self.search_path(&value);
        }
        self.scope.set(name, value);
    }

    fn search_path(&mut self, value: &str) {
        for folder in value.split(':') {
            if folder.is_empty() || !is_known(folder) {
                continue;
            }
            let Some(path) = self.resolved(folder) else { continue };
            self.scope.search.push(path);
        }
        self.scope.search.truncate(32);
    }

    /// `declare`, `export`, `local`, `readonly`, `typeset`, `unset`.
    pub(super) fn declaration(&mut self, words: &[(usize, &str)], origin: &Origin) {
        let Some(((_, first), rest)) = words.split_first() else { return };
        self.name(first);
        self.line("command", &words.iter().map(|(_, raw)| *raw).collect::<Vec<_>>().join(" "));
        let mut integer = false;
        for (begin, raw) in rest {
            let at = origin.inner(*begin);
            if raw.starts_with('-') {
                integer |= raw.contains('i');
                if raw.contains('n') && *first != "export" && *first != "unset" {
                    self.unknown("a variable that stands for another one is not followed");
                }
                continue;
            }
            let name_end = raw.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(raw.len());
            let name = &raw[..name_end];
            if *first == "unset" {
                let text = self.text(raw, &at);
                self.latent(&text, &self.at.clone());
                self.scope.vars.remove(&text);
                continue;
            }
            let assigns = name_end > 0 && (raw[name_end..].starts_with(['=', '+', '[']));
            if integer && name_end > 0 {
                self.scope.vars.entry(name.to_owned()).or_default().integer = true;
            }
            if assigns {
                self.assign(raw, &at);
            } else {
                let text = self.text(raw, &at);
                self.latent(&text, &self.at.clone());
                if let Some((name, value)) = text.split_once('=') {
                    self.set(name, value.to_owned());
                }
            }
        }
    }

    /// `[ … ]` and `[[ … ]]`.
    pub(super) fn test(&mut self, text: &str, origin: &Origin) {
        self.line("test", &shown(text));
        let first = if text.starts_with("[[") { "[[" } else { "[" };
        self.name(first);
        let evaluates = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"].iter().any(|word| text.contains(word));
        let span = origin.span(0..text.len());
        for (begin, raw) in raw_words(text) {
            let value = self.text(raw, &origin.inner(begin));
            if evaluates {
                self.latent(&value, &span);
                self.latent_values(&value, &span);
            }
        }
    }
}
