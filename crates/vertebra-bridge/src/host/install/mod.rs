//! Installs our hook into a host's configuration and removes it again. A plan, which can be shown first, is applied file by
//! file, each atomically.
//!
//! Entries of others in a file are left untouched. The previous content is kept in the state folder until it is restored.

mod edit;
mod json;
mod ledger;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

pub use self::edit::Edit;
use self::{json::Node, ledger::Ledger};
use super::{Environment, Form, Host, Moment};

/// How large a configuration may be.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The comment that marks our programs and plugins.
const OURS: &str = "Written by `vertebra install";

/// Whose configuration to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One user's, for all their projects.
    User,
    /// One project's.
    Project,
}

/// The places on this machine that an installation needs.
pub struct Place<'a> {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The root of the project.
    pub project: PathBuf,
    /// The state folder, which keeps the previous content of files.
    pub state: Option<PathBuf>,
    /// The environment variables.
    pub environment: Environment<'a>,
}

/// The reason why an installation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The host has no such configuration.
    #[error("{0}")]
    Nowhere(String),
    /// A file cannot be read or written.
    #[error("{}: {source}; the file was not changed", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A file has unexpected content.
    #[error("{}: {message}; the file was not changed", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
}

/// Whether our hook is installed in a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The host calls this program at every moment it should.
    Installed,
    /// The host calls another copy of this program, or does not call it at every moment.
    Outdated,
    /// The hook is installed, but all hooks of the host are switched off.
    Off,
    /// The hook is not installed.
    Not,
}

/// Returns the changes that make a host call this program.
pub fn plan(host: &'static Host, scope: Scope, place: &Place<'_>, program: &Path) -> Result<Vec<Edit>, InstallError> {
    let program = program
        .to_str()
        .ok_or_else(|| InstallError::Nowhere(format!("{}: the path is not valid UTF-8", program.display())))?;
    let mut edits = Vec::new();
    for file in files(host, scope, place)? {
        match host.config.form {
            Form::Json { empty, gate, entry } => {
                let before = read(&file)?;
                let text = before.clone().filter(|text| !is_blank(text)).unwrap_or_else(|| fresh(empty));
                let entry = |moment: &Moment| {
                    entry_of(host, moment, if moment.is_gate() { gate } else { entry }, program, scope)
                };
                let after = with_entries(&file, text, host, entry)?;
                let own = before.clone().map(|text| without_entries(&file, text, host)).transpose()?;
                edits.push(Edit { path: file, before, own, after: Some(after), executable: false });
            }
            Form::Programs => {
                for moment in host.moments.iter().filter(|moment| moment.installed) {
                    let path = file.join(moment.name);
                    let command = command(host, moment, program, scope);
                    let text = format!("#!/bin/sh\n# {OURS} --host {}`.\nexec {command}\n", host.name);
                    edits.push(own_file(path, text, Some(&command))?);
                }
            }
            Form::Shim(text) => {
                let mut words = vec![program, "hook", "--host", host.name];
                words.extend(expects(scope));
                let words = json!(words).to_string();
                edits.push(own_file(file, text.replace("$command", &words), None)?);
            }
        }
    }
    edits.retain(|edit| edit.before != edit.after);
    Ok(edits)
}

/// Returns the changes that remove our hook from a host. A file that was not changed since is restored to its old content.
pub fn unplan(host: &'static Host, scope: Scope, place: &Place<'_>) -> Result<Vec<Edit>, InstallError> {
    let ledger = Ledger::new(place.state.as_deref());
    let mut edits = Vec::new();
    for file in files(host, scope, place)? {
        let paths = match host.config.form {
            Form::Json { .. } | Form::Shim(_) => vec![file],
            Form::Programs => host.moments.iter().map(|moment| file.join(moment.name)).collect(),
        };
        for path in paths {
            let Some(now) = read(&path)? else { continue };
            let after = match (ledger.known(&path), host.config.form) {
                (Some(known), _) if known.left(&now) => known.before,
                (known, Form::Json { empty, .. }) => {
                    let rest = without_entries(&path, now.clone(), host)?;
                    let was_ours = known.is_some_and(|known| known.before.is_none());
                    let is_empty = || same(&rest, empty);
                    (!(was_ours && is_empty())).then_some(rest)
                }
                (_, Form::Programs | Form::Shim(_)) => (!now.contains(OURS)).then(|| now.clone()),
            };
            edits.push(Edit { path, before: Some(now), own: None, after, executable: false });
        }
    }
    edits.retain(|edit| edit.before != edit.after);
    Ok(edits)
}

