//! Reads as much of a settings file as possible, so that a mistake in one place takes no restriction away in another.

use std::{
    borrow::Cow,
    cell::RefCell,
    io::{self, Read as _},
    path::Path,
};

use toml::de::DeTable;
use vertebra_kit::permissions::Rule;

use super::{
    Level, Origin, PermissionSettings, Said, Settings, SettingsError,
    item::fields,
    reader::File,
    schema::{settings, settings_in, whole},
};
use crate::{kept::open, wholly_shown};

/// How much of a file is read to find what it refuses.
const MAX_SALVAGED: usize = 1 << 20;

/// How many lines of a table that are not TOML are left out, before all of the table is.
const MAX_BROKEN_LINES: usize = 16;

/// What could be read of a settings file, and what was wrong with the rest.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// The settings without the parts that are wrong. A hook is there whole or not at all.
    pub settings: Settings,
    /// The errors. If there are none, these are all settings of the file.
    pub errors: Vec<SettingsError>,
}

impl Salvaged {
    /// Returns whether the file is missing, empty, or has nothing but comments and empty lists.
    pub(crate) fn sets_nothing(&self) -> bool {
        self.errors.is_empty() && self.settings == Settings::default()
    }
}

/// Reads as much of a text as possible. Use it where [`parse`](super::parse) failed, to keep in force what refuses something.
pub fn salvage(text: &str, level: Level, place: &str) -> Salvaged {
    let text = &*beginning(text);
    let mut salvaged = match settings_in(&File::new(text, level, place, None)) {
        Ok(settings) => Salvaged { settings, errors: Vec::new() },
        Err(error) => forgiving(text, level, place, error),
    };
    let Salvaged { settings, errors } = &mut salvaged;
    // Rules are understood when they are used; one that is not would take the others with it.
    let PermissionSettings { allow, ask, deny, folders, .. } = &mut settings.permissions;
    for rules in [allow, ask, deny].into_iter().chain(folders.iter_mut().map(|(_, allow)| allow)) {
        rules.retain(|said| match said.value.parse::<Rule>() {
            Ok(_) => true,
            Err(error) => {
                let (place, line) = (said.origin.place.clone(), said.origin.line.unwrap_or_default());
                let (text, mark) = (String::new(), 0..0);
                errors.push(SettingsError::Content { place, line, text, mark, message: error.to_string() });
                false
            }
        });
    }
    if !errors.is_empty() && addresses_in(text) > addresses(settings) {
        let place = wholly_shown(place);
        settings.model.unknown_address = Some(format!("{place}: a `base_url` in it cannot be read"));
    }
    salvaged
}

