//! What a command printed: kept within a bound, however much it was, and shown within a smaller one.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{outputs::Recorder, text};

/// Both streams of a command, and the record of all that it prints. A clone is another handle to the same.
#[derive(Clone)]
pub(super) struct Printed(Arc<Mutex<Streams>>);

/// Both streams of a command.
pub(super) struct Streams {
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    pub(super) record: Recorder,
}

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

impl Printed {
    /// Keeps so many bytes of each stream, and all of both with the recorder.
    pub(super) fn new(stdout_bytes: usize, stderr_bytes: usize, record: Recorder) -> Self {
        let (stdout, stderr) = (Capture::of(stdout_bytes), Capture::of(stderr_bytes));
        Self(Arc::new(Mutex::new(Streams { stdout, stderr, record })))
    }

    pub(super) fn push(&self, stream: Stream, bytes: &[u8]) {
        let mut streams = self.streams();
        streams.record.push(stream, bytes);
        match stream {
            Stream::Stdout => streams.stdout.push(bytes),
            Stream::Stderr => streams.stderr.push(bytes),
        }
    }

    pub(super) fn streams(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The beginning and the end of a stream of bytes. What is between them is counted and forgotten.
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
    lines: u64,
}

/// What a model reads of a stream.
pub(super) struct Shown {
    pub(super) text: String,
    /// The line that stands for what was left out.
    pub(super) notice: Option<String>,
}

impl Capture {
    /// Keeps so many bytes: the first quarter from the beginning, the rest from the end, where errors are.
    pub(super) fn of(bytes: usize) -> Self {
        let head_limit = bytes / 4;
        let (head, tail) = (Vec::new(), VecDeque::new());
        Self { head, tail, head_limit, tail_limit: bytes - head_limit, total: 0, lines: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.lines += line_ends(bytes);
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

    /// What a model reads: clean text, at most so many bytes from the beginning and from the end, and what was left out.
    pub(super) fn shown(&self, head_bytes: usize, tail_bytes: usize) -> Shown {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let lost = self.lost();
        if lost == 0 {
            let text = text::clean(&[&self.head[..], &tail].concat());
            if text.len() <= head_bytes + tail_bytes {
                return Shown { text, notice: None };
            }
            let (head, tail) = (text::first(&text, head_bytes), text::last(&text, tail_bytes));
            return self.joined(head, (text.len() - head.len() - tail.len()) as u64, tail);
        }
        let (before, after) = (text::clean(text::whole_end(&self.head)), text::clean(text::whole_start(&tail)));
        let (head, tail) = (text::first(&before, head_bytes), text::last(&after, tail_bytes));
        self.joined(head, lost + (before.len() - head.len() + after.len() - tail.len()) as u64, tail)
    }

    fn joined(&self, head: &str, bytes: u64, tail: &str) -> Shown {
        let lines = self.lines.saturating_sub(line_ends(head.as_bytes()) + line_ends(tail.as_bytes()));
        let notice = format!("[{bytes} bytes in {lines} lines left out here]");
        Shown { text: format!("{}\n{notice}\n{tail}", head.trim_end_matches('\n')), notice: Some(notice) }
    }
}

pub(super) fn line_ends(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').skip(1).count() as u64
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
        let shown = capture(100, "a\nb\n").shown(2, 2);
        assert_eq!((&*shown.text, shown.notice), ("a\nb\n", None));
    }

    #[test]
    fn head_and_tail_are_shown_and_what_is_left_out_is_counted() {
        let shown = capture(100, "0\n1\n2\n3\n4\n").shown(2, 4);
        assert_eq!(shown.text, "0\n[4 bytes in 2 lines left out here]\n3\n4\n");
        assert_eq!(shown.notice.as_deref(), Some("[4 bytes in 2 lines left out here]"));
    }

    #[test]
    fn memory_is_bounded_and_the_count_goes_on() {
        let text = "x\n".repeat(5_000);
        let capture = capture(100, &text);
        assert_eq!((capture.head.len(), capture.tail.len(), capture.total()), (25, 75, 10_000));
        assert_eq!(capture.shown(4, 4).text, "x\nx\n[9992 bytes in 4996 lines left out here]\nx\nx\n");
    }

    #[test]
    fn a_character_is_never_cut_in_two() {
        let text = "é".repeat(5_000);
        for limit in 40..60 {
            let shown = capture(limit, &text).shown(7, 7).text;
            assert!(!shown.contains('\u{fffd}'), "{shown}");
        }
    }
}
