//! Raw mode of the terminal. It is restored at the end, after an error and after a panic.

use std::{
    io::{self, Write as _},
    panic,
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
};

use crossterm::{
    cursor::Show,
    event::{
        DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
        PushKeyboardEnhancementFlags,
    },
    execute, terminal,
};

static RAW: AtomicBool = AtomicBool::new(false);
/// Messages of panics in other threads, kept until the screen is restored. A tool that panics does not end the program.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// How many messages are kept.
const MAX_SAID: usize = 20;

/// Keeps the terminal in raw mode until it is dropped.
pub(super) struct Raw(());

impl Raw {
    pub(super) fn begin() -> io::Result<Self> {
        on_panic();
        terminal::enable_raw_mode()?;
        RAW.store(true, Ordering::SeqCst);
        // From here on, dropping this value restores the terminal.
        let raw = Self(());
        let keyboard = PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES);
        execute!(io::stdout(), EnableBracketedPaste, keyboard)?;
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal. A second call does nothing.
fn give_back() {
    if !RAW.swap(false, Ordering::SeqCst) {
        return;
    }
    // The terminal may be gone, so errors are ignored.
    let _ = execute!(io::stdout(), PopKeyboardEnhancementFlags, DisableBracketedPaste, Show);
    let _ = terminal::disable_raw_mode();
    for said in SAID.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = writeln!(io::stderr(), "{said}");
    }
}

/// Installs a panic hook. A panic of the drawing thread ends the program, so the terminal is restored before the message.
/// The runtime catches panics of other threads; their messages must not be written to the screen.
fn on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (drawing, speak): (ThreadId, _) = (thread::current().id(), panic::take_hook());
        panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == drawing {
                give_back();
            }
            if RAW.load(Ordering::SeqCst) {
                let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
                if said.len() < MAX_SAID {
                    said.push(panic.to_string());
                }
            } else {
                speak(panic);
            }
        }));
    });
}
