//! Files that a process may have open when their folder becomes a git directory. They are replaced by copies: what the process
//! writes later goes to a file that has no name any more.

use std::{
    io::{Read as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::fs::{MetadataExt as _, fchown},
    },
    path::Path,
};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

use super::guard::Content;

/// The files of a git directory that decide what git does, and how their content is judged.
const DECIDING: &[(&str, Content)] =
    &[("config", Content::Config), ("config.worktree", Content::Config), ("index", Content::Index)];

/// Puts copies of harmless files in the place of those that somebody may still have open. `at` is where the folder is. Fails if
/// one is not harmless: it is judged by the very bytes that are copied.
pub(super) fn detach(folder: &OwnedFd, at: &Path) -> std::io::Result<()> {
    for (name, content) in DECIDING {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(folder, *name, flags, Mode::empty()) {
            Ok(file) => std::fs::File::from(file),
            Err(rustix::io::Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        let found = file.metadata()?;
        let mut bytes = Vec::new();
        file.take(content.most_bytes() as u64 + 1).read_to_end(&mut bytes)?;
        let is_harmless = bytes.len() <= content.most_bytes() && content.is_harmless(&at.join(name), b"", &bytes);
        if !found.is_file() || !is_harmless {
            return Err(std::io::Error::other("it would make git start a program"));
        }
        let copy = format!(".vertebra-{}-{name}", std::process::id());
        let written = (|| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(found.mode() & 0o777);
            let mut file = std::fs::File::from(openat(folder, &*copy, flags, mode)?);
            file.write_all(&bytes)?;
            let owned = file.metadata()?;
            if (owned.uid(), owned.gid()) != (found.uid(), found.gid()) {
                fchown(&file, Some(found.uid()), Some(found.gid()))?;
            }
            rustix::fs::fchmod(&file, mode)?;
            file.set_modified(found.modified()?)?;
            Ok(renameat(folder, &*copy, folder, *name)?)
        })();
        if written.is_err() {
            _ = unlinkat(folder, &*copy, AtFlags::empty());
            return written;
        }
    }
    Ok(())
}
