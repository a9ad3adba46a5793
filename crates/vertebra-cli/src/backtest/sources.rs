//! The sources of recorded events: the journal, the log of `vertebra hook`, transcripts of Claude Code.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use vertebra::Entry;
use vertebra_journal::{
    Store, Wanted,
    past::{self, Moments, moments},
};

use super::{Options, event::Event, hook_log, named, transcript};
use crate::assembly::{World, aliases, journal_path, journal_settings};

/// The largest number of transcripts.
const MAX_FILES: usize = 100_000;

/// The largest depth of folders.
const MAX_DEPTH: usize = 8;

/// The largest number of problems that are reported.
const MAX_PROBLEMS: usize = 20;

/// All sources.
pub(super) struct Past {
    pub(super) sources: Vec<Source>,
}

/// A source of ordered events.
#[derive(Clone)]
pub(super) struct Source {
    place: Place,
    /// Its size, in bytes.
    weight: u64,
}

#[derive(Clone)]
enum Place {
    Session(Store, Arc<str>),
    Transcript(PathBuf),
    HookLog(PathBuf),
}

impl Place {
    fn kind(&self) -> &'static str {
        match self {
            Self::Session(..) => "session",
            Self::Transcript(_) => "transcript",
            Self::HookLog(_) => "hook log",
        }
    }
}

impl Past {
    /// Finds the sources in the options; by default the journal and the log.
    pub(super) fn find(options: &Options, since: Option<Timestamp>, world: &World) -> anyhow::Result<Self> {
        let of_journal = options.journal.is_some() || !options.session.is_empty();
        let anything = of_journal || options.claude_code.is_some() || options.hook_log.is_some();
        let mut past = Self { sources: Vec::new() };
        let journal = match &options.journal {
            Some(file) => Some(file.clone()),
            None => journal_path(&journal_settings(world)?, world).ok(),
        };
        if of_journal || !anything {
            match journal.filter(|file| options.journal.is_some() || file.exists()) {
                Some(file) => past.add_journal(&file, &options.session, since)?,
                None if of_journal => {
                    bail!("no journal exists yet, so session `{}` does not exist", options.session[0])
                }
                None => {}
            }
        }
        match &options.hook_log {
            Some(Some(file)) => past.add_log(file)?,
            Some(None) => {
                past.add_own_logs(world)?;
                if !past.kinds().contains_key("hook log") {
                    bail!("`vertebra hook` has not written a log yet: name a file with --hook-log FILE");
                }
            }
            None if !anything => past.add_own_logs(world)?,
            None => {}
        }
        if let Some(named) = &options.claude_code {
            past.add_transcripts(named.as_deref(), since, world)?;
        }
        if past.sources.is_empty() {
            bail!("{}", nothing(anything, since.is_some(), world));
        }
        Ok(past)
    }

    /// Returns the total size of all sources, in bytes.
    pub(super) fn weight(&self) -> u64 {
        self.sources.iter().map(|source| source.weight).sum()
    }

    /// Returns the number of sources of each kind.
    pub(super) fn kinds(&self) -> BTreeMap<&'static str, u64> {
        let mut kinds = BTreeMap::new();
        for source in &self.sources {
            *kinds.entry(source.place.kind()).or_default() += 1;
        }
        kinds
    }

    fn add_journal(&mut self, file: &Path, names: &[String], since: Option<Timestamp>) -> anyhow::Result<()> {
        let store = Store::read_only(file)?;
        let rows = if names.is_empty() {
            store.sessions(&Wanted { since, ..Wanted::default() })?
        } else {
            names.iter().map(|name| store.find(name)).collect::<Result<_, _>>().context("--session")?
        };
        // The oldest session first.
        self.sources.extend(
            rows.into_iter()
                .rev()
                .map(|row| Source { place: Place::Session(store.clone(), row.session_id), weight: row.bytes }),
        );
        Ok(())
    }

    fn add_log(&mut self, file: &Path) -> anyhow::Result<()> {
        let weight = named(fs::metadata(file), file)?.len();
        self.sources.push(Source { place: Place::HookLog(file.to_owned()), weight });
        Ok(())
    }

    fn add_own_logs(&mut self, world: &World) -> anyhow::Result<()> {
        let logs = world.state.as_deref().map(crate::hook::log_files).unwrap_or_default();
        logs.iter().try_for_each(|log| self.add_log(log))
    }

    fn add_transcripts(&mut self, path: Option<&Path>, since: Option<Timestamp>, world: &World) -> anyhow::Result<()> {
        let variable = |name: &str| world.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = || {
            Some(variable("CLAUDE_CONFIG_DIR").or_else(|| Some(variable("HOME")?.join(".claude")))?.join("projects"))
        };
        let path =
            path.map(Path::to_owned).or_else(usual).context("--claude-code: HOME is not set, so name the folder")?;
        let about = named(fs::metadata(&path), &path).context("--claude-code")?;
        let mut files = Vec::new();
        if about.is_dir() {
            walk(&path, 0, &mut files);
        } else {
            files.push((path.clone(), about));
        }
        if files.is_empty() {
            bail!("--claude-code: no transcripts (*.jsonl) in {}", path.display());
        }
        // A file last written before `since` has only older events.
        let since = since.map(SystemTime::from);
        files.retain(|(_, about)| match (since, about.modified()) {
            (Some(since), Ok(written)) => written >= since,
            _ => true,
        });
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.sources.extend(
            files.into_iter().map(|(path, about)| Source { place: Place::Transcript(path), weight: about.len() }),
        );
        Ok(())
    }
}

