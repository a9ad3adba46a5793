//! The tables, their versions, and how a file becomes a journal.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use vertebra::{JournalError, JournalFault};

use super::{
    Sync,
    fault::{Trouble, damaged},
};
use crate::chain::hex;

/// Tells a journal from other SQLite files: "Vrtb".
const APPLICATION: i32 = 0x5672_7462;

/// How long to wait for another process that writes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How much of the write-ahead log stays on disk when it is no longer needed.
const LOG_LEFT: u32 = 16 << 20;

/// Each makes the next version of the one before it, and never changes once it has been released.
const VERSIONS: [&str; 1] = [
    // `body` is the line, as it is exported and hashed. What is in it has no column of its own that could disagree with
    // it; whoever reads by hand finds it in the view.
    // `latest` is the row of a session's latest line: rows grow, whatever the clock says, and order sessions.
    // `whole` is the line from which on a resume reads.
    "CREATE TABLE sessions (
         id INTEGER PRIMARY KEY,
         session_id TEXT NOT NULL UNIQUE,
         agent TEXT NOT NULL,
         folder TEXT NOT NULL,
         provider TEXT NOT NULL,
         model TEXT NOT NULL,
         forked_from TEXT,
         prompt TEXT,
         began INTEGER NOT NULL,
         touched INTEGER NOT NULL,
         runs INTEGER NOT NULL DEFAULT 0,
         steps INTEGER NOT NULL DEFAULT 0,
         tool_calls INTEGER NOT NULL DEFAULT 0,
         usage TEXT NOT NULL DEFAULT '{}',
         state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'suspended', 'ended')),
         lines INTEGER NOT NULL DEFAULT 0,
         bytes INTEGER NOT NULL DEFAULT 0,
         latest INTEGER NOT NULL DEFAULT 0,
         whole INTEGER NOT NULL DEFAULT 1,
         epoch INTEGER NOT NULL,
         holder TEXT,
         head BLOB
     ) STRICT;
     CREATE INDEX sessions_by_latest ON sessions (latest);
     CREATE INDEX sessions_by_holder ON sessions (holder) WHERE holder IS NOT NULL;

     CREATE TABLE lines (
         id INTEGER PRIMARY KEY,
         session INTEGER NOT NULL REFERENCES sessions,
         number INTEGER NOT NULL,
         body TEXT NOT NULL,
         hash BLOB,
         UNIQUE (session, number)
     ) STRICT;
     CREATE VIEW told AS
         SELECT session_id, number, body ->> '$.run_id' AS run_id, body ->> '$.timestamp' AS timestamp,
                body ->> '$.entry' AS entry, body
         FROM lines JOIN sessions ON sessions.id = lines.session;

     CREATE TABLE questions (
         session INTEGER NOT NULL REFERENCES sessions,
         call_id TEXT NOT NULL,
         run_id TEXT NOT NULL,
         digest TEXT NOT NULL,
         until INTEGER NOT NULL,
         line INTEGER NOT NULL,
         answer TEXT,
         PRIMARY KEY (session, call_id, run_id)
     ) STRICT, WITHOUT ROWID;",
];

/// What a file is.
enum Kind {
    Empty,
    Journal { version: usize },
}

