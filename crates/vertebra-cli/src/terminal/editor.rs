//! A text editor: graphemes, words, lines and the cursor.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::keys::Key;
use crate::view::text;

/// The longest text that can be typed.
const MAX_BYTES: usize = 1 << 20;

/// A text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// The byte position of the cursor, always between two graphemes.
    cursor: usize,
}

/// The input area of the terminal, as rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) rows: Vec<String>,
    /// The row and the column of the cursor, if there is one.
    pub(crate) cursor: Option<(usize, usize)>,
    /// Whether the footer is hidden while this is shown.
    pub(crate) alone: bool,
}

impl Editor {
    /// Creates an editor with this text and the cursor at its end.
    pub(crate) fn of(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes the text and leaves the editor empty.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(self).text
    }

    /// Handles a key. Returns whether it changed the text or moved the cursor.
    pub(crate) fn press(&mut self, key: &Key) -> bool {
        let before = self.clone();
        match key {
            Key::Char(letter) => self.insert(letter.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&text.replace("\r\n", "\n").replace('\r', "\n")),
            Key::NewLine => self.insert("\n"),
            Key::Backspace => self.remove(self.left()..self.cursor),
            Key::Delete => self.remove(self.cursor..self.right()),
            Key::Left => self.cursor = self.left(),
            Key::Right => self.cursor = self.right(),
            Key::WordLeft => self.cursor = self.word_left(),
            Key::WordRight => self.cursor = self.word_right(),
            Key::Home => self.cursor = self.line().start,
            Key::End => self.cursor = self.line().end,
            Key::Up => self.go_to_line(|start, _| start.checked_sub(1)),
            Key::Down => self.go_to_line(|_, end| Some(end + 1)),
            Key::CutBefore => self.remove(self.line().start..self.cursor),
            Key::CutAfter => self.remove(self.cursor..self.line().end),
            Key::CutWord => self.remove(self.word_left()..self.cursor),
            Key::Enter
            | Key::Tab
            | Key::Escape
            | Key::Interrupt
            | Key::Finish
            | Key::NextMode
            | Key::Resized
            | Key::Leave(_) => {}
        }
        *self != before
    }

    /// Replaces a `\` before the cursor with a line break. Returns whether there was one.
    pub(crate) fn continue_line(&mut self) -> bool {
        let continues = self.text[..self.cursor].ends_with('\\');
        if continues {
            self.remove(self.left()..self.cursor);
            self.insert("\n");
        }
        continues
    }

    /// Inserts text without control characters. Text beyond the limit is dropped.
    fn insert(&mut self, text: &str) {
        for c in text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()) {
            if self.text.len() + c.len_utf8() > MAX_BYTES {
                break;
            }
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
        // A combining mark must not leave the cursor inside a grapheme.
        let ends = self.text.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len());
        self.cursor = ends.into_iter().find(|end| *end >= self.cursor).unwrap_or(0);
    }

    fn remove(&mut self, range: Range<usize>) {
        self.cursor = range.start;
        self.text.replace_range(range, "");
    }

    fn left(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        self.cursor + self.text[self.cursor..].graphemes(true).next().map_or(0, str::len)
    }

    fn word_left(&self) -> usize {
        let mut words = self.text[..self.cursor].unicode_word_indices();
        words.next_back().map_or(0, |(at, _)| at)
    }

    fn word_right(&self) -> usize {
        let mut words = self.text[self.cursor..].unicode_word_indices();
        words.next().map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }

    /// Returns the line of the cursor, without its line break.
    fn line(&self) -> Range<usize> {
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at);
        start..end
    }

    /// Moves to the line at this position, to the same column or to its end.
    fn go_to_line(&mut self, place: impl FnOnce(usize, usize) -> Option<usize>) {
        let line = self.line();
        let column = text::width(&self.text[line.start..self.cursor]);
        if let Some(place) = place(line.start, line.end).filter(|place| *place <= self.text.len()) {
            self.cursor = place;
            let line = self.line();
            self.cursor = line.start + text::fitting(&self.text[line], column);
        }
    }

    /// Returns the text after a mark, wrapped to `columns`. If there are too many rows, returns those around the cursor.
    pub(crate) fn shown(&self, mark: &str, columns: usize, height: usize) -> Entry {
        let indent = text::width(mark);
        let room = columns.saturating_sub(indent + 1).max(2);
        let (mut rows, mut cursor, mut taken) = (vec![String::new()], (0, 0), 0);
        for (at, grapheme) in self.text.grapheme_indices(true) {
            let piece = drawn(grapheme);
            if taken + text::width(&piece) > room {
                rows.push(String::new());
                taken = 0;
            }
            if at == self.cursor {
                cursor = (rows.len() - 1, taken);
            }
            if grapheme == "\n" {
                rows.push(String::new());
                taken = 0;
                continue;
            }
            taken += text::width(&piece);
            rows.last_mut().expect("there is a row from the beginning").push_str(&piece);
        }
        if self.cursor == self.text.len() {
            cursor = (rows.len() - 1, taken);
        }
        let first = (cursor.0 + 1).saturating_sub(height.max(1));
        let blank = " ".repeat(indent);
        let rows =
            rows.iter().enumerate().map(|(number, row)| format!("{}{row}", if number == 0 { mark } else { &blank }));
        let cursor = Some((cursor.0 - first, cursor.1 + indent));
        Entry { rows: rows.skip(first).take(height.max(1)).collect(), cursor, alone: false }
    }
}

