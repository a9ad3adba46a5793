//! `search_files`: files by name.

use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{ToolError, ToolOutput};

use super::{
    access::Job,
    globs::{Case, compile},
    list::here,
    push_line,
    walk::walk,
};

/// How many patterns one call may have.
const MAX_PATTERNS: usize = 50;

/// The arguments of `search_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchFiles {
    /// A glob such as `src/**/*.rs`, or `*.{ts,js}` for any depth.
    pattern: Option<String>,
    /// Several globs; a file is found if one of them fits.
    #[serde(default)]
    patterns: Vec<String>,
    /// The folder to search; the one the agent works in unless said otherwise.
    #[serde(default = "here")]
    path: String,
    /// Whether names that begin with a dot are found.
    #[serde(default)]
    hidden: bool,
    /// How many files at most, 100 unless said otherwise.
    max_results: Option<usize>,
}

/// Finds out whether a person has to be asked.
pub(super) fn look(job: &Job, input: &SearchFiles) -> Result<Option<String>, ToolError> {
    job.target(&input.path).map(|_| None)
}

pub(super) fn search_files(job: &Job, input: &SearchFiles) -> Result<ToolOutput, ToolError> {
    let patterns: Vec<String> = input.pattern.iter().chain(&input.patterns).cloned().collect();
    if patterns.is_empty() || patterns.len() > MAX_PATTERNS {
        return Err(ToolError::new(format!("give a pattern, or up to {MAX_PATTERNS} patterns")));
    }
    let globs = compile(&patterns, Case::Matters)?;
    let target = job.target(&input.path)?;
    target.open_folder(job)?;
    let bounds = job.bounds();
    let limit = input.max_results.unwrap_or(bounds.results).min(bounds.max_results).max(1);
    let (mut text, mut found, mut more) = (String::new(), 0, false);
    let walked = walk(job, &target, input.hidden.into(), |place, _| {
        let inside = place.path().strip_prefix(target.place.path()).unwrap_or(place.path());
        if !globs.is_match(inside) {
            return Ok(ControlFlow::Continue(()));
        }
        if found == limit || text.len() > bounds.output_bytes {
            more = true;
            return Ok(ControlFlow::Break(()));
        }
        found += 1;
        push_line(&mut text, format_args!("{}", job.shown(&target.root, place.path())));
        Ok(ControlFlow::Continue(()))
    })?;
    if found == 0 {
        text.push_str("no file has such a name\n");
    }
    if more {
        push_line(&mut text, format_args!("[there are more than these {found}; narrow the pattern or the path]"));
    }
    text.push_str(&walked.notices());
    Ok(text.into())
}
