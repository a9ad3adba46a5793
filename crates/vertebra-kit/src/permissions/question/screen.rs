//! The text of a question. All text of the model is escaped.

use std::{fmt::Write as _, path::Path};

use serde_json::Value;
use unicode_width::UnicodeWidthChar as _;
use vertebra::Approval;

use super::{
    diff::{Change, Line},
    escape::{as_lines, on_one_line},
};

/// How a question is formatted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    pub(super) colour: bool,
    /// The maximum width of a line.
    pub(super) columns: usize,
}

impl Screen {
    /// Formats the question: agent, tool, reason and arguments.
    pub(super) fn question(self, approval: &Approval, change: Option<&Change>) -> String {
        let name = |text: &str| on_one_line(text, usize::MAX);
        let mut shown = String::from("\n");
        let agent = name(&approval.at.run.agent);
        let title = format!("{agent} wants to use {}", name(&approval.tool));
        for (number, row) in wrapped(&title, self.columns.saturating_sub(2).max(8)).into_iter().enumerate() {
            line(&mut shown, &format!("{}{}", if number == 0 { "┌ " } else { "│ " }, self.bold(row)));
        }
        self.within(&mut shown, "│ ", &format!("{} ({})", name(&approval.reason), name(&approval.asked_by)));
        let is_in_diff = |arg: &str| change.is_some_and(|change| change.shows.contains(&arg));
        for (arg, value) in approval.args.iter().filter(|(arg, _)| !is_in_diff(arg)) {
            let text = match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let lines = as_lines(&text);
            match &lines[..] {
                [] => self.within(&mut shown, "│ ", &format!("{}: (empty)", name(arg))),
                [only] => self.within(&mut shown, "│ ", &format!("{}: {only}", name(arg))),
                lines => {
                    self.within(&mut shown, "│ ", &format!("{}:", name(arg)));
                    for text in lines {
                        self.within(&mut shown, "│   ", text);
                    }
                }
            }
        }
        if let Some(change) = change {
            line(&mut shown, "│ change:");
            for text in change.lines.iter().map(changed) {
                let code = match text.chars().next() {
                    Some('-') => Some("31"),
                    Some('+') => Some("32"),
                    _ => None,
                };
                self.painted(&mut shown, "│   ", &text, code);
            }
        }
        shown
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
    pub(super) fn keys(self, left: usize, offered: Option<String>, file: Option<String>) -> String {
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
        line(&mut shown, "└ y: yes    n [why]: no    e: edit the arguments    v: view all");
        if let Some(rules) = offered {
            line(&mut shown, &format!("  a [rule]: yes, and always in this session: {}", self.bold(&rules)));
        }
        if let Some(file) = file {
            line(&mut shown, &format!("  f [rule]: yes, and always, saved in {file}"));
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

/// Formats a line of a diff with its sign.
fn changed(change: &Line) -> String {
    let text = |text: &str| on_one_line(text, usize::MAX);
    match change {
        Line::Same(same) => format!("  {}", text(same)),
        Line::Gone(gone) => format!("- {}", text(gone)),
        Line::Come(come) => format!("+ {}", text(come)),
        Line::Gap => "  …".to_owned(),
    }
}

/// Wraps a text to this width.
fn wrapped(text: &str, columns: usize) -> Vec<&str> {
    let (mut pieces, mut begins, mut taken) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        let width = c.width().unwrap_or(0);
        if taken + width > columns {
            pieces.push(&text[begins..at]);
            (begins, taken) = (at, 0);
        }
        taken += width;
    }
    pieces.push(&text[begins..]);
    pieces
}
