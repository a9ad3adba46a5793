//! A dumb terminal or a pipe.

use std::io::{self, Write};

use crate::surface::Surface;

/// The default width.
const COLUMNS: usize = 80;

/// Writes lines and never changes them.
pub(super) struct Plain {
    /// Whether only the answer goes to standard output, as in a pipe.
    apart: bool,
    columns: usize,
    is_there: bool,
}

impl Plain {
    pub(super) fn terminal() -> Self {
        let columns = crossterm::terminal::size().map_or(COLUMNS, |(columns, _)| usize::from(columns).max(20));
        Self { apart: false, columns, is_there: true }
    }

    pub(super) fn pipe() -> Self {
        Self { apart: true, columns: COLUMNS, is_there: true }
    }

    /// Returns whether the reader still exists.
    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }

    fn put(&mut self, mut out: impl Write, text: &str) {
        self.is_there &= out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok();
    }
}

impl Surface for Plain {
    fn write(&mut self, text: &str) {
        if self.apart {
            // Progress is optional, so errors are ignored.
            let _ = io::stderr().lock().write_all(text.as_bytes());
        } else {
            self.put(io::stdout().lock(), text);
        }
    }

    fn answer(&mut self, text: &str) {
        self.put(io::stdout().lock(), text);
    }

    fn footer(&mut self, _: Vec<String>) {}

    fn width(&self) -> usize {
        self.columns
    }
}
