//! What all file tools share, and what one call of a tool is given.

use std::{
    collections::BTreeSet,
    fs::{File, Metadata as FileFacts},
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use vertebra::{Metadata, ToolError};

use super::{
    Bounds,
    effort::Effort,
    globs::PathRules,
    judge::look_for,
    place::Place,
    root::{May, Root},
    seen::{Acquaintance, ShownByCommands, Writes, hash},
    show,
    text::{NotText, Text},
    undo::Undo,
};
use crate::{
    bash::{Granted, Lift, policy::Sure},
    permissions::opened::{Refusals, Use},
    protected::plain,
    redaction::marks::{HiddenFile, Marks},
};

/// The folders, and the rules over what is in them.
#[derive(Debug)]
pub(super) struct Access {
    /// Where files may be written, unless the agent only reads.
    pub(super) home: Root,
    /// Where they may be read, too.
    pub(super) others: Vec<Root>,
    pub(super) denied: PathRules,
    /// Whether the names that [`PROTECTED`](crate::PROTECTED) lists are not written.
    pub(super) protects_names: bool,
    /// What else is not written, whatever anyone says.
    pub(super) protected: PathRules,
    /// Absolute paths that are neither read nor written, whatever anyone says.
    pub(super) closed: Vec<PathBuf>,
    /// Whether a person is asked about what lies outside or is protected by its name. Otherwise it is refused.
    pub(super) asks: bool,
    /// What people granted to the session, if they can.
    pub(super) lift: Option<Lift>,
    /// What hides the secrets of files, if anything does.
    pub(super) marks: Option<Marks>,
    pub(super) bounds: Bounds,
    pub(super) write_unread: bool,
    pub(super) writes: Writes,
    pub(super) shown: ShownByCommands,
    pub(super) undo: Option<Undo>,
    /// Set when what is denied was looked for.
    pub(super) looked: OnceLock<()>,
}

impl Access {
    pub(super) fn roots(&self) -> impl Iterator<Item = &Root> {
        [&self.home].into_iter().chain(&self.others)
    }

    /// Looks once for what is denied, so that it is known if it is renamed later.
    pub(super) fn look_for_denied(&self) {
        if !self.denied.patterns().is_empty() {
            self.looked.get_or_init(|| self.roots().for_each(|root| look_for(&self.denied, root)));
        }
    }
}

/// One call of a file tool.
pub(super) struct Job {
    pub(super) access: Arc<Access>,
    pub(super) effort: Effort,
    pub(super) working_directory: Arc<str>,
    pub(super) run: Arc<str>,
    pub(super) session: Arc<str>,
    /// What the session has kept, files seen among it.
    pub(super) kept: Metadata,
    /// The names of the tool.
    pub(super) names: Vec<String>,
    /// The deny rules of the permissions.
    pub(super) refusals: Arc<Refusals>,
    /// What the configuration of git makes it start, once it was looked for.
    pub(super) git_targets: OnceLock<Vec<PathBuf>>,
    pub(super) consent: Consent,
    /// Whether it has left the folders, as a person agreed.
    pub(super) is_outside: AtomicBool,
    /// The folders outside that a person is asked about.
    pub(super) asked: Mutex<BTreeSet<PathBuf>>,
}

/// What a person has to agree to, and what one has agreed to.
pub(super) enum Consent {
    /// The call is only looked at: these are the questions that it raises.
    Wanted(Mutex<Vec<String>>),
    /// The call is made, and a person has said yes to this.
    Given(Option<String>),
}

/// Between the questions that one call raises.
const AND: &str = "; ";

impl Consent {
    /// Goes on if a person has agreed to this, or will be asked.
    pub(super) fn needs(&self, question: &str) -> Result<(), String> {
        match self {
            Self::Wanted(wanted) => {
                let mut wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
                if !wanted.iter().any(|other| other == question) {
                    wanted.push(question.to_owned());
                }
                Ok(())
            }
            Self::Given(Some(yes)) if yes.split(AND).any(|part| part == question) => Ok(()),
            Self::Given(_) => Err(question.to_owned()),
        }
    }

    /// What a person has to be asked, if anything.
    pub(super) fn question(&self) -> Option<String> {
        let Self::Wanted(wanted) = self else { return None };
        let wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
        (!wanted.is_empty()).then(|| wanted.join(AND))
    }
}

/// A place, and the root it is below.
pub(super) struct Target {
    pub(super) root: Root,
    pub(super) place: Place,
    /// The path as it was asked for: where a link leads is not told.
    asked: PathBuf,
}

impl Target {
    /// The absolute path, without links.
    pub(super) fn real(&self) -> PathBuf {
        self.root.real().join(self.place.path())
    }

    /// The path for people and models: from the folder, or an absolute one outside.
    pub(super) fn name(&self, job: &Job) -> String {
        let real = self.real();
        show(real.strip_prefix(job.access.home.real()).unwrap_or(&real))
    }

    /// Opens the file to read it, if no rule denies the very file that was opened.
    pub(super) fn open(&self, job: &Job) -> Result<(File, FileFacts), ToolError> {
        let (file, facts) = self.place.open()?;
        self.check(job, Some(&file), Use::Read)?;
        Ok((file, facts))
    }

    /// Opens the folder to look into it, if no rule denies the very folder that was opened.
    pub(super) fn open_folder(&self, job: &Job) -> Result<Arc<OwnedFd>, ToolError> {
        let folder = self.place.open_folder()?;
        let opened = File::from(folder.try_clone().map_err(|error| self.place.failed("open", error))?);
        self.check(job, Some(&opened), Use::Read)?;
        Ok(folder)
    }

    fn check(&self, job: &Job, opened: Option<&File>, done: Use) -> Result<(), ToolError> {
        job.judge(&self.place, opened, done, &self.named())
            .map_err(|why| ToolError::new(format!("`{}` {why}", show(&self.asked))))
    }

    /// The path that the call named, whatever it leads to.
    pub(super) fn named(&self) -> PathBuf {
        self.root.real().join(&self.asked)
    }
}

impl Job {
    pub(super) fn bounds(&self) -> &Bounds {
        &self.access.bounds
    }

    /// The place that a path of the model means. Outside of the folders there is none, and no denied one inside.
    ///
    /// What lies there is judged when it is opened: until then it may become something else.
    pub(super) fn target(&self, path: &str) -> Result<Target, ToolError> {
        if path.is_empty() || path.contains('\0') {
            return Err(ToolError::new(format!("{path:?} is not a path")));
        }
        // By the letters first, as guards read it; from the folder on, by handles.
        let absolute = plain(&Path::new(&*self.working_directory).join(path));
        let own = crate::bash::folder_name(&self.session);
        let may = |root: &Root, way: &Path| root.may() != May::ReadOwn || way.starts_with(&own);
        let found =
            self.access.roots().find_map(|root| Some((root, root.below(&absolute).filter(|way| may(root, way))?)));
        let Some((root, way)) = found else { return self.outside(&absolute) };
        let (root, asked) = (root.clone(), way.to_owned());
        if self.access.denied.hold(way) {
            return Err(ToolError::new(format!("`{}` is off limits: a rule of this agent denies it", show(asked))));
        }
        let place = root.go(&asked)?;
        let target = Target { root, place, asked };
        target.check(self, None, Use::Read)?;
        Ok(target)
    }

    /// A place outside of the folders, if a person agrees to it: the question names what the path leads to.
    fn outside(&self, absolute: &Path) -> Result<Target, ToolError> {
        let roots = self.access.roots().filter(|root| root.may() != May::ReadOwn);
        let roots: Vec<String> = roots.map(|root| show(root.name())).collect();
        let real = resolved(absolute);
        let leads = if real == absolute { String::new() } else { format!(", leads to `{}`,", show(&real)) };
        let question = format!("`{}`{leads} is outside of {}", show(absolute), roots.join(" and "));
        if !self.access.asks {
            return Err(ToolError::new(question));
        }
        if self.is_closed(&real) {
            return Err(ToolError::new(format!(
                "{question}, and stays closed: it holds rules or records of this agent"
            )));
        }
        if !self.is_granted(&real) {
            let folder = if real.is_dir() { Some(&*real) } else { real.parent() };
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.extend(folder.map(Path::to_owned));
            drop(asked);
            self.consent.needs(&question).map_err(ToolError::new)?;
        }
        let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(ToolError::new(format!("`{}` is not a file", show(absolute))));
        };
        let root = Root::open(folder, May::Write)?;
        if root.real() != folder {
            return Err(ToolError::new(format!("`{}` leads to another place now: try again", show(absolute))));
        }
        self.is_outside.store(true, Ordering::Relaxed);
        let place = root.go(Path::new(name))?;
        let target = Target { root, place, asked: absolute.to_owned() };
        target.check(self, None, Use::Read)?;
        Ok(target)
    }

    /// Whether the tool writes.
    pub(super) fn writes(&self) -> bool {
        self.names.iter().any(|name| matches!(&**name, "write_file" | "edit_file"))
    }

    /// Whether a person has granted a path outside to the session.
    fn is_granted(&self, real: &Path) -> bool {
        let Some(lift) = &self.access.lift else { return false };
        let held = lift.held(&self.session);
        if self.writes() { held.writes(real) } else { held.reads(real) }
    }

    /// What a person could grant to the session, so that the same folders are not asked about again.
    pub(super) fn grantable(&self) -> Granted {
        let folders = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.writes() {
            Granted { write: folders, ..Granted::default() }
        } else {
            Granted { read: folders, ..Granted::default() }
        }
    }

    /// The text of a file as the model reads it.
    pub(super) fn hidden(&self, file: &Path, body: &str) -> HiddenFile {
        self.access.marks.as_ref().map_or_else(|| HiddenFile::open(body), |marks| marks.hide(&self.session, file, body))
    }

    /// The place that a path means, to write there: the open folder, which is the one that was judged, and a name.
    pub(super) fn target_to_write(&self, path: &str) -> Result<Target, ToolError> {
        let target = self.target(path)?;
        if target.root.may() != May::Write {
            return Err(target.place.says("may be read, not written"));
        }
        target.check(self, None, Use::Change)?;
        Ok(target)
    }

    /// The place with the folders made that were missing, if it may still be written.
    pub(super) fn with_folders(&self, target: &Target) -> Result<Target, ToolError> {
        let place = target.place.clone().with_folders()?;
        let made = Target { root: target.root.clone(), place, asked: target.asked.clone() };
        made.check(self, None, Use::Change)?;
        Ok(made)
    }

    /// A path below a root as the model may write it: relative to where the agent works, if it is there.
    pub(super) fn shown(&self, root: &Root, path: &Path) -> String {
        let absolute = root.name().join(path);
        match absolute.strip_prefix(&*self.working_directory) {
            Ok(here) if here.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => show(inside),
            Err(_) => show(&absolute),
        }
    }

    /// The whole file, if it is not too large.
    pub(super) fn read_whole(&self, file: File, place: &Place) -> Result<Vec<u8>, ToolError> {
        let limit = self.bounds().file_bytes;
        let bytes = self.effort.read(file, limit.saturating_add(1)).map_err(|error| place.failed("read", error))?;
        if bytes.len() as u64 > limit {
            return Err(place.says(&format!("is larger than {limit} bytes: too large to change")));
        }
        Ok(bytes)
    }

    /// A file that is there, to be changed.
    pub(super) fn known(&self, target: &Target) -> Result<Known, ToolError> {
        let place = &target.place;
        let (file, facts) = target.open(self)?;
        target.check(self, Some(&file), Use::Change)?;
        // A rename would replace it all the same; whoever took the right away meant it.
        if facts.permissions().readonly() {
            return Err(place.says("is read-only: its mode lets nobody write it"));
        }
        let bytes = self.read_whole(file, place)?;
        let text = Text::decode(&bytes).map_err(|reason| not_text(place, reason, bytes.len() as u64))?;
        let shown = self.hidden(&target.real(), &text.body);
        Ok(Known { text, bytes, facts, shown })
    }

    /// How well the model knows a file.
    pub(super) fn knows(&self, target: &Target, known: &Known) -> Acquaintance {
        if self.access.write_unread {
            return Acquaintance::Now;
        }
        let (path, now) = (self.key(target), known.hash());
        let by_tools = self.access.writes.knows((&self.run, &path, &now), &self.kept);
        by_tools.max(self.access.shown.knows(&self.session, &path, &now))
    }

    /// Remembers a file that a command has shown, if it is one that could be read and is still what was shown: the command
    /// began at this time (in milliseconds since 1970) and has printed this.
    pub(super) fn was_shown(&self, path: &str, sure: Sure, began: u64, printed: &str) -> Result<(), ToolError> {
        let target = self.target(path)?;
        let (file, facts) = target.open(self)?;
        let bytes = self.read_whole(file, &target.place)?;
        let text = Text::decode(&bytes).map_err(|reason| not_text(&target.place, reason, bytes.len() as u64))?;
        let shown = self.hidden(&target.real(), &text.body);
        let changed = facts.ctime().saturating_mul(1000) + facts.ctime_nsec() / 1_000_000;
        let is_older = || u64::try_from(changed).is_ok_and(|changed| changed + TICK_MS < began);
        let is_seen = match sure {
            Sure::Yes => true,
            Sure::IfUnchanged => is_older() || is_printed(&text.body, printed),
            Sure::IfPrinted => is_printed(&text.body, printed),
        };
        if !is_seen {
            return Ok(());
        }
        self.access.shown.add(&self.session, self.key(&target), fingerprint(&shown, &bytes));
        Ok(())
    }

    /// The name under which a session remembers a file: its path from the folder, or an absolute one outside.
    pub(super) fn key(&self, target: &Target) -> String {
        let real = target.real();
        real.strip_prefix(self.access.home.real()).unwrap_or(&real).to_string_lossy().into_owned()
    }
}

