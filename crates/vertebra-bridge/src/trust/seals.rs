//! Starts a trusted project's scripts with exactly the bytes that were trusted.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Kind, Project, Store,
    folder::{self, Folder},
    loads::{Ground, Loads, PROJECT, PYTHON_ALONE},
    programs, scripts,
};
use vertebra::shell::quote;
use vertebra_kit::process::on_path;

use crate::{
    settings::{Words, project_root},
    shown,
};

/// How large a file may be that a hook names and that lies outside its folder.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The scripts of a project as they were when it was trusted. Without a project there is nothing to check.
///
/// In a long session a script may change after the project was trusted and before its hook runs. Right before each start the
/// folder of the script is read and hashed again, and what starts is a private copy of the bytes that were hashed: a change
/// between the check and the start has no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seals {
    trusted: Option<Arc<Trusted>>,
}

/// What is trusted of one hook's command. Without a project there is nothing to check.
#[derive(Debug, Clone, Default)]
pub struct Seal {
    trusted: Option<Arc<Trusted>>,
    /// Whether a person accepted that the command loads more than can be known.
    is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Trusted {
    root: PathBuf,
    folder: PathBuf,
    /// Where private copies are kept.
    copies: Option<PathBuf>,
    /// Files that hooks name, and the folders of their scripts.
    prints: BTreeMap<PathBuf, String>,
    /// The folders among them.
    folders: BTreeSet<PathBuf>,
    /// Commands that may load whatever their program loads.
    open: BTreeSet<String>,
}

/// A program as it starts after the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) words: Words,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Seals {
    /// Records the scripts of a project. Private copies are kept beside the record of trust.
    pub fn new(project: &Project, store: Option<&Store>) -> Self {
        let prints = project.files.iter().filter_map(|file| Some((file, file.fingerprint.clone()?)));
        Self::of(project, store, prints.map(|(file, print)| (file.kind, file.name.as_str(), print)))
    }

    /// Takes what is trusted from the record, whatever the folder holds now.
    pub(super) fn of_record(project: &Project, store: &Store, known: &BTreeMap<String, String>) -> Self {
        let kind = |name: &str| if name.starts_with(OPEN) { Kind::Open } else { Kind::Script };
        Self::of(project, Some(store), known.iter().map(|(name, print)| (kind(name), name.as_str(), print.clone())))
    }

    fn of<'n>(project: &Project, store: Option<&Store>, files: impl Iterator<Item = (Kind, &'n str, String)>) -> Self {
        let (mut prints, mut folders, mut open) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for (kind, name, print) in files {
            if kind == Kind::Open {
                open.insert(name.to_owned());
                continue;
            }
            let path = project.root.join(name.trim_end_matches('/'));
            if name.ends_with('/') {
                folders.insert(path.clone());
            }
            prints.insert(path, print);
        }
        let (root, folder) = (project.root.clone(), project.folder.clone());
        let copies = store.map(Store::copies);
        Self { trusted: Some(Arc::new(Trusted { root, folder, copies, prints, folders, open })) }
    }

    /// Returns what is trusted of a hook's command, as it is written in the settings.
    pub fn of_command(&self, declared: &Words) -> Seal {
        let is_open = self.trusted.as_ref().is_some_and(|trusted| trusted.open.contains(&open_name(declared)));
        Seal { trusted: self.trusted.clone(), is_open }
    }

    /// Returns the same without consent to commands that load more than can be known.
    #[must_use]
    pub fn without_open(mut self) -> Self {
        if let Some(trusted) = &mut self.trusted {
            Arc::make_mut(trusted).open.clear();
        }
        self
    }

    /// Returns the folders of the trusted scripts, which an agent may not change.
    pub fn folders(&self) -> Vec<PathBuf> {
        let all = self.trusted.iter().flat_map(|trusted| trusted.folders.iter().cloned());
        all.collect()
    }

    /// Returns whether the policy is a project's, so that its files have to be as they were trusted.
    #[cfg(feature = "wasm")]
    pub(crate) fn are_of_project(&self) -> bool {
        self.trusted.is_some()
    }

    /// Reads a module of the project, which must be as it was trusted.
    #[cfg(feature = "wasm")]
    pub(crate) fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, String> {
        let told = |error: io::Error| error.to_string();
        let file = crate::kept::open(path).map_err(told)?.ok_or("there is no such file")?;
        let can_be_started = file.metadata().map_err(told)?.permissions().mode() & 0o111 != 0;
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(told)?;
        if bytes.len() as u64 > limit {
            return Err(format!("it has more than {limit} bytes"));
        }
        let Some(trusted) = &self.trusted else { return Ok(bytes) };
        let plain = vertebra_kit::plain(path);
        let real = path.canonicalize().map_err(told)?;
        if !plain.starts_with(&trusted.root) && !real.starts_with(&trusted.root) {
            return Ok(bytes);
        }
        let print = trusted.prints.get(&plain).or_else(|| trusted.prints.get(&real));
        if print.is_some_and(|print| *print == print_of(&bytes, can_be_started)) {
            return Ok(bytes);
        }
        Err(trusted.changed(&plain, print.is_some()))
    }
}

