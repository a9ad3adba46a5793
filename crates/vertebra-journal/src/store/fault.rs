//! What a failure of SQLite means for whoever keeps a journal in that file, and what they can do about it.

use std::{io, path::Path};

use rusqlite::ErrorCode;
use vertebra::{JournalError, JournalFault};

/// Something went wrong inside: with SQLite, with a file, or with what was asked.
#[derive(Debug)]
pub(crate) enum Trouble {
    Sqlite(rusqlite::Error),
    File(io::Error),
    Refused(JournalError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<JournalError> for Trouble {
    fn from(error: JournalError) -> Self {
        Self::Refused(error)
    }
}

impl Trouble {
    /// Whether another process was writing for longer than anybody waits.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy))
    }

    /// As the user of this journal reads it.
    pub(crate) fn at(self, path: &Path) -> JournalError {
        let (kind, cause) = match self {
            Self::Refused(error) => return error,
            Self::File(error) => (of_file(&error), error.to_string()),
            Self::Sqlite(error) => (of_sqlite(&error), error.to_string()),
        };
        let path = path.display();
        let message = match kind {
            JournalFault::Full => format!("{path}: {cause}. What was acknowledged is safe; make room and go on"),
            JournalFault::ReadOnly => format!("{path}: {cause}. The file and its folder must be writable"),
            JournalFault::Corrupt => damaged(&path.to_string(), &cause),
            _ => format!("{path}: {cause}"),
        };
        JournalError::new(kind, message)
    }
}

/// Words for damage: what it is, that it was not made worse, what helps.
pub(crate) fn damaged(what: &str, cause: &str) -> String {
    format!(
        "{what}: {cause}. Nothing was overwritten: keep a copy of the file, save what can be read with \
         `vertebra sessions export`, and put a backup in its place"
    )
}

pub(super) fn unknown(session_id: &str) -> JournalError {
    JournalError::new(JournalFault::Unknown, format!("`{session_id}`"))
}

fn of_file(error: &io::Error) -> JournalFault {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => JournalFault::Full,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => JournalFault::ReadOnly,
        _ => JournalFault::Failed,
    }
}

fn of_sqlite(error: &rusqlite::Error) -> JournalFault {
    match error {
        rusqlite::Error::SqliteFailure(cause, _) => match cause.code {
            ErrorCode::DiskFull => JournalFault::Full,
            // The index of the write-ahead log could not grow.
            ErrorCode::SystemIoFailure if cause.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => {
                JournalFault::Full
            }
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => JournalFault::ReadOnly,
            // Numbers of lines are given out under a lock: one that is taken was not written by a journal.
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation => {
                JournalFault::Corrupt
            }
            _ => JournalFault::Failed,
        },
        // A column holds what no journal writes into it.
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::InvalidColumnType(..) => JournalFault::Corrupt,
        _ => JournalFault::Failed,
    }
}
