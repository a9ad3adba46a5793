//! The terminal of the user: output, keys and lines.

mod asking;
mod editor;
mod history;
mod keys;
mod lines;
mod live;
mod plain;
mod raw;

use std::{
    collections::BTreeMap,
    fs::File,
    future::pending,
    io::{self, IsTerminal as _},
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

pub(crate) use self::{
    asking::{Asked, Asking, Inline, Step},
    editor::{Editor, Entry},
    history::History,
    keys::Key,
};
use self::{lines::Lines, live::Live, plain::Plain, raw::Raw};
use crate::{surface::Surface, view::Canvas};

/// Detects the output device: a terminal with cursor and keyboard, a dumb terminal, or a pipe.
pub(crate) fn canvas(variables: &BTreeMap<String, String>) -> Canvas {
    if !io::stdout().is_terminal() {
        return Canvas::Pipe;
    }
    let dumb = variables.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let keyboard = || io::stdin().is_terminal() || File::open("/dev/tty").is_ok();
    if dumb || !keyboard() { Canvas::Dumb } else { Canvas::Terminal }
}

/// Returns whether to use colours: only on a terminal, and not if `NO_COLOR` is set.
pub(crate) fn has_colour(canvas: Canvas, variables: &BTreeMap<String, String>) -> bool {
    canvas == Canvas::Terminal && variables.get("NO_COLOR").is_none_or(String::is_empty)
}

/// A terminal or a pipe. Dropping it restores the terminal.
pub(crate) struct Terminal {
    screen: Screen,
    keys: Option<mpsc::Receiver<Key>>,
    lines: Lines,
    signals: Signals,
    /// The last field, so that it is dropped last.
    _raw: Option<Raw>,
}

enum Screen {
    Live(Live),
    Plain(Plain),
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    async fn next(&mut self) -> Key {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Key::Interrupt,
            Some(()) = self.terminate.recv() => Key::Leave(143),
            Some(()) = self.hang_up.recv() => Key::Leave(129),
            else => pending().await,
        }
    }
}

impl Terminal {
    /// Takes over the terminal.
    pub(crate) fn open(canvas: Canvas) -> io::Result<Self> {
        let signals = Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        };
        let (screen, keys, raw) = match canvas {
            Canvas::Terminal => {
                let raw = Raw::begin()?;
                let live = Live::new(io::stdout(), crossterm::terminal::size()?);
                (Screen::Live(live), Some(keys::listen()), Some(raw))
            }
            Canvas::Dumb => (Screen::Plain(Plain::terminal()), None, None),
            Canvas::Pipe => (Screen::Plain(Plain::pipe()), None, None),
        };
        Ok(Self { screen, keys, lines: Lines::default(), signals, _raw: raw })
    }

    /// Returns whether the terminal has keys and an input area.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.screen, Screen::Live(_))
    }

    /// Waits for the next key. Signals count as keys.
    pub(crate) async fn key(&mut self) -> Key {
        let Self { keys, signals, .. } = self;
        let pressed = async {
            match keys {
                // If the keyboard is gone, the terminal is gone.
                Some(keys) => keys.recv().await.unwrap_or(Key::Leave(129)),
                None => pending().await,
            }
        };
        let key = tokio::select! {
            key = pressed => key,
            key = signals.next() => key,
        };
        if let (Key::Resized, Screen::Live(live), Ok(size)) = (&key, &mut self.screen, crossterm::terminal::size()) {
            live.resize(size);
        }
        key
    }

    /// Reads a line from standard input, for terminals without keys. Returns `None` at the end, and a signal as a key.
    pub(crate) async fn line(&mut self) -> Result<Option<String>, Key> {
        tokio::select! {
            line = self.lines.next() => Ok(line),
            key = self.signals.next() => Err(key),
        }
    }

    /// Shows the input.
    pub(crate) fn entry(&mut self, entry: Option<Entry>) {
        if let Screen::Live(live) = &mut self.screen {
            live.entry(entry);
        }
    }

    /// Returns how many rows the input may take.
    pub(crate) fn entry_rows(&self) -> usize {
        match &self.screen {
            Screen::Live(live) => (live.rows() / 2).max(1),
            Screen::Plain(_) => 1,
        }
    }

    /// Writes what was drawn to the screen. Returns whether the reader still exists.
    pub(crate) fn flush(&mut self) -> bool {
        match &mut self.screen {
            Screen::Live(live) => live.flush(),
            Screen::Plain(plain) => plain.is_there(),
        }
    }

    fn surface(&mut self) -> &mut dyn Surface {
        match &mut self.screen {
            Screen::Live(live) => live,
            Screen::Plain(plain) => plain,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.footer(Vec::new());
        self.entry(None);
        self.flush();
    }
}

impl Surface for Terminal {
    fn write(&mut self, text: &str) {
        self.surface().write(text);
    }

    fn answer(&mut self, text: &str) {
        self.surface().answer(text);
    }

    fn footer(&mut self, lines: Vec<String>) {
        self.surface().footer(lines);
    }

    fn width(&self) -> usize {
        match &self.screen {
            Screen::Live(live) => live.width(),
            Screen::Plain(plain) => plain.width(),
        }
    }

    fn height(&self) -> usize {
        match &self.screen {
            Screen::Live(live) => live.rows(),
            Screen::Plain(plain) => plain.height(),
        }
    }
}
