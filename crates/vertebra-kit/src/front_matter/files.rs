//! Files of other people's folders: bounded, regular, text.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

/// How long a file may be. What it says must fit into what a model reads of one tool's result.
const MAX_FILE_BYTES: usize = 64 * 1024;
/// How many entries of a folder are looked at.
const MAX_ENTRIES: usize = 1000;

/// A file, or one thing in it, that is not used: where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", path.display())]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(path: &Path, line: u64, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// The text of a regular file of a bounded size. Links are not followed: they lead out of the folder that was named.
pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    let broken = |message: String| Problem::new(path, 1, message);
    let unreadable = |error: std::io::Error| broken(format!("cannot be read: {error}"));
    if !fs::symlink_metadata(path).map_err(unreadable)?.is_file() {
        return Err(broken("is not a regular file; links are not followed".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(broken(format!("is longer than {MAX_FILE_BYTES} bytes; move parts of it into files beside it")));
    }
    String::from_utf8(bytes).map_err(|error| broken(format!("is not UTF-8: {error}")))
}

/// The entries of a folder, by name, and what is wrong with it. A folder that is not there has none.
pub(crate) fn entries(folder: &Path) -> (Vec<PathBuf>, Option<Problem>) {
    let mut listed = match fs::read_dir(folder) {
        Ok(listed) => listed.filter_map(|entry| Some(entry.ok()?.path())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (Vec::new(), None),
        Err(error) => return (Vec::new(), Some(Problem::new(folder, 1, format!("cannot be listed: {error}")))),
    };
    let mut paths: Vec<PathBuf> = listed.by_ref().take(MAX_ENTRIES).collect();
    paths.sort();
    let too_many =
        || Problem::new(folder, 1, format!("has more than {MAX_ENTRIES} entries; the others are not looked at"));
    (paths, listed.next().map(|_| too_many()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_text_too_long_or_elsewhere_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("long"), "x".repeat(MAX_FILE_BYTES + 1)).expect("written");
        fs::write(path("bytes"), [0xff, 0xfe]).expect("written");
        fs::write(path("fine"), "x".repeat(MAX_FILE_BYTES)).expect("written");
        let message = |name: &str| read(&path(name)).expect_err("not read").message;
        assert!(message("long").contains("longer than 65536 bytes"));
        assert!(message("bytes").contains("not UTF-8"));
        assert!(message("missing").contains("cannot be read"));
        assert_eq!(read(&path("fine")).expect("text").len(), MAX_FILE_BYTES);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("fine"), path("link")).expect("a link");
            assert!(message("link").contains("links are not followed"));
        }
    }

    #[test]
    fn a_folder_too_full_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let fill = |numbers: std::ops::Range<usize>| {
            numbers.for_each(|number| fs::write(folder.path().join(number.to_string()), "").expect("written"));
        };
        fill(0..MAX_ENTRIES);
        assert!(matches!(entries(folder.path()), (paths, None) if paths.len() == MAX_ENTRIES));
        fill(MAX_ENTRIES..MAX_ENTRIES + 1);
        assert!(matches!(entries(folder.path()), (paths, Some(_)) if paths.len() == MAX_ENTRIES));
        let (none, problem) = entries(&folder.path().join("0"));
        assert!(none.is_empty() && problem.is_some_and(|problem| problem.message.contains("cannot be listed")));
        assert_eq!(entries(&folder.path().join("missing")), (Vec::new(), None));
    }
}
