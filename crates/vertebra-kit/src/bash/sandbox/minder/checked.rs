//! Files of git that are made only if their content is harmless: the command writes into a pipe, and once it has closed
//! it, the supervisor judges what came and makes the file. The mode of the pipe is that of the file: programs such as `mv`
//! set it while they write.

use std::{
    io::Write as _,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, fchmod, fstat, openat, unlinkat},
    io::{Errno, read},
    pipe::{PipeFlags, pipe_with},
};

use super::guard::Content;

/// A file that is being written.
pub(super) struct Checked {
    from: OwnedFd,
    folder: OwnedFd,
    path: PathBuf,
    content: Content,
    bytes: Vec<u8>,
}

/// How far such a file has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finished {
    NotYet,
    Made,
    Refused,
}

impl Checked {
    /// The end that the command writes to, and what waits for it.
    pub(super) fn begin(
        folder: OwnedFd,
        path: PathBuf,
        mode: Mode,
        content: Content,
    ) -> Result<(OwnedFd, Self), Errno> {
        let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&from, true)?;
        fchmod(&to, mode)?;
        Ok((to, Self { from, folder, path, content, bytes: Vec::new() }))
    }

    /// Where it is made.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads on. Once everything has come, the file is made or refused.
    pub(super) fn finish(&mut self) -> Finished {
        let mut buffer = [0; 16 * 1024];
        loop {
            match read(&self.from, &mut buffer) {
                Ok(0) => break,
                Ok(count) if self.bytes.len() + count <= self.content.most_bytes() => {
                    self.bytes.extend(&buffer[..count]);
                }
                Err(Errno::AGAIN) => return Finished::NotYet,
                Err(Errno::INTR) => {}
                // Too long, or broken: whoever writes on gets an error.
                Ok(_) | Err(_) => return Finished::Refused,
            }
        }
        if !self.content.is_harmless(&self.path, b"", &self.bytes) {
            return Finished::Refused;
        }
        // Nobody waits for an answer any more.
        _ = self.make();
        Finished::Made
    }

    fn make(&self) -> Result<(), std::io::Error> {
        let name = self.path.file_name().unwrap_or_default();
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // What git reads stays readable.
        let mode = Mode::from_raw_mode(fstat(&self.from)?.st_mode & 0o777 | 0o400);
        let file = openat(&self.folder, name, flags, mode)?;
        let mut file = std::fs::File::from(file);
        file.write_all(&self.bytes)?;
        Ok(fchmod(&file, mode)?)
    }
}

impl AsFd for Checked {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}
