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

/// How much of a prompt's text is kept.
const MAX_PROMPT_BYTES: usize = 500;

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
/// let mut session = agent.session().await?;
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
    prompts: VecDeque<Prompt>,
    /// What was undone and can be done again, the latest last.
    undone: Vec<Prompt>,
    bytes: usize,
    /// How many prompts began.
    begun: u64,
    /// The text of the latest of them.
    text: String,
    /// A prompt began, and nothing was changed yet.
    fresh: bool,
}

/// What one prompt changed.
#[derive(Debug, Default)]
struct Prompt {
    number: u64,
    text: String,
    files: Vec<Before>,
}

/// A file before it was changed.
#[derive(Debug)]
struct Before {
    root: Root,
    path: PathBuf,
    was: Was,
    /// What it is now; `None` if it is not there, because an undo removed it.
    now: Option<Made>,
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

/// The prompt that an undo would be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    /// Its text.
    pub prompt: String,
    /// How many prompts came after it.
    pub prompts_ago: u64,
    /// The files that it changed, as paths below the folder.
    pub files: Vec<PathBuf>,
}

/// What came of an undo or a redo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// The text of the prompt whose changes these were; `None` if there was nothing to undo.
    pub prompt: Option<String>,
    /// Files that have their other content again.
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
        latest.map(|prompt| prompt.files.iter().map(changed).collect()).unwrap_or_default()
    }

    /// The prompt that an undo would be about: the latest that changed any file. A front end asks the person if it is not
    /// the latest prompt of all.
    pub fn latest(&self, session: &str) -> Option<Latest> {
        let sessions = self.sessions();
        let history = sessions.get(session)?;
        let Prompt { number, text, files } = history.prompts.back()?;
        Some(Latest {
            prompt: text.clone(),
            prompts_ago: history.begun.saturating_sub(*number),
            files: files.iter().map(|file| file.path.clone()).collect(),
        })
    }

    /// Puts back what the latest prompt changed; the next time, what the one before it changed. A file that something else
    /// changed since, or between two changes, is left alone.
    ///
    /// Call it between runs. It writes files, and so may block.
    pub fn undo(&self, session: &str) -> Undone {
        let Some(prompt) = self.sessions().get_mut(session).and_then(History::pop) else { return Undone::default() };
        let (undone, inverse) = prompt.put_back();
        if let Some(history) = self.sessions().get_mut(session) {
            history.push_undone(inverse);
        }
        undone
    }

    /// Does again what the latest undo took back, unless the agent has changed a file since. A file that something else
    /// changed since is left alone.
    ///
    /// Call it between runs. It writes files, and so may block.
    pub fn redo(&self, session: &str) -> Undone {
        let undone = self.sessions().get_mut(session).and_then(History::pop_undone);
        let Some(prompt) = undone else { return Undone::default() };
        let (redone, inverse) = prompt.put_back();
        if let Some(history) = self.sessions().get_mut(session) {
            history.bytes += inverse.bytes();
            history.prompts.push_back(inverse);
        }
        redone
    }

    /// A prompt begins.
    pub(super) fn begin(&self, session: &Arc<str>, prompt: &str) {
        let mut sessions = self.sessions();
        let history = sessions.entry(session.clone()).or_default();
        history.begun += 1;
        prompt[..prompt.floor_char_boundary(MAX_PROMPT_BYTES)].clone_into(&mut history.text);
        history.fresh = true;
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
        // What was undone does not fit what is here from now on.
        self.bytes -= self.undone.drain(..).map(|prompt| prompt.bytes()).sum::<usize>();
        if std::mem::take(&mut self.fresh) || self.prompts.is_empty() {
            let (number, text) = (self.begun, self.text.clone());
            self.prompts.push_back(Prompt { number, text, files: Vec::new() });
        }
        let known =
            self.prompts.back_mut().and_then(|prompt| prompt.files.iter_mut().find(|file| file.is_at(root, path)));
        if let Some(file) = known {
            // What somebody else made of it in between would be lost.
            if was.is_some_and(|was| file.now.as_ref().is_none_or(|now| hash(was) != now.hash)) {
                self.bytes -= file.bytes();
                file.was = Was::Mixed;
            }
            file.now = Some(now);
            return;
        }
        let size = was.map_or(0, <[u8]>::len);
        while self.prompts.len() > MAX_PROMPTS || (self.bytes + size > MAX_KEPT_BYTES && self.prompts.len() > 1) {
            let oldest = self.prompts.pop_front().unwrap_or_default();
            self.bytes -= oldest.bytes();
        }
        let Some(latest) = self.prompts.back_mut() else { return };
        let was = match was {
            _ if latest.files.len() >= MAX_FILES || self.bytes + size > MAX_KEPT_BYTES => Was::Lost,
            Some(bytes) => Was::Content(bytes.to_owned()),
            None => Was::Absent,
        };
        let file = Before { root: root.clone(), path: path.to_owned(), was, now: Some(now) };
        self.bytes += file.bytes();
        latest.files.push(file);
    }

    fn pop(&mut self) -> Option<Prompt> {
        let prompt = self.prompts.pop_back()?;
        self.bytes -= prompt.bytes();
        self.fresh = true;
        Some(prompt)
    }

    fn push_undone(&mut self, mut prompt: Prompt) {
        for file in &mut prompt.files {
            if self.bytes + file.bytes() > MAX_KEPT_BYTES {
                file.was = Was::Lost;
            }
            self.bytes += file.bytes();
        }
        self.undone.push(prompt);
    }

    fn pop_undone(&mut self) -> Option<Prompt> {
        let prompt = self.undone.pop()?;
        self.bytes -= prompt.bytes();
        self.fresh = true;
        Some(prompt)
    }
}

