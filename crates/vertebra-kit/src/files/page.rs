//! A page of numbered lines out of a text of any size, in bounded memory.

use std::io::{self, BufRead};

use super::push_line;

/// How much is shown of a line that is too long for a page.
const PREVIEW: usize = 4 * 1024;

/// Which part of a text is wanted. Lines and bytes count from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) offset: usize,
    pub(super) lines: usize,
    /// Where in the first line to begin, in bytes.
    pub(super) column: usize,
    pub(super) bytes: usize,
}

/// What comes after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing.
    End,
    /// This line.
    Line(usize),
    /// More of the line that the page ends with.
    Column { line: usize, column: usize, left: usize },
}

/// Numbered lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) lines: usize,
    /// How many bytes of the text it shows: the numbers do not count.
    bytes: usize,
    pub(super) next: Next,
    /// How many lines the text has, known when the page would begin behind its end.
    pub(super) behind: Option<usize>,
}

pub(super) fn page(mut reader: impl BufRead, wanted: Wanted) -> io::Result<Page> {
    let mut page = Page { text: String::new(), lines: 0, bytes: 0, next: Next::End, behind: None };
    for passed in 0..wanted.offset {
        if reader.skip_until(b'\n')? == 0 {
            page.behind = Some(passed);
            return Ok(page);
        }
    }
    while page.lines < wanted.lines {
        let number = wanted.offset + page.lines;
        let column = if page.lines == 0 { wanted.column } else { 0 };
        // One byte more than fits, to see whether a cut would go through a character.
        let Some(line) = take_line(&mut reader, column, wanted.bytes + 1)? else { break };
        let left = line.length.saturating_sub(column);
        if page.lines == 0 && left > wanted.bytes {
            let size = if column == 0 { PREVIEW.min(wanted.bytes) } else { wanted.bytes };
            let size = char_boundary(&line.kept, size);
            page.push(number, &line.kept[..size]);
            page.next = Next::Column { line: number, column: column + size, left: left - size };
            return Ok(page);
        }
        if page.lines > 0 && page.bytes + left > wanted.bytes {
            page.next = Next::Line(number);
            return Ok(page);
        }
        page.push(number, line.kept.strip_suffix(b"\r").unwrap_or(&line.kept));
    }
    if page.lines == 0 {
        page.behind = Some(wanted.offset);
    } else if !reader.fill_buf()?.is_empty() {
        page.next = Next::Line(wanted.offset + page.lines);
    }
    Ok(page)
}

impl Page {
    fn push(&mut self, number: usize, line: &[u8]) {
        self.bytes += line.len() + 1;
        let line = String::from_utf8_lossy(line);
        push_line(&mut self.text, format_args!("{:>6}\t{line}", number + 1));
        self.lines += 1;
    }
}

struct Line {
    kept: Vec<u8>,
    length: usize,
}

/// One line without its end: at most `keep` bytes of it, after `skip`. However long it is, no more is held.
fn take_line(reader: &mut impl BufRead, skip: usize, keep: usize) -> io::Result<Option<Line>> {
    let mut line = Line { kept: Vec::new(), length: 0 };
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok((line.length > 0).then_some(line));
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let begin = skip.saturating_sub(line.length).min(part.len());
        line.kept.extend(part[begin..].iter().take(keep - line.kept.len()));
        line.length += part.len();
        let used = end.map_or(chunk.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

/// The last place at or before `index` where no character is cut in two.
fn char_boundary(bytes: &[u8], index: usize) -> usize {
    let continues = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let floor = (index.saturating_sub(3)..=index).rev().find(|at| !continues(at));
    floor.filter(|at| *at > 0).unwrap_or(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, offset: usize, lines: usize, column: usize, bytes: usize) -> Page {
        page(text.as_bytes(), Wanted { offset, lines, column, bytes }).expect("a page")
    }

    #[test]
    fn a_page_says_what_follows_and_nothing_follows_the_last_line() {
        let text = "a\nb\nc\nd";
        assert_eq!(read(text, 0, 2, 0, 100).next, Next::Line(2));
        assert_eq!(read(text, 2, 2, 0, 100).next, Next::End);
        assert_eq!(read("a\nb\n", 0, 2, 0, 100).next, Next::End);
        assert_eq!(read(text, 1, 2, 0, 100).text, "     2\tb\n     3\tc\n");
    }

    #[test]
    fn a_page_behind_the_end_says_how_many_lines_there_are() {
        assert_eq!(read("a\nb\n", 5, 2, 0, 100).behind, Some(2));
        assert_eq!(read("a\nb\n", 2, 2, 0, 100).behind, Some(2));
        assert_eq!(read("a\nb", 1, 2, 0, 100).behind, None);
    }

    #[test]
    fn a_long_line_can_be_read_piece_by_piece_without_cutting_a_character() {
        let text = format!("{}\nnext\n", "ü".repeat(6000));
        let (mut column, mut pieces) = (0, String::new());
        loop {
            let page = read(&text, 0, 1, column, 1001);
            pieces.push_str(page.text.trim_end_matches('\n').split_once('\t').expect("a number").1);
            match page.next {
                Next::Column { line: 0, column: next, .. } => column = next,
                Next::Line(1) => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(pieces, "ü".repeat(6000));
    }

    #[test]
    fn a_page_ends_before_a_line_that_does_not_fit() {
        let text = format!("short\n{}\nend\n", "x".repeat(50));
        let page = read(&text, 0, 10, 0, 50);
        assert_eq!((page.lines, page.next), (1, Next::Line(1)));
    }
}
