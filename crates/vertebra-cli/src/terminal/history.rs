//! The prompt history, kept in a file that only its owner can read.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// How many entries are kept.
const MAX_ENTRIES: usize = 1000;
/// The longest entry that is kept.
const MAX_ENTRY_BYTES: usize = 16 * 1024;
/// How many bytes of the file are read.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The entries, oldest first, and the current position.
#[derive(Debug, Default)]
pub(crate) struct History {
    file: Option<PathBuf>,
    entries: Vec<String>,
    /// The entry that is shown, or `None` for the current draft.
    at: Option<usize>,
    /// The draft before the user moved into the history.
    draft: String,
}

impl History {
    /// Opens the history in this file. A file that cannot be read counts as empty.
    pub(crate) fn open(file: Option<PathBuf>) -> Self {
        let entries = file.as_deref().and_then(|file| read(file).ok()).unwrap_or_default();
        Self { file, entries, ..Self::default() }
    }

    /// Adds an entry and resets the position.
    pub(crate) fn add(&mut self, text: &str) {
        self.at = None;
        if text.trim().is_empty()
            || text.len() > MAX_ENTRY_BYTES
            || self.entries.last().is_some_and(|last| last == text)
        {
            return;
        }
        self.entries.push(text.to_owned());
        let Some(file) = &self.file else { return };
        let _ = if self.entries.len() > 2 * MAX_ENTRIES {
            self.entries.drain(..self.entries.len() - MAX_ENTRIES);
            write(file, &self.entries, false)
        } else {
            write(file, &self.entries[self.entries.len() - 1..], true)
        };
    }

    /// Returns the previous entry.
    pub(crate) fn earlier(&mut self, shown: &str) -> Option<String> {
        let at = self.at.unwrap_or(self.entries.len()).checked_sub(1)?;
        if self.at.is_none() {
            shown.clone_into(&mut self.draft);
        }
        self.at = Some(at);
        self.entries.get(at).cloned()
    }

    /// Returns the next entry, or the draft after the last one.
    pub(crate) fn later(&mut self) -> Option<String> {
        let at = self.at? + 1;
        self.at = (at < self.entries.len()).then_some(at);
        Some(self.entries.get(at).unwrap_or(&self.draft).clone())
    }
}

/// Formats one entry per line as JSON, because an entry may have several lines.
fn read(file: &Path) -> io::Result<Vec<String>> {
    let mut text = String::new();
    File::open(file)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    let entries: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let first = entries.len().saturating_sub(MAX_ENTRIES);
    Ok(entries[first..].to_vec())
}

fn write(file: &Path, entries: &[String], append: bool) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = OpenOptions::new();
    let mut file = options.create(true).append(append).write(true).truncate(!append).mode(0o600).open(file)?;
    let text: String = entries.iter().map(|entry| serde_json::Value::from(entry.as_str()).to_string() + "\n").collect();
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_was_typed_comes_back_in_the_next_session_and_the_draft_is_not_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("state/history.jsonl");
        let mut history = History::open(Some(file.clone()));
        for text in ["one", "two\nlines", "two\nlines", "  "] {
            history.add(text);
        }
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut history = History::open(Some(file));
        assert_eq!(history.later(), None);
        assert_eq!(history.earlier("dra").as_deref(), Some("two\nlines"));
        assert_eq!(history.earlier("").as_deref(), Some("one"));
        assert_eq!(history.earlier(""), None);
        assert_eq!(history.later().as_deref(), Some("two\nlines"));
        assert_eq!(history.later().as_deref(), Some("dra"));
        assert_eq!(history.later(), None);
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("history.jsonl");
        let mut history = History::open(Some(file.clone()));
        for number in 0..=2 * MAX_ENTRIES {
            history.add(&number.to_string());
        }
        assert_eq!(read(&file).expect("a file").len(), MAX_ENTRIES);
        assert_eq!(history.earlier("").as_deref(), Some("2000"));
    }
}
