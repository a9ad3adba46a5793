//! `grep`: files by what is in them.

use std::{io::Read as _, ops::ControlFlow, path::PathBuf};

use globset::GlobSet;
use regex::{Regex, RegexBuilder};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{ToolError, ToolOutput};

use super::{
    access::Job,
    globs::{Case, compile},
    list::here,
    place::Place,
    push_line,
    root::Root,
    text::{NotText, Text},
    walk::{Walked, walk},
};
use crate::permissions::opened::Use;

/// How long an expression may be, and how much memory its program.
const MAX_PATTERN_BYTES: usize = 4 * 1024;
const MAX_PROGRAM_BYTES: usize = 1 << 20;

/// How much of a line is shown, and how many lines around it.
const MAX_LINE_BYTES: usize = 400;
const MAX_CONTEXT: usize = 10;

/// The arguments of `grep`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// A regular expression, tried on each line.
    pattern: String,
    /// The folder or file to search; the folder the agent works in unless said otherwise.
    #[serde(default = "here")]
    path: String,
    /// Only files whose name fits this glob, such as `*.rs`.
    glob: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines to show before and after each match.
    #[serde(default)]
    context: usize,
    /// How many matches at most, 100 unless said otherwise.
    max_results: Option<usize>,
    /// Whether to tell only which files have a match.
    #[serde(default)]
    files_only: bool,
    /// Whether files whose name begins with a dot are searched.
    #[serde(default)]
    hidden: bool,
}

pub(super) fn grep(job: &Job, input: &Grep) -> Result<ToolOutput, ToolError> {
    let bounds = job.bounds();
    let target = job.target(&input.path)?;
    let mut search = Search {
        job,
        named: target.named(),
        expression: expression(&input.pattern, input.ignore_case)?,
        context: input.context.min(MAX_CONTEXT),
        files_only: input.files_only,
        left: input.max_results.unwrap_or(bounds.results).min(bounds.max_results).max(1),
        text: String::new(),
        matches: 0,
        skipped: Skipped::default(),
        more: false,
    };
    let glob = input.glob.clone().map(|glob| compile(&[glob], Case::Matters)).transpose()?;
    let shown = |place: &Place| job.shown(&target.root, place.path());
    let walked = match target.place.kind()? {
        None => return Err(target.place.says("is not there")),
        Some(FileType::Directory) => walk(job, &target, input.hidden.into(), |place, kind| {
            let inside = place.path().strip_prefix(target.place.path()).unwrap_or(place.path());
            if kind != FileType::RegularFile || !glob.as_ref().is_none_or(|glob: &GlobSet| glob.is_match(inside)) {
                return Ok(ControlFlow::Continue(()));
            }
            Ok(search.file(&target.root, place, &shown(place)))
        })?,
        Some(_) => {
            target.open(job)?;
            let _ = search.file(&target.root, &target.place, &shown(&target.place));
            Walked::default()
        }
    };
    Ok(search.report(&walked).into())
}

/// Finds out whether a person has to be asked.
pub(super) fn look(job: &Job, input: &Grep) -> Result<Option<String>, ToolError> {
    job.target(&input.path).map(|_| None)
}

fn expression(pattern: &str, ignore_case: bool) -> Result<Regex, ToolError> {
    if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
        return Err(ToolError::new(format!("the pattern must have 1 to {MAX_PATTERN_BYTES} bytes")));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(ignore_case).size_limit(MAX_PROGRAM_BYTES).dfa_size_limit(MAX_PROGRAM_BYTES);
    builder.build().map_err(|error| ToolError::new(format!("the pattern is not a regular expression: {error}")))
}

/// Files that were not searched.
#[derive(Default)]
struct Skipped {
    binary: usize,
    large: usize,
    closed: usize,
    ruled: usize,
}

struct Search<'a> {
    job: &'a Job,
    /// Where the search begins, as the call named it.
    named: PathBuf,
    expression: Regex,
    context: usize,
    files_only: bool,
    left: usize,
    text: String,
    matches: usize,
    skipped: Skipped,
    more: bool,
}

