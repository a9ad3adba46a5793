//! A change to one file.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::InstallError;

/// A change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// Its current content; `None` if the file does not exist.
    pub before: Option<String>,
    /// Its content without our entries; `None` if the file would not exist without them.
    pub own: Option<String>,
    /// Its new content; `None` to delete the file.
    pub after: Option<String>,
    /// Whether the file must be executable.
    pub executable: bool,
}

impl Edit {
    /// Checks that the change is possible.
    pub(super) fn check(&self) -> Result<(), InstallError> {
        let folder = self.path.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
        let about = fs::metadata(folder).map_err(|error| self.io(error))?;
        if !about.is_dir() {
            return Err(
                self.io(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is not a folder", folder.display())))
            );
        }
        // Try the permissions by creating a file in the same way as the change will.
        tempfile::Builder::new().prefix(".vertebra-").tempfile_in(folder).map_err(|error| self.io(error))?;
        Ok(())
    }

    /// Applies the change atomically.
    pub(super) fn apply(&self) -> Result<(), InstallError> {
        let Some(after) = &self.after else {
            fs::remove_file(&self.path).map_err(|error| self.io(error))?;
            return Ok(());
        };
        let write = || {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let mut file = tempfile::Builder::new().prefix(".vertebra-").tempfile_in(folder)?;
            file.write_all(after.as_bytes())?;
            let mode = match fs::metadata(&self.path) {
                Ok(about) => about.permissions().mode(),
                Err(_) => 0o644,
            };
            let mode = if self.executable { mode | 0o111 } else { mode };
            file.as_file().set_permissions(fs::Permissions::from_mode(mode & 0o7777))?;
            file.as_file().sync_all()?;
            // Another program may have written the file since it was read.
            let now = fs::read(&self.path).ok();
            if now.as_deref() != self.before.as_deref().map(str::as_bytes) {
                return Err(io::Error::other("another program changed it at the same time; try again"));
            }
            file.persist(&self.path)?;
            Ok(())
        };
        write().map_err(|error| self.io(error))
    }

    pub(super) fn io(&self, source: io::Error) -> InstallError {
        InstallError::Io { path: self.path.clone(), source }
    }
}
