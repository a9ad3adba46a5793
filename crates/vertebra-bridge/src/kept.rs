//! What is kept on disk for its owner alone: replaced in one stroke, so that nobody ever reads half of it.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use serde::Serialize;

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