impl Entry {
    /// Adds rows above.
    #[must_use]
    pub(crate) fn under(self, mut above: Vec<String>) -> Self {
        let cursor = self.cursor.map(|(row, column)| (above.len() + row, column));
        above.extend(self.rows);
        Self { rows: above, cursor, alone: self.alone }
    }
}

/// Returns a grapheme as it is drawn, with invisible characters spelled out.
fn drawn(grapheme: &str) -> String {
    match grapheme {
        "\n" => String::new(),
        "\t" => "    ".to_owned(),
        other => text::visible(other).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text after these keys, with `|` for the cursor.
    fn typed(text: &str, keys: &[Key]) -> String {
        let mut editor = Editor::of(text);
        for key in keys {
            editor.press(key);
        }
        let mut shown = editor.text;
        shown.insert(editor.cursor, '|');
        shown
    }

    #[test]
    fn keys_move_and_delete_by_characters_words_and_lines_as_people_see_them() {
        use Key::*;
        let cases: &[(&str, &[Key], &str)] = &[
            ("ab", &[Left, Char('x')], "ax|b"),
            ("a你", &[Backspace], "a|"),
            ("e\u{301}👨‍👩‍👧", &[Left, Backspace], "|👨‍👩‍👧"),
            ("👨‍👩‍👧x", &[Home, Delete], "|x"),
            ("one two  three", &[WordLeft, WordLeft], "one |two  three"),
            ("one two", &[Home, WordRight], "one| two"),
            ("one two ", &[CutWord], "one |"),
            ("one two", &[Home, Right, CutBefore], "|ne two"),
            ("one two", &[WordLeft, CutAfter], "one |"),
            ("a\nbcd", &[Up], "a|\nbcd"),
            ("abc\nd", &[Up, End, Down], "abc\nd|"),
            ("你好\nabcd", &[Left, Up], "你|好\nabcd"),
            ("a\nb", &[Home, CutBefore, Backspace], "a|b"),
            ("", &[Left, Right, Up, Down, Backspace, Delete, CutWord], "|"),
            ("", &[Paste("a\r\nb\x1b[2J\x07\tc".to_owned())], "a\nb[2J\tc|"),
            ("e", &[Char('\u{301}'), Left, Char('x')], "x|e\u{301}"),
        ];
        for (text, keys, expected) in cases {
            assert_eq!(typed(text, keys), *expected, "{text:?} {keys:?}");
        }
    }

    #[test]
    fn a_backslash_before_enter_goes_on_in_the_next_line() {
        let mut editor = Editor::of("one\\");
        assert!(editor.continue_line());
        assert_eq!(editor.text(), "one\n");
        assert!(!editor.continue_line());
    }

    #[test]
    fn rows_are_wrapped_between_characters_and_show_the_cursor() {
        let entry = |text: &str, columns, height| {
            let Entry { rows, cursor, .. } = Editor::of(text).shown("> ", columns, height);
            (rows, cursor.expect("a cursor"))
        };
        assert_eq!(entry("", 10, 5), (vec!["> ".to_owned()], (0, 2)));
        assert_eq!(entry("你好世", 8, 5), (vec!["> 你好".to_owned(), "  世".to_owned()], (1, 4)));
        assert_eq!(entry("a\nb", 8, 5), (vec!["> a".to_owned(), "  b".to_owned()], (1, 3)));
        assert_eq!(entry("a\nb\nc", 8, 2), (vec!["  b".to_owned(), "  c".to_owned()], (1, 3)));
        assert_eq!(entry("\u{202e}x", 40, 2).0, ["> ⟨U+202E⟩x"]);
        let mut editor = Editor::of("a\nb\nc");
        editor.press(&Key::Up);
        editor.press(&Key::Up);
        assert_eq!(editor.shown("> ", 8, 2).rows, ["> a", "  b"]);
    }

    #[test]
    fn a_typed_text_is_bounded() {
        let mut editor = Editor::default();
        editor.press(&Key::Paste("x".repeat(MAX_BYTES + 10)));
        assert_eq!(editor.text().len(), MAX_BYTES);
    }
}
