//! Programs of others: found, started in a group of their own, and ended together with all that they started.

mod attend;
mod known;
mod resident;
mod tree;

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

pub use self::{
    attend::{Ending, attend},
    resident::{Resident, Said},
    tree::Tree,
};

pub(crate) use self::known::{NotSent, Process, signal_below, with_variable};
#[cfg(target_os = "linux")]
pub(crate) use self::tree::descendants;

/// Where programs are when nobody has set a `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// All programs of this name on a `PATH`, the one that counts first. Whoever starts one by its full path spares a fork.
pub fn on_path(name: &str, path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    let path = path.map_or_else(|| USUAL_PATH.into(), OsString::from);
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let programs: Vec<PathBuf> = folders.map(|folder| folder.join(name)).collect();
    programs
        .into_iter()
        .filter(|program| program.is_file() && rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok())
}