/// By how much the times of files may be too early.
const TICK_MS: u64 = 50;

/// Whether these lines were printed.
fn is_printed(body: &str, printed: &str) -> bool {
    let body = body.trim_end();
    let is_whole = |at: usize| {
        (at == 0 || printed[..at].ends_with('\n'))
            && matches!(printed[at + body.len()..].chars().next(), None | Some('\n' | '\r'))
    };
    !body.is_empty() && printed.match_indices(body).any(|(at, _)| is_whole(at))
}

/// A file as it is now.
pub(super) struct Known {
    pub(super) text: Text,
    pub(super) bytes: Vec<u8>,
    pub(super) facts: FileFacts,
    /// What the model sees of it.
    pub(super) shown: HiddenFile,
}

impl Known {
    /// A fingerprint of the file that tells nothing about its secrets.
    pub(super) fn hash(&self) -> String {
        fingerprint(&self.shown, &self.bytes)
    }
}

/// A fingerprint of a whole file, without its secrets: it is kept with the session, where anyone could try values.
pub(super) fn fingerprint(shown: &HiddenFile, bytes: &[u8]) -> String {
    hash(shown.without_secrets().map_or(bytes, str::as_bytes))
}

pub(super) fn not_text(place: &Place, reason: NotText, size: u64) -> ToolError {
    match reason {
        NotText::Binary(kind) => place.says(&format!("is {kind} of {size} bytes, not text")),
    }
}

/// Where a path leads: all links resolved, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let mut above =
        path.ancestors().filter_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    let found = above.next().map(|(above, rest)| if rest.as_os_str().is_empty() { above } else { above.join(rest) });
    found.unwrap_or_else(|| path.to_owned())
}
