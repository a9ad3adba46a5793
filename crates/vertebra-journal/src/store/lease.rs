//! Who runs a session: a handle that lives. No clock is asked whether it does.
//!
//! Each handle has a file of its own beside the journal, and a lock on it as long as it lives; the system lets go of the
//! lock when the process ends, however it ends. A session names its handle. Whoever can lock that handle's file too has
//! seen that nobody is there.

use std::{
    collections::HashMap,
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Transaction, TransactionBehavior};
use uuid::Uuid;
use vertebra::{JournalError, JournalFault};

use super::{
    account::Account,
    desk::Desk,
    fault::{Trouble, unknown},
    schema::{create_folder, private_file},
    writer::stopped,
};

/// The folder with the files of all handles.
#[derive(Debug, Clone)]
pub(crate) struct Holders {
    folder: Arc<Path>,
}

/// This handle's file, locked.
#[derive(Debug)]
pub(crate) struct Holder {
    pub(crate) name: Arc<str>,
    path: PathBuf,
    _lock: File,
}

impl Holders {
    pub(crate) fn of(journal: &Path) -> Self {
        Self { folder: super::beside(journal, ".holders").into() }
    }

    /// Waits until nobody else opens this journal. Files of handles are made and cleared away only by who holds this.
    pub(crate) fn open(&self) -> io::Result<File> {
        create_folder(&self.folder)?;
        let file = private_file(&self.folder.join("open.lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// Creates and locks a file for a new handle, and removes the files of dead handles.
    pub(crate) fn enter(&self, _open: &File) -> io::Result<Holder> {
        for name in self.names()? {
            if self.process_of(&name).is_some() {
                continue;
            }
            match fs::remove_file(self.path(&name)) {
                // A handle that is closed removes its own file, perhaps just now.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let name = Uuid::now_v7().to_string();
        let path = self.path(&name);
        let mut lock = private_file(&path)?;
        lock.try_lock().map_err(io::Error::from)?;
        write!(lock, "{}", std::process::id())?;
        Ok(Holder { name: name.into(), path, _lock: lock })
    }

    /// Which process this handle is in, if it lives.
    pub(crate) fn process_of(&self, name: &str) -> Option<String> {
        let file = File::open(self.path(name)).ok()?;
        // A shared lock, so that two who look at once do not take each other for the handle.
        match file.try_lock_shared() {
            Ok(()) => None,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {
                let process = io::read_to_string(io::Read::take(file, 32)).unwrap_or_default();
                Some(if process.is_empty() { "another process".to_owned() } else { format!("process {process}") })
            }
        }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = vec![];
        for file in fs::read_dir(&self.folder)? {
            let name = file?.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(".lock"));
            names.extend(name.filter(|name| Uuid::try_parse(name).is_ok()).map(str::to_owned));
        }
        Ok(names)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.lock"))
    }
}

impl Holder {
    /// Notes whether this handle runs a session now.
    pub(super) fn remember(&self, held: &mut HashMap<Arc<str>, i64>, account: Account) {
        if account.holder.as_ref() == Some(&self.name) {
            held.insert(account.session_id, account.epoch);
        } else {
            held.remove(&account.session_id);
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // If it stays, whoever opens the journal next clears it away.
        let _ = fs::remove_file(&self.path);
    }
}

impl Desk {
    /// Takes a session for this handle, if nobody runs it.
    pub(super) fn claim(&mut self, session_id: &str) -> Result<(), Trouble> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut account = known(&transaction, session_id)?;
        if let Some(by) = account.holder.as_ref().and_then(|holder| self.holders.process_of(holder)) {
            return Err(JournalError::new(JournalFault::Busy, format!("`{session_id}` is run by {by}")).into());
        }
        account.take(&self.holder.name);
        account.save(&transaction)?;
        transaction.commit()?;
        self.lost.remove(session_id);
        self.holder.remember(&mut self.held, account);
        Ok(())
    }

    /// Lets a session go that this handle runs, after all its lines.
    pub(super) fn release(&mut self, session_id: &str) -> Result<(), Trouble> {
        self.write(vec![]);
        if self.kept.iter().any(|line| &*line.entry.session_id == session_id) {
            return Err(self.trouble.clone().unwrap_or_else(stopped).into());
        }
        let release = "UPDATE sessions SET holder = NULL WHERE session_id = ?1 AND holder = ?2";
        self.connection.execute(release, [session_id, &self.holder.name])?;
        self.held.remove(session_id);
        Ok(())
    }

    /// Takes a session from whoever runs it.
    pub(super) fn take_over(&mut self, session_id: &str) -> Result<Option<String>, Trouble> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut account = known(&transaction, session_id)?;
        let was = account.holder.take().and_then(|holder| self.holders.process_of(&holder));
        account.epoch += 1;
        account.save(&transaction)?;
        transaction.commit()?;
        self.held.remove(session_id);
        Ok(was)
    }
}

fn known(transaction: &Transaction<'_>, session_id: &str) -> Result<Account, Trouble> {
    Account::load(transaction, session_id)?.ok_or_else(|| unknown(session_id).into())
}
