//! Reports the outcomes of test cases: for people, for programs and for build servers.

use std::{fmt::Write as _, io, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use crate::view::{
    rows::{BOLD, DIM, GREEN, RED},
    text::{counted, duration, on_one_line, visible},
};

/// The outcome of one case.
pub(super) struct Outcome {
    pub(super) file: PathBuf,
    pub(super) line: usize,
    pub(super) name: String,
    /// The differences from the expectations; empty if it passed.
    pub(super) wrong: Vec<String>,
    pub(super) took: Duration,
}

/// For people: each case, the differences of those that failed, and the totals.
pub(super) fn show(out: &mut impl io::Write, outcomes: &[Outcome]) -> io::Result<()> {
    let mut file = None;
    for outcome in outcomes {
        if file != Some(&outcome.file) {
            file = Some(&outcome.file);
            writeln!(out, "{BOLD}{}{BOLD:#}", visible(&outcome.file.display().to_string()))?;
        }
        let (style, mark) = if outcome.wrong.is_empty() { (GREEN, "✓") } else { (RED, "✗") };
        let name = on_one_line(&outcome.name);
        if outcome.wrong.is_empty() {
            writeln!(out, "  {style}{mark}{style:#} {name}")?;
            continue;
        }
        writeln!(out, "  {style}{mark} {name}{style:#}  {DIM}line {}{DIM:#}", outcome.line)?;
        for wrong in &outcome.wrong {
            writeln!(out, "      {}", visible(wrong).replace('\n', "\n      "))?;
        }
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.wrong.is_empty()).count();
    let longest = outcomes.iter().map(|outcome| outcome.took).max().unwrap_or_default();
    let passed = counted(outcomes.len() - failed, "case");
    match failed {
        0 => writeln!(out, "\n{GREEN}{passed} passed{GREEN:#} {DIM}· slowest {}{DIM:#}", duration(longest)),
        _ => writeln!(out, "\n{RED}{failed} of {} failed{RED:#}", counted(outcomes.len(), "case")),
    }
}

/// For programs: one JSON object.
pub(super) fn object(outcomes: &[Outcome]) -> Value {
    let cases = outcomes.iter().map(|outcome| {
        json!({
            "file": outcome.file, "line": outcome.line, "name": outcome.name, "passed": outcome.wrong.is_empty(),
            "wrong": outcome.wrong, "took_ms": u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
        })
    });
    let failed = outcomes.iter().filter(|outcome| !outcome.wrong.is_empty()).count();
    json!({ "cases": cases.collect::<Vec<_>>(), "passed": outcomes.len() - failed, "failed": failed })
}

/// For build servers: JUnit XML.
pub(super) fn junit(outcomes: &[Outcome]) -> String {
    let failed = outcomes.iter().filter(|outcome| !outcome.wrong.is_empty()).count();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites tests=\"{}\" failures=\"{failed}\">", outcomes.len());
    for suite in outcomes.chunk_by(|one, other| one.file == other.file) {
        let name = suite.first().map(|outcome| outcome.file.display().to_string()).unwrap_or_default();
        let failed = suite.iter().filter(|outcome| !outcome.wrong.is_empty()).count();
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{0}\" tests=\"{1}\" failures=\"{failed}\">",
            escaped(&name),
            suite.len()
        );
        for outcome in suite {
            let (case, time) = (escaped(&outcome.name), outcome.took.as_secs_f64());
            let head = format!("    <testcase name=\"{case}\" classname=\"{}\" time=\"{time:.3}\"", escaped(&name));
            if outcome.wrong.is_empty() {
                let _ = writeln!(xml, "{head}/>");
            } else {
                let wrong = escaped(&outcome.wrong.join("\n"));
                let first = escaped(outcome.wrong[0].lines().next().unwrap_or_default());
                let _ = writeln!(xml, "{head}>\n      <failure message=\"{first}\">{wrong}</failure>\n    </testcase>");
            }
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Escapes text for XML and drops characters that XML cannot contain.
fn escaped(text: &str) -> String {
    let mut xml = String::new();
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\n' | '\t' => xml.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => xml.push(c),
        }
    }
    xml
}
