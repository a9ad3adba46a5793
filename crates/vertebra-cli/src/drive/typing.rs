//! Reads the next prompt from the user: key by key, or line by line.

use super::{Desk, INTERRUPTED, MARK};
use crate::{
    surface::Surface as _,
    terminal::{Editor, Entry, Key},
    view::{
        Canvas,
        rows::{BOLD, DIM, Row},
    },
};

/// The answer of the user to a prompt.
pub(crate) enum Said {
    /// The next prompt.
    Text(String),
    /// The end of the conversation.
    Finished,
    /// The user quits with this exit code.
    Exit(u8),
}

impl Desk {
    /// Asks the user for the next prompt.
    pub(crate) async fn ask(&mut self, hint: &str) -> Said {
        if self.terminal.is_live() { self.ask_keys(hint).await } else { self.ask_lines().await }
    }

    /// Asks a question that only `y` answers with yes.
    pub(crate) async fn confirm(&mut self, question: &str) -> bool {
        self.tell(question);
        if !self.terminal.is_live() {
            self.terminal.write("y/n?\n");
            return matches!(self.terminal.line().await, Ok(Some(line)) if line.trim().eq_ignore_ascii_case("y"));
        }
        let keys = Row::default().with(BOLD, "y").with(DIM, " yes   any other key: no").paint(self.colour);
        self.terminal.entry(Some(Entry { rows: vec![keys], ..Entry::default() }));
        self.terminal.flush();
        let key = loop {
            match self.terminal.key().await {
                Key::Resized => {}
                key => break key,
            }
        };
        self.terminal.entry(None);
        matches!(key, Key::Char('y' | 'Y'))
    }

    async fn ask_keys(&mut self, hint: &str) -> Said {
        let mut hint = hint.to_owned();
        loop {
            let (columns, height) = (self.terminal.width(), self.terminal.entry_rows());
            let entry = self.draft.shown(MARK, columns, height);
            let mut entry = entry.under(vec![String::new()]);
            let mode = self.mode_shown().map(|mode| format!(" · {mode} (shift-tab)")).unwrap_or_default();
            let told = Row::default().with(DIM, format!("  {hint}{mode}"));
            // What the user has to know now comes first.
            let told = if told.width() < columns { told } else { Row::default().with(DIM, format!("  {hint}")) };
            let told = told.cut(columns.saturating_sub(1));
            entry.rows.push(told.paint(self.colour));
            self.terminal.entry(Some(entry));
            self.terminal.flush();
            let said = match self.terminal.key().await {
                Key::Leave(code) => Some(Said::Exit(code)),
                Key::Interrupt if self.interrupts_again() => Some(Said::Exit(INTERRUPTED)),
                Key::Interrupt => {
                    self.draft.take();
                    "ctrl-c again to quit".clone_into(&mut hint);
                    None
                }
                Key::Finish if self.draft.is_empty() => Some(Said::Finished),
                Key::Finish => {
                    self.draft.press(&Key::Delete);
                    None
                }
                Key::NextMode => {
                    self.next_mode();
                    None
                }
                Key::Enter if self.draft.continue_line() || self.draft.text().trim().is_empty() => None,
                Key::Enter => Some(Said::Text(self.draft.take())),
                key => {
                    self.edit(&key);
                    None
                }
            };
            if let Some(said) = said {
                self.terminal.entry(None);
                if let Said::Text(text) = &said {
                    self.history.add(text);
                    self.repeat(&text.clone());
                }
                self.terminal.flush();
                return said;
            }
        }
    }

    /// Edits the draft. Up and Down move through the history at its first and last line.
    fn edit(&mut self, key: &Key) {
        let other = match key {
            key if self.draft.press(key) => return,
            Key::Up => self.history.earlier(self.draft.text()),
            Key::Down => self.history.later(),
            _ => return,
        };
        if let Some(text) = other {
            self.draft = Editor::of(text);
        }
    }

    async fn ask_lines(&mut self) -> Said {
        let mut text = String::new();
        loop {
            if self.canvas == Canvas::Dumb {
                self.terminal.write(if text.is_empty() { "> " } else { "  " });
            }
            let line = match self.terminal.line().await {
                Ok(line) => line,
                Err(Key::Leave(code)) => return Said::Exit(code),
                Err(_) => return Said::Exit(INTERRUPTED),
            };
            match line {
                None => return if text.is_empty() { Said::Finished } else { Said::Text(text) },
                Some(line) => match line.strip_suffix('\\') {
                    Some(begun) => text += &(begun.to_owned() + "\n"),
                    None if text.is_empty() && line.trim().is_empty() => {}
                    None => return Said::Text(text + &line),
                },
            }
        }
    }
}
