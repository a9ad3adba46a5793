//! Checks the scripts of a trusted project again right before each start.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{Project, hooks, scripts};
use crate::{
    handler::{Answered, Ask, BoxFuture, Handler},
    settings::RunSettings,
    shown,
    wire::{End, Exchange},
};

/// How large a script may be.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The scripts of a project as they were when it was trusted. Without a project there is nothing to check.
///
/// In a long session a script may change after the project was trusted and before its hook runs. Every file that a hook names
/// is therefore hashed again right before the hook starts. One gap remains: a process that changes the script between this
/// check and the moment when the interpreter reads it is not detected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seals {
    ground: Option<(PathBuf, PathBuf)>,
    prints: BTreeMap<PathBuf, String>,
}

impl Seals {
    /// Records the scripts of a project.
    pub fn new(project: &Project) -> Self {
        let scripts = project.of(super::Kind::Script);
        let prints = scripts.filter_map(|file| Some((project.root.join(&file.name), file.fingerprint.clone()?)));
        Self { prints: prints.collect(), ground: Some((project.root.clone(), project.folder.clone())) }
    }

    /// Checks that all files named by these words are as they were trusted. The error names the first one that is not.
    pub fn check(&self, words: &[String]) -> Result<(), String> {
        self.check_in(words, None)
    }

    /// Like [`check`](Self::check), for a command that runs in another folder and may find other files with the same names there.
    pub fn check_in(&self, words: &[String], here: Option<&Path>) -> Result<(), String> {
        let Some((root, folder)) = &self.ground else { return Ok(()) };
        let here = here.and_then(|here| here.canonicalize().ok());
        let folders: Vec<&Path> = std::iter::once(&**folder).chain(here.as_deref()).collect();
        for path in scripts::named(words, root, &folders, &|path| self.prints.contains_key(path)) {
            let name = shown(&path.strip_prefix(root).unwrap_or(&path).to_string_lossy());
            match self.prints.get(&path) {
                Some(print) if fingerprint(&path).is_ok_and(|(now, _)| now == *print) => {}
                Some(_) => {
                    let what = if path.exists() { "changed" } else { "was deleted" };
                    return Err(format!("{name} {what} since it was trusted; review it, then run `vertebra trust`"));
                }
                None => {
                    return Err(format!(
                        "{name} is new since the folder was trusted; review it, then run `vertebra trust`"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Wraps a handler so that it starts only while its scripts are as they were trusted.
    pub fn seal(&self, handler: Arc<dyn Handler>, run: &RunSettings) -> Arc<dyn Handler> {
        if self.ground.is_none() {
            return handler;
        }
        Arc::new(Sealed { handler, seals: self.clone(), words: hooks::does(run).1 })
    }
}

/// A handler whose scripts are checked before each start.
struct Sealed {
    handler: Arc<dyn Handler>,
    seals: Seals,
    words: Vec<String>,
}

impl Handler for Sealed {
    fn shown(&self) -> String {
        self.handler.shown()
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        match self.seals.check(&self.words) {
            Ok(()) => self.handler.ask(ask),
            Err(message) => {
                let end = End::Failed { message: message.clone() };
                let (handler, stdout, stderr) = (self.handler.shown(), String::new(), String::new());
                let exchange = Exchange { handler, end, stdout, stderr, took: Duration::ZERO };
                Box::pin(async move { Answered { exchange, reply: Err(message) } })
            }
        }
    }
}

/// Returns the hash of a file's content and of its executable bit, and the size of the file.
pub(super) fn fingerprint(path: &Path) -> io::Result<(String, u64)> {
    let other = |message: String| io::Error::other(message);
    // A special file may never end, or may block the process that opens it.
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(other("it is not a file".to_owned()));
    }
    let mut hasher = blake3::Hasher::new();
    let can_be_started = about.permissions().mode() & 0o111 != 0;
    hasher.update(&[u8::from(can_be_started)]);
    let too_large = || other(format!("it is larger than {MAX_BYTES} bytes"));
    if about.len() > MAX_BYTES {
        return Err(too_large());
    }
    let size = io::copy(&mut fs::File::open(path)?.take(MAX_BYTES + 1), &mut hasher)?;
    if size > MAX_BYTES {
        return Err(too_large());
    }
    Ok((hasher.finalize().to_hex().to_string(), size))
}
