//! A terminal with a cursor: text scrolls up, and the footer and the input stay below it.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use super::editor::Entry;
use crate::{surface::Surface, view::text};

/// Synchronised output: a terminal shows everything between these two at once, or ignores them.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Clears from the cursor to the end of the screen.
const CLEAR: &str = "\r\x1b[J";

/// Draws on a terminal. Nothing reaches it before [`flush`](Self::flush), and then all at once.
pub(super) struct Live<W = io::Stdout> {
    out: W,
    columns: usize,
    rows: usize,
    /// Text that is not written yet.
    pending: String,
    /// The footer.
    status: Vec<String>,
    entry: Option<Entry>,
    drawn: Drawn,
}

/// What is drawn below the text now.
#[derive(Debug, Default, PartialEq, Eq)]
struct Drawn {
    rows: Vec<String>,
    cursor: Option<(usize, usize)>,
}

impl Drawn {
    /// How many rows the cursor is below the first one. A terminal that became narrower wraps rows.
    fn above_cursor(&self, columns: usize) -> usize {
        let (row, column) = self.cursor.unwrap_or((self.rows.len().saturating_sub(1), 0));
        let wrapped = |row: &String| columns_of(row).saturating_sub(1) / columns.max(1);
        let above: usize = self.rows.iter().take(row).map(|row| 1 + wrapped(row)).sum();
        above + column / columns.max(1)
    }
}

impl<W: Write> Live<W> {
    pub(super) fn new(out: W, (columns, rows): (u16, u16)) -> Self {
        let mut live = Self {
            out,
            columns: 0,
            rows: 0,
            pending: String::new(),
            status: Vec::new(),
            entry: None,
            drawn: Drawn::default(),
        };
        live.resize((columns, rows));
        live
    }

    pub(super) fn resize(&mut self, (columns, rows): (u16, u16)) {
        // A terminal that reports 0 does not know its size.
        self.columns = if columns == 0 { 80 } else { usize::from(columns) };
        self.rows = if rows == 0 { 24 } else { usize::from(rows) };
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Sets the input and its cursor. Without input, the cursor is hidden.
    pub(super) fn entry(&mut self, entry: Option<Entry>) {
        self.entry = entry;
    }

    /// Writes everything to the terminal. Returns whether the terminal still exists.
    pub(super) fn flush(&mut self) -> bool {
        let next = self.next();
        if self.pending.is_empty() && next == self.drawn {
            return true;
        }
        let mut text = String::from(BEGIN);
        match self.drawn.above_cursor(self.columns) {
            0 => text.push_str(CLEAR),
            up => write!(text, "\x1b[{up}A{CLEAR}").expect("a string takes everything"),
        }
        // A raw terminal needs a carriage return.
        text.push_str(&std::mem::take(&mut self.pending).replace('\n', "\r\n"));
        text.push_str(&next.rows.join("\r\n"));
        if let Some((row, column)) = next.cursor {
            for (count, letter) in [(next.rows.len().saturating_sub(row + 1), 'A'), (column, 'C')] {
                if letter == 'C' {
                    text.push('\r');
                }
                if count > 0 {
                    write!(text, "\x1b[{count}{letter}").expect("a string takes everything");
                }
            }
            text.push_str(SHOW_CURSOR);
        } else {
            text.push('\r');
        }
        text.push_str(END);
        self.drawn = next;
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).is_ok()
    }

    /// Returns the rows below the text, few enough that the first one cannot scroll away.
    fn next(&self) -> Drawn {
        let entry = self.entry.as_ref();
        let status = if entry.is_some_and(|entry| entry.alone) { &[][..] } else { &self.status };
        let status = status.iter().map(|line| fitted(line, self.columns));
        let mut rows: Vec<String> = status.collect();
        let cursor = entry.and_then(|entry| entry.cursor).map(|(row, column)| (rows.len() + row, column));
        rows.extend(entry.into_iter().flat_map(|entry| entry.rows.iter().map(|row| fitted(row, self.columns))));
        let surplus = rows.len().saturating_sub(self.rows.saturating_sub(1).max(1));
        rows.drain(..surplus);
        Drawn { rows, cursor: cursor.map(|(row, column)| (row.saturating_sub(surplus), column)) }
    }
}

impl<W: Write + Send> Surface for Live<W> {
    fn write(&mut self, text: &str) {
        self.pending.push_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.pending.push('\n');
        }
    }

    fn footer(&mut self, lines: Vec<String>) {
        self.status = lines;
    }

    fn width(&self) -> usize {
        self.columns
    }
}

