//! Redirections, here-documents and here-strings.

use tree_sitter::Node;

use super::{
    Class,
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
    /// A statement with redirections, and what a here-document has on its line.
    pub(super) fn redirected(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        let body = node.child_by_field_name("body");
        let others = children(node).filter(|child| child.is_named() && body.is_none_or(|body| body.id() != child.id()));
        let nodes: Vec<Node<'_>> = others.collect();
        self.with_redirects(source, body, &nodes, input)
    }

    /// A statement with these redirections. The grammar puts those of the last command around a whole list.
    pub(super) fn with_redirects<'t>(
        &mut self,
        source: &Source<'_>,
        body: Option<Node<'t>>,
        nodes: &[Node<'t>],
        input: &Input,
    ) -> String {
        match body {
            Some(list) if list.kind() == "list" => return self.list(source, list, input, nodes),
            Some(pipeline) if pipeline.kind() == "pipeline" => return self.pipeline(source, pipeline, input, nodes),
            Some(body) if nodes.is_empty() => return self.statement(source, body, input),
            _ => {}
        }
        let mut redirects = Redirects::default();
        let mut after = Vec::new();
        for node in nodes {
            self.redirect(source, *node, &mut redirects, &mut after);
        }
        let input = redirects.input.take().or_else(|| input.clone());
        let words = std::mem::take(&mut redirects.words);
        let printed = match body {
            Some(body) if body.kind() == "command" => self.simple(source, body, &input, words),
            Some(body) => self.statement(source, body, &input),
            None => input.unwrap_or_default(),
        };
        let mut printed = self.deliver(printed, redirects.outputs);
        for next in after {
            if next.kind() == "pipeline" {
                let flow = Some(std::mem::take(&mut printed));
                let beside = std::mem::replace(&mut self.beside, true);
                let parts: Vec<Node<'_>> = children(next).filter(Node::is_named).collect();
                printed =
                    self.subshell(|judge| parts.iter().map(|part| judge.statement(source, *part, &flow)).collect());
                self.beside = beside;
            } else {
                let more = self.perhaps(|judge| judge.statement(source, next, &None));
                printed.push_str(&more);
            }
        }
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

    /// Reads one redirection. The rest of the line of a here-document is left to the caller.
    pub(super) fn redirect<'t>(
        &mut self,
        source: &Source<'_>,
        node: Node<'t>,
        redirects: &mut Redirects,
        after: &mut Vec<Node<'t>>,
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
                for child in children(node).filter(Node::is_named) {
                    match child.kind() {
                        "heredoc_start" => quoted = source.of(child).contains(['\'', '"', '\\']),
                        "heredoc_body" if quoted => source.of(child).clone_into(&mut content),
                        "heredoc_body" => {
                            content = self.quoted_text(source.of(child), &source.origin.inner(child.start_byte()));
                        }
                        "heredoc_end" | "file_descriptor" => {}
                        "file_redirect" | "herestring_redirect" => self.redirect(source, child, redirects, after),
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
                        _ => after.push(child),
                    }
                }
                redirects.input = Some(bounded(content));
            }
            "comment" => {}
            "ERROR" if source.of(node).trim_matches(|c| matches!(c, '<' | '>' | ' ')).is_empty() => {}
            _ => after.push(node),
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
