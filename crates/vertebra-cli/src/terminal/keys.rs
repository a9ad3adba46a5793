//! Reads keys in a thread of its own.

use std::thread;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

/// How many keys are buffered. Beyond that, the terminal buffers them.
const WAITING: usize = 1024;

/// A key or a signal, as an editor command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    /// Pasted text.
    Paste(String),
    Enter,
    /// A line break that does not send the text.
    NewLine,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    /// Deletes to the beginning of the line.
    CutBefore,
    /// Deletes to the end of the line.
    CutAfter,
    /// Deletes the word before.
    CutWord,
    Escape,
    /// Ctrl-C, or the signal.
    Interrupt,
    /// Ctrl-D: the end of input.
    Finish,
    Tab,
    /// Shift-Tab: the next permission mode.
    NextMode,
    /// The window was resized.
    Resized,
    /// The program must exit with this code.
    Leave(u8),
}

/// Starts to read the keyboard.
pub(super) fn listen() -> mpsc::Receiver<Key> {
    let (into, keys) = mpsc::channel(WAITING);
    // The thread ends with the process, because nothing wakes a thread that waits for a key.
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            if let Some(key) = key(event)
                && into.blocking_send(key).is_err()
            {
                return;
            }
        }
    });
    keys
}

fn key(event: Event) -> Option<Key> {
    match event {
        Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, .. }) => {
            pressed(code, modifiers)
        }
        Event::Paste(text) => Some(Key::Paste(text)),
        Event::Resize(..) => Some(Key::Resized),
        Event::Key(_) | Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    let with = |modifier| modifiers.contains(modifier);
    let (control, alt) = (with(KeyModifiers::CONTROL), with(KeyModifiers::ALT));
    Some(match code {
        KeyCode::Enter if alt || control || with(KeyModifiers::SHIFT) => Key::NewLine,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace if alt || control => Key::CutWord,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left if alt || control => Key::WordLeft,
        KeyCode::Right if alt || control => Key::WordRight,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::NextMode,
        KeyCode::Esc => Key::Escape,
        KeyCode::Char(letter) if control => return with_control(letter),
        KeyCode::Char('b') if alt => Key::WordLeft,
        KeyCode::Char('f') if alt => Key::WordRight,
        KeyCode::Char(letter) if !alt => Key::Char(letter),
        _ => return None,
    })
}

fn with_control(letter: char) -> Option<Key> {
    Some(match letter.to_ascii_lowercase() {
        'a' => Key::Home,
        'b' => Key::Left,
        'c' => Key::Interrupt,
        'd' => Key::Finish,
        'e' => Key::End,
        'f' => Key::Right,
        'h' => Key::Backspace,
        'j' => Key::NewLine,
        'k' => Key::CutAfter,
        'l' => Key::Resized,
        'n' => Key::Down,
        'p' => Key::Up,
        'u' => Key::CutBefore,
        'w' => Key::CutWord,
        _ => return None,
    })
}
