//! Formats a judgement for people.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use vertebra_kit::{
    Detail,
    bash::policy::{Decision, Judgement},
    visible,
};

use super::here::{Here, Outcome};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const CAUSE: Style = AnsiColor::Red.on_default().underline();

/// How many bytes of one command are shown.
const MAX_SHOWN: usize = 4000;

/// Formats what would happen in this folder now.
pub(crate) fn here(here: anyhow::Result<Here>) -> String {
    let mut page = String::new();
    let told = match here {
        Ok(told) => told,
        Err(error) => {
            let _ = writeln!(
                page,
                "{CAUSE}the settings of this folder cannot be read{CAUSE:#}: {}\n",
                escaped(&format!("{error:#}"))
            );
            return page;
        }
    };
    let style = match told.outcome {
        Outcome::Allowed => AnsiColor::Green.on_default().bold(),
        Outcome::Asked => AnsiColor::Yellow.on_default().bold(),
        Outcome::Denied => AnsiColor::Red.on_default().bold(),
    };
    let _ = writeln!(page, "{style}{}{style:#}  {}", told.outcome.name(), escaped(&told.reason));
    let _ = writeln!(page, "{BOLD}mode{BOLD:#}  {}", told.mode);
    if told.outcome == Outcome::Asked && !told.more.is_empty() {
        let more: Vec<String> = told.more.iter().map(|part| escaped(part)).collect();
        let _ = writeln!(page, "{BOLD}does more than read{BOLD:#}  {}", more.join(", "));
    }
    if !told.forbids.is_empty() {
        let _ = writeln!(page, "{BOLD}the sandbox forbids{BOLD:#}  {}", escaped(&told.forbids.join("; ")));
    }
    for hook in &told.hooks {
        let said = match (&hook.said, &hook.failure) {
            (Some((verdict, Some(reason))), _) => format!("{verdict}: {reason}"),
            (Some((verdict, None)), _) => verdict.to_string(),
            (None, Some(failure)) => format!("failed: {failure}"),
            (None, None) => "would be asked; not started (--run-hooks starts it)".to_owned(),
        };
        let (name, origin) = (escaped(&hook.name), escaped(&hook.origin));
        let _ = writeln!(page, "{BOLD}hook{BOLD:#}  {name} {DIM}({origin}){DIM:#}  {}", escaped(&said));
    }
    let _ = writeln!(page, "\n{DIM}the bash policy alone:{DIM:#}");
    page
}

/// Formats the command with the deciding part underlined, its parse, the decision and the classes.
pub(crate) fn page(command: &str, judgement: &Judgement) -> String {
    let mut page = String::new();
    let style = match judgement.decision {
        Decision::Allow => AnsiColor::Green.on_default().bold(),
        Decision::Ask => AnsiColor::Yellow.on_default().bold(),
        Decision::Deny => AnsiColor::Red.on_default().bold(),
    };
    let span = judgement.span.clone().unwrap_or(0..0);
    let part = |range: std::ops::Range<usize>| escaped(command.get(range).unwrap_or_default());
    let (before, cause, after) = (part(0..span.start), part(span.clone()), part(span.end..command.len()));
    let _ = writeln!(page, "{before}{CAUSE}{cause}{CAUSE:#}{after}\n");
    for line in &judgement.outline {
        let indent = "  ".repeat(line.depth.min(20));
        let _ = writeln!(page, "{DIM}{indent}{}{DIM:#} {}", line.what, escaped(&line.text));
    }
    if !judgement.outline.is_empty() {
        page.push('\n');
    }
    let _ = write!(page, "{style}{}{style:#}", judgement.decision);
    if !judgement.reason.is_empty() {
        let _ = write!(page, "  {}", escaped(&judgement.reason));
    }
    page.push('\n');
    if !judgement.classes.is_empty() {
        let classes: Vec<&str> = judgement.classes.iter().map(|class| class.name()).collect();
        let _ = writeln!(page, "{BOLD}classes{BOLD:#}  {}", classes.join(", "));
    }
    page
}

/// Returns the start of a text on one line, with invisible characters spelled out.
fn escaped(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SHOWN);
    let more = if end < text.len() { "…" } else { "" };
    visible(&text[..end], Detail::Exact).replace('\n', "\\n") + more
}

#[cfg(test)]
mod tests {
    use super::*;
    use vertebra_kit::bash::policy::{Ground, judge};

    fn shown(command: &str) -> String {
        let judgement = judge(command, &Ground::new("/home/me/project", "/home/me"));
        anstream::adapter::strip_str(&page(command, &judgement)).to_string()
    }

    #[test]
    fn the_page_shows_the_parse_the_decision_and_the_reason() {
        insta::assert_snapshot!(shown("cd src && cat a | sort > b; rm -rf ~/photos"), @r"
        cd src && cat a | sort > b; rm -rf ~/photos

        command cd src
        pipeline |
          command cat a
          redirection > b
          command sort
        command rm -rf /home/me/photos

        deny  deletes /home/me/photos and everything in it, outside the working folder
        classes  recursive_delete
        ");
    }

    #[test]
    fn control_characters_in_a_command_are_escaped() {
        let page = shown("echo \u{1b}[2J\r\u{202e}x\u{7}");
        assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page:?}");
        assert!(page.contains("⟨U+001B⟩[2J⟨U+000D⟩⟨U+202E⟩x⟨U+0007⟩"), "{page}");
    }

    #[test]
    fn the_part_that_decided_is_underlined() {
        let command = "ls; rm -rf ~/photos";
        let page = page(command, &judge(command, &Ground::new("/home/me/project", "/home/me")));
        assert!(page.contains(&format!("{CAUSE}rm -rf ~/photos{CAUSE:#}")), "{page:?}");
    }
}
