//! The scripts of a trusted project, looked at again right before each start.

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

/// The scripts of a project as they were when it was trusted. Without a project nothing is sealed, and everything holds.
///
/// A script may change after trust was looked up and before its hook fires, in a session that lasts for hours. So what a
/// hook names is fingerprinted again each time, right before it is started. What is left is the moment between that look
/// and the interpreter's own: whoever can write to the project in that moment is not held by this.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seals {
    ground: Option<(PathBuf, PathBuf)>,
    prints: BTreeMap<PathBuf, String>,
}

impl Seals {
    /// The scripts of a project as it was looked at.
    pub fn new(project: &Project) -> Self {
        let scripts = project.of(super::Kind::Script);
        let prints = scripts.filter_map(|file| Some((project.root.join(&file.name), file.fingerprint.clone()?)));
        Self { prints: prints.collect(), ground: Some((project.root.clone(), project.folder.clone())) }
    }

    /// Whether all that these words name is as it was trusted; otherwise, what is not.
    pub fn check(&self, words: &[String]) -> Result<(), String> {
        self.check_in(words, None)
    }

    /// The same for a command that runs in a folder of its own, where it may find other files of the same name.
    pub fn check_in(&self, words: &[String], here: Option<&Path>) -> Result<(), String> {
        let Some((root, folder)) = &self.ground else { return Ok(()) };
        let here = here.and_then(|here| here.canonicalize().ok());
        let folders: Vec<&Path> = std::iter::once(&**folder).chain(here.as_deref()).collect();
        for path in scripts::named(words, root, &folders, &|path| self.prints.contains_key(path)) {
            let name = shown(&path.strip_prefix(root).unwrap_or(&path).to_string_lossy());
            match self.prints.get(&path) {
                Some(print) if fingerprint(&path).is_ok_and(|(now, _)| now == *print) => {}
                Some(_) => {
                    let what = if path.exists() { "changed" } else { "is gone" };
                    return Err(format!("{name} {what} since it was trusted: look at it, then `vertebra trust`"));
                }
                None => return Err(format!("{name} is new since trust was given: look at it, then `vertebra trust`")),
            }
        }
        Ok(())
    }

    /// This handler, started only while its scripts are as they were trusted.
    pub fn seal(&self, handler: Arc<dyn Handler>, run: &RunSettings) -> Arc<dyn Handler> {
        if self.ground.is_none() {
            return handler;
        }
        Arc::new(Sealed { handler, seals: self.clone(), words: hooks::does(run).1 })
    }
}

/// A handler whose scripts are looked at before each start.
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

/// The fingerprint of a file's content and of whether it can be started, and how much of it there is.
pub(super) fn fingerprint(path: &Path) -> io::Result<(String, u64)> {
    let other = |message: String| io::Error::other(message);
    // What is no file may never end, or make whoever opens it wait.
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
