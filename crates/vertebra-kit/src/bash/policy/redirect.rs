//! Redirections, here-documents and here-strings.

use tree_sitter::Node;

use super::{
    Class,
    chain::{self, Stage},
    fields::Field,
    judge::{Input, Judge},
    lex::{Cursor, raw_words},
    places::{Place, Verb},
    scope::Made,
    value::{ENDLESS, UNKNOWN, bounded},
    walk::{Source, children},
};

/// The effect of redirections on a command.
#[derive(Default)]
pub(super) struct Redirects {
    /// What it reads, if that is redirected.
    pub(super) input: Input,
    /// Where its output goes: the path, and whether it is appended.
    pub(super) outputs: Vec<(String, bool)>,
    /// Words after a redirection that belong to the command.
    pub(super) words: Vec<Field>,
}

impl Judge<'_> {
    /// A command with its redirections.
    pub(super) fn stage(&mut self, source: &Source<'_>, stage: &Stage<'_>, input: &Input) -> String {
        let (body, last) = match (stage.body, stage.redirects.last()) {
            (Some(body), None) => return self.statement(source, body, input),
            (_, None) => return String::new(),
            (body, Some(last)) => (body, last),
        };
        let begin = body.unwrap_or(stage.redirects[0]).start_byte();
        let outer = std::mem::replace(&mut self.at, source.origin.span(begin..last.end_byte()));
        let mut redirects = Redirects::default();
        let mut odd = Vec::new();
        for node in &stage.redirects {
            self.redirect(source, *node, &mut redirects, &mut odd);
        }
        let input = redirects.input.take().or_else(|| input.clone());
        let words = std::mem::take(&mut redirects.words);
        let printed = match body {
            Some(body) if body.kind() == "command" => self.simple(source, body, &input, words),
            Some(body) => self.statement(source, body, &input),
            None => input.unwrap_or_default(),
        };
        let mut printed = self.deliver(printed, redirects.outputs);
        for node in odd {
            printed.push_str(&self.perhaps(|judge| judge.statement(source, node, &None)));
        }
        self.at = outer;
        printed
    }

    /// Delivers the output to its files, or returns it for the next reader.
    pub(super) fn deliver(&mut self, printed: String, outputs: Vec<(String, bool)>) -> String {
        if outputs.is_empty() {
            return printed;
        }
        if printed.contains(ENDLESS) && outputs.iter().any(|(path, _)| path != "/dev/null") {
            self.ask(Class::SystemDestruction, "writes endless data, which fills the disk");
        }
        for (path, append) in outputs {
            let before = match self.scope.made(&path) {
                Some(Made::Text(text)) if append => text.clone(),
                _ if append => UNKNOWN.to_string(),
                _ => String::new(),
            };
            self.scope.make(path, Made::Text(bounded(before + &printed)));
        }
        String::new()
    }

    /// Reads one redirection. What is none is left to the caller.
    pub(super) fn redirect<'t>(
        &mut self,
        source: &Source<'_>,
        node: Node<'t>,
        redirects: &mut Redirects,
        odd: &mut Vec<Node<'t>>,
    ) {
        let at = source.origin.inner(node.start_byte());
        match node.kind() {
            "file_redirect" => self.file(source.of(node), &at, redirects),
            "herestring_redirect" => {
                let text = source.of(node);
                let begin = text.find("<<<").map_or(0, |at| at + 3);
                let mut words = raw_words(&text[begin..]).into_iter();
                if let Some((offset, raw)) = words.next() {
                    let value = self.text(raw, &at.inner(begin + offset));
                    redirects.input = Some(value + "\n");
                }
            }
            "heredoc_redirect" => {
                let mut quoted = false;
                let mut content = String::new();
                let mut goes_on = false;
                for child in children(node) {
                    goes_on |= chain::goes_on(child);
                    match child.kind() {
                        "heredoc_start" => quoted = source.of(child).contains(['\'', '"', '\\']),
                        "heredoc_body" if quoted => source.of(child).clone_into(&mut content),
                        "heredoc_body" => {
                            content = self.quoted_text(source.of(child), &source.origin.inner(child.start_byte()));
                        }
                        "heredoc_end" | "file_descriptor" => {}
                        // Other commands, which are followed by themselves.
                        _ if goes_on || !child.is_named() => {}
                        "file_redirect" | "herestring_redirect" => self.redirect(source, child, redirects, odd),
                        "word"
                        | "string"
                        | "raw_string"
                        | "concatenation"
                        | "simple_expansion"
                        | "expansion"
                        | "number"
                        | "command_substitution"
                        | "ansi_c_string"
                        | "process_substitution" => {
                            let fields = self.fields(source.of(child), &source.origin.inner(child.start_byte()));
                            redirects.words.extend(fields);
                        }
                        _ => odd.push(child),
                    }
                }
                redirects.input = Some(bounded(content));
            }
            "comment" => {}
            "ERROR" if source.of(node).trim_matches(|c| matches!(c, '<' | '>' | ' ')).is_empty() => {}
            _ => odd.push(node),
        }
    }

    fn file(&mut self, text: &str, origin: &super::judge::Origin, redirects: &mut Redirects) {
        let mut cursor = Cursor::new(text);
        let descriptor = cursor.take_while(|c| !matches!(c, '<' | '>' | '&')).trim().to_owned();
        let begin = cursor.at;
        // `<(` and `>(` begin a word.
        while let Some('<' | '>' | '&' | '|') = cursor.peek() {
            if cursor.at > begin && (cursor.rest().starts_with("<(") || cursor.rest().starts_with(">(")) {
                break;
            }
            cursor.bump();
        }
        let operator = text[begin..cursor.at].to_owned();
        let offset = cursor.at;
        for (at, (word, raw)) in raw_words(cursor.rest()).into_iter().enumerate() {
            let fields = self.fields(raw, &origin.inner(offset + word));
            if at > 0 {
                redirects.words.extend(fields);
                continue;
            }
            let target = fields.into_iter().next().unwrap_or_default();
            self.line("redirection", &format!("{descriptor}{operator} {}", target.text));
            self.target(&descriptor, &operator, &target, redirects);
        }
    }

    fn target(&mut self, descriptor: &str, operator: &str, target: &Field, redirects: &mut Redirects) {
        let duplicates =
            operator.ends_with('&') && target.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if duplicates {
            if self.scope.remote_fds.contains(&target.text) {
                self.deny(Class::NetworkExfiltration, "writes to a network connection");
            }
            return;
        }
        if self.place(&target.text) == Place::Network {
            self.scope.remote_fds.insert_mut(descriptor.to_owned());
            self.deny(Class::NetworkExfiltration, format!("opens a network connection through {}", target.text));
            return;
        }
        if operator == "<" || operator == "<&" {
            redirects.input = Some(self.look(&target.text));
            return;
        }
        self.write(target, Verb::Create);
        if (descriptor.is_empty() || descriptor == "1")
            && let Some(path) = self.resolved(&target.text)
            && !path.starts_with("/dev/")
        {
            redirects.outputs.push((path, operator.contains(">>")));
        } else if descriptor.is_empty() && self.place(&target.text) == Place::Scratch {
            // Output to /dev/null has no reader.
            redirects.outputs.push(("/dev/null".to_owned(), false));
        }
    }
}
