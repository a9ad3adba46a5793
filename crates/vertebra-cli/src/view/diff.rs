//! Formats a diff of the file tools as a few coloured rows.

use super::{
    rows::{DIM, GREEN, RED, Row},
    text::{more, visible},
};

/// A unified diff of one file.
pub(crate) struct Diff<'d> {
    lines: Vec<&'d str>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl<'d> Diff<'d> {
    /// Parses a unified diff of one file.
    pub(crate) fn read(text: &'d str) -> Self {
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("@@")).collect();
        let count = |mark: char| lines.iter().filter(|line| line.starts_with(mark)).count();
        let (added, removed) = (count('+'), count('-'));
        Self { lines, added, removed }
    }

    /// Formats the counts, such as `+3 −1`.
    pub(crate) fn counts(&self) -> Row {
        Row::default().with(GREEN, format!("+{}", self.added)).with(RED, format!(" −{}", self.removed))
    }

    /// Returns at most this many rows, and the number of missing ones.
    pub(crate) fn rows(&self, most: usize) -> Vec<Row> {
        let mut lines = self.lines.iter().skip(1);
        let mut rows: Vec<Row> = lines.by_ref().take(most).map(|line| row(line)).collect();
        match lines.filter(|line| !line.starts_with("@@")).count() {
            0 => {}
            missing => rows.push(Row::default().with(DIM, more(missing, "line"))),
        }
        rows
    }
}

fn row(line: &str) -> Row {
    let (mark, text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
    let (style, mark) = match mark {
        "+" => (GREEN, "+ "),
        "-" => (RED, "- "),
        "@" | "[" | "\\" => return Row::default().with(DIM, if mark == "@" { "⋮".into() } else { visible(line) }),
        _ => (DIM, "  "),
    };
    Row::default().with(style, format!("{mark}{}", visible(text)).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_counted_and_cut() {
        let text = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\x1b[2J\n@@ -9 +9 @@\n+++nine\n";
        let diff = Diff::read(text);
        assert_eq!((diff.added, diff.removed), (2, 1));
        let rows = |most| diff.rows(most).iter().map(|row| row.paint(false)).collect::<Vec<_>>();
        assert_eq!(rows(9), ["  one", "- two", "+ 2⟨U+001B⟩[2J", "⋮", "+ ++nine"]);
        assert_eq!(rows(2), ["  one", "- two", "… 2 more lines"]);
    }
}