/// Applies a plan. The previous content of each file is kept first.
pub fn apply(edits: &[Edit], place: &Place<'_>) -> Result<(), InstallError> {
    let ledger = Ledger::new(place.state.as_deref());
    // Check every change before the first one is made.
    edits.iter().try_for_each(Edit::check)?;
    for edit in edits {
        ledger.keep(edit)?;
        edit.apply()?;
    }
    Ok(())
}

/// Applies a plan that removes our hook, and forgets the kept content.
pub fn take_back(edits: &[Edit], place: &Place<'_>) -> Result<(), InstallError> {
    let ledger = Ledger::new(place.state.as_deref());
    edits.iter().try_for_each(Edit::check)?;
    edits.iter().try_for_each(Edit::apply)?;
    // A folder created for one file may have held several of them.
    for edit in edits {
        ledger.forget(edit);
    }
    Ok(())
}

/// Returns whether our hook is installed in a host.
pub fn standing(
    host: &'static Host,
    scope: Scope,
    place: &Place<'_>,
    program: &Path,
) -> Result<Standing, InstallError> {
    let changed = plan(host, scope, place, program)?;
    let known =
        |edit: &Edit| edit.before.as_ref().is_some_and(|text| text.contains(OURS) || text.contains(&mark(host)));
    Ok(match changed.as_slice() {
        [] if off_in(host, scope, place)?.is_some() => Standing::Off,
        [] => Standing::Installed,
        some if some.iter().any(known) => Standing::Outdated,
        _ => Standing::Not,
    })
}

