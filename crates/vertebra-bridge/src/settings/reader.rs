//! Reads tables so that a key that nobody asked for is an error, and remembers what was read.

use std::{cell::RefCell, sync::Arc};

use toml_edit::{Item, TableLike};
use vertebra::nearest;

use super::{
    Level, Origin, Said, SettingsError,
    error::Values::{self, Hidden, Shown},
};
use crate::{shown, wholly_shown};

/// How many values one file may set.
const MAX_VALUES: usize = 4096;

/// One thing that a file sets, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `permissions.allow`.
    pub key: String,
    /// `"Bash(git *)"`, harmless to show.
    pub value: String,
    /// The line, from 1.
    pub line: usize,
}

/// The file that is read.
pub(super) struct File<'t> {
    pub(super) text: &'t str,
    pub(super) level: Level,
    pub(super) place: Arc<str>,
    /// What was read so far.
    pub(super) entries: RefCell<Vec<Entry>>,
}

impl File<'_> {
    pub(super) fn wrong(&self, item: &Item, message: impl Into<String>) -> SettingsError {
        self.error(item.span().map_or(0, |span| span.start), Shown, message)
    }

    pub(super) fn error(&self, byte: usize, values: Values, message: impl Into<String>) -> SettingsError {
        SettingsError::at(&self.place, self.text, byte, values, message.into())
    }

    fn origin(&self, byte: usize) -> Origin {
        let line = self.text.get(..byte).unwrap_or(self.text).matches('\n').count() + 1;
        Origin { level: self.level, place: self.place.clone(), line: Some(line) }
    }

    /// Notes that this key has this value.
    fn said<T>(&self, key: String, value: &str, byte: usize, read: T) -> Result<Said<T>, SettingsError> {
        let origin = self.origin(byte);
        let mut entries = self.entries.borrow_mut();
        if entries.len() == MAX_VALUES {
            return Err(self.error(byte, Shown, format!("a file sets at most {MAX_VALUES} values")));
        }
        entries.push(Entry { key, value: wholly_shown(value.trim()), line: origin.line.unwrap_or_default() });
        Ok(Said { value: read, origin })
    }
}

/// A table of the file. What is read from it is what may stand in it.
pub(super) struct Section<'f> {
    file: &'f File<'f>,
    name: String,
    table: &'f dyn TableLike,
    known: Vec<&'static str>,
}

impl<'f> Section<'f> {
    pub(super) fn new(file: &'f File<'f>, name: String, table: &'f dyn TableLike) -> Self {
        Self { file, name, table, known: Vec::new() }
    }

    /// What stands under a key, which may stand here.
    pub(super) fn item(&mut self, key: &'static str) -> Option<&'f Item> {
        self.known.push(key);
        self.table.get(key)
    }

    /// Something is wrong with what stands under this key.
    pub(super) fn wrong(&self, key: &str, message: &str) -> SettingsError {
        self.file.wrong(self.table.get(key).unwrap_or(&Item::None), message)
    }

    /// The table of this name; an empty one if there is none.
    pub(super) fn section<T: Default>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Section<'f>) -> Result<T, SettingsError>,
    ) -> Result<T, SettingsError> {
        let Some(item) = self.item(key) else { return Ok(T::default()) };
        let name = self.path(key);
        let Some(table) = item.as_table_like() else {
            return Err(self.file.wrong(item, format!("`{name}` is a table: write `[{name}]`")));
        };
        let mut section = Section::new(self.file, name, table);
        let read = read(&mut section)?;
        section.finish()?;
        Ok(read)
    }

    /// All tables in the table of this name, by their names.
    pub(super) fn each<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&mut Section<'f>) -> Result<T, SettingsError>,
    ) -> Result<Vec<(String, Said<T>)>, SettingsError> {
        let Some(item) = self.item(key) else { return Ok(Vec::new()) };
        let path = self.path(key);
        let not_tables = || format!("`{path}` has a table for each: write `[{path}.NAME]`");
        let table = item.as_table_like().ok_or_else(|| self.file.wrong(item, not_tables()))?;
        let mut all = Vec::new();
        for (name, item) in table.iter() {
            let table = item.as_table_like().ok_or_else(|| self.file.wrong(item, not_tables()))?;
            let mut section = Section::new(self.file, format!("{path}.{}", shown(name)), table);
            let value = read(&mut section)?;
            section.finish()?;
            let origin = self.file.origin(item.span().map_or(0, |span| span.start));
            all.push((name.to_owned(), Said { value, origin }));
        }
        Ok(all)
    }

    /// A value, made of what stands there; the error says what to write instead.
    pub(super) fn value<T>(
        &mut self,
        key: &'static str,
        make: impl FnOnce(&Item) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        self.read(key, Shown, make)
    }

    /// As [`value`](Self::value), for what somebody may have put a secret in by mistake.
    pub(super) fn discreet<T>(
        &mut self,
        key: &'static str,
        make: impl FnOnce(&Item) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        self.read(key, Hidden, make)
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        values: Values,
        make: impl FnOnce(&Item) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let span = item.span().unwrap_or_default();
        let read = make(item).map_err(|message| self.file.error(span.start, values, message))?;
        let written = self.file.text.get(span.clone()).unwrap_or_default();
        self.file.said(self.path(key), written, span.start, read).map(Some)
    }

    /// A text.
    pub(super) fn text(&mut self, key: &'static str, such_as: &str) -> Result<Option<Said<String>>, SettingsError> {
        self.value(key, |item| {
            let text = item.as_str().ok_or_else(|| format!("`{key}` is a text: write `{key} = \"{such_as}\"`"))?;
            Ok(text.to_owned())
        })
    }

    /// One of these words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<Said<T>>, SettingsError> {
        self.value(key, |item| {
            let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
            let all = || names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            let word = item.as_str().ok_or_else(|| format!("`{key}` is one of {}", all()))?;
            words.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
                let meant = nearest(word, names.iter().copied())
                    .map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
                format!("`{key}` is one of {}{meant}", all())
            })
        })
    }

    /// A list of texts.
    pub(super) fn list(&mut self, key: &'static str, such_as: &str) -> Result<Vec<Said<String>>, SettingsError> {
        let Some(item) = self.item(key) else { return Ok(Vec::new()) };
        let not_texts = || format!("`{key}` is a list of texts: write `{key} = [\"{such_as}\"]`");
        let list = item.as_array().ok_or_else(|| self.file.wrong(item, not_texts()))?;
        let mut texts = Vec::new();
        for value in list {
            let span = value.span().unwrap_or_default();
            let text = value.as_str().ok_or_else(|| self.file.error(span.start, Shown, not_texts()))?;
            let written = self.file.text.get(span.clone()).unwrap_or_default();
            texts.push(self.file.said(self.path(key), written, span.start, text.to_owned())?);
        }
        Ok(texts)
    }

    /// There is nothing in the table that was not asked for.
    pub(super) fn finish(self) -> Result<(), SettingsError> {
        for (key, item) in self.table.iter() {
            if !self.known.contains(&key) {
                let span = self.table.key(key).and_then(toml_edit::Key::span).or(item.span());
                let (byte, key) = (span.map_or(0, |span| span.start), shown(key));
                let known = self.known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                let meant = nearest(&key, self.known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
                let hint = meant.unwrap_or_else(|| format!("there are {known}"));
                let what = match &*self.name {
                    "" => format!("there is no section `{key}`"),
                    section => format!("`[{section}]` has no `{key}`"),
                };
                return Err(self.file.error(byte, Hidden, format!("{what}; {hint}")));
            }
        }
        Ok(())
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}