/// Returns the width of a line without its colour codes.
fn columns_of(line: &str) -> usize {
    text::width(&anstream::adapter::strip_str(line).to_string())
}

/// Cuts a line that is too long, and removes its colours then. The last column stays free, because some terminals wrap
/// there.
fn fitted(line: &str, columns: usize) -> String {
    let room = columns.saturating_sub(1).max(1);
    if columns_of(line) <= room {
        return line.to_owned();
    }
    text::cut(&anstream::adapter::strip_str(line).to_string(), room).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Screen {
        live: Live<Vec<u8>>,
        terminal: vt100::Parser,
    }

    impl Screen {
        fn new(columns: u16, rows: u16) -> Self {
            Self { live: Live::new(Vec::new(), (columns, rows)), terminal: vt100::Parser::new(rows, columns, 100) }
        }

        fn shows(&mut self) -> String {
            self.live.flush();
            self.terminal.process(&std::mem::take(&mut self.live.out));
            self.terminal.screen().contents()
        }

        fn resize(&mut self, columns: u16, rows: u16) {
            self.terminal.screen_mut().set_size(rows, columns);
            self.live.resize((columns, rows));
        }
    }

    fn entry(text: &str) -> Entry {
        Entry { rows: vec![text.to_owned()], cursor: Some((0, text::width(text))), alone: false }
    }

    #[test]
    fn what_stays_scrolls_above_what_changes() {
        let mut screen = Screen::new(20, 6);
        screen.live.write("one\n");
        screen.live.footer(vec!["working 1 s".into()]);
        screen.live.entry(Some(entry("> hi")));
        assert_eq!(screen.shows(), "one\nworking 1 s\n> hi");
        screen.live.write("two\nthree\n");
        screen.live.footer(vec!["working 2 s".into()]);
        assert_eq!(screen.shows(), "one\ntwo\nthree\nworking 2 s\n> hi");
        assert_eq!(screen.terminal.screen().cursor_position(), (4, 4));
        screen.live.write("four\nfive\n");
        screen.live.footer(Vec::new());
        screen.live.entry(None);
        assert_eq!(screen.shows(), "one\ntwo\nthree\nfour\nfive\n".trim_end());
        assert!(screen.terminal.screen().hide_cursor());
    }

    #[test]
    fn long_lines_scroll_and_do_not_disturb_what_changes() {
        let mut screen = Screen::new(10, 8);
        screen.live.footer(vec!["a footer that is too long".into()]);
        screen.live.entry(Some(entry("> ")));
        screen.live.write(&format!("{}\n", "x".repeat(25)));
        assert_eq!(screen.shows(), "xxxxxxxxxxxxxxxxxxxxxxxxx\na footer…\n> ");
        screen.live.write("你好你好你好\n");
        assert!(screen.shows().ends_with("你好你好你好\na footer…\n> "), "{}", screen.shows());
    }

    #[test]
    fn a_window_of_another_size_keeps_one_footer() {
        let mut screen = Screen::new(40, 8);
        screen.live.write("kept\n");
        screen.live.footer(vec!["working".into()]);
        screen.live.entry(Some(entry("> typing")));
        screen.shows();
        for (columns, rows) in [(20, 8), (12, 10), (60, 12)] {
            screen.resize(columns, rows);
            screen.live.footer(vec![format!("width {columns}")]);
            assert_eq!(screen.shows(), format!("kept\nwidth {columns}\n> typing"));
        }
    }

    #[test]
    fn a_footer_never_grows_higher_than_the_window() {
        let mut screen = Screen::new(20, 4);
        screen.live.write("kept\n");
        screen.live.footer((0..9).map(|number| format!("row {number}")).collect());
        screen.live.entry(Some(entry("> x")));
        assert_eq!(screen.shows(), "kept\nrow 7\nrow 8\n> x");
        screen.live.write("more\n");
        assert_eq!(screen.shows(), "more\nrow 7\nrow 8\n> x");
    }

    #[test]
    fn nothing_is_written_when_nothing_changed() {
        let mut screen = Screen::new(20, 4);
        screen.live.footer(vec!["same".into()]);
        screen.shows();
        screen.live.footer(vec!["same".into()]);
        assert!(screen.live.flush() && screen.live.out.is_empty());
    }
}
