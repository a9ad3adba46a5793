//! The journal in a file: SQLite, one writer per handle, as many readers as there are questions.

mod account;
mod desk;
mod fault;
mod inbox;
mod lease;
mod read;
mod retention;
mod schema;
mod sessions;
mod writer;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use vertebra::{Entry, Journal, JournalError, JournalFault};

use self::{desk::Desk, fault::damaged, lease::Holders, read::Readers, writer::Writer};
pub use self::{
    inbox::{Inbox, Question},
    read::Lines,
    retention::{Pruned, Retention},
    sessions::{SessionRow, Status, Wanted},
};

/// What must not make a difference to a line that is said to last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sync {
    /// A power cut: a line is on the disk when it is acknowledged.
    #[default]
    Power,
    /// The death of the process, however it dies. A power cut may take the last moments; it leaves no half of them.
    Process,
}

/// How a journal is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// When a line is safe.
    pub sync: Sync,
    /// Whether sessions that begin here are [chained](crate::Verified). A session that began with a chain keeps it, whoever
    /// goes on with it.
    pub chain: bool,
}

/// A journal in a file. A clone is the same handle; another handle, in this process or another, is another `open`.
///
/// Dropping the last clone waits until all that was given to it is written, and lets its sessions go.
///
/// Besides the futures of [`Journal`], all methods block for as long as the disk takes.
#[derive(Clone)]
pub struct Store {
    parts: Arc<Parts>,
}

struct Parts {
    path: Arc<Path>,
    readers: Readers,
    holders: Holders,
    /// Nobody writes through a handle that only reads.
    writer: Option<Writer>,
}

impl Store {
    /// Opens a journal, and makes it if it is not there: a file that only its owner reads.
    ///
    /// Cheap whatever the journal holds: damage is told where it is met, and by [`check`](Self::check).
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Self, JournalError> {
        let path: Arc<Path> = path.as_ref().into();
        let writer = Writer::start(&path, *options).map_err(|trouble| trouble.at(&path))?;
        Self::with(path, Some(writer))
    }

    /// Opens a journal that is there, and changes nothing. Nothing can be recorded with such a handle.
    pub fn read_only(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path: Arc<Path> = path.as_ref().into();
        if !path.exists() {
            return Err(JournalError::new(JournalFault::Failed, format!("{}: there is no such file", path.display())));
        }
        Self::with(path, None)
    }

    fn with(path: Arc<Path>, writer: Option<Writer>) -> Result<Self, JournalError> {
        let readers = Readers::of(&path);
        // What is wrong with the file is told now.
        drop(readers.take().map_err(|trouble| trouble.at(&path))?);
        let holders = Holders::of(&path);
        Ok(Self { parts: Arc::new(Parts { path, readers, holders, writer }) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.parts.path
    }

    /// Looks at every page of the file, and says what is wrong with it. Takes longer the more there is.
    pub fn check(&self) -> Result<(), JournalError> {
        self.read(|connection| {
            let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            if found == "ok" {
                return Ok(());
            }
            let message = damaged(&self.path().display().to_string(), &found);
            Err(JournalError::new(JournalFault::Corrupt, message).into())
        })
    }

    /// Takes a session away from whoever runs it, and says who that was. They cannot record another line, and so do
    /// nothing more; what they are in the middle of, nobody knows. Afterwards anybody may claim it.
    pub fn take_over(&self, session_id: &str) -> Result<Option<String>, JournalError> {
        let session_id: Arc<str> = session_id.into();
        self.write(move |desk| desk.take_over(&session_id))
    }

    /// Reads, on a connection of its own.
    fn read<T>(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> Result<T, fault::Trouble>,
    ) -> Result<T, JournalError> {
        let taken = self.parts.readers.take();
        taken.and_then(|connection| read(&connection)).map_err(|trouble| trouble.at(self.path()))
    }

    /// Has something done by the writer, behind all lines it was given before.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Desk) -> Result<T, fault::Trouble> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (answer, done) = std::sync::mpsc::sync_channel(1);
        self.writer()?.queue(move |desk| drop(answer.send(work(desk).map_err(|trouble| desk.fault(trouble)))))?;
        done.recv().unwrap_or_else(|_| Err(writer::stopped()))
    }

    /// The same for those who must not block.
    async fn write_later<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Desk) -> Result<T, fault::Trouble> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (answer, done) = tokio::sync::oneshot::channel();
        self.writer()?.queue(move |desk| drop(answer.send(work(desk).map_err(|trouble| desk.fault(trouble)))))?;
        done.await.unwrap_or_else(|_| Err(writer::stopped()))
    }

    fn writer(&self) -> Result<&Writer, JournalError> {
        self.parts.writer.as_ref().ok_or_else(|| {
            let message = format!("{} was opened for reading only", self.path().display());
            JournalError::new(JournalFault::ReadOnly, message)
        })
    }
}

impl Journal for Store {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        self.writer()?.append(entry).await
    }

    async fn claim(&self, session_id: &str) -> Result<Vec<Entry>, JournalError> {
        let claimed: Arc<str> = session_id.into();
        self.write_later(move |desk| desk.claim(&claimed)).await?;
        // Nobody else writes to it now, so its lines need not be read by the writer, for whom others wait.
        let (store, wanted) = (self.clone(), session_id.to_owned());
        let read = move || store.lines_to_resume(&wanted)?.collect();
        let lines = tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
            Err(JournalError::new(JournalFault::Failed, format!("reading `{session_id}` did not end: {error}")))
        });
        if lines.is_err() {
            let _ = self.release(session_id).await;
        }
        lines
    }

    async fn release(&self, session_id: &str) -> Result<(), JournalError> {
        let session_id: Arc<str> = session_id.into();
        self.write_later(move |desk| desk.release(&session_id)).await
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.parts.path).finish_non_exhaustive()
    }
}

/// A file beside the journal, named after it.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
