//! The text of a question. All text of the model is escaped.

use std::{fmt::Write as _, path::Path};

use serde_json::Value;
use unicode_width::UnicodeWidthChar as _;
use vertebra::Approval;

use super::{
    Choice, Reply,
    diff::{Change, Line},
    escape::{as_lines, on_one_line},
    script,
};
use crate::bash::ASKS_FOR;

/// How a question is formatted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    pub(super) colour: bool,
    /// The maximum width of a line.
    pub(super) columns: usize,
}

impl Screen {
    /// Formats the question: what would run or change, and then why it needs approval.
    pub(super) fn question(self, approval: &Approval, change: Option<&Change>) -> String {
        let mut shown = String::from("\n");
        // Other agents are named: the person talks to only one.
        let agent =
            if approval.at.run.depth > 0 { format!("{}: ", name(&approval.at.run.agent)) } else { String::new() };
        let command = approval.call.args.text("command").filter(|_| &*approval.call.tool == "bash");
        let path = approval.call.args.text("path").filter(|_| change.is_some());
        let mut title = match (command, path) {
            (Some(command), _) => as_lines(command),
            (None, Some(path)) => vec![format!("{} {}", name(&approval.call.tool), name(path))],
            (None, None) => vec![name(&approval.call.tool)],
        };
        if let Some(places @ 2..) = change.and_then(|change| change.places) {
            title[0] = format!("{} · {places} places", title[0]);
        }
        let first = if title.is_empty() { String::new() } else { title.remove(0) };
        let sign = if command.is_some() { "$ " } else { "" };
        let first = format!("{agent}{sign}{first}");
        for (number, row) in wrapped(&first, self.columns.saturating_sub(2).max(8)).into_iter().enumerate() {
            line(&mut shown, &format!("{}{}", if number == 0 { "┌ " } else { "│ " }, self.bold(row)));
        }
        for text in &title {
            self.painted(&mut shown, "│   ", text, Some("1"));
        }
        if let Some(change) = change {
            self.change(&mut shown, change);
        }
        let is_shown = |arg: &str| {
            change.is_some_and(|change| change.shows.contains(&arg))
                || (arg == "command" && command.is_some())
                || (arg == "path" && path.is_some())
                // The reason says it in words.
                || (arg == "needs" && command.is_some() && approval.reason.starts_with(ASKS_FOR))
        };
        self.arguments(&mut shown, approval, is_shown);
        if let Some(effects) = command.and_then(script::effects) {
            self.within(&mut shown, "│ ", &effects);
        }
        // The hooks of capabilities have a `/` in their names, which says nothing to a person.
        // That a tool asks is clear from what it asks about.
        let by = Some(&approval.asked_by).filter(|by| !by.contains('/') && approval.call.tool != **by);
        let by = by.map_or_else(String::new, |by| format!(" ({})", name(by)));
        self.within(&mut shown, "│ ", &format!("{}{by}", name(&approval.reason)));
        shown
    }

    fn arguments(self, shown: &mut String, approval: &Approval, is_shown: impl Fn(&str) -> bool) {
        for (arg, value) in approval.call.args.iter().filter(|(arg, _)| !is_shown(arg)) {
            let text = match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let lines = as_lines(&text);
            match &lines[..] {
                [] => self.within(shown, "│ ", &format!("{}: (empty)", name(arg))),
                [only] => self.within(shown, "│ ", &format!("{}: {only}", name(arg))),
                lines => {
                    self.within(shown, "│ ", &format!("{}:", name(arg)));
                    for text in lines {
                        self.within(shown, "│   ", text);
                    }
                }
            }
        }
    }

    fn change(self, shown: &mut String, change: &Change) {
        let most = change.lines.iter().filter_map(Line::number).max().unwrap_or(0);
        let width = if most == 0 { 0 } else { most.to_string().len() };
        for line in &change.lines {
            let (number, text) = changed(line);
            let number = match (width, number) {
                (0, _) => String::new(),
                (width, Some(number)) => format!("{number:>width$} "),
                (width, None) => " ".repeat(width + 1),
            };
            let code = match text.chars().next() {
                Some('-') => Some("31"),
                Some('+') => Some("32"),
                _ => None,
            };
            self.painted(shown, &format!("│ {number}"), &text, code);
        }
    }

