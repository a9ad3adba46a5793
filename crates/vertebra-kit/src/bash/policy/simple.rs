//! Simple commands: assignments, words, redirections; declarations and tests.

use tree_sitter::Node;

use super::{
    fields::Field,
    judge::{Input, Judge, Origin},
    lex::{Cursor, command_words, raw_words},
    redirect::Redirects,
    rules,
    scope::Var,
    table,
    value::{UNKNOWN, shown},
    variables::is_of_commands,
    walk::{Source, children},
};

impl Judge<'_> {
    /// Follows a simple command, and says what it prints.
    pub(super) fn simple(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input, more: Vec<Field>) -> String {
        let mut redirects = Redirects::default();
        let mut odd = Vec::new();
        let mut assignments: Vec<Node<'_>> = Vec::new();
        let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
        let mut joined = false;
        for child in children(node) {
            match child.kind() {
                "variable_assignment" if parts.is_empty() => assignments.push(child),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(source, child, &mut redirects, &mut odd);
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
        let mut alias = None;
        let mut next = None;
        for part in parts {
            let (words, rest) = command_words(source.slice(part.clone()));
            next = next.or(rest.map(|rest| part.start + rest..part.end));
            for (begin, raw) in words {
                if argv.is_empty() {
                    self.name(raw);
                }
                argv.extend(self.fields(raw, &source.origin.inner(part.start + begin)));
                if argv.len() == 1 && argv[0].text == raw {
                    alias = alias.or_else(|| self.scope.aliases.get(raw).cloned());
                }
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
        let printed = match alias {
            Some(text) => self.aliased(&text, &argv, &input),
            None => self.invoke(argv, &input),
        };
        for (name, before) in assigned {
            match before {
                Some(var) => self.scope.vars.insert_mut(name, var),
                None => _ = self.scope.vars.remove_mut(&name),
            }
        }
        if let Some(next) = next {
            self.script(source.slice(next.clone()), &source.origin.inner(next.start), &None);
        }
        self.deliver(printed, redirects.outputs)
    }

    /// Judges a command whose first word is an alias. A non-interactive shell does not expand aliases, so both forms are judged.
    fn aliased(&mut self, text: &str, argv: &[Field], input: &Input) -> String {
        let within = Origin::Within(self.at.clone());
        let name = argv[0].text.clone();
        let known =
            self.scope.functions.contains_key(&name) || rules::rule(&name).is_some() || table::program(&name).is_some();
        if known {
            self.subshell(|judge| judge.invoke(argv.to_vec(), input));
        }
        if text.contains([';', '&', '|', '<', '>', '\n']) {
            return self.script(text, &within, &None);
        }
        let mut words: Vec<Field> = raw_words(text).iter().flat_map(|(_, raw)| self.fields(raw, &within)).collect();
        words.extend_from_slice(&argv[1..]);
        self.invoke(words, input)
    }

    /// `name=value`, `name+=value`, `name[index]=value`, `name=(values)`.
    pub(super) fn assign(&mut self, raw: &str, origin: &Origin) {
        let end = raw.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(raw.len());
        let (name, rest) = raw.split_at(end);
        let mut at = end;
        let mut index = None;
        let mut rest = rest;
        if let Some(inner) = rest.strip_prefix('[') {
            let mut cursor = Cursor::new(inner);
            let text = cursor.bracketed('[', ']');
            index = Some(self.subscript(name, text, &origin.inner(at + 1)));
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
                let mut cursor = Cursor::new(raw);
                let key = cursor.eat("[").then(|| cursor.bracketed('[', ']')).filter(|_| cursor.eat("="));
                let key = key.map(|key| self.subscript(name, key, &at.inner(2 + begin)));
                let (begin, element) = if key.is_some() { (begin + cursor.at, cursor.rest()) } else { (begin, raw) };
                let fields = self.fields(element, &at.inner(1 + begin));
                if let (Some(key), true) = (key, is_of_commands(name)) {
                    self.set(
                        &format!("{name}[{key}]"),
                        fields.first().map(|field| field.text.clone()).unwrap_or_default(),
                    );
                }
                values.extend(fields.into_iter().map(|field| field.text));
            }
            self.set_all(name, values);
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
        if let (Some(index), true) = (&index, is_of_commands(name)) {
            self.set(&format!("{name}[{index}]"), value);
            return;
        }
        match index.map(|index| index.parse::<usize>()) {
            Some(Ok(index)) => self.scope.set_element(name, index, value),
            Some(Err(_)) => self.scope.set_all(name, vec![UNKNOWN.to_string()]),
            None => self.set(name, value),
        }
    }

    /// Judges the text in the brackets after a name: arithmetic, or the name of a command.
    fn subscript(&mut self, name: &str, text: &str, origin: &Origin) -> String {
        if is_of_commands(name) { self.text(text, origin) } else { self.arithmetic(text, origin) }
    }

    /// `declare`, `export`, `local`, `readonly`, `typeset`, `unset`.
    pub(super) fn declaration(&mut self, words: &[(usize, &str)], origin: &Origin) {
        let Some(((_, first), rest)) = words.split_first() else { return };
        self.name(first);
        self.line("command", &words.iter().map(|(_, raw)| *raw).collect::<Vec<_>>().join(" "));
        let (mut integer, mut functions, mut exports) = (false, false, *first == "export");
        for (begin, raw) in rest {
            let at = origin.inner(*begin);
            if raw.starts_with('-') {
                integer |= raw.contains('i');
                functions |= raw.contains('f');
                exports |= raw.contains('x');
                if raw.contains('n') && *first != "export" && *first != "unset" {
                    self.unknown("the policy cannot follow name references (`declare -n`)");
                }
                continue;
            }
            let name_end = raw.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(raw.len());
            let name = &raw[..name_end];
            if *first == "unset" {
                let text = self.text(raw, &at);
                self.latent(&text, &self.at.clone());
                if functions || !self.scope.vars.remove_mut(&text) {
                    self.scope.functions.remove_mut(&text);
                }
                continue;
            }
            if functions {
                if exports {
                    self.scope.exported.insert_mut((*raw).to_owned());
                }
                continue;
            }
            let assigns = name_end > 0 && (raw[name_end..].starts_with(['=', '+', '[']));
            if integer && name_end > 0 {
                let values = self.scope.elements(name).unwrap_or_default();
                self.scope.vars.insert_mut(name.to_owned(), Var { values, integer: true });
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
