//! One table, written twice: aligned for a terminal, and as Markdown.

use std::fmt::Write as _;

/// Rows of cells, and a cell has one line or several.
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) side: Side,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

pub(crate) type Cell = Vec<Line>;

/// A line of a cell, and how it is meant.
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// Less important than the line above it.
    Quiet,
    Good,
    Bad,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Colour,
}

const HEADING: &str = "1";

impl Line {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone }
    }
}

impl Table {
    pub(crate) fn terminal(&self, paint: Paint) -> String {
        let widths: Vec<usize> = self.columns.iter().enumerate().map(|(at, column)| self.width(at, column)).collect();
        let mut out = String::new();
        let titles = self.columns.iter().zip(&widths);
        let titles = titles.map(|(column, width)| painted(paint, HEADING, &padded(&column.title, *width, column.side)));
        push_line(&mut out, &titles.collect::<Vec<_>>().join("  "));
        push_line(&mut out, &widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("──"));
        for row in &self.rows {
            let height = row.iter().map(Vec::len).max().unwrap_or_default();
            for at in 0..height {
                let line =
                    row.iter().zip(&self.columns).zip(&widths).map(|((cell, column), width)| match cell.get(at) {
                        Some(line) => painted(paint, line.tone.code(), &padded(&line.text, *width, column.side)),
                        None => " ".repeat(*width),
                    });
                push_line(&mut out, &line.collect::<Vec<_>>().join("  "));
            }
        }
        out
    }

    pub(crate) fn markdown(&self) -> String {
        let titles: Vec<_> = self.columns.iter().map(|column| column.title.as_str()).collect();
        let rules: Vec<_> = self.columns.iter().map(|column| column.side.rule()).collect();
        let mut out = format!("| {} |\n| {} |\n", titles.join(" | "), rules.join(" | "));
        for row in &self.rows {
            let cells: Vec<_> = row.iter().map(in_markdown).collect();
            writeln!(out, "| {} |", cells.join(" | ")).expect("a string takes everything");
        }
        out
    }

    fn width(&self, at: usize, column: &Column) -> usize {
        let lines = self.rows.iter().filter_map(|row| row.get(at)).flatten();
        lines.map(|line| line.text.chars().count()).chain([column.title.chars().count()]).max().unwrap_or_default()
    }
}

impl Side {
    fn rule(self) -> &'static str {
        match self {
            Self::Left => "---",
            Self::Right => "---:",
        }
    }
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Quiet => "2",
            Self::Good => "32",
            Self::Bad => "31",
        }
    }
}

fn in_markdown(cell: &Cell) -> String {
    let lines = cell.iter().map(|line| {
        let text = line.text.replace('|', "\\|");
        match line.tone {
            Tone::Plain | Tone::Quiet | Tone::Good => text,
            Tone::Bad => format!("**{text}**"),
        }
    });
    lines.collect::<Vec<_>>().join("<br>")
}

fn padded(text: &str, width: usize, side: Side) -> String {
    match side {
        Side::Left => format!("{text:<width$}"),
        Side::Right => format!("{text:>width$}"),
    }
}

fn painted(paint: Paint, code: &str, text: &str) -> String {
    match (paint, code) {
        (Paint::Plain, _) | (_, "") => text.to_owned(),
        (Paint::Colour, code) => format!("\x1b[{code}m{text}\x1b[0m"),
    }
}

/// Without the blanks at its end, which a pipe would carry on.
fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |title: &str, side| Column { title: title.to_owned(), side };
        let plain = |text: &str| vec![Line::new(Tone::Plain, text)];
        Table {
            columns: vec![column("case", Side::Left), column("time", Side::Right), column("result", Side::Left)],
            rows: vec![
                vec![
                    plain("one hook"),
                    vec![Line::new(Tone::Plain, "1.20 µs"), Line::new(Tone::Quiet, "9 ×")],
                    vec![Line::new(Tone::Bad, "missed")],
                ],
                vec![plain("a|b"), vec![], vec![Line::new(Tone::Good, "met")]],
            ],
        }
    }

    #[test]
    fn columns_stand_under_their_titles_and_a_pipe_gets_no_colour() {
        assert_eq!(
            table().terminal(Paint::Plain),
            "case         time  result\n\
             ─────────────────────────\n\
             one hook  1.20 µs  missed\n\
             \u{20}             9 ×\n\
             a|b                met\n"
        );
    }

    #[test]
    fn a_terminal_shows_what_is_missed_in_red_and_what_is_met_in_green() {
        let painted = table().terminal(Paint::Colour);

        assert!(painted.contains("\x1b[31mmissed\x1b[0m"), "{painted}");
        assert!(painted.contains("\x1b[32mmet   \x1b[0m"), "{painted}");
    }

    #[test]
    fn markdown_keeps_a_row_on_one_line() {
        assert_eq!(
            table().markdown(),
            "| case | time | result |\n\
             | --- | ---: | --- |\n\
             | one hook | 1.20 µs<br>9 × | **missed** |\n\
             | a\\|b |  | met |\n"
        );
    }
}