    /// Writes text with a margin, wrapped.
    fn within(self, shown: &mut String, margin: &str, text: &str) {
        self.painted(shown, margin, text, None);
    }

    fn painted(self, shown: &mut String, margin: &str, text: &str, code: Option<&str>) {
        let room = self.columns.saturating_sub(margin.chars().count()).max(8);
        for row in wrapped(text, room) {
            match code {
                Some(code) => line(shown, &format!("{margin}{}", self.coloured(code, row))),
                None => line(shown, &format!("{margin}{row}")),
            }
        }
    }

    /// Formats the possible answers.
    pub(super) fn keys(self, left: usize, lacks_network: Option<&str>, choices: &[Choice]) -> String {
        let mut shown = String::new();
        if left > 0 {
            let lines = if left == 1 { "line" } else { "lines" };
            line(
                &mut shown,
                &format!("└ v: view the next of {left} more {lines}, before you can say yes    n [why]: no"),
            );
            shown.push_str("> ");
            return shown;
        }
        line(&mut shown, "└ y: yes    n [why]: no    e: edit the arguments");
        if let Some(limit) = lacks_network {
            line(&mut shown, &format!("  {limit}"));
        }
        for choice in choices {
            let (rule, and) = match choice.reply {
                Reply::Always { .. } | Reply::ForFolder { .. } | Reply::ForGood { .. } => (" [rule]", "and "),
                Reply::WithNetwork | Reply::Grant { .. } => ("", ""),
                _ => ("", "and "),
            };
            let told = choice.told(|rules| self.bold(rules));
            line(&mut shown, &format!("  {}{rule}: yes, {and}{told}", choice.key));
        }
        shown.push_str("> ");
        shown
    }

    fn bold(self, text: &str) -> String {
        self.coloured("1", text)
    }

    fn coloured(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Rules on one line.
pub(super) fn rules(rules: &[String]) -> String {
    on_one_line(&rules.join(", "), usize::MAX)
}

/// A file's name on one line.
pub(super) fn file(path: &Path) -> String {
    on_one_line(&path.display().to_string(), usize::MAX)
}

fn line(shown: &mut String, text: &str) {
    writeln!(shown, "{text}").expect("a string takes everything");
}

/// Formats a line of a diff: its number, and its text with its sign.
fn changed(change: &Line) -> (Option<usize>, String) {
    let text = match change {
        Line::Same(_, same) => format!("  {}", name(same)),
        Line::Gone(_, gone) => format!("- {}", name(gone)),
        Line::Come(_, come) => format!("+ {}", name(come)),
        Line::Gap => "  …".to_owned(),
    };
    (change.number(), text)
}

impl Line {
    fn number(&self) -> Option<usize> {
        match self {
            Self::Same(number, _) | Self::Gone(number, _) | Self::Come(number, _) => *number,
            Self::Gap => None,
        }
    }
}

fn name(text: &str) -> String {
    on_one_line(text, usize::MAX)
}

/// Wraps a text to this width, between two words if the line stays at least half full.
fn wrapped(text: &str, columns: usize) -> Vec<&str> {
    let (mut pieces, mut begins, mut taken) = (Vec::new(), 0, 0);
    // Where the last word begins, and how much is taken before it.
    let (mut word, mut before) = (0, 0);
    for (at, c) in text.char_indices() {
        let width = c.width().unwrap_or(0);
        if taken + width > columns {
            let (end, left) = if before * 2 >= columns { (word, taken - before) } else { (at, 0) };
            pieces.push(&text[begins..end]);
            (begins, taken, before) = (end, left, 0);
        }
        taken += width;
        if c == ' ' {
            (word, before) = (at + 1, taken);
        }
    }
    pieces.push(&text[begins..]);
    pieces
}
