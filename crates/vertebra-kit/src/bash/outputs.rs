//! The whole output of commands, in files that the model and people can open.
//!
//! Each session has a folder of its own, which nobody else can enter and commands cannot write. An output that is shown whole
//! needs no file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::capture::{Stream, line_ends};

/// How much of one output is kept.
const OUTPUT_BYTES: u64 = 64 << 20;

/// How much is kept for a session. Beyond that the oldest goes.
const SESSION_BYTES: u64 = 256 << 20;

/// How many outputs are kept for a session.
const SESSION_FILES: usize = 1000;

/// How much of a line is held back until it ends, so that the other stream does not print into it.
const LINE_BYTES: usize = 64 << 10;

/// How the names of the files end.
const ENDING: &str = ".txt";

/// Where the whole output of commands is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outputs {
    /// The folder, in which each session has its own. Commands must not be able to write it.
    pub folder: PathBuf,
    /// Whether a session's outputs stay when it ends. Whoever keeps the session keeps them, and whoever deletes it deletes
    /// them: see [`folder_of`](Self::folder_of).
    pub keep: bool,
}

impl Outputs {
    /// Outputs in this folder, which stay.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), keep: true }
    }

    /// The folder of a session.
    pub fn folder_of(&self, session: &str) -> PathBuf {
        self.folder.join(folder_name(session))
    }

    /// The folder of a session, made if it is not there.
    pub(super) fn open(&self, session: &str) -> io::Result<PathBuf> {
        let folder = self.folder_of(session);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// Deletes the outputs of a session.
    pub fn forget(&self, session: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.folder_of(session)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// The name of a session's folder: nothing that leads elsewhere.
pub(crate) fn folder_name(session: &str) -> String {
    let safe = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    session.chars().map(safe).collect()
}

/// Writes down all that a command prints, once that is more than is shown anyway. Lines of the two streams stay whole.
pub(super) struct Recorder {
    place: Option<PathBuf>,
    /// So much is shown.
    shown: usize,
    /// What each stream has printed of a line that has not ended.
    begun: [Vec<u8>; 2],
    pending: Vec<u8>,
    file: Option<(File, PathBuf)>,
    written: u64,
    total: u64,
    lines: u64,
    /// Whether the last line has not ended.
    is_open: bool,
    failure: Option<String>,
}

/// What there is of an output.
pub(super) struct Record {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) file: Option<PathBuf>,
    /// What a model has to know of it.
    pub(super) remark: Option<String>,
}

impl Recorder {
    /// Records in the folder of a session, if there is one. So many bytes are shown anyway.
    pub(super) fn new(place: Option<PathBuf>, shown: usize) -> Self {
        let (begun, pending, file, failure) = (<[Vec<u8>; 2]>::default(), Vec::new(), None, None);
        Self { place, shown, begun, pending, file, written: 0, total: 0, lines: 0, is_open: false, failure }
    }

    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.lines += line_ends(bytes);
        let begun = &mut self.begun[stream as usize];
        begun.extend_from_slice(bytes);
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| begun.len() - bytes.len() + at + 1);
        let Some(end) = end.or((begun.len() > LINE_BYTES).then_some(begun.len())) else { return };
        let rest = begun.split_off(end);
        let whole = std::mem::replace(begun, rest);
        self.keep(&whole);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.is_open = *last != b'\n';
        if self.place.is_none() || self.failure.is_some() {
            return;
        }
        self.pending.extend_from_slice(bytes);
        if self.file.is_some() || self.pending.len() > self.shown {
            self.write();
        }
    }

    fn write(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let room = usize::try_from(OUTPUT_BYTES - self.written).unwrap_or(usize::MAX);
        let pending = &pending[..pending.len().min(room)];
        let written = match (&mut self.file, &self.place) {
            (Some((file, _)), _) => file.write_all(pending),
            (None, Some(place)) => create(place).and_then(|(mut file, path)| {
                let written = file.write_all(pending);
                self.file = Some((file, path));
                written
            }),
            (None, None) => Ok(()),
        };
        match written {
            Ok(()) => self.written += pending.len() as u64,
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    /// What there is so far, with lines that have not ended.
    pub(super) fn record(&mut self) -> Record {
        for begun in std::mem::take(&mut self.begun) {
            self.keep(&begun);
        }
        let (bytes, lines) = (self.total, self.lines + u64::from(self.is_open));
        let file = self.file.as_ref().map(|(_, path)| path.clone());
        let remark = file.as_ref().map(|path| {
            let path = path.display();
            match &self.failure {
                None if self.written == bytes => {
                    format!("the whole output, {bytes} bytes in {lines} lines, is in {path}")
                }
                None => format!("the first {} of {bytes} bytes of the output are in {path}", self.written),
                Some(error) => {
                    format!("the first {} of {bytes} bytes of the output are in {path}: {error}", self.written)
                }
            }
        });
        let nowhere = || self.failure.as_ref().map(|error| format!("the whole output could not be kept: {error}"));
        Record { bytes, lines, file, remark: remark.or_else(nowhere) }
    }
}

/// A new file, under the next number that is free.
fn create(place: &Path) -> io::Result<(File, PathBuf)> {
    let mut kept = kept(place)?;
    let mut next = kept.last().map_or(1, |(number, ..)| number + 1);
    let mut total: u64 = kept.iter().map(|(_, _, bytes)| bytes).sum();
    while !kept.is_empty() && (total > SESSION_BYTES - OUTPUT_BYTES || kept.len() >= SESSION_FILES) {
        let (_, oldest, bytes) = kept.remove(0);
        fs::remove_file(oldest)?;
        total -= bytes;
    }
    loop {
        let path = place.join(format!("output-{next}{ENDING}"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            // Another call of this session was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => next += 1,
            opened => return Ok((opened?, path)),
        }
    }
}

/// The files that are there, oldest first, with their numbers and sizes.
fn kept(place: &Path) -> io::Result<Vec<(u64, PathBuf, u64)>> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(place)?.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("output-")?.strip_suffix(ENDING)?.parse().ok());
        if let (Some(number), Ok(found)) = (number, entry.metadata()) {
            kept.push((number, entry.path(), found.len()));
        }
    }
    kept.sort_unstable();
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(place: &Path, text: &[u8]) -> Record {
        let mut recorder = Recorder::new(Some(place.to_owned()), 100);
        text.chunks(64 * 1024).for_each(|piece| recorder.push(Stream::Stdout, piece));
        recorder.record()
    }

    #[test]
    fn one_stream_never_prints_into_a_line_of_the_other() {
        let place = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::new(Some(place.path().to_owned()), 10);
        for (stream, piece) in [
            (Stream::Stdout, "collected 3 "),
            (Stream::Stderr, "warning: x\nwarning"),
            (Stream::Stdout, "items\n.."),
            (Stream::Stderr, ": y\n"),
            (Stream::Stdout, "."),
        ] {
            recorder.push(stream, piece.as_bytes());
        }
        let Record { bytes, lines, file, .. } = recorder.record();
        let text = fs::read_to_string(file.expect("a file")).expect("a text");
        assert_eq!(text, "warning: x\ncollected 3 items\nwarning: y\n...");
        assert_eq!((bytes, lines), (text.len() as u64, 4));
        let mut endless = Recorder::new(Some(place.path().to_owned()), 10);
        endless.push(Stream::Stdout, &vec![b'.'; LINE_BYTES + 1]);
        assert_eq!(endless.begun[0].len(), 0, "what is held back has a bound");
    }

    #[test]
    fn only_what_is_not_shown_whole_goes_to_a_file_and_is_counted() {
        let place = tempfile::tempdir().expect("a folder");
        let short = recorded(place.path(), b"one\ntwo");
        assert_eq!((short.bytes, short.lines, short.file.is_none(), short.remark), (7, 2, true, None));
        let long = "0123456789\n".repeat(1000);
        let record = recorded(place.path(), long.as_bytes());
        let file = record.file.expect("a file");
        assert_eq!(fs::read_to_string(&file).expect("a text"), long);
        let expected = format!("the whole output, 11000 bytes in 1000 lines, is in {}", file.display());
        assert_eq!(record.remark, Some(expected));
        let next = recorded(place.path(), long.as_bytes()).file.expect("a file");
        assert_ne!(file, next);
    }

    #[test]
    fn a_file_has_a_bound_and_the_remark_is_true() {
        let place = tempfile::tempdir().expect("a folder");
        let much = vec![b'x'; usize::try_from(OUTPUT_BYTES).expect("a size") + 10];
        let record = recorded(place.path(), &much);
        let file = record.file.expect("a file");
        assert_eq!(fs::metadata(&file).expect("a file").len(), OUTPUT_BYTES);
        let bytes = OUTPUT_BYTES + 10;
        let expected = format!("the first {OUTPUT_BYTES} of {bytes} bytes of the output are in {}", file.display());
        assert_eq!(record.remark, Some(expected));
    }

    #[test]
    fn the_oldest_goes_when_a_session_has_too_much() {
        let place = tempfile::tempdir().expect("a folder");
        for number in 1..=4 {
            let file = File::create(place.path().join(format!("output-{number}.txt"))).expect("a file");
            file.set_len(OUTPUT_BYTES).expect("a size");
        }
        recorded(place.path(), &[b'x'; 1000]);
        let numbers: Vec<u64> = kept(place.path()).expect("a list").iter().map(|(number, ..)| *number).collect();
        assert_eq!(numbers, [2, 3, 4, 5]);
    }

    #[test]
    fn the_name_of_a_session_leads_nowhere_else() {
        let outputs = Outputs::in_folder("/state");
        assert_eq!(outputs.folder_of("../../etc"), Path::new("/state/______etc"));
    }
}
