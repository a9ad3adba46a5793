//! Undo: each file as it was before a prompt changed it, for a person who wants that back.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::fs::{AtFlags, unlinkat};
use vertebra::{CancellationToken, SystemClock, ToolError};

use super::{
    commit::{Onto, alone, commit},
    effort::Effort,
    place::Place,
    root::Root,
    seen::hash,
    show,
};

/// How many prompts of a session can be undone.
pub const MAX_PROMPTS: usize = 100;

/// How many bytes of files a session keeps. The oldest prompts are forgotten first.
pub const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;

/// How many files one prompt may change and have kept.
const MAX_FILES: usize = 1000;

/// How long putting one file back may take.
const TIME: Duration = Duration::from_secs(30);

/// Keeps each file as it was before the file tools first changed it after a prompt, so that a person can have it back.
///
/// Give it to [`Files::undo`](super::Files::undo), and call it from wherever the person says so. Subagents belong to the
/// prompt that started them. What commands change is not kept, and folders that were made stay.
///
/// ```
/// use vertebra::{Agent, testing::Script};
/// use vertebra_kit::files::{Files, Undo};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let undo = Undo::default();
/// let agent = Agent::builder(Script::new()).with(Files::new(folder)?.undo(&undo)).build()?;
/// let mut session = agent.session().await;
/// session.prompt("tidy up").await?;
/// println!("{}", undo.undo(session.id()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Undo(Arc<Mutex<Sessions>>);

type Sessions = HashMap<Arc<str>, History>;

/// What one session changed, the latest prompt last.
#[derive(Debug, Default)]
struct History {
    prompts: VecDeque<Vec<Before>>,
    bytes: usize,
    /// A prompt began, and nothing was changed yet.
    fresh: bool,
}

/// A file before it was changed.
#[derive(Debug)]
struct Before {
    root: Root,
    path: PathBuf,
    was: Was,
    now: Made,
}

/// What the agent made of a file: its fingerprint and its size.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) hash: String,
    pub(super) bytes: usize,
}

#[derive(Debug)]
enum Was {
    Absent,
    Content(Vec<u8>),
    /// There was no room to keep it.
    Lost,
    /// Between two changes somebody else changed it too.
    Mixed,
}

/// A file that was changed after the latest prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its path below the folder, harmless to show.
    pub path: String,
    /// Whether it is new.
    pub created: bool,
}

/// What came of an undo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// Files that are as they were.
    pub restored: Vec<String>,
    /// Files that are gone, because they were new.
    pub removed: Vec<String>,
    /// Files that were left alone, each with the reason.
    pub refused: Vec<String>,
}

impl Undo {
    /// The files that an undo would be about: those changed after the latest prompt that changed any.
    pub fn changed(&self, session: &str) -> Vec<Changed> {
        let sessions = self.sessions();
        let latest = sessions.get(session).and_then(|history| history.prompts.back());
        let changed = |file: &Before| Changed { path: show(&file.path), created: matches!(file.was, Was::Absent) };
        latest.map(|files| files.iter().map(changed).collect()).unwrap_or_default()
    }

    /// Puts back what the latest prompt changed; the next time, what the one before it changed. A file that something else
    /// changed since, or between two changes, is left alone.
    ///
    /// Call it between runs. It writes files, and so may block.
    pub fn undo(&self, session: &str) -> Undone {
        let files = self.sessions().get_mut(session).and_then(History::pop).unwrap_or_default();
        let mut undone = Undone::default();
        for file in files.iter().rev() {
            match file.put_back() {
                Ok(()) if matches!(file.was, Was::Absent) => undone.removed.push(show(&file.path)),
                Ok(()) => undone.restored.push(show(&file.path)),
                Err(why) => undone.refused.push(why.to_string()),
            }
        }
        undone
    }

    /// A prompt begins.
    pub(super) fn begin(&self, session: &Arc<str>) {
        self.sessions().entry(session.clone()).or_default().fresh = true;
    }

    pub(super) fn forget(&self, session: &str) {
        self.sessions().remove(session);
    }