/// Returns the file in which all hooks of a host are switched off, if there is one.
pub fn off_in(host: &'static Host, scope: Scope, place: &Place<'_>) -> Result<Option<PathBuf>, InstallError> {
    if !matches!(host.config.form, Form::Json { .. }) {
        return Ok(None);
    }
    for file in files(host, scope, place)? {
        let Some(text) = read(&file)?.filter(|text| !is_blank(text)) else { continue };
        let root = parsed(&file, &text)?;
        let says = |path: &[&str], word| {
            path.iter().try_fold(&root, |node, key| node.get(key)).is_some_and(|node| node.is(word, &text))
        };
        if says(&["disableAllHooks"], "true") || says(&["hooksConfig", "enabled"], "false") {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Returns the configuration files, or the folder, from which a host reads hooks.
pub fn files(host: &'static Host, scope: Scope, place: &Place<'_>) -> Result<Vec<PathBuf>, InstallError> {
    let nowhere = |what: &str| InstallError::Nowhere(format!("{} {what}", host.title));
    let path = match scope {
        Scope::User => {
            let spot = host.config.user.ok_or_else(|| nowhere("has no per-user hooks; try --project"))?;
            let named = spot.variable.and_then(|name| (place.environment)(name)).map(PathBuf::from);
            let folder = match named.filter(|folder| folder.is_absolute()) {
                Some(folder) => folder,
                None => place
                    .home
                    .as_ref()
                    .ok_or_else(|| nowhere("keeps its settings in your home folder; set HOME"))?
                    .join(spot.folder),
            };
            folder.join(spot.file)
        }
        Scope::Project => {
            let path = host.config.project.ok_or_else(|| nowhere("has no per-project hooks; try --user"))?;
            place.project.join(path)
        }
    };
    let Some(folder) = path.parent().filter(|_| path.ends_with("*.json")) else { return Ok(vec![path]) };
    let listed = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = listed.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    found.sort();
    if found.is_empty() {
        found.push(folder.join("vertebra.json"));
    }
    Ok(found)
}

/// Returns the file that a host may read instead of the one we write, if it exists.
pub fn rival(host: &'static Host, scope: Scope, place: &Place<'_>) -> Option<PathBuf> {
    let file = files(host, scope, place).ok()?.into_iter().next()?;
    Some(file.with_file_name(host.config.rival?)).filter(|rival| rival.exists())
}

/// The text that all our commands for a host contain.
fn mark(host: &Host) -> String {
    format!(" hook --host {} --event ", host.name)
}

/// What tells the hook that there are records of what is trusted, so that it notices if they are deleted. Other people who
/// work on a project may have none.
fn expects(scope: Scope) -> Option<&'static str> {
    match scope {
        Scope::User => Some("--recorded"),
        Scope::Project => None,
    }
}

fn command(host: &Host, moment: &Moment, program: &str, scope: Scope) -> String {
    let command = format!("{}{}{}", vertebra::shell::quote(program), mark(host), moment.name);
    expects(scope).map_or_else(|| command.clone(), |word| format!("{command} {word}"))
}

fn entry_of(host: &Host, moment: &Moment, form: &str, program: &str, scope: Scope) -> Value {
    fn put(form: &mut Value, command: &str) {
        match form {
            Value::String(word) if word == "$command" => command.clone_into(word),
            Value::Object(map) => map.values_mut().for_each(|value| put(value, command)),
            Value::Array(list) => list.iter_mut().for_each(|value| put(value, command)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut entry = serde_json::from_str(form).unwrap_or_default();
    put(&mut entry, &command(host, moment, program, scope));
    entry
}

fn fresh(empty: &str) -> String {
    let value: Value = serde_json::from_str(empty).unwrap_or_default();
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

/// Returns whether a file exists but is still empty.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn same(text: &str, empty: &str) -> bool {
    let value = |text| serde_json::from_str::<Value>(text).ok();
    value(text).is_some_and(|text| Some(text) == value(empty))
}

fn with_entries(
    path: &Path,
    mut text: String,
    host: &Host,
    entry: impl Fn(&Moment) -> Value,
) -> Result<String, InstallError> {
    for moment in host.moments.iter().filter(|moment| moment.installed) {
        let value = entry(moment);
        let words = format!("{}{}", mark(host), moment.name);
        let known = |text: &str| -> Result<(Node, bool), InstallError> {
            let root = parsed(path, text)?;
            let items = entries(path, &root, moment.name)?;
            let current = items.iter().find(|item| item.says(&words)).is_some_and(|item| agrees(item, &value, text));
            Ok((root, current))
        };
        let (root, current) = known(&text)?;
        if current {
            continue;
        }
        if let Some((list, at)) = root.get("hooks").and_then(|hooks| ours(hooks.get(moment.name)?, &words)) {
            text = json::removed(&text, list, at);
        }
        let (root, current) = known(&text)?;
        if current {
            continue;
        }
        text = match root.get("hooks") {
            None => json::added(&text, &root, Some("hooks"), &json!({ moment.name: [value] })),
            Some(hooks) => match hooks.get(moment.name) {
                None => json::added(&text, hooks, Some(moment.name), &json!([value])),
                Some(list) => json::added(&text, list, None, &value),
            },
        };
    }
    parsed(path, &text)?;
    Ok(text)
}

fn without_entries(path: &Path, mut text: String, host: &Host) -> Result<String, InstallError> {
    if is_blank(&text) {
        return Ok(text);
    }
    let mut touched = false;
    loop {
        let root = parsed(path, &text)?;
        let Some(hooks) = root.get("hooks").filter(|hooks| hooks.is_object()) else { return Ok(text) };
        let found = hooks.members().enumerate().find_map(|(member, (_, entries))| {
            let (list, at) = ours(entries, &mark(host))?;
            // A list that contained only our entry is removed with it.
            let only = std::ptr::eq(list, entries) && entries.items().is_some_and(|items| items.len() == 1);
            Some((only.then_some(member), list, at))
        });
        let Some((member, list, at)) = found else {
            let empty = touched && hooks.members().next().is_none();
            return Ok(match json::position(&root, "hooks").filter(|_| empty) {
                Some(at) => json::removed(&text, &root, at),
                None => text,
            });
        };
        text = member.map_or_else(|| json::removed(&text, list, at), |member| json::removed(&text, hooks, member));
        touched = true;
    }
}

/// Returns whether the entry that was found does what the wanted entry does: nothing is missing or smaller, and nothing was
/// added that may narrow it. A list may contain other entries as well.
fn agrees(found: &Node, wanted: &Value, file: &str) -> bool {
    let is_harmless = |key: &str, value: &Node| match key {
        "matcher" => matches!(value.text(), Some("" | "*" | ".*")),
        "name" | "description" | "statusMessage" => true,
        _ => false,
    };
    match wanted {
        Value::Object(wanted) => {
            wanted.iter().all(|(key, value)| found.get(key).is_some_and(|found| agrees(found, value, file)))
                && found.members().all(|(key, value)| wanted.contains_key(key) || is_harmless(key, value))
        }
        Value::Array(wanted) => found
            .items()
            .is_some_and(|items| wanted.iter().all(|value| items.iter().any(|item| agrees(item, value, file)))),
        Value::String(text) => found.text() == Some(text),
        Value::Number(number) => found.number(file).is_some_and(|found| Some(found) >= number.as_f64()),
        Value::Bool(_) | Value::Null => found.is(&wanted.to_string(), file),
    }
}

/// Returns the position of our entry. Other entries in the same group belong to others.
fn ours<'n>(entries: &'n Node, words: &str) -> Option<(&'n Node, usize)> {
    let (at, entry) = entries.items()?.iter().enumerate().find(|(_, entry)| entry.says(words))?;
    let group = entry.get("hooks").and_then(|group| Some((group, group.items()?)));
    let within = group.filter(|(_, items)| items.len() > 1);
    let within = within.and_then(|(group, items)| Some((group, items.iter().position(|item| item.says(words))?)));
    Some(within.unwrap_or((entries, at)))
}

fn parsed(path: &Path, text: &str) -> Result<Node, InstallError> {
    let content = |message: String| InstallError::Content { path: path.to_owned(), message };
    let root = json::parse(text).map_err(|error| content(format!("it is not valid JSON: {error}")))?;
    if root.is_object() { Ok(root) } else { Err(content("it is not a JSON object".to_owned())) }
}

/// Returns the entries of a moment, if there are any.
fn entries<'n>(path: &Path, root: &'n Node, moment: &str) -> Result<&'n [Node], InstallError> {
    let content = |message: String| InstallError::Content { path: path.to_owned(), message };
    let Some(hooks) = root.get("hooks") else { return Ok(&[]) };
    if !hooks.is_object() {
        return Err(content("`hooks` is not an object".to_owned()));
    }
    let Some(list) = hooks.get(moment) else { return Ok(&[]) };
    list.items().ok_or_else(|| content(format!("`hooks.{moment}` is not a list")))
}

/// Plans a file that belongs to us alone. Fails if another file is already there.
fn own_file(path: PathBuf, text: String, call: Option<&str>) -> Result<Edit, InstallError> {
    let before = read(&path)?;
    if before.as_ref().is_some_and(|before| !before.contains(OURS)) {
        let call = call
            .map(|command| format!("; only one program can be here, so end yours with `exec {command}`"))
            .unwrap_or_default();
        let message = format!("it already exists, and vertebra did not write it{call}");
        return Err(InstallError::Content { path, message });
    }
    Ok(Edit { executable: call.is_some(), path, before, own: None, after: Some(text) })
}

/// Returns the content of a file, or `None` if it does not exist.
fn read(path: &Path) -> Result<Option<String>, InstallError> {
    let wrong = |source| InstallError::Io { path: path.to_owned(), source };
    let content = |message: String| InstallError::Content { path: path.to_owned(), message };
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound) => return Ok(None),
        Err(error) => return Err(wrong(error)),
    };
    if about.is_symlink() {
        let target = fs::read_link(path).map(|target| target.display().to_string()).unwrap_or_default();
        return Err(content(format!(
            "it is a symbolic link to {target}, which a new file would replace; put a regular file in its place first"
        )));
    }
    if !about.is_file() {
        return Err(content("it is not a file".to_owned()));
    }
    if about.len() > MAX_BYTES {
        return Err(content(format!("it is larger than {MAX_BYTES} bytes")));
    }
    let bytes = fs::read(path).map_err(wrong)?;
    String::from_utf8(bytes).map(Some).map_err(|_| content("it is not UTF-8".to_owned()))
}
