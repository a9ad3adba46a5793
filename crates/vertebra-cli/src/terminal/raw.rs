//! A terminal that hands over every key, and is given back as it was: at the end, after an error, after a panic.

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
/// What panics of others said while the screen was not theirs. A tool that panics does not end the program.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// How much of it is kept.
const MAX_SAID: usize = 20;

/// While it lives, the terminal is raw.
pub(super) struct Raw(());

impl Raw {
    pub(super) fn begin() -> io::Result<Self> {
        on_panic();
        terminal::enable_raw_mode()?;
        RAW.store(true, Ordering::SeqCst);
        // From here on it is given back, whatever happens.
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

/// Makes the terminal what it was. A second time it does nothing.
fn give_back() {
    if !RAW.swap(false, Ordering::SeqCst) {
        return;
    }
    // A terminal that is gone needs no setting.
    let _ = execute!(io::stdout(), PopKeyboardEnhancementFlags, DisableBracketedPaste, Show);
    let _ = terminal::disable_raw_mode();
    for said in SAID.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = writeln!(io::stderr(), "{said}");
    }
}

/// A panic of the thread that draws ends the program, so the terminal is given back before it speaks. Those of others are
/// caught by the runtime: they must not write into the screen.
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
