//! Files of git that are made only if their content is harmless: the command writes into a pipe, and once it has closed
//! it, the supervisor judges what came and makes the file. The mode of the pipe is that of the file: programs such as `mv`
//! set it while they write.

use std::{
    io::Write as _,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, fchmod, fstat, linkat, openat, unlinkat},
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

    /// Makes the file at once with its whole content: another program must never read an empty one.
    fn make(&self) -> Result<(), std::io::Error> {
        let name = self.path.file_name().unwrap_or_default();
        // What git reads stays readable.
        let mode = Mode::from_raw_mode(fstat(&self.from)?.st_mode & 0o777 | 0o400);
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let unnamed = openat(&self.folder, ".", flags | OFlags::TMPFILE, mode);
        let remove = || match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        };
        let write = |file: OwnedFd| {
            let mut file = std::fs::File::from(file);
            file.write_all(&self.bytes)?;
            fchmod(&file, mode)?;
            Ok::<_, std::io::Error>(file)
        };
        if let Ok(file) = unnamed {
            let file = write(file)?;
            remove()?;
            let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD, unnamed, &self.folder, name, AtFlags::SYMLINK_FOLLOW)?;
        } else {
            // The file system has no files without a name.
            remove()?;
            let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            write(openat(&self.folder, name, flags, mode)?)?;
        }
        Ok(())
    }
}

impl AsFd for Checked {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        thread,
    };

    use super::*;

    #[test]
    fn a_reader_never_sees_a_part_of_the_file() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join(".git/worktrees/w");
        fs::create_dir_all(&folder).expect("a git directory");
        let path = folder.join("commondir");
        let reader = thread::spawn({
            let path = path.clone();
            move || loop {
                match fs::read_to_string(&path) {
                    Ok(text) if text == "stop" => break,
                    Ok(text) => assert_eq!(text, "../..\n"),
                    Err(_) => {}
                }
            }
        });
        for _ in 0..3000 {
            let open = OwnedFd::from(File::open(&folder).expect("the folder"));
            let begun = Checked::begin(open, path.clone(), Mode::from_raw_mode(0o644), Content::Link);
            let (to, mut checked) = begun.expect("a pipe");
            rustix::io::write(&to, b"../..\n").expect("it is written");
            drop(to);
            assert_eq!(checked.finish(), Finished::Made);
        }
        fs::remove_file(&path).expect("it was made");
        let stop = root.path().join("stop");
        fs::write(&stop, "stop").expect("a file");
        fs::rename(stop, &path).expect("it is moved");
        reader.join().expect("only whole files");
    }
}
