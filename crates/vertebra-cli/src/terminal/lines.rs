//! Reads lines of standard input on demand. Between two lines, an approval question can read the terminal.

use std::{
    io::{self, BufRead as _, Read as _},
    thread,
};

use tokio::sync::mpsc;

/// The longest line. A longer one is returned in pieces.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Standard input, line by line.
#[derive(Default)]
pub(super) struct Lines(Option<Reader>);

struct Reader {
    wanted: mpsc::Sender<()>,
    lines: mpsc::Receiver<Option<String>>,
    /// A pending read whose caller was cancelled.
    asked: bool,
}

impl Lines {
    /// Returns the next line without its line break, or `None` at the end. If the call is cancelled, the next call returns
    /// the line.
    pub(super) async fn next(&mut self) -> Option<String> {
        let reader = self.0.get_or_insert_with(Reader::start);
        if !reader.asked {
            reader.wanted.send(()).await.ok()?;
            reader.asked = true;
        }
        let line = reader.lines.recv().await.flatten();
        reader.asked = false;
        line
    }
}

impl Reader {
    fn start() -> Self {
        let (wanted, mut wishes) = mpsc::channel(1);
        let (into, lines) = mpsc::channel(1);
        // The thread ends with the process, because nothing wakes a thread that waits for a line.
        thread::spawn(move || while wishes.blocking_recv().is_some() && into.blocking_send(read()).is_ok() {});
        Self { wanted, lines, asked: false }
    }
}

fn read() -> Option<String> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes).ok()?;
    let line = String::from_utf8_lossy(&bytes);
    (read > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned())
}
