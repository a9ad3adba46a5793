//! Adds to a settings file without changing what it already contains.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use anyhow::{Context as _, bail};

/// Returns the text of a file; a missing file is empty.
pub(super) fn text_of(path: &Path) -> anyhow::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Appends a block to a text.
pub(super) fn with_block(text: &str, block: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() { block.to_owned() } else { format!("{text}\n\n{block}") }
}

/// Replaces a file atomically and keeps its permissions.
pub(crate) fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let mode = fs::metadata(path).map_or(0o644, |about| about.permissions().mode());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    let write = || {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
        file.persist(path)?;
        Ok::<_, std::io::Error>(())
    };
    write().with_context(|| path.display().to_string())
}

/// Creates a file; fails if it exists.
pub(super) fn create(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    if path.symlink_metadata().is_ok() {
        bail!("{} already exists: choose another name", path.display());
    }
    replace(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).with_context(|| path.display().to_string())
}
