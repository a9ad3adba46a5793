//! `vertebra doctor`: checks that everything an agent needs is present.

mod checks;

use std::{borrow::Cow, path::PathBuf, process::ExitCode};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::{assembly::World, view::text};

/// The options of `vertebra doctor`.
#[derive(clap::Args)]
#[command(after_help = "\
✓ works   ! works with limits   ✗ does not work
The exit code is 1 if a check fails. The command changes nothing and shows no keys.")]
pub(crate) struct Options {
    /// Check this folder
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of one check.
#[derive(Serialize)]
pub(crate) struct Finding {
    /// What was checked: `sandbox`.
    what: Cow<'static, str>,
    pub(crate) health: Health,
    /// The result, for people.
    found: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    /// It works.
    Good,
    /// It works with limits.
    Lacking,
    /// It does not work.
    Broken,
}

impl Finding {
    pub(crate) fn good(what: impl Into<Cow<'static, str>>, found: impl Into<String>) -> Self {
        Self { what: what.into(), health: Health::Good, found: found.into(), advice: None }
    }

    pub(crate) fn lacking(
        what: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), health: Health::Lacking, found: found.into(), advice: Some(advice.into()) }
    }

    pub(crate) fn broken(
        what: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), health: Health::Broken, found: found.into(), advice: Some(advice.into()) }
    }
}

/// Runs the command. It fails if a check fails.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let findings = checks::all(&options.dir, &world).await;
    let broken = findings.iter().filter(|finding| finding.health == Health::Broken).count();
    if options.json {
        crate::programs::print(&findings)?;
    } else {
        show(&mut anstream::stdout().lock(), &findings, broken)?;
    }
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the findings and the number of problems.
pub(crate) fn show(out: &mut impl std::io::Write, findings: &[Finding], broken: usize) -> std::io::Result<()> {
    let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or_default();
    let dim = Style::new().dimmed();
    for Finding { what, health, found, advice } in findings {
        let (mark, colour) = match health {
            Health::Good => ("✓", AnsiColor::Green),
            Health::Lacking => ("!", AnsiColor::Yellow),
            Health::Broken => ("✗", AnsiColor::Red),
        };
        let colour = colour.on_default();
        let found = text::visible(found).replace('\n', &format!("\n  {:width$}  ", ""));
        writeln!(out, "{colour}{mark}{colour:#} {what:width$}  {found}")?;
        if let Some(advice) = advice {
            writeln!(out, "  {:width$}  {dim}→ {}{dim:#}", "", text::visible(advice))?;
        }
    }
    match broken {
        0 => writeln!(out, "\nNo problems found."),
        _ => writeln!(out, "\n{}.", text::counted(broken, "problem")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_from_files_are_made_visible() {
        let mut out = Vec::new();
        show(&mut out, &[Finding::broken("this folder", "a\u{1b}[2Jb", "fix it")], 1).expect("shown");
        let out = String::from_utf8(out).expect("text");
        assert!(out.contains("a⟨U+001B⟩[2Jb"), "{out}");
    }
}
