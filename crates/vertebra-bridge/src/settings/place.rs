//! The places of settings files.

use std::path::{Path, PathBuf};

/// The file name, at every level.
pub const FILE_NAME: &str = "vertebra.toml";

/// The name of a person's own settings for one project. By custom it is not committed, but a repository may contain one.
pub const LOCAL_NAME: &str = "vertebra.local.toml";

/// The folder in which scripts of hooks belong, below the project's root.
pub const HOOKS_FOLDER: &str = ".vertebra/hooks";

/// The path of the managed file.
pub const MANAGED: &str = "/etc/vertebra/vertebra.toml";

/// How many parent folders are searched for the root of a repository.
const MAX_DEPTH: usize = 64;

/// Returns the root of the repository that contains a folder, or the folder itself outside a repository.
pub fn project_root(folder: &Path) -> &Path {
    let is_root = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    folder.ancestors().take(MAX_DEPTH).find(is_root).unwrap_or(folder)
}

/// Returns the nearest file of this name in the folder or above it, within its project. The search stops at the root of
/// the project, because anyone may put a file into `/tmp`.
pub fn project_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let root = project_root(folder);
    let inside = folder.ancestors().take_while(|above| above.starts_with(root));
    inside.map(|above| above.join(name)).find(|path| path.symlink_metadata().is_ok())
}