impl Seal {
    /// Returns the program of a hook as it may start: with private copies of its scripts, and an environment that loads
    /// nothing from the project. The error says which file is not as it was trusted.
    pub(crate) fn bind(
        &self,
        words: &Words,
        folder: &Path,
        variables: &[(OsString, OsString)],
    ) -> Result<Bound, String> {
        match &self.trusted {
            Some(trusted) => trusted.bind(words, folder, variables, self.is_open),
            None => Ok(own(words, folder, variables)),
        }
    }
}

/// Returns the program of a person's own hook. It runs in the project's folder too, so it must not find programs and modules
/// there.
fn own(words: &Words, folder: &Path, variables: &[(OsString, OsString)]) -> Bound {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let root = project_root(&folder);
    let Loads { mut flags, modules, .. } = Loads::of(words, &Ground { root, folder: &folder, value: &|_| None });
    // Their own scripts start as they say.
    flags.retain(|(_, flags)| *flags == PYTHON_ALONE);
    flags.extend(modules);
    Bound { words: edited(words, &[], &flags), variables: programs::own_environment(variables, root) }
}

impl Trusted {
    fn bind(
        &self,
        words: &Words,
        folder: &Path,
        variables: &[(OsString, OsString)],
        is_open: bool,
    ) -> Result<Bound, String> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let value = |name: &str| match name {
            "PWD" => Some(folder.to_string_lossy().into_owned()),
            "HOME" => found(variables, name),
            _ if PROJECT.contains(&name) => found(variables, name),
            _ => None,
        };
        let ground = Ground { root: &self.root, folder: &folder, value: &value };
        let loads = Loads::of(words, &ground);
        if let Some(missing) = loads.missing.first() {
            return Err(if self.prints.contains_key(missing) {
                self.changed(missing, true)
            } else {
                format!("there is no file {}", self.shown(missing))
            });
        }
        let mut edits: Vec<(std::ops::Range<usize>, PathBuf)> = Vec::new();
        let mut open = loads.open;
        let mut copied: BTreeMap<PathBuf, (Folder, PathBuf)> = BTreeMap::new();
        for (range, path, is_script) in loads
            .scripts
            .iter()
            .map(|(range, path)| (range, path, true))
            .chain(loads.data.iter().map(|(range, path)| (range, path, false)))
        {
            let place = folder::of_script(path, &self.root, &self.folder);
            let known = place.as_ref().ok().filter(|place| self.prints.contains_key(*place));
            let Some(place) = known else {
                match place {
                    _ if !is_script => continue,
                    Ok(_) => return Err(self.changed(path, self.prints.contains_key(path))),
                    Err(why) => {
                        let shown = self.shown(path);
                        return Err(format!("{shown}: {why}; to move it, run `vertebra trust --move-scripts`"));
                    }
                }
            };
            if !copied.contains_key(place) {
                let (read, copy) = self.copied(place)?;
                for (name, bytes) in read.files() {
                    open.extend(super::scan::reported(place, name, bytes, &self.root));
                }
                copied.insert(place.clone(), (read, copy));
            }
            let inner = path.strip_prefix(place).unwrap_or(path);
            edits.push((range.clone(), copied[place].1.join(inner)));
        }
        let variables = programs::environment(variables, &self.root);
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| &**path);
        let leads_in = |name: &&String| {
            on_path(name, path)
                .next()
                .and_then(|found| found.canonicalize().ok())
                .is_some_and(|real| real.starts_with(&self.root))
        };
        open.extend(
            loads.names.iter().find(leads_in).map(|name| format!("`{name}` on the PATH leads into the project")),
        );
        if let Some(why) = open.first().filter(|_| !is_open) {
            return Err(format!("{why}, so this hook runs only after `vertebra trust --accept-open`"));
        }
        self.named_are_as_trusted(words, &folder, &copied)?;
        Ok(Bound { words: edited(words, &edits, &loads.flags), variables })
    }

    /// Reads the folder of a script, compares it with the trusted one and returns it with its private copy.
    fn copied(&self, place: &Path) -> Result<(Folder, PathBuf), String> {
        let read = Folder::read(place).map_err(|why| format!("{}/: {why}", self.shown(place)))?;
        if self.prints.get(place) != Some(&read.fingerprint()) {
            let differs = |(path, print): &(&PathBuf, &String)| {
                path.starts_with(place) && *path != place && !fingerprint(path).is_ok_and(|(now, _)| now == **print)
            };
            if let Some((path, _)) = self.prints.iter().find(differs) {
                return Err(self.changed(path, true));
            }
            return Err(format!(
                "{}/ changed since it was trusted; review it, then run `vertebra trust`",
                self.shown(place)
            ));
        }
        let copies = self
            .copies
            .as_ref()
            .ok_or("there is no folder for a private copy of the hook: set HOME or XDG_STATE_HOME")?;
        let name = Path::new(place.file_name().unwrap_or_default());
        let copy = read.copied(copies, name).map_err(|error| format!("cannot copy {}/: {error}", self.shown(place)))?;
        Ok((read, copy))
    }

    /// Checks the files that a command names and that are not copied.
    fn named_are_as_trusted(
        &self,
        words: &Words,
        here: &Path,
        copied: &BTreeMap<PathBuf, (Folder, PathBuf)>,
    ) -> Result<(), String> {
        let words = match words {
            Words::Line(line) => vec![line.clone()],
            Words::List(list) => list.clone(),
        };
        for path in scripts::named(&words, &self.root, &[&self.folder, here], &|path| self.prints.contains_key(path)) {
            if copied.keys().any(|place| path.starts_with(place)) {
                continue;
            }
            let print = self.prints.get(&path);
            if print.is_none_or(|print| !fingerprint(&path).is_ok_and(|(now, _)| now == *print)) {
                return Err(self.changed(&path, print.is_some()));
            }
        }
        Ok(())
    }

    fn shown(&self, path: &Path) -> String {
        shown(&path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy())
    }

    fn changed(&self, path: &Path, was_there: bool) -> String {
        let what = match (was_there, path.exists()) {
            (true, true) => "changed since it was trusted",
            (true, false) => "was deleted since it was trusted",
            (false, _) => "is new since the folder was trusted",
        };
        format!("{} {what}; review it, then run `vertebra trust`", self.shown(path))
    }
}

