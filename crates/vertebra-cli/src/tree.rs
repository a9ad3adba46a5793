//! A run as a tree for people, printed as it happens.

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::Path,
};

use vertebra::{
    BeforeToolUse, Channel, Kind, News, Point as _, Ran, Record, Role, RunEvent, RunReport, Skipped, ToolCall,
    ToolResult, ToolStatus, Trace,
};

use crate::view::{
    call_row, changed,
    rows::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    text,
};

/// The most characters of one line of output that are shown.
const WIDTH: usize = 100;

/// Prints a run as it happens, and counts what the hooks did.
#[derive(Default)]
pub(crate) struct Tree {
    rewritten: u32,
    denied: u32,
    watched: u32,
    saying: bool,
}

impl Tree {
    /// Prints the title and the prompt.
    pub(crate) fn begin(out: &mut impl Write, prompt: &str, folder: &Path) -> io::Result<Self> {
        writeln!(out, "{BOLD}vertebra demo{BOLD:#} {DIM}· scripted model, real tools in {}{DIM:#}", folder.display())?;
        writeln!(out, "{DIM}│{DIM:#}\n{DIM}├─{DIM:#} {BOLD}prompt{BOLD:#}  {prompt}")?;
        Ok(Self::default())
    }

    /// Prints one event.
    pub(crate) fn show(&mut self, out: &mut impl Write, event: &RunEvent) -> io::Result<()> {
        let saying = matches!(event.news, News::Delta { channel: Channel::Text | Channel::Reasoning, .. });
        if self.saying && !saying {
            writeln!(out)?;
        }
        match &event.news {
            News::Step { step } => writeln!(out, "{DIM}│{DIM:#}\n{DIM}├─{DIM:#} {BOLD}step {step}{BOLD:#}")?,
            News::Delta { channel: Channel::Text | Channel::Reasoning, text, .. } => self.delta(out, text)?,
            News::ToolBegan { call } => {
                line(out, 1, &format!("{CYAN}▶ runs{CYAN:#}   {}", call_row(call).cut(WIDTH).paint(true)))?;
            }
            News::ToolSays { text, .. } => line(out, 2, &format!("{DIM}{}{DIM:#}", cut(text)))?,
            News::ToolEnded { call, result } => ended(out, call, result)?,
            News::Hooks { record, subject, .. } => self.hooks(out, record, subject)?,
            News::Asked { approval } => {
                line(out, 1, &format!("{YELLOW}? asks{YELLOW:#}   {}", cut(&approval.reason)))?;
            }
            News::Notice { message, .. } => line(out, 1, &format!("{DIM}note     {}{DIM:#}", cut(message)))?,
            News::Retry { message, .. } => line(out, 1, &format!("{YELLOW}↻ again{YELLOW:#}  {}", cut(message)))?,
            News::Missed { events } => line(out, 1, &format!("{DIM}… {events} events were missed{DIM:#}"))?,
            News::Ended { report } => end(out, report)?,
            // The picture does not show the rest.
            _ => {}
        }
        self.saying = saying;
        Ok(())
    }

    fn delta(&self, out: &mut impl Write, text: &str) -> io::Result<()> {
        if !self.saying {
            write!(out, "{DIM}│  ├─{DIM:#} {GREEN}model{GREEN:#}    ")?;
        }
        write!(out, "{}", text::visible(&text.replace('\n', " ")))
    }

    fn hooks(&mut self, out: &mut impl Write, record: &Record, subject: &str) -> io::Result<()> {
        line(out, 1, &format!("{BOLD}{}{BOLD:#} {DIM}{}{DIM:#}", record.point, cut(subject)))?;
        for trace in &record.hooks {
            self.count(&record.point, trace);
            line(out, 2, &hook(trace))?;
        }
        Ok(())
    }

    fn count(&mut self, point: &str, trace: &Trace) {
        self.rewritten += u32::from(point == BeforeToolUse::NAME && !trace.changes.is_empty());
        self.denied += u32::from(matches!(trace.ran, Ran::Answered { verdict: Kind::Deny, .. }));
        self.watched += u32::from(trace.role == Role::Watch);
    }

    /// Prints what the hooks did, and the files of the folder.
    pub(crate) fn epilogue(&self, out: &mut impl Write, folder: &Path) -> io::Result<()> {
        let Self { rewritten, denied, watched, .. } = self;
        writeln!(
            out,
            "\n{BOLD}hooks:{BOLD:#} {YELLOW}{rewritten} calls changed{YELLOW:#}, {RED}{denied} denied{RED:#}, \
             {CYAN}{watched} recorded{CYAN:#}"
        )?;
        let mut files = Vec::new();
        list(folder, folder, &mut files)?;
        files.sort();
        writeln!(out, "{BOLD}files:{BOLD:#} {}", files.join("  "))
    }
}

fn end(out: &mut impl Write, report: &RunReport) -> io::Result<()> {
    writeln!(
        out,
        "{DIM}│{DIM:#}\n{DIM}└─{DIM:#} {BOLD}{}{BOLD:#}  {} steps, {} tool calls {DIM}· {}{DIM:#}",
        report.status, report.steps, report.tool_calls, report.stop
    )
}

/// Describes one hook and its result.
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
        Ran::Skipped { why: Skipped::Disabled } => format!("{DIM}- {role} {} is disabled{DIM:#}", trace.hook),
        Ran::Skipped { why: Skipped::Ended { by, .. } } => {
            format!("{DIM}- {role} {} not run: {by} ended the dispatch{DIM:#}", trace.hook)
        }
        Ran::Skipped { .. } => format!("{DIM}- {role} {} not run{DIM:#}", trace.hook),
        Ran::Detached => format!("{CYAN}◉ {role} {}{CYAN:#} {DIM}(in the background){DIM:#}", trace.hook),
        Ran::Dropped => format!("{YELLOW}◌ {role} {} missed this event{YELLOW:#}", trace.hook),
    };
    for change in &trace.changes {
        let _ = write!(text, "  {}", changed(change).paint(true));
    }
    text
}

fn ended(out: &mut impl Write, call: &ToolCall, result: &ToolResult) -> io::Result<()> {
    let (style, mark) = match result.status {
        ToolStatus::Done if result.success => (GREEN, "✓ done "),
        ToolStatus::Done | ToolStatus::Failed | ToolStatus::Cancelled => (YELLOW, "! ended"),
        ToolStatus::Blocked => (RED, "✗ denied"),
        ToolStatus::NotRun => (DIM, "- not run"),
        _ => (YELLOW, "? may have run"),
    };
    line(out, 1, &format!("{style}{mark}{style:#}  {}", call_row(call).cut(WIDTH).paint(true)))?;
    for text in result.output.lines().take(4) {
        line(out, 2, &format!("{DIM}{}{DIM:#}", cut(text)))?;
    }
    Ok(())
}

fn line(out: &mut impl Write, depth: usize, text: &str) -> io::Result<()> {
    writeln!(out, "{DIM}{}├─{DIM:#} {text}", "│  ".repeat(depth))
}

fn cut(text: &str) -> String {
    text::cut(&text::on_one_line(text), WIDTH).into_owned()
}

fn list(root: &Path, folder: &Path, files: &mut Vec<String>) -> io::Result<()> {
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