/// Returns as much of a text as is read. A list that goes on after it is closed.
fn beginning(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_SALVAGED {
        return Cow::Borrowed(text);
    }
    let text = &text[..text.floor_char_boundary(MAX_SALVAGED)];
    let list = text.rfind(',').map(|end| format!("{}]", &text[..end])).filter(|list| DeTable::parse(list).is_ok());
    list.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Reads a text that has an error, and leaves out as little as possible.
fn forgiving(text: &str, level: Level, place: &str, error: SettingsError) -> Salvaged {
    let (mut errors, mut lost) = (Vec::new(), Vec::new());
    let text = if DeTable::parse(text).is_err() {
        errors.push(error);
        let (kept, out) = without_broken_lines(text);
        lost = out;
        Cow::Owned(kept)
    } else {
        Cow::Borrowed(text)
    };
    let file = File { forgiven: Some(RefCell::default()), ..File::new(&text, level, place, None) };
    let read = whole(&file, settings);
    errors.extend(file.forgiven.map(RefCell::into_inner).unwrap_or_default());
    let mut settings = read.unwrap_or_else(|error| {
        errors.push(error);
        Settings::default()
    });
    for Refusal { list, text, line } in lost {
        let said = Said { value: text, origin: Origin { level, place: file.place.clone(), line: Some(line) } };
        match list {
            List::Deny => settings.permissions.deny.push(said),
            List::Ask => settings.permissions.ask.push(said),
            List::DenyRead => settings.sandbox.deny_read.push(said),
        }
    }
    Salvaged { settings, errors }
}

/// A list that only refuses something.
#[derive(Debug, Clone, Copy)]
enum List {
    Deny,
    Ask,
    DenyRead,
}

/// An entry of such a list on a line that is not TOML.
struct Refusal {
    list: List,
    text: String,
    line: usize,
}

/// Returns a text without the lines that are not TOML, and what those lines refuse. Each table is looked at alone, so that one
/// does not take the next with it. Lines are emptied, so that numbers stay what they are.
fn without_broken_lines(text: &str) -> (String, Vec<Refusal>) {
    let written: Vec<&str> = text.lines().collect();
    let (mut lines, mut lost) = (written.clone(), Vec::new());
    let heads = (0..lines.len()).filter(|at| *at == 0 || lines[*at].starts_with('['));
    let starts: Vec<usize> = heads.chain([lines.len()]).collect();
    for range in starts.windows(2).map(|pair| pair[0]..pair[1]).chain(std::iter::once(0..lines.len())) {
        for left in (0..MAX_BROKEN_LINES).rev() {
            let part = lines[range.clone()].join("\n");
            let Err(error) = DeTable::parse(&part) else { break };
            let at = error.span().unwrap_or_default().start.min(part.len());
            let line = range.start + part[..part.floor_char_boundary(at)].matches('\n').count();
            if left > 0 && lines.get(line).is_some_and(|line| !line.is_empty()) && range.contains(&line) {
                lines[line] = "";
                lost.push(line);
            } else {
                // Nothing of it can be told apart.
                lost.extend(range.clone().filter(|line| !lines[*line].is_empty()));
                lines[range.clone()].fill("");
            }
        }
    }
    (lines.join("\n"), refused_by(&written, &lost))
}

/// Returns what these lines refuse: the strings in a list of rules, wherever the list begins.
fn refused_by(written: &[&str], lost: &[usize]) -> Vec<Refusal> {
    let mut inside = None;
    // Which list each line is in.
    let lists: Vec<Option<List>> = written
        .iter()
        .map(|line| {
            let line = line.trim_start();
            if line.starts_with('[') {
                inside = None;
            } else if let Some((key, value)) = line.split_once('=')
                && key.trim_end().chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            {
                inside = match key.trim_end() {
                    "deny" => Some(List::Deny),
                    "ask" => Some(List::Ask),
                    "deny_read" => Some(List::DenyRead),
                    _ => None,
                }
                .filter(|_| value.trim_start().starts_with('['));
            }
            inside
        })
        .collect();
    let refusals = |at: &usize| {
        let texts = lists[*at].map(|list| (list, strings(written[*at])));
        texts.into_iter().flat_map(move |(list, texts)| texts.into_iter().map(move |text| (list, text)))
    };
    let all = lost.iter().flat_map(|at| refusals(at).map(move |(list, text)| Refusal { list, text, line: at + 1 }));
    all.collect()
}

/// Returns the complete strings on a line.
fn strings(line: &str) -> Vec<String> {
    let (mut all, mut rest) = (Vec::new(), line);
    while let Some(at) = rest.find(['"', '\'', '#']) {
        rest = &rest[at..];
        if rest.starts_with('#') {
            break;
        }
        let quote = char::from(rest.as_bytes()[0]);
        let ends = rest.match_indices(quote).skip(1).map(|(end, _)| end + 1);
        let read = |end: usize| {
            let line = format!("x = {}", &rest[..end]);
            let document = DeTable::parse(&line).ok()?;
            let text = fields(document.get_ref()).first()?.item.as_str()?.to_owned();
            Some((end, text))
        };
        let Some((end, text)) = ends.take(2).find_map(read) else { break };
        all.push(text);
        rest = &rest[end..];
    }
    all
}

/// Returns how often a text seems to set the address of a provider.
fn addresses_in(text: &str) -> usize {
    let is_said = |line: &&str| !line.trim_start().starts_with('#');
    text.lines().filter(is_said).map(|line| line.matches("base_url").count()).sum()
}

fn addresses(settings: &Settings) -> usize {
    settings.model.providers.values().filter(|said| said.value.base_url.is_some()).count()
}

/// Reads as much of a file as possible. A missing file sets nothing; one that cannot be opened has an error.
pub fn salvage_file(path: &Path, level: Level) -> Salvaged {
    let place = wholly_shown(&path.display().to_string());
    let failed = |source| SettingsError::Io { place: place.as_str().into(), source };
    let bytes = match bytes_of(path) {
        Ok(bytes) => bytes,
        Err(error) => return Salvaged { settings: Settings::default(), errors: vec![failed(error)] },
    };
    match String::from_utf8(bytes) {
        Ok(text) => salvage(&text, level, &place),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].split(|byte| *byte == b'\n').count();
            let mut salvaged = salvage(&String::from_utf8_lossy(error.as_bytes()), level, &place);
            let message = format!("line {line} is not valid UTF-8");
            salvaged.errors.insert(0, failed(io::Error::new(io::ErrorKind::InvalidData, message)));
            salvaged
        }
    }
}

/// Returns the beginning of a file, or nothing if it does not exist.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match open(path)? {
        Some(file) => {
            let most = u64::try_from(MAX_SALVAGED).unwrap_or(u64::MAX);
            file.take(most + 1).read_to_end(&mut bytes)?;
        }
        // A person who links to a file wants what it says.
        None if path.is_symlink() => {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is a link to a file that does not exist"));
        }
        None => {}
    }
    Ok(bytes)
}
