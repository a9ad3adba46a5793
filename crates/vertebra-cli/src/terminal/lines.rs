//! Lines of standard input, read only when somebody wants one: in between, the keyboard belongs to whoever asks.

use std::{
    io::{self, BufRead as _, Read as _},
    thread,
};

use tokio::sync::mpsc;

/// How long a line may be. What is longer comes in pieces.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Standard input, line by line.
#[derive(Default)]
pub(super) struct Lines(Option<Reader>);

struct Reader {
    wanted: mpsc::Sender<()>,
    lines: mpsc::Receiver<Option<String>>,
    /// A line is on its way that somebody stopped waiting for.
    asked: bool,
}

impl Lines {
    /// The next line without its line break; `None` at the end. If nobody waits for it any more, the next one who asks
    /// gets it.
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
        // It ends with the process: nothing wakes a thread that waits for a line.
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
