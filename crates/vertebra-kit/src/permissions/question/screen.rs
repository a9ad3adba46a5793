//! What a person sees when they are asked. Nothing of the model stands here raw.

use std::{fmt::Write as _, path::Path};

use serde_json::Value;
use vertebra::Approval;

use super::{
    diff::{self, Line},
    escape::{as_lines, cut, on_one_line},
};

/// How many characters of a name or a reason are shown.
const MAX_WORDS: usize = 300;
/// How many lines of one argument are shown at first: so many from its beginning, so many from its end.
const HEAD: usize = 30;
const TAIL: usize = 10;
/// How many characters of a line are shown at first.
const MAX_LINE: usize = 1000;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Short,
    Whole,
}

/// How things are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    pub(super) colour: bool,
}

impl Screen {
    /// The question: who, what with which arguments, why.
    pub(super) fn question(self, approval: &Approval, change: Option<&[Line]>, view: View) -> String {
        let name = |text: &str| on_one_line(text, MAX_WORDS);
        let mut shown = String::from("\n");
        let agent = name(&approval.at.run.agent);
        let title = self.bold(&format!("{agent} wants to use {}", name(&approval.tool)));
        line(&mut shown, &format!("┌ {title}"));
        line(&mut shown, &format!("│ {} ({})", name(&approval.reason), name(&approval.asked_by)));
        let is_in_diff = |arg: &str| change.is_some() && diff::SHOWN.contains(&arg);
        for (arg, value) in approval.args.iter().filter(|(arg, _)| !is_in_diff(arg)) {
            let text = match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let lines = shortened(as_lines(&text), view);
            match &lines[..] {
                [] => line(&mut shown, &format!("│ {}: (empty)", name(arg))),
                [only] => line(&mut shown, &format!("│ {}: {only}", name(arg))),
                lines => {
                    line(&mut shown, &format!("│ {}:", name(arg)));
                    indented(&mut shown, lines);
                }
            }
        }
        if let Some(change) = change {
            line(&mut shown, "│ change:");
            let lines = change.iter().map(|change| self.changed(change)).collect();
            indented(&mut shown, &shortened(lines, view));
        }
        shown
    }

    /// What can be answered.
    pub(super) fn keys(self, offered: Option<String>, file: Option<String>) -> String {
        let mut shown = String::new();
        line(&mut shown, "└ y: yes    n [why]: no    e: edit the arguments    v: view all");
        if let Some(rules) = offered {
            line(&mut shown, &format!("  a [rule]: yes, and in this session always {}", self.bold(&rules)));
        }
        if let Some(file) = file {
            line(&mut shown, &format!("  f [rule]: the same for good, in {file}"));
        }
        shown.push_str("> ");
        shown
    }

    fn changed(self, change: &Line) -> String {
        let text = |text: &str| cut(&on_one_line(text, usize::MAX), MAX_LINE);
        match change {
            Line::Same(same) => format!("  {}", text(same)),
            Line::Gone(gone) => self.coloured("31", &format!("- {}", text(gone))),
            Line::Come(come) => self.coloured("32", &format!("+ {}", text(come))),
            Line::Gap => "  …".to_owned(),
        }
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
    on_one_line(&rules.join(", "), 2 * MAX_WORDS)
}

/// A file's name on one line.
pub(super) fn file(path: &Path) -> String {
    on_one_line(&path.display().to_string(), MAX_WORDS)
}

fn line(shown: &mut String, text: &str) {
    writeln!(shown, "{text}").expect("a string takes everything");
}

fn indented(shown: &mut String, lines: &[String]) {
    for text in lines {
        line(shown, &format!("│   {text}"));
    }
}

/// The beginning and the end of many lines, unless all are to be seen.
fn shortened(lines: Vec<String>, view: View) -> Vec<String> {
    if view == View::Whole {
        return lines;
    }
    let missing = lines.len().saturating_sub(HEAD + TAIL);
    let shorter = |text: &String| cut(text, MAX_LINE);
    if missing == 0 {
        return lines.iter().map(shorter).collect();
    }
    let head = lines.iter().take(HEAD).map(shorter);
    let tail = lines.iter().skip(HEAD + missing).map(shorter);
    head.chain([format!("⟨{missing} lines more: v shows them⟩")]).chain(tail).collect()
}
