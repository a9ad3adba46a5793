//! Prints a run as a live tree, in colour if the terminal supports it.

use std::{fmt::Write as _, path::Path};

use vertebra::{
    BeforeToolUse, Channel, Kind, News, Point as _, Ran, Record, Role, RunEvent, RunReport, Skipped, ToolCall,
    ToolResult, ToolStatus, Trace,
};

use crate::view::{
    call_row, changed,
    rows::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    text,
};

/// How many characters of a line of output are shown.
const WIDTH: usize = 100;

/// Prints a run live, and counts what hooks did.
#[derive(Default)]
pub(crate) struct Tree {
    rewritten: u32,
    denied: u32,
    watched: u32,
    saying: bool,
}

impl Tree {
    /// Prints the header.
    pub(crate) fn begin(prompt: &str, folder: &Path) -> Self {
        anstream::println!(
            "{BOLD}vertebra demo{BOLD:#} {DIM}· scripted model, real effects in {}{DIM:#}",
            folder.display()
        );
        anstream::println!("{DIM}│{DIM:#}\n{DIM}├─{DIM:#} {BOLD}prompt{BOLD:#}  {prompt}");
        Self::default()
    }

    /// Prints one event.
    pub(crate) fn show(&mut self, event: &RunEvent) {
        let saying = matches!(event.news, News::Delta { channel: Channel::Text | Channel::Reasoning, .. });
        if self.saying && !saying {
            anstream::println!();
        }
        match &event.news {
            News::Step { step } => anstream::println!("{DIM}│{DIM:#}\n{DIM}├─{DIM:#} {BOLD}step {step}{BOLD:#}"),
            News::Delta { channel: Channel::Text | Channel::Reasoning, text, .. } => self.delta(text),
            News::ToolBegan { call } => {
                line(1, &format!("{CYAN}▶ runs{CYAN:#}   {}", call_row(call).cut(WIDTH).paint(true)));
            }
            News::ToolSays { text, .. } => line(2, &format!("{DIM}{}{DIM:#}", cut(text))),
            News::ToolEnded { call, result } => ended(call, result),
            News::Hooks { record, subject, .. } => self.hooks(record, subject),
            News::Asked { approval } => line(1, &format!("{YELLOW}? asks{YELLOW:#}   {}", cut(&approval.reason))),
            News::Delta { .. } | News::Decided { .. } | News::Used { .. } => {}
            News::Notice { message, .. } => line(1, &format!("{DIM}note     {}{DIM:#}", cut(message))),
            News::Missed { events } => line(1, &format!("{DIM}… {events} events were missed{DIM:#}")),
            News::Ended { report } => end(report),
        }
        self.saying = saying;
    }

    fn delta(&self, text: &str) {
        if !self.saying {
            anstream::print!("{DIM}│  ├─{DIM:#} {GREEN}model{GREEN:#}    ");
        }
        anstream::print!("{}", text::visible(&text.replace('\n', " ")));
    }

    fn hooks(&mut self, record: &Record, subject: &str) {
        line(1, &format!("{BOLD}{}{BOLD:#} {DIM}{}{DIM:#}", record.point, cut(subject)));
        for trace in &record.hooks {
            self.count(&record.point, trace);
            line(2, &hook(trace));
        }
    }

    fn count(&mut self, point: &str, trace: &Trace) {
        self.rewritten += u32::from(point == BeforeToolUse::NAME && !trace.changes.is_empty());
        self.denied += u32::from(matches!(trace.ran, Ran::Answered { verdict: Kind::Deny, .. }));
        self.watched += u32::from(trace.role == Role::Watch);
    }

    /// Prints what hooks did, and the files in the folder.
    pub(crate) fn epilogue(&self, folder: &Path) -> std::io::Result<()> {
        let Self { rewritten, denied, watched, .. } = self;
        anstream::println!(
            "\n{BOLD}hooks:{BOLD:#} {YELLOW}{rewritten} calls rewritten{YELLOW:#}, {RED}{denied} denied{RED:#}, \
             {CYAN}{watched} watched{CYAN:#}"
        );
        let mut files = Vec::new();
        list(folder, folder, &mut files)?;
        files.sort();
        anstream::println!("{BOLD}the folder now:{BOLD:#} {}", files.join("  "));
        Ok(())
    }
}

fn end(report: &RunReport) {
    anstream::println!(
        "{DIM}│{DIM:#}\n{DIM}└─{DIM:#} {BOLD}{}{BOLD:#}  {} steps, {} tool calls {DIM}· {}{DIM:#}",
        report.status,
        report.steps,
        report.tool_calls,
        report.stop
    );
}

/// Formats one hook and its result.
fn hook(trace: &Trace) -> String {
    let role = trace.role;
    let mut text = match &trace.ran {
        Ran::Answered { verdict: Kind::Deny, reason } => {
            format!("{RED}✗ {role} {} denies{RED:#}: {}", trace.hook, cut(reason.as_deref().unwrap_or_default()))
        }
        Ran::Answered { verdict: Kind::Proceed, .. } if trace.changes.is_empty() => {
            format!("{DIM}✓ {role} {}{DIM:#}", trace.hook)
        }
        Ran::Answered { verdict: Kind::Proceed, .. } => format!("{YELLOW}✎ {role} {}{YELLOW:#}", trace.hook),
        Ran::Answered { verdict, .. } => format!("{YELLOW}! {role} {} {verdict}{YELLOW:#}", trace.hook),
        Ran::Failed { failure, .. } => format!("{RED}✗ {role} {} {}{RED:#}", trace.hook, cut(&failure.to_string())),
        Ran::Skipped { why: Skipped::Disabled } => format!("{DIM}- {role} {} is off{DIM:#}", trace.hook),
        Ran::Skipped { why: Skipped::Ended { by, .. } } => {
            format!("{DIM}- {role} {} not run: {by} ended the dispatch{DIM:#}", trace.hook)
        }
        Ran::Detached => format!("{CYAN}◉ {role} {}{CYAN:#} {DIM}(in the background){DIM:#}", trace.hook),
        Ran::Dropped => format!("{YELLOW}◌ {role} {} missed the event{YELLOW:#}", trace.hook),
    };
    for change in &trace.changes {
        let _ = write!(text, "  {}", changed(change).paint(true));
    }
    text
}

fn ended(call: &ToolCall, result: &ToolResult) {
    let (style, mark) = match result.status {
        ToolStatus::Done if result.success => (GREEN, "✓ done "),
        ToolStatus::Done | ToolStatus::Failed | ToolStatus::Cancelled => (YELLOW, "! ended"),
        ToolStatus::Blocked => (RED, "✗ never ran"),
        ToolStatus::NotRun => (DIM, "- not run"),
        ToolStatus::Unknown => (YELLOW, "? may have run"),
    };
    line(1, &format!("{style}{mark}{style:#}  {}", call_row(call).cut(WIDTH).paint(true)));
    for text in result.output.lines().take(4) {
        line(2, &format!("{DIM}{}{DIM:#}", cut(text)));
    }
}

fn line(depth: usize, text: &str) {
    anstream::println!("{DIM}{}├─{DIM:#} {text}", "│  ".repeat(depth));
}

fn cut(text: &str) -> String {
    text::cut(&text::on_one_line(text), WIDTH).into_owned()
}

fn list(root: &Path, folder: &Path, files: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(root, &path, files)?;
        } else if let Ok(path) = path.strip_prefix(root) {
            files.push(path.display().to_string());
        }
    }
    Ok(())
}
