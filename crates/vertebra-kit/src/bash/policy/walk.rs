//! Walks the syntax tree: lists, pipelines, groups, loops, conditions, functions.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    Class,
    chain::{Pipeline, chain},
    judge::{Input, Judge, Origin},
    lex::{command_words, raw_words},
    value::{UNKNOWN, bounded, is_known},
};

/// Conditions that always hold, and such that never do, without blanks.
const ALWAYS: &[&str] =
    &["true", ":", "1", "[1]", "[true]", "[[1]]", "[[true]]", "((1))", "!false", "test1", "/bin/true"];
const NEVER: &[&str] = &["false", "!true", "!:", "((0))", "/bin/false"];
/// How many values of a loop are tried one by one.
const MAX_TURNS: usize = 8;

/// A script and where it comes from.
pub(super) struct Source<'t> {
    pub(super) text: &'t str,
    pub(super) origin: Origin,
}

impl<'t> Source<'t> {
    pub(super) fn of(&self, node: Node<'_>) -> &'t str {
        self.slice(node.byte_range())
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }
}

pub(super) fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect::<Vec<_>>().into_iter()
}

impl Judge<'_> {
    /// Follows every statement below a node, and says what they print.
    pub(super) fn statements(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        let mut cursor = node.walk();
        let all: Vec<Node<'_>> = node.children(&mut cursor).collect();
        self.sequence(source, &all, input)
    }

    fn sequence(&mut self, source: &Source<'_>, nodes: &[Node<'_>], input: &Input) -> String {
        let mut printed = String::new();
        for (at, node) in nodes.iter().enumerate() {
            if !node.is_named() {
                continue;
            }
            if nodes.get(at + 1).is_some_and(|next| next.kind() == "&") {
                let beside = std::mem::replace(&mut self.beside, true);
                printed.push_str(&self.subshell(|judge| judge.statement(source, *node, input)));
                self.beside = beside;
            } else {
                printed.push_str(&self.statement(source, *node, input));
            }
            printed = bounded(printed);
        }
        printed
    }

    /// Follows one statement, and says what it prints.
    pub(super) fn statement(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        let outer = std::mem::replace(&mut self.at, source.origin.span(node.byte_range()));
        let printed = if self.enter(1) {
            let printed = self.of_kind(source, node, input);
            self.leave();
            printed
        } else {
            UNKNOWN.to_string()
        };
        self.at = outer;
        printed
    }

    fn of_kind(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        match node.kind() {
            "comment" | "heredoc_body" | "heredoc_end" => String::new(),
            "command" => self.simple(source, node, input, Vec::new()),
            "redirected_statement" | "list" | "pipeline" => self.list(source, node, input),
            "negated_command" | "program" | "do_group" | "variable_assignments" => self.statements(source, node, input),
            "compound_statement" if source.of(node).starts_with("((") => {
                let text = source.of(node);
                let inner = text.trim_start_matches('(').trim_end_matches(')');
                if is_sentence(inner) {
                    self.unknown("the text in `(( ))` is not arithmetic");
                } else if let Some(word) = inner.split_whitespace().next() {
                    // The second reader takes it for a command.
                    self.name(word);
                }
                self.arithmetic(inner, &source.origin.inner(node.start_byte() + 2));
                String::new()
            }
            "compound_statement" => {
                self.line("group", "{ }");
                self.statements(source, node, input)
            }
            "subshell" => {
                self.line("subshell", "( )");
                self.subshell(|judge| judge.statements(source, node, input))
            }
            "variable_assignment" => {
                self.assign(source.of(node), &source.origin.inner(node.start_byte()));
                String::new()
            }
            "declaration_command" | "unset_command" => {
                let (words, rest) = command_words(source.of(node));
                let origin = source.origin.inner(node.start_byte());
                self.declaration(&words, &origin);
                rest.map(|rest| self.script(&source.of(node)[rest..], &origin.inner(rest), &None)).unwrap_or_default()
            }
            "test_command" => {
                self.test(source.of(node), &source.origin.inner(node.start_byte()));
                String::new()
            }
            "if_statement" => self.branches(source, node, input),
            "case_statement" => self.case(source, node, input),
            "for_statement" => self.for_each(source, node, input),
            "c_style_for_statement" => self.counting(source, node, input),
            "while_statement" => self.while_loop(source, node, input),
            "function_definition" => {
                self.define(source, node);
                String::new()
            }
            _ => self.error(source, node, input),
        }
    }

    /// A part that the grammar does not know. It is asked about, and read as a simple command.
    fn error(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        let inner: Vec<Node<'_>> = children(node).collect();
        if inner.iter().any(|node| matches!(node.kind(), "command" | "pipeline" | "list" | "redirected_statement")) {
            return self.sequence(source, &inner, input);
        }
        let mut argv = Vec::new();
        for (begin, raw) in raw_words(source.of(node)) {
            argv.extend(self.fields(raw, &source.origin.inner(node.start_byte() + begin)));
        }
        if argv.is_empty() { String::new() } else { self.invoke(argv, input) }
    }

    /// `a && b || c`: each but the first may or may not run.
    fn list(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        let mut pipelines = chain(node).into_iter();
        let Some(first) = pipelines.next() else { return String::new() };
        let mut printed = self.pipeline(source, &first, input);
        if pipelines.len() > 0 {
            self.perhaps(|judge| {
                for pipeline in pipelines {
                    printed.push_str(&judge.pipeline(source, &pipeline, input));
                    printed = bounded(std::mem::take(&mut printed));
                }
            });
        }
        printed
    }

    fn pipeline(&mut self, source: &Source<'_>, pipeline: &Pipeline<'_>, input: &Input) -> String {
        if let [stage] = &pipeline.stages[..] {
            return self.stage(source, stage, input);
        }
        self.line("pipeline", "|");
        if !self.enter(1) {
            return UNKNOWN.to_string();
        }
        let beside = std::mem::replace(&mut self.beside, true);
        let mut flow = input.clone();
        for stage in &pipeline.stages {
            flow = Some(self.subshell(|judge| judge.stage(source, stage, &flow)));
        }
        self.beside = beside;
        self.leave();
        flow.unwrap_or_default()
    }

    /// Conditions and branches, in their order; a branch may or may not run.
    fn branches(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        self.line("condition", "if");
        let mut printed = String::new();
        let mut group: Vec<Node<'_>> = Vec::new();
        let mut first = true;
        for child in children(node).chain([node]) {
            let ends = child == node || matches!(child.kind(), "then" | "elif_clause" | "else_clause" | "fi");
            if !ends {
                group.push(child);
                continue;
            }
            let body = std::mem::take(&mut group);
            if first {
                printed.push_str(&self.sequence(source, &body, input));
                first = false;
            } else {
                printed.push_str(&self.perhaps(|judge| judge.sequence(source, &body, input)));
            }
            if child != node && child.is_named() {
                printed.push_str(&self.perhaps(|judge| judge.statements(source, child, input)));
            }
        }
        bounded(printed)
    }

    fn case(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        self.line("condition", "case");
        let mut printed = String::new();
        for child in children(node) {
            if child.kind() != "case_item" {
                if child.is_named() {
                    self.text(source.of(child), &source.origin.inner(child.start_byte()));
                }
                continue;
            }
            let closed = children(child).position(|part| part.kind() == ")").unwrap_or(0);
            for pattern in children(child).take(closed).filter(Node::is_named) {
                self.text(source.of(pattern), &source.origin.inner(pattern.start_byte()));
            }
            let body: Vec<Node<'_>> = children(child).skip(closed + 1).collect();
            printed.push_str(&self.perhaps(|judge| judge.sequence(source, &body, input)));
        }
        bounded(printed)
    }

    fn for_each(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        let name = node.child_by_field_name("variable").map_or("_", |name| source.of(name)).to_owned();
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        let mut texts: Vec<String> = Vec::new();
        if let (Some(first), Some(last)) = (values.first(), values.last()) {
            for (begin, raw) in raw_words(source.slice(first.start_byte()..last.end_byte())) {
                let fields = self.fields(raw, &source.origin.inner(first.start_byte() + begin));
                texts.extend(fields.into_iter().map(|field| field.text));
            }
        } else {
            texts.clone_from(&*self.scope.args);
        }
        self.line("loop", &format!("for {name} in {}", texts.join(" ")));
        let Some(body) = node.child_by_field_name("body") else { return String::new() };
        self.forget_assigned(source, body);
        if texts.len() > MAX_TURNS {
            texts.truncate(MAX_TURNS);
            texts.push(UNKNOWN.to_string());
        }
        let mut printed = String::new();
        self.perhaps(|judge| {
            for value in texts {
                judge.scope.set(&name, value);
                printed.push_str(&judge.statement(source, body, input));
                printed = bounded(std::mem::take(&mut printed));
            }
        });
        printed
    }

    fn counting(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        self.line("loop", "for (( ))");
        let Some(body) = node.child_by_field_name("body") else { return String::new() };
        let head = node.start_byte()..body.start_byte();
        let text = source.slice(head.clone());
        self.arithmetic(text, &source.origin.inner(head.start));
        let endless = text
            .split_once("((")
            .and_then(|(_, head)| head.split(';').nth(1))
            .is_some_and(|condition| condition.trim().is_empty());
        self.bomb(source, body, endless);
        for name in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name != "for" {
                self.scope.set(name, UNKNOWN.to_string());
            }
        }
        self.forget_assigned(source, body);
        self.perhaps(|judge| judge.statement(source, body, input))
    }

    fn while_loop(&mut self, source: &Source<'_>, node: Node<'_>, input: &Input) -> String {
        self.line("loop", "while");
        let Some(body) = node.child_by_field_name("body") else { return String::new() };
        self.forget_assigned(source, node);
        let text = source.slice(node.start_byte()..body.start_byte());
        let (word, condition) = text.trim().split_once(char::is_whitespace).unwrap_or_default();
        let condition: String = condition.chars().filter(|c| !c.is_whitespace() && *c != ';').collect();
        let ends = if word == "until" { NEVER } else { ALWAYS };
        self.bomb(source, body, ends.contains(&&*condition));
        let conditions: Vec<Node<'_>> = children(node).filter(|child| child.id() != body.id()).collect();
        self.sequence(source, &conditions, input);
        self.perhaps(|judge| judge.statement(source, body, input))
    }

    /// Processes in the background, one for each turn of a loop that does not end.
    fn bomb(&mut self, source: &Source<'_>, body: Node<'_>, endless: bool) {
        if !endless {
            return;
        }
        let text = source.of(body).replace("&&", "").replace(">&", "").replace("&>", "");
        self.charge(text.len());
        if text.contains('&') && !text.contains("wait") {
            self.deny(Class::ForkBomb, "keeps starting background processes (a fork bomb)");
        }
    }

    /// A later turn of a loop sees what an earlier one assigned.
    fn forget_assigned(&mut self, source: &Source<'_>, body: Node<'_>) {
        let text = source.of(body);
        self.charge(text.len());
        for before in text.split('=') {
            let before = before.strip_suffix('+').unwrap_or(before);
            let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let length = before.bytes().rev().take_while(is_name).count();
            let name = &before[before.len() - length..];
            let known = |values: &[String]| values.iter().all(|value| is_known(value));
            if self.scope.vars.get(name).is_some_and(|var| known(&var.values)) {
                self.scope.set(name, UNKNOWN.to_string());
            }
        }
    }

    fn define(&mut self, source: &Source<'_>, node: Node<'_>) {
        let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body")) else {
            return;
        };
        let name = source.of(name);
        self.line("function", name);
        self.name(name);
        if super::rules::rule(name).is_some() {
            self.unknown(format!("defines a function that replaces `{name}`"));
        }
        self.scope.define(name, source.slice(body.start_byte()..node.end_byte()));
        self.uncalled.insert(name.to_owned());
    }
}

/// Words beside each other, as in a command and unlike in arithmetic.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            && word.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| is_word(pair[0]) && (is_word(pair[1]) || pair[1].starts_with(['~', '/', '.'])))
}