/// Opens the file for its one writer, if it is a journal or becomes one. Changes nothing.
pub(super) fn for_writing(path: &Path) -> Result<Connection, Trouble> {
    // SQLite would open a file that it cannot write for reading.
    OpenOptions::new().write(true).open(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    match kind(&connection, path) {
        Ok(_) => Ok(connection),
        Err(error) if cannot_share(&error) => Err(io::Error::from(io::ErrorKind::PermissionDenied).into()),
        Err(error) => Err(error),
    }
}

/// Makes the file a journal if it is new, and brings it to this version. The caller holds the lock under which journals
/// are opened.
pub(super) fn prepare(connection: &mut Connection, path: &Path, sync: Sync) -> Result<(), Trouble> {
    if let Kind::Empty = kind(connection, path)? {
        // Has to come before the first table. What is deleted later is given back to the disk in small steps.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        let message = format!("{}: no write-ahead log is possible there; take a local disk", path.display());
        return Err(JournalError::new(JournalFault::Failed, message).into());
    }
    connection.pragma_update(None, "journal_size_limit", LOG_LEFT)?;
    match sync {
        Sync::Power => {
            connection.pragma_update(None, "synchronous", "FULL")?;
            // Some systems only hand data to the drive unless told twice.
            connection.pragma_update(None, "fullfsync", true)?;
        }
        Sync::Process => connection.pragma_update(None, "synchronous", "NORMAL")?,
    }
    migrate(connection)
}

/// Opens the file for reading only.
pub(super) fn for_reading(path: &Path) -> Result<Connection, Trouble> {
    let connection = match connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(identified) {
        Ok(connection) => connection,
        // A reader shares an index with writers, in a file beside the journal. In a folder where that cannot be made,
        // there is no writer either, and what is in the journal itself stands still.
        Err(error) if cannot_share(&error) && nothing_pending(path) => {
            identified(connect(&frozen(path)?, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?)?
        }
        Err(error) => return Err(error),
    };
    match kind(&connection, path)? {
        Kind::Journal { version } if version == VERSIONS.len() => {}
        Kind::Journal { version } => {
            let message = format!("{}: its format is {version}, an old one; write to it once", path.display());
            return Err(JournalError::new(JournalFault::Failed, message).into());
        }
        Kind::Empty => {
            let message = format!("{}: the file is empty", path.display());
            return Err(JournalError::new(JournalFault::Failed, message).into());
        }
    }
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Makes the file, for its owner alone, if it is not there; and the folder it is in.
pub(super) fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    private(&mut options);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a folder for its owner alone. One that is there stays as it is.
pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes or opens a file that only its owner reads and writes.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).read(true).write(true).truncate(false);
    private(&mut options);
    options.open(path)
}

fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Trouble> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(32);
    // Damage is told when a page is looked at, not when it has led somewhere.
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn kind(connection: &Connection, path: &Path) -> Result<Kind, Trouble> {
    let (application, version, tables) = connection.query_row(
        "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
                (SELECT count(*) FROM sqlite_schema)",
        [],
        |row| Ok((row.get::<_, i32>(0)?, row.get::<_, i32>(1)?, row.get::<_, i64>(2)?)),
    )?;
    let page: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    if nothing_pending(path) && fs::metadata(path)?.len() % page != 0 {
        let message = damaged(&path.display().to_string(), "its end is cut off");
        return Err(JournalError::new(JournalFault::Corrupt, message).into());
    }
    let refuse =
        |why: String| Err(JournalError::new(JournalFault::Failed, format!("{}: {why}", path.display())).into());
    match usize::try_from(version) {
        _ if (application, version, tables) == (0, 0, 0) => Ok(Kind::Empty),
        _ if application != APPLICATION => refuse("a SQLite file of another program, and not a journal".to_owned()),
        Ok(version) if version <= VERSIONS.len() => Ok(Kind::Journal { version }),
        _ => refuse(format!(
            "written by a newer Vertebra: its format is {version}, and this one knows up to {}; update, and try again",
            VERSIONS.len(),
        )),
    }
}

fn identified(connection: Connection) -> Result<Connection, Trouble> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn migrate(connection: &mut Connection) -> Result<(), Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: usize = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (index, step) in VERSIONS.iter().enumerate().skip(version) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", index + 1)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    Ok(transaction.commit()?)
}

fn cannot_share(error: &Trouble) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error, Trouble::Sqlite(error) if matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly)))
}

/// Whether there is no log beside the journal that would have to be read with it.
fn nothing_pending(path: &Path) -> bool {
    path.is_file() && fs::metadata(super::beside(path, "-wal")).map_or(true, |log| log.len() == 0)
}

/// The address of a file that nobody changes.
fn frozen(path: &Path) -> io::Result<std::path::PathBuf> {
    let path = std::path::absolute(path)?;
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => address.push(char::from(*byte)),
            _ => address.extend(["%", &hex(&[*byte])]),
        }
    }
    Ok(format!("{address}?immutable=1").into())
}