/// The beginning of the name under which an accepted command is recorded.
pub(super) const OPEN: &str = "open: ";

/// Returns the name under which a command is recorded that may load whatever its program loads.
pub(super) fn open_name(words: &Words) -> String {
    match words {
        Words::Line(line) => format!("{OPEN}{line}"),
        Words::List(list) => format!("{OPEN}{}", list.join(" ")),
    }
}

fn found(variables: &[(OsString, OsString)], name: &str) -> Option<String> {
    variables.iter().find(|(of, _)| of == name).and_then(|(_, value)| Some(value.to_str()?.to_owned()))
}

/// Returns the words with private copies in place of the scripts, and with the options of interpreters.
fn edited(
    words: &Words,
    edits: &[(std::ops::Range<usize>, PathBuf)],
    flags: &[(usize, &'static [&'static str])],
) -> Words {
    match words {
        Words::Line(line) => {
            let paths = edits.iter().map(|(range, path)| (range.clone(), quote(&path.to_string_lossy()).into_owned()));
            let flags = flags.iter().map(|(at, flags)| (*at..*at, format!(" {}", flags.join(" "))));
            let mut edits: Vec<_> = paths.chain(flags).collect();
            edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
            edits.dedup_by(|one, other| one.0 == other.0);
            let mut line = line.clone();
            for (range, text) in edits {
                line.replace_range(range, &text);
            }
            Words::Line(line)
        }
        Words::List(list) => {
            let mut new = Vec::new();
            for (at, word) in list.iter().enumerate() {
                let path = edits.iter().find(|(range, _)| range.start == at).map(|(_, path)| path);
                new.push(path.map_or_else(|| word.clone(), |path| path.to_string_lossy().into_owned()));
                let more = flags.iter().filter(|(end, _)| *end == at + 1).flat_map(|(_, flags)| flags.iter());
                new.extend(more.map(|flag| (*flag).to_owned()));
            }
            Words::List(new)
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

#[cfg(feature = "wasm")]
fn print_of(bytes: &[u8], can_be_started: bool) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[u8::from(can_be_started)]).update(bytes);
    hasher.finalize().to_hex().to_string()
}