    /// A file was changed: this is what it was, and what was made of it.
    pub(super) fn keep(&self, session: &Arc<str>, root: &Root, path: &Path, was: Option<&[u8]>, now: Made) {
        self.sessions().entry(session.clone()).or_default().keep(root, path, was, now);
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn keep(&mut self, root: &Root, path: &Path, was: Option<&[u8]>, now: Made) {
        if std::mem::take(&mut self.fresh) || self.prompts.is_empty() {
            self.prompts.push_back(Vec::new());
        }
        if let Some(file) =
            self.prompts.back_mut().and_then(|files| files.iter_mut().find(|file| file.is_at(root, path)))
        {
            // What somebody else made of it in between would be lost.
            if was.is_some_and(|was| hash(was) != file.now.hash) {
                self.bytes -= file.bytes();
                file.was = Was::Mixed;
            }
            file.now = now;
            return;
        }
        let size = was.map_or(0, <[u8]>::len);
        while self.prompts.len() > MAX_PROMPTS || (self.bytes + size > MAX_KEPT_BYTES && self.prompts.len() > 1) {
            let oldest = self.prompts.pop_front().unwrap_or_default();
            self.bytes -= oldest.iter().map(Before::bytes).sum::<usize>();
        }
        let Some(latest) = self.prompts.back_mut() else { return };
        let was = match was {
            _ if latest.len() >= MAX_FILES || self.bytes + size > MAX_KEPT_BYTES => Was::Lost,
            Some(bytes) => Was::Content(bytes.to_owned()),
            None => Was::Absent,
        };
        let file = Before { root: root.clone(), path: path.to_owned(), was, now };
        self.bytes += file.bytes();
        latest.push(file);
    }

    fn pop(&mut self) -> Option<Vec<Before>> {
        let files = self.prompts.pop_back()?;
        self.bytes -= files.iter().map(Before::bytes).sum::<usize>();
        self.fresh = true;
        Some(files)
    }
}

impl Before {
    fn is_at(&self, root: &Root, path: &Path) -> bool {
        self.path == path && self.root.real() == root.real()
    }

    fn bytes(&self) -> usize {
        match &self.was {
            Was::Content(bytes) => bytes.len(),
            Was::Absent | Was::Lost | Was::Mixed => 0,
        }
    }

    fn put_back(&self) -> Result<(), ToolError> {
        let place = self.root.go(&self.path)?;
        // The path was real when it was kept: if a link is on the way now, somebody else put it there.
        if place.path() != self.path {
            return Err(ToolError::new(format!(
                "`{}` was not restored: it now leads to another place",
                show(&self.path)
            )));
        }
        alone(&place, || self.put_back_at(&place))
    }

    fn put_back_at(&self, place: &Place) -> Result<(), ToolError> {
        let (file, facts) = place.open()?;
        let effort = Effort::new(Arc::new(SystemClock::default()), TIME, CancellationToken::new());
        // What is longer than it was made is not what it was made.
        let now = effort.read(file, self.now.bytes as u64 + 1).map_err(|error| place.failed("read", error))?;
        if hash(&now) != self.now.hash {
            return Err(place.says("was not restored: it has changed since"));
        }
        match &self.was {
            Was::Content(bytes) => commit(place, bytes, &Onto::This(facts), &effort),
            Was::Absent => {
                unlinkat(place.folder(), place.name(), AtFlags::empty()).map_err(|errno| place.failed("remove", errno))
            }
            Was::Lost => Err(place.says("was not restored: it was too large to keep a copy")),
            Was::Mixed => Err(place.says("was not restored: something else changed it in between")),
        }
    }
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { restored, removed, refused } = self;
        if restored.is_empty() && removed.is_empty() && refused.is_empty() {
            return write!(f, "nothing to undo: the file tools have changed no file");
        }
        let mut lines = Vec::new();
        lines.extend(restored.iter().map(|path| format!("restored `{path}`")));
        lines.extend(removed.iter().map(|path| format!("deleted `{path}`, which was new")));
        lines.extend(refused.iter().cloned());
        lines.push("changes made by commands are not undone".to_owned());
        f.write_str(&lines.join("\n"))
    }
}
