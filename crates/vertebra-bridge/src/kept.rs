//! What is kept on disk: read only if it is a file, and replaced in one stroke, so that nobody ever reads half of it.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;
use serde::Serialize;

/// Opens a file, if there is one. What is no file may never end, or make whoever opens it wait, and who waits for an answer
/// to a call may take none for a yes.
pub(crate) fn open(path: &Path) -> io::Result<Option<fs::File>> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts this, as JSON, in place of a file.
pub(crate) fn keep(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Temporary files are for their owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, content)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
