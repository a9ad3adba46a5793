//! Styled text in rows that fit a terminal.

use std::{borrow::Cow, fmt::Write as _};

use anstyle::{AnsiColor, Style};
use unicode_segmentation::UnicodeSegmentation;

use super::text;

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Text in one style. It contains no control characters, and line breaks only as input of [`wrap`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) style: Style,
    pub(crate) text: String,
}

/// One line of styled text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row(pub(crate) Vec<Span>);

impl Row {
    /// Adds text.
    #[must_use]
    pub(crate) fn with(mut self, style: Style, text: impl Into<String>) -> Self {
        self.push(style, text);
        self
    }

    /// Adds text. Whatever it comes from, only visible characters get into a row.
    pub(crate) fn push(&mut self, style: Style, text: impl Into<String>) {
        let mut text = text.into();
        if let Cow::Owned(safe) = text::visible(&text) {
            text = safe;
        }
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.0.push(Span { style, text }),
        }
    }

    /// Adds a row.
    #[must_use]
    pub(crate) fn then(mut self, other: Self) -> Self {
        for Span { style, text } in other.0 {
            self.push(style, text);
        }
        self
    }

    /// Returns its width in columns.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|span| text::width(&span.text)).sum()
    }

    /// Cuts the row to this many columns.
    #[must_use]
    pub(crate) fn cut(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let (mut row, mut left) = (Self::default(), columns);
        for Span { style, text } in self.0 {
            // Leave one column for the ellipsis.
            let room = left.saturating_sub(1);
            let end = text::fitting(&text, room);
            row.push(style, &text[..end]);
            left -= text::width(&text[..end]);
            if end < text.len() {
                row.push(style, if columns == 0 { "" } else { "…" });
                break;
            }
        }
        row
    }

    /// Returns the text, with or without colours.
    pub(crate) fn paint(&self, colour: bool) -> String {
        let mut painted = String::new();
        for Span { style, text } in &self.0 {
            if colour && *style != PLAIN {
                let _ = write!(painted, "{style}{text}{style:#}");
            } else {
                painted.push_str(text);
            }
        }
        painted
    }
}

/// Puts `mark` before the first row and as many spaces before the others.
pub(crate) fn behind(mark: &Row, rows: Vec<Row>) -> Vec<Row> {
    let blanks = Row::default().with(PLAIN, " ".repeat(mark.width()));
    let behind = |(number, row): (usize, Row)| if number == 0 { mark.clone() } else { blanks.clone() }.then(row);
    rows.into_iter().enumerate().map(behind).collect()
}

/// Formats rows as lines for a surface.
pub(crate) fn lines(rows: &[Row], colour: bool) -> String {
    rows.iter().map(|row| row.paint(colour) + "\n").collect()
}

/// Wraps text into rows: between words, between wide characters, and inside a word only if it is longer than a row. A `\n`
/// ends a row.
pub(crate) fn wrap(spans: &[Span], columns: usize) -> Vec<Row> {
    let mut wrapping = Wrapping { columns: columns.max(1), ..Wrapping::default() };
    for Span { style, text } in spans {
        for grapheme in text.graphemes(true) {
            wrapping.push(*style, grapheme);
        }
    }
    wrapping.end_word();
    wrapping.rows.push(wrapping.row);
    wrapping.rows
}

#[derive(Default)]
struct Wrapping {
    columns: usize,
    rows: Vec<Row>,
    row: Row,
    taken: usize,
    /// Spaces that are written only if a word follows on the same row.
    blanks: Row,
    word: Row,
}

impl Wrapping {
    fn push(&mut self, style: Style, grapheme: &str) {
        match grapheme {
            "\n" => {
                self.end_word();
                self.break_row();
            }
            " " => {
                self.end_word();
                self.blanks.push(style, " ");
            }
            wide if text::width(wide) > 1 => {
                self.end_word();
                self.word.push(style, wide);
                self.end_word();
            }
            _ => {
                // A word that is longer than a row is cut where the row ends.
                if self.word.width() + text::width(grapheme) > self.columns {
                    self.end_word();
                }
                self.word.push(style, grapheme);
            }
        }
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let width = word.width();
        if width == 0 && word.0.is_empty() {
            return;
        }
        if self.taken > 0 && self.taken + self.blanks.width() + width > self.columns {
            self.break_row();
        }
        let blanks = std::mem::take(&mut self.blanks);
        if self.taken > 0 {
            self.taken += blanks.width();
            self.append(blanks);
        }
        self.taken += width;
        self.append(word);
    }

    fn append(&mut self, row: Row) {
        self.row = std::mem::take(&mut self.row).then(row);
    }

    fn break_row(&mut self) {
        self.blanks = Row::default();
        self.taken = 0;
        self.rows.push(std::mem::take(&mut self.row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, columns: usize) -> Vec<String> {
        let span = Span { style: PLAIN, text: text.to_owned() };
        wrap(&[span], columns).iter().map(|row| row.paint(false)).collect()
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(wrapped("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(wrapped("a  b", 10), ["a  b"]);
        assert_eq!(wrapped("abcdefghijkl mn", 5), ["abcde", "fghij", "kl mn"]);
        assert_eq!(wrapped("one\ntwo", 10), ["one", "two"]);
        assert_eq!(wrapped("", 10), [""]);
    }

    #[test]
    fn wide_characters_take_two_columns_and_may_part() {
        assert_eq!(wrapped("你好世界 abc", 5), ["你好", "世界", "abc"]);
        assert_eq!(wrapped("x 👨👩👧", 4), ["x 👨", "👩👧"]);
    }

    #[test]
    fn styles_do_not_part_a_word() {
        let row = Row::default().with(PLAIN, "see ").with(BOLD, "bo").with(PLAIN, "ld now");
        let rows: Vec<String> = wrap(&row.0, 8).iter().map(|row| row.paint(false)).collect();
        assert_eq!(rows, ["see bold", "now"]);
    }

    #[test]
    fn a_row_is_cut_with_an_ellipsis() {
        let row = Row::default().with(BOLD, "abc").with(DIM, "defg");
        assert_eq!(row.clone().cut(5).paint(false), "abcd…");
        assert_eq!(row.clone().cut(7).paint(false), "abcdefg");
        assert_eq!(row.clone().cut(1).paint(false), "…");
        assert_eq!(row.cut(0).paint(false), "");
        assert_eq!(Row::default().with(RED, "x").paint(true), "\u{1b}[31mx\u{1b}[0m");
    }
}
