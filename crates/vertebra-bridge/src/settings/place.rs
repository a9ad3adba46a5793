//! Where settings stand.

use std::path::{Path, PathBuf};

/// What the file is called, at every level.
pub const FILE_NAME: &str = "vertebra.toml";

/// A person's own settings for one project, kept out of its repository by custom, which nobody can rely on.
pub const LOCAL_NAME: &str = "vertebra.local.toml";

/// The managed file.
pub const MANAGED: &str = "/etc/vertebra/vertebra.toml";

/// How far up a repository is looked for.
const MAX_DEPTH: usize = 64;

/// The root of the repository that a folder is in; without one, the folder itself.
pub fn project_root(folder: &Path) -> &Path {
    let is_root = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    folder.ancestors().take(MAX_DEPTH).find(is_root).unwrap_or(folder)
}

/// The nearest file of this name in the folder or above it, within its project. Nothing above the project is looked at:
/// anybody may put a file into `/tmp`.
pub fn project_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let root = project_root(folder);
    let inside = folder.ancestors().take_while(|above| above.starts_with(root));
    inside.map(|above| above.join(name)).find(|path| path.symlink_metadata().is_ok())
}