/// Finds all transcripts in a folder. Unreadable folders are skipped, and links are not followed.
fn walk(folder: &Path, depth: usize, found: &mut Vec<(PathBuf, fs::Metadata)>) {
    let Ok(listed) = fs::read_dir(folder) else { return };
    for entry in listed.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        let path = entry.path();
        if about.is_dir() && depth < MAX_DEPTH {
            walk(&path, depth + 1, found);
        } else if about.is_file()
            && path.extension().is_some_and(|extension| extension == "jsonl")
            && found.len() < MAX_FILES
        {
            found.push((path, about));
        }
    }
}

fn nothing(named: bool, since: bool, world: &World) -> String {
    if named || since {
        return "no recorded events match: remove --since, or name another source".to_owned();
    }
    let home = world.variables.get("HOME").map_or("~", String::as_str);
    let claude = Path::new(home).join(".claude/projects");
    let claude = if claude.is_dir() { "  (found)" } else { "" };
    format!(
        "nothing has been recorded yet. Record a session with `vertebra run`, or name a source:\n  --journal FILE            a \
         journal of sessions\n  --hook-log FILE           a log of `vertebra hook`\n  --claude-code [FOLDER]    transcripts of \
         Claude Code{claude}"
    )
}

impl Source {
    /// Opens the source and returns its events.
    pub(super) fn events(self, reading: Arc<Reading>) -> Events {
        let opened = match &self.place {
            Place::Session(store, session) => store.lines(session).map_err(anyhow::Error::from).map(|lines| {
                let (shared, mut broken) = (reading.clone(), false);
                let lines: Box<dyn Iterator<Item = Entry> + Send> = Box::new(lines.map_while(move |line| {
                    let line = line.inspect_err(|error| shared.problem(error.to_string()));
                    // Lines after a missing line may not fit those before it.
                    broken |= line.is_err();
                    if broken { None } else { line.ok() }
                }));
                Reader::Ours(moments(lines, past::Past::default().aliases(aliases)))
            }),
            Place::Transcript(path) => {
                transcript::Reader::open(path, reading.clone()).map(|read| Reader::Claude(Box::new(read)))
            }
            Place::HookLog(path) => hook_log::Reader::open(path, reading.clone()).map(Reader::HookLog),
        };
        let reader = opened.map_err(|error| reading.problem(format!("{error:#}"))).ok();
        Events { reader, reading, weight: self.weight, counted: 0 }
    }
}

/// The selected events of a source.
pub(super) struct Events {
    reader: Option<Reader>,
    reading: Arc<Reading>,
    weight: u64,
    /// The bytes counted as read.
    counted: u64,
}

enum Reader {
    Ours(Moments<Box<dyn Iterator<Item = Entry> + Send>>),
    Claude(Box<transcript::Reader>),
    HookLog(hook_log::Reader),
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let (event, time) = match self.reader.as_mut()? {
                Reader::Ours(moments) => match moments.next() {
                    Some(moment) => {
                        let time = moment.event.at().timestamp;
                        (Event::Ours(Box::new(moment)), Some(time))
                    }
                    None => break,
                },
                Reader::Claude(reader) => match reader.next() {
                    Some((theirs, time)) => (Event::Theirs(Box::new(theirs)), time),
                    None => break,
                },
                Reader::HookLog(reader) => match reader.next() {
                    Some((theirs, time)) => (Event::Theirs(Box::new(theirs)), time),
                    None => break,
                },
            };
            self.count();
            if self.reading.wants(&event, time) {
                return Some(event);
            }
        }
        if let Some(Reader::Ours(moments)) = self.reader.take() {
            moments.unknown().iter().for_each(|(what, count)| self.reading.unknown(what, *count));
        }
        None
    }
}

impl Events {
    /// Counts the bytes read since the last call.
    fn count(&mut self) {
        let read = match &self.reader {
            Some(Reader::Claude(reader)) => reader.bytes(),
            Some(Reader::HookLog(reader)) => reader.bytes(),
            // The size of a session is only known as a whole.
            Some(Reader::Ours(_)) => 0,
            None => self.weight,
        };
        let read = read.min(self.weight);
        self.reading.read.fetch_add(read.saturating_sub(self.counted), Ordering::Relaxed);
        self.counted = read.max(self.counted);
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.reader = None;
        self.count();
    }
}

/// The state that all readers share: the selection, the progress, and the missing records.
pub(super) struct Reading {
    since: Option<Timestamp>,
    point: Option<&'static str>,
    /// The bytes read.
    read: AtomicU64,
    told: Mutex<Told>,
}

/// What the readers could not read.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    /// Missing records, with their counts.
    pub(super) unknown: BTreeMap<String, u64>,
    /// Problems with files.
    pub(super) problems: Vec<String>,
}

impl Reading {
    pub(super) fn new(since: Option<Timestamp>, point: Option<&'static str>) -> Self {
        Self { since, point, read: AtomicU64::new(0), told: Mutex::default() }
    }

    fn wants(&self, event: &Event, time: Option<Timestamp>) -> bool {
        // An event without a time matches any.
        let in_time = self.since.is_none_or(|since| time.is_none_or(|time| time >= since));
        in_time && self.point.is_none_or(|point| event.point() == point)
    }

    pub(super) fn unknown(&self, what: &str, count: u64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match told.unknown.get_mut(what) {
            Some(known) => *known += count,
            None => _ = told.unknown.insert(what.to_owned(), count),
        }
    }

    pub(super) fn problem(&self, what: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.problems.len() < MAX_PROBLEMS {
            told.problems.push(what);
        }
    }

    /// Returns the number of bytes read.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns what could not be read, in an order that does not depend on threads.
    pub(super) fn told(&self) -> Told {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        told.problems.sort();
        told
    }
}
