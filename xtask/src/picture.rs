//! Draws `docs/demo.svg`, the picture in the README, from the output of `vertebra demo`.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

/// The file that the README shows.
const FILE: &str = "docs/demo.svg";

/// The steps of the demo that the picture shows. A line of dots replaces the others.
const STEPS: [&str; 2] = ["step 2", "step 4"];

/// The width of a character and the height of a line, in pixels.
const CELL: (f64, f64) = (7.8, 18.0);
const FONT_SIZE: u32 = 13;
const MARGIN: f64 = 20.0;

pub(crate) fn run() -> anyhow::Result<()> {
    let svg = draw(&chosen(&output()?)?);
    fs::write(FILE, svg).with_context(|| format!("cannot write {FILE}"))?;
    println!("wrote {FILE}");
    Ok(())
}

/// Runs the demo and returns its output, with colours.
fn output() -> anyhow::Result<String> {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--", "demo"]).env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
    let mut demo = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let mut text = String::new();
    demo.stdout.take().context("the demo has no output")?.read_to_string(&mut text)?;
    ensure!(demo.wait()?.success(), "the demo failed");
    Ok(text)
}

/// Returns the lines to draw: the command, then the output without the steps that are not in [`STEPS`].
fn chosen(output: &str) -> anyhow::Result<Vec<Vec<Span>>> {
    let mut lines = vec![vec![
        Span { text: "$ ".to_owned(), style: Style { dim: true, ..Style::default() } },
        Span { text: "vertebra demo".to_owned(), style: Style { bold: true, ..Style::default() } },
    ]];
    let (mut shown, mut dots, mut found) = (true, false, 0);
    for line in output.lines().map(spans) {
        let text: String = line.iter().map(|span| &*span.text).collect();
        if let Some(step) = text.strip_prefix("├─ ").filter(|text| text.starts_with("step ")) {
            shown = STEPS.contains(&step);
            found += usize::from(shown);
        } else if text.starts_with("└─") {
            shown = true;
        }
        if shown {
            lines.push(without_random_name(line));
        } else if !dots {
            let style = Style { dim: true, ..Style::default() };
            lines.push(vec![Span { text: "⋮".to_owned(), style }]);
        }
        dots = !shown;
    }
    ensure!(found == STEPS.len(), "the demo has no {}", STEPS.join(" or no "));
    Ok(lines)
}

/// Removes the random end of the temporary folder's name, so that the picture changes only when the demo does.
fn without_random_name(mut line: Vec<Span>) -> Vec<Span> {
    const PREFIX: &str = "vertebra-demo-";
    for span in &mut line {
        if let Some(at) = span.text.find(PREFIX) {
            span.text.truncate(at + PREFIX.len() - 1);
        }
    }
    line
}

/// Text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    text: String,
    style: Style,
}

/// The style that ANSI escape sequences set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    bold: bool,
    dim: bool,
    /// The last digit of the colour code, 31 to 36.
    colour: Option<u8>,
}

impl Style {
    fn apply(&mut self, code: &str) {
        match code {
            "" | "0" => *self = Self::default(),
            "1" => self.bold = true,
            "2" => self.dim = true,
            _ => self.colour = code.strip_prefix('3').and_then(|digit| digit.parse().ok()).or(self.colour),
        }
    }

    fn fill(self) -> &'static str {
        match self.colour {
            Some(1) => "#ff7b72",
            Some(2) => "#3fb950",
            Some(3) => "#d29922",
            Some(4) => "#58a6ff",
            Some(6) => "#39c5cf",
            _ if self.dim => "#7d8590",
            _ => "#e6edf3",
        }
    }
}

/// Splits a line with ANSI escape sequences into spans.
fn spans(line: &str) -> Vec<Span> {
    let mut style = Style::default();
    let mut spans: Vec<Span> = Vec::new();
    for (number, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if number > 0 => {
                codes.split(';').for_each(|code| style.apply(code));
                text
            }
            _ => part,
        };
        if text.is_empty() {
            continue;
        }
        match spans.last_mut().filter(|last| last.style == style) {
            Some(last) => last.text.push_str(text),
            None => spans.push(Span { text: text.to_owned(), style }),
        }
    }
    spans
}

/// Draws the lines as a terminal window.
fn draw(lines: &[Vec<Span>]) -> String {
    let columns = |line: &Vec<Span>| line.iter().map(|span| span.text.chars().count()).sum::<usize>();
    let width = position(lines.iter().map(columns).max().unwrap_or_default(), CELL.0) + MARGIN;
    let height = position(lines.len(), CELL.1) + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-size=\"{FONT_SIZE}\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, \
         'DejaVu Sans Mono', monospace\">\n<title>The output of vertebra demo</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = position(row, CELL.1) + f64::from(FONT_SIZE);
        let mut column = 0;
        let mut text = String::new();
        for Span { text: part, style } in line {
            // Each span has its own position, so that a character of another width moves only the rest of its span.
            let x = position(column, CELL.0);
            let bold = if style.bold { " font-weight=\"bold\"" } else { "" };
            let _ = write!(text, "<tspan x=\"{x:.1}\" fill=\"{}\"{bold}>{}</tspan>", style.fill(), escaped(part));
            column += part.chars().count();
        }
        if !text.is_empty() {
            let _ = writeln!(svg, "<text y=\"{y:.0}\" xml:space=\"preserve\">{text}</text>");
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns where the cell of this number begins.
fn position(cell: usize, size: f64) -> f64 {
    MARGIN + f64::from(u32::try_from(cell).unwrap_or(u32::MAX)) * size
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
\u{1b}[1mvertebra demo\u{1b}[0m \u{1b}[2m· in /tmp/vertebra-demo-x9Y2\u{1b}[0m
├─ \u{1b}[1mstep 1\u{1b}[0m
│  not shown
├─ \u{1b}[1mstep 2\u{1b}[0m
│  \u{1b}[31m✗ denies\u{1b}[0m a && b
├─ step 3
├─ step 4
└─ completed
";

    fn shown(lines: &[Vec<Span>]) -> Vec<String> {
        lines.iter().map(|line| line.iter().map(|span| &*span.text).collect()).collect()
    }

    #[test]
    fn the_picture_shows_the_command_the_chosen_steps_and_the_end() {
        let expected = [
            "$ vertebra demo",
            "vertebra demo · in /tmp/vertebra-demo",
            "⋮",
            "├─ step 2",
            "│  ✗ denies a && b",
            "⋮",
            "├─ step 4",
            "└─ completed",
        ];
        assert_eq!(shown(&chosen(SAMPLE).expect("all steps")), expected);
    }

    #[test]
    fn a_demo_without_a_chosen_step_is_an_error() {
        let error = chosen("├─ step 2\n└─ completed\n").expect_err("step 4 is missing");
        assert_eq!(error.to_string(), "the demo has no step 2 or no step 4");
    }

    #[test]
    fn a_line_becomes_text_with_a_colour_for_each_span() {
        let svg = draw(&[spans("│ \u{1b}[1;31m✗ no\u{1b}[0m a && <b>")]);
        assert_eq!(
            svg.lines().nth(3),
            Some(
                "<text y=\"33\" xml:space=\"preserve\"><tspan x=\"20.0\" fill=\"#e6edf3\">│ </tspan>\
                 <tspan x=\"35.6\" fill=\"#ff7b72\" font-weight=\"bold\">✗ no</tspan>\
                 <tspan x=\"66.8\" fill=\"#e6edf3\"> a &amp;&amp; &lt;b&gt;</tspan></text>"
            )
        );
    }
}
