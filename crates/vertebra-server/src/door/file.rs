//! Files that decide who comes in: nobody else may write them, and secrets nobody else may read.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// How many bytes such a file may have.
const MAX_BYTES: u64 = 1 << 20;

/// Who besides its owner may read a file. A group may be given a secret on purpose, as services are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrecy {
    /// Tokens, private keys.
    Secret,
    /// Certificates.
    Public,
}

impl Secrecy {
    /// What nobody may do with such a file.
    const fn forbidden(self) -> u32 {
        match self {
            Self::Secret => 0o027,
            Self::Public => 0o022,
        }
    }
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others may do too much with it.
    #[error("{shown}: others may {may} it: `chmod {wanted:o} {shown}`", shown = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What they may.
        may: &'static str,
        /// What its mode should be.
        wanted: u32,
    },
    /// It belongs to somebody else.
    #[error("{}: it belongs to user {owner}, who could change it: it has to be yours or root's", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// It is no file that could hold this.
    #[error("{}: this is not a file, or it has more than {MAX_BYTES} bytes", path.display())]
    Large {
        /// The file.
        path: PathBuf,
    },
}

/// Reads a file that nobody else can have written. The file that is looked at is the file that is read.
pub(crate) fn read_guarded(path: &Path, secrecy: Secrecy) -> Result<String, FileError> {
    let failed = |source| FileError::Io { path: path.to_owned(), source };
    // A pipe without a writer would be waited for without end.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(FileError::Large { path: path.to_owned() });
    }
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let owner = found.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(FileError::Foreign { path: path.to_owned(), owner });
    }
    let mode = found.mode() & 0o777;
    let open = mode & secrecy.forbidden();
    if open != 0 {
        let may = if open & 0o022 == 0 { "read" } else { "write" };
        return Err(FileError::Open { path: path.to_owned(), may, wanted: mode & !secrecy.forbidden() });
    }
    if found.len() > MAX_BYTES {
        return Err(FileError::Large { path: path.to_owned() });
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