impl Search<'_> {
    fn file(&mut self, root: &Root, place: &Place, name: &str) -> ControlFlow<()> {
        let Some(text) = self.read(place) else { return ControlFlow::Continue(()) };
        // A pattern is tried on what the model may read: what it finds tells nothing about what is hidden.
        let text = self.job.hidden(&root.real().join(place.path()), &text).text;
        let lines: Vec<&str> = text.lines().collect();
        let fits = |at: &usize| self.expression.is_match(lines[*at]);
        let wanted = if self.files_only { 1 } else { self.left + 1 };
        let hits: Vec<usize> = (0..lines.len()).filter(fits).take(wanted).collect();
        if hits.is_empty() {
            return ControlFlow::Continue(());
        }
        if self.is_full() {
            self.more = true;
            return ControlFlow::Break(());
        }
        push_line(&mut self.text, format_args!("{name}"));
        if self.files_only {
            self.count();
            return ControlFlow::Continue(());
        }
        let mut told = 0;
        for (index, hit) in hits.iter().enumerate() {
            if self.is_full() {
                self.more = true;
                return ControlFlow::Break(());
            }
            self.count();
            // What stands around this match and was not told with the one before; the next one tells of itself.
            let first = hit.saturating_sub(self.context).max(told);
            let next = hits.get(index + 1).copied().unwrap_or(lines.len());
            let end = (hit + self.context + 1).min(next);
            if self.context > 0 && (1..first).contains(&told) {
                push_line(&mut self.text, format_args!("--"));
            }
            for (at, line) in lines.iter().enumerate().take(end).skip(first) {
                let mark = if at == *hit { ':' } else { '-' };
                let cut = line.floor_char_boundary(MAX_LINE_BYTES);
                let rest = if cut < line.len() { "…" } else { "" };
                push_line(&mut self.text, format_args!("{}{mark}{}{rest}", at + 1, &line[..cut]));
            }
            told = end;
        }
        ControlFlow::Continue(())
    }

    fn count(&mut self) {
        self.matches += 1;
        self.left -= 1;
    }

    fn is_full(&self) -> bool {
        self.left == 0 || self.text.len() > self.job.bounds().output_bytes
    }

    /// What is in a file, if it is worth searching.
    fn read(&mut self, place: &Place) -> Option<String> {
        let limit = self.job.bounds().search_bytes;
        let Ok((file, facts)) = place.open() else {
            self.skipped.closed += 1;
            return None;
        };
        // It may have become another file since the walk met its name, and a rule may ask about a file among others.
        if self.job.judge(place, Some(&file), Use::Read, &self.named).is_err() {
            self.skipped.ruled += 1;
            return None;
        }
        if facts.len() > limit {
            self.skipped.large += 1;
            return None;
        }
        let mut bytes = Vec::new();
        if self.job.effort.reading(file).take(limit).read_to_end(&mut bytes).is_err() {
            self.skipped.closed += 1;
            return None;
        }
        match Text::decode(&bytes) {
            Ok(text) => Some(text.body),
            Err(NotText::Binary(_)) => {
                self.skipped.binary += 1;
                None
            }
        }
    }

    fn report(mut self, walked: &Walked) -> String {
        let text = &mut self.text;
        if self.matches == 0 {
            push_line(text, format_args!("no match"));
        }
        if self.more {
            push_line(
                text,
                format_args!("[there are more than these {}; narrow the pattern or the path]", self.matches),
            );
        }
        let Skipped { binary, large, closed, ruled } = self.skipped;
        let rules = "denied or asked about by rules";
        let too_large = format!("larger than {} bytes", self.job.bounds().search_bytes);
        for (count, what) in [(binary, "binary"), (large, too_large.as_str()), (closed, "not readable"), (ruled, rules)]
        {
            if count > 0 {
                push_line(text, format_args!("[files not searched because they are {what}: {count}]"));
            }
        }
        text.push_str(&walked.notices());
        self.text
    }
}
