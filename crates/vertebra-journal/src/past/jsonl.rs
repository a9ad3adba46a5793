//! Lines of a file of JSON, one after another and none of them too long.

use std::io::{self, BufRead};

/// Reads a file line by line. A line that is longer than it may be is passed over, not held in memory.
pub struct Lines<R> {
    from: R,
    longest: usize,
    read: u64,
}

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// This one, without its end.
    Bytes(Vec<u8>),
    /// One of so many bytes, which is too long.
    TooLong(u64),
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most so many bytes.
    pub fn new(from: R, longest: usize) -> Self {
        Self { from, longest, read: 0 }
    }

    /// How many bytes were read so far.
    pub fn bytes(&self) -> u64 {
        self.read
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut line, mut length) = (Vec::new(), 0_u64);
        loop {
            let chunk = match self.from.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Some(Err(error)),
            };
            if chunk.is_empty() && length == 0 {
                return None;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let piece = &chunk[..end.unwrap_or(chunk.len())];
            length += piece.len() as u64;
            if length <= self.longest as u64 {
                line.extend_from_slice(piece);
            } else {
                line = Vec::new();
            }
            let (read, at_end) = (piece.len() + usize::from(end.is_some()), end.is_some() || chunk.is_empty());
            self.from.consume(read);
            self.read += read as u64;
            if at_end {
                let whole = length <= self.longest as u64;
                return Some(Ok(if whole { Line::Bytes(line) } else { Line::TooLong(length) }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use super::*;

    fn read(text: &str) -> Vec<String> {
        // A small buffer, so that lines are read in pieces.
        let lines = Lines::new(BufReader::with_capacity(4, Cursor::new(text.to_owned())), 8);
        lines
            .map(|line| match line.expect("memory can be read") {
                Line::Bytes(bytes) => String::from_utf8(bytes).expect("text"),
                Line::TooLong(bytes) => format!("({bytes})"),
            })
            .collect()
    }

    #[test]
    fn lines_come_whole_and_long_ones_are_passed_over() {
        assert_eq!(read("one\ntwo\n"), ["one", "two"]);
        assert_eq!(read("a\n\nb"), ["a", "", "b"]);
        assert_eq!(read("12345678\n123456789\nlast"), ["12345678", "(9)", "last"]);
        assert_eq!(read("0123456789abcdef"), ["(16)"]);
        assert_eq!(read(""), [""; 0]);
    }
}
