//! `vertebra doctor`: is everything there that an agent needs?

mod checks;

use std::{borrow::Cow, path::PathBuf, process::ExitCode};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::{assembly::World, view::text};

/// Where to look.
#[derive(clap::Args)]
#[command(after_help = "\
Nothing is changed and no key is shown. ✓ works, ! works with less, ✗ does not work. The exit code is 1 if anything does not
work.")]
pub(crate) struct Options {
    /// The folder to look at
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
#[derive(Serialize)]
pub(crate) struct Finding {
    /// What was looked at: `sandbox`.
    what: Cow<'static, str>,
    pub(crate) health: Health,
    /// What was found.
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    /// Fine.
    Good,
    /// It works, with less.
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

/// Runs the command. It fails if something does not work.
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

/// Shows what was found, and how much of it does not work.
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
            writeln!(out, "  {:width$}  {dim}→ {advice}{dim:#}", "")?;
        }
    }
    match broken {
        0 => writeln!(out, "\nNo problems found."),
        1 => writeln!(out, "\n1 problem."),
        _ => writeln!(out, "\n{broken} problems."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_files_of_others_is_harmless_to_show() {
        let mut out = Vec::new();
        show(&mut out, &[Finding::broken("this folder", "a\u{1b}[2Jb", "mend it")], 1).expect("shown");
        let out = String::from_utf8(out).expect("text");
        assert!(out.contains("a⟨U+001B⟩[2Jb"), "{out}");
    }
}
