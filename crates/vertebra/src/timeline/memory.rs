//! A journal in memory: the contract of the one on disk, as long as the process lives.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::{Entry, Journal, JournalError, JournalFault, What};

/// A journal in memory. A clone is the same handle to the same lines; see [`another`](Self::another).
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    shelf: Arc<Mutex<Shelf>>,
    holder: Arc<()>,
}

#[derive(Debug, Default)]
struct Shelf {
    lines: Vec<Entry>,
    /// Who runs which session.
    held: BTreeMap<Arc<str>, Weak<()>>,
}

impl Shelf {
    /// Whether a handle that is still there runs this session.
    fn is_held(&self, session_id: &str) -> bool {
        self.held.get(session_id).is_some_and(|holder| holder.strong_count() > 0)
    }

    fn knows(&self, session_id: &str) -> bool {
        self.lines.iter().any(|entry| &*entry.session_id == session_id)
    }
}

impl MemoryJournal {
    /// The lines so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.shelf().lines.clone()
    }

    /// Another handle to the same lines, as another process would have one: it cannot run what this one runs.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { shelf: self.shelf.clone(), holder: Arc::default() }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holds(&self, kept: &Shelf, session_id: &str) -> bool {
        kept.held.get(session_id).is_some_and(|holder| holder.as_ptr() == Arc::as_ptr(&self.holder))
    }
}

impl MemoryJournal {
    fn take(&self, entry: Entry) -> Result<(), JournalError> {
        let mut kept = self.shelf();
        if let What::SessionBegan { .. } = entry.what
            && !kept.is_held(&entry.session_id)
        {
            kept.held.insert(entry.session_id.clone(), Arc::downgrade(&self.holder));
        }
        if !self.holds(&kept, &entry.session_id) {
            let (kind, message) = match kept.held.contains_key(&entry.session_id) {
                true => (JournalFault::Fenced, format!("`{}` is run by another handle", entry.session_id)),
                false if kept.knows(&entry.session_id) => {
                    (JournalFault::Fenced, format!("`{}` was let go", entry.session_id))
                }
                false => (JournalFault::Unknown, format!("`{}`", entry.session_id)),
            };
            return Err(JournalError::new(kind, message));
        }
        if let What::SessionEnded | What::Suspended { .. } = entry.what {
            kept.held.remove(&entry.session_id);
        }
        kept.lines.push(entry);
        Ok(())
    }
}

impl Journal for MemoryJournal {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        self.take(entry)
    }

    fn append_now(&self, entry: Entry) -> ControlFlow<Result<(), JournalError>, Entry> {
        ControlFlow::Break(self.take(entry))
    }

    async fn claim(&self, session_id: &str) -> Result<Vec<Entry>, JournalError> {
        let mut kept = self.shelf();
        let lines: Vec<Entry> = kept.lines.iter().filter(|entry| &*entry.session_id == session_id).cloned().collect();
        if lines.is_empty() {
            return Err(JournalError::new(JournalFault::Unknown, format!("`{session_id}`")));
        }
        if kept.is_held(session_id) {
            return Err(JournalError::new(JournalFault::Busy, format!("`{session_id}` is run by another handle")));
        }
        kept.held.insert(session_id.into(), Arc::downgrade(&self.holder));
        let from = lines.iter().rposition(|entry| entry.what.starts_over()).unwrap_or_default();
        Ok(lines[from..].to_vec())
    }

    async fn release(&self, session_id: &str) -> Result<(), JournalError> {
        let mut kept = self.shelf();
        if self.holds(&kept, session_id) {
            kept.held.remove(session_id);
        }
        Ok(())
    }
}
