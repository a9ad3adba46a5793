//! Reads lines from a terminal. A read occupies no thread of the runtime and can be cancelled.

use std::{
    fs::File,
    io::{self, PipeReader, Read as _},
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    termios::{
        InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, isatty, tcflush, tcgetattr,
        tcgetwinsize, tcsetattr,
    },
};

/// The longest line.
const MAX_LINE_BYTES: usize = 1 << 20;
/// What Ctrl-C types where it is not a signal.
const INTERRUPT: u8 = 3;

/// An input of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// The end of input.
    End,
}

/// The input of a terminal.
pub(super) struct Input {
    from: Arc<File>,
    unread: Arc<Mutex<Vec<u8>>>,
}

impl Input {
    pub(super) fn new(from: impl Into<OwnedFd>) -> Self {
        Self { from: Arc::new(File::from(from.into())), unread: Arc::default() }
    }

    /// Reads the next line. If the future is dropped, unread input is kept for the next call.
    pub(super) async fn line(&self) -> io::Result<Typed> {
        // Dropping the future closes the other end of the pipe, which ends the wait.
        let (given_up, waiting) = io::pipe()?;
        let (from, unread) = (self.from.clone(), self.unread.clone());
        let typed = tokio::task::spawn_blocking(move || read_line(&from, &unread, &given_up)).await;
        drop(waiting);
        typed.map_err(io::Error::other)?
    }

    /// Prepares the terminal for an answer and discards what was typed before the question.
    pub(super) fn attend(&self) -> Option<Attention> {
        if !isatty(&*self.from) {
            return None;
        }
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).clear();
        tcflush(&*self.from, QueueSelector::IFlush).ok()?;
        let before = tcgetattr(&*self.from).ok()?;
        let mut during = before.clone();
        during.input_modes |= InputModes::ICRNL;
        during.local_modes |= LocalModes::ICANON | LocalModes::ECHO;
        // Ctrl-C ends the line instead of the program: it says no to this question, and the program lives on.
        during.local_modes &= !LocalModes::ISIG;
        during.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        tcsetattr(&*self.from, OptionalActions::Now, &during).ok()?;
        Some(Attention { terminal: self.from.clone(), before })
    }

    /// Returns how many columns and rows the terminal has, if it is one and says so.
    pub(super) fn size(&self) -> Option<(usize, usize)> {
        let size = tcgetwinsize(&*self.from).ok()?;
        Some((size.ws_col.into(), size.ws_row.into())).filter(|size| *size != (0, 0))
    }

    /// Returns another handle to the terminal, for another program.
    pub(super) fn share(&self) -> io::Result<File> {
        self.from.try_clone()
    }
}

/// Keeps the terminal prepared for an answer, and restores it when dropped.
pub(super) struct Attention {
    terminal: Arc<File>,
    before: Termios,
}

impl Drop for Attention {
    fn drop(&mut self) {
        // A terminal that is gone needs no setting.
        let _ = tcsetattr(&*self.terminal, OptionalActions::Now, &self.before);
    }
}

fn read_line(from: &File, unread: &Mutex<Vec<u8>>, given_up: &PipeReader) -> io::Result<Typed> {
    loop {
        {
            let mut unread = unread.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(end) = unread.iter().position(|byte| matches!(*byte, b'\n' | INTERRUPT)) {
                let line: Vec<u8> = unread.drain(..=end).collect();
                if line.ends_with(&[INTERRUPT]) {
                    return Ok(Typed::Interrupt);
                }
                return Ok(Typed::Line(String::from_utf8_lossy(&line).trim().to_owned()));
            }
            if unread.len() > MAX_LINE_BYTES {
                return Err(io::Error::other(format!("a line is longer than {MAX_LINE_BYTES} bytes")));
            }
        }
        let mut both = [
            PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(given_up.as_fd(), PollFlags::IN),
        ];
        poll(&mut both, None)?;
        if !both[1].revents().is_empty() {
            return Ok(Typed::End);
        }
        let mut piece = [0; 4096];
        match (&mut &*from).read(&mut piece) {
            // Text without a line break at the end of input is not an answer.
            Ok(0) => return Ok(Typed::End),
            Ok(count) => unread.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
