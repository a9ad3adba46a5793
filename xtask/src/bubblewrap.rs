//! Bubblewrap for the tests of the sandbox: the one on the `PATH`, or the Debian package, unpacked beside the build products
//! so that nobody has to be the superuser.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::stage::{Stage, answers};

/// The tests that need it.
pub(crate) const TESTS: &str = "bash::bubblewrap::";

/// Makes sure that there is one, if that can be; why it cannot, if not. The tests look in the same two places.
pub(crate) fn get(tools: &Path) -> Result<(), &'static str> {
    let folder = tools.join("bubblewrap");
    if answers("bwrap --version") || is_unpacked(&folder) {
        return Ok(());
    }
    if !(answers("apt-get --version") && answers("dpkg --version")) {
        return Err("bash::bubblewrap::*: no `bwrap` on the PATH, and no apt-get to get it with");
    }
    let not_got = "bash::bubblewrap::*: no `bwrap` on the PATH, and the package cannot be had; install `bubblewrap`";
    fs::create_dir_all(&folder).map_err(|_| not_got)?;
    let download = Stage::new("get bubblewrap", "apt-get download bubblewrap").within(&folder);
    // A fresh image has no lists of packages; only the superuser can get them.
    let got = download.passes() || (Stage::new("package lists", "apt-get update").passes() && download.passes());
    let package = package_in(&folder).filter(|_| got).ok_or(not_got)?;
    let unpacked = Stage::new("unpack bubblewrap", "dpkg -x").arg(package).arg(&folder).passes();
    if unpacked && is_unpacked(&folder) { Ok(()) } else { Err(not_got) }
}

fn is_unpacked(folder: &Path) -> bool {
    Stage::program("probe", folder.join("usr/bin/bwrap")).arg("--version").answers()
}

fn package_in(folder: &Path) -> Option<PathBuf> {
    let mut files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.find(|path| path.extension().is_some_and(|extension| extension == "deb"))
}
