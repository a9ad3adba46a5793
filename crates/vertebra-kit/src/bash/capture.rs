//! What a command printed: kept within a bound, however much it was, and shown within a smaller one.

use std::collections::VecDeque;

use super::text;

/// The beginning and the end of a stream of bytes. What is between them is counted and forgotten.
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl Capture {
    /// Keeps so many bytes: the first quarter from the beginning, the rest from the end, where errors are.
    pub(super) fn of(bytes: usize) -> Self {
        let head_limit = bytes / 4;
        Self { head: Vec::new(), tail: VecDeque::new(), head_limit, tail_limit: bytes - head_limit, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    /// How many bytes were printed.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    fn lost(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// What a model reads: clean text, at most so many bytes from the beginning and from the end, and what was cut.
    pub(super) fn shown(&self, head_bytes: usize, tail_bytes: usize) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let lost = self.lost();
        if lost == 0 {
            let text = text::clean(&[&self.head[..], &tail].concat());
            if text.len() <= head_bytes + tail_bytes {
                return text;
            }
            let (head, tail) = (text::first(&text, head_bytes), text::last(&text, tail_bytes));
            return joined(head, (text.len() - head.len() - tail.len()) as u64, tail);
        }
        let (before, after) = (text::clean(text::whole_end(&self.head)), text::clean(text::whole_start(&tail)));
        let (head, tail) = (text::first(&before, head_bytes), text::last(&after, tail_bytes));
        joined(head, lost + (before.len() - head.len() + after.len() - tail.len()) as u64, tail)
    }
}

fn joined(head: &str, cut: u64, tail: &str) -> String {
    format!("{}\n[{cut} bytes cut here]\n{tail}", head.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(limit: usize, text: &str) -> Capture {
        let mut capture = Capture::of(limit);
        text.as_bytes().chunks(7).for_each(|chunk| capture.push(chunk));
        capture
    }

    #[test]
    fn what_fits_is_shown_whole() {
        assert_eq!(capture(100, "a\nb\n").shown(2, 2), "a\nb\n");
    }

    #[test]
    fn head_and_tail_are_shown_and_the_cut_is_counted() {
        assert_eq!(capture(100, "0123456789").shown(2, 3), "01\n[5 bytes cut here]\n789");
    }

    #[test]
    fn memory_is_bounded_and_the_count_goes_on() {
        let text = "x".repeat(10_000);
        let capture = capture(100, &text);
        assert_eq!((capture.head.len(), capture.tail.len(), capture.total()), (25, 75, 10_000));
        assert_eq!(capture.shown(5, 5), "xxxxx\n[9990 bytes cut here]\nxxxxx");
    }

    #[test]
    fn a_character_is_never_cut_in_two() {
        let text = "é".repeat(5_000);
        for limit in 40..60 {
            let shown = capture(limit, &text).shown(7, 7);
            assert!(!shown.contains('\u{fffd}'), "{shown}");
        }
    }
}