impl Prompt {
    fn bytes(&self) -> usize {
        self.files.iter().map(Before::bytes).sum()
    }

    /// Puts all files back, the latest change first. Answers with what came of it, and with what takes that back.
    fn put_back(self) -> (Undone, Self) {
        let Self { number, text, files } = self;
        let mut undone = Undone { prompt: Some(text.clone()), ..Undone::default() };
        let mut inverse = Self { number, text, files: Vec::new() };
        for file in files.into_iter().rev() {
            let shown = show(&file.path);
            match file.put_back() {
                Ok(replaced) => {
                    let list = if matches!(file.was, Was::Absent) { &mut undone.removed } else { &mut undone.restored };
                    list.push(shown);
                    inverse.files.extend(file.inverse(replaced));
                }
                Err(why) => undone.refused.push(why.to_string()),
            }
        }
        (undone, inverse)
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

    /// What takes back that this was put back, in place of that content.
    fn inverse(self, replaced: Option<Vec<u8>>) -> Option<Self> {
        let now = match &self.was {
            Was::Content(bytes) => Some(Made { hash: hash(bytes), bytes: bytes.len() }),
            Was::Absent => None,
            Was::Lost | Was::Mixed => return None,
        };
        Some(Self { was: replaced.map_or(Was::Absent, Was::Content), now, ..self })
    }

    /// Answers with what was replaced, if something was.
    fn put_back(&self) -> Result<Option<Vec<u8>>, ToolError> {
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

    fn put_back_at(&self, place: &Place) -> Result<Option<Vec<u8>>, ToolError> {
        let effort = Effort::new(Arc::new(SystemClock::default()), TIME, CancellationToken::new());
        let Some(made) = &self.now else {
            if place.kind()?.is_some() || place.lacks_folders() {
                return Err(place.says("was not restored: it has changed since"));
            }
            self.put(place, &Onto::Nothing, &effort)?;
            return Ok(None);
        };
        let (file, facts) = place.open()?;
        // What is longer than it was made is not what it was made.
        let now = effort.read(file, made.bytes as u64 + 1).map_err(|error| place.failed("read", error))?;
        if hash(&now) != made.hash {
            return Err(place.says("was not restored: it has changed since"));
        }
        self.put(place, &Onto::This(facts), &effort)?;
        Ok(Some(now))
    }

    fn put(&self, place: &Place, onto: &Onto, effort: &Effort) -> Result<(), ToolError> {
        match &self.was {
            Was::Content(bytes) => commit(place, bytes, onto, effort),
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
        let Self { prompt, restored, removed, refused } = self;
        if prompt.is_none() {
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
