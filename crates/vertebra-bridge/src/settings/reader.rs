//! Reads tables so that a key that nobody asked for is an error, and remembers what was read.
//!
//! The same reading without a file makes a sketch of what may stand in one: see [`Section::sketch`].

use std::{
    cell::{Cell, OnceCell, RefCell},
    ops::Range,
    sync::Arc,
};

use serde_json::{Map, Value, json};
use toml_edit::{Item, TableLike};
use vertebra::nearest;

use super::{
    Level, Origin, Said, SettingsError,
    error::Values::{self, Hidden, Shown},
    shape,
};
use crate::{shown, wholly_shown};

/// About as many keys as a table may have.
const MOST_KEYS: usize = 32;

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
    /// How many values were read so far.
    pub(super) values: Cell<usize>,
    /// What they were, if somebody wants to read it.
    pub(super) entries: Option<RefCell<Vec<Entry>>>,
    /// Where its lines end.
    pub(super) ends: OnceCell<Vec<usize>>,
}

impl<'t> File<'t> {
    pub(super) fn new(text: &'t str, level: Level, place: &str, entries: Option<RefCell<Vec<Entry>>>) -> Self {
        let place = wholly_shown(place).into();
        Self { text, level, place, values: Cell::new(0), entries, ends: OnceCell::new() }
    }

    pub(super) fn wrong(&self, item: &Item, message: impl Into<String>) -> SettingsError {
        self.error(item.span().unwrap_or_default(), Shown, message)
    }

    pub(super) fn error(&self, span: Range<usize>, values: Values, message: impl Into<String>) -> SettingsError {
        SettingsError::at(&self.place, self.text, span, values, message.into())
    }

    fn origin(&self, byte: usize) -> Origin {
        let ends = self.ends.get_or_init(|| self.text.match_indices('\n').map(|(at, _)| at).collect());
        let line = ends.partition_point(|end| *end < byte) + 1;
        Origin { level: self.level, place: self.place.clone(), line: Some(line) }
    }

    /// Notes that this key has this value.
    fn said<T>(&self, key: impl FnOnce() -> String, span: &Range<usize>, read: T) -> Result<Said<T>, SettingsError> {
        let origin = self.origin(span.start);
        if self.values.get() == MAX_VALUES {
            return Err(self.error(span.clone(), Shown, format!("a file sets at most {MAX_VALUES} values")));
        }
        self.values.set(self.values.get() + 1);
        if let Some(entries) = &self.entries {
            let value = wholly_shown(self.text.get(span.clone()).unwrap_or_default().trim());
            entries.borrow_mut().push(Entry { key: key(), value, line: origin.line.unwrap_or_default() });
        }
        Ok(Said { value: read, origin })
    }
}

/// A table of the file. What is read from it is what may stand in it.
pub(super) struct Section<'f> {
    file: &'f File<'f>,
    name: String,
    span: Range<usize>,
    /// There is none if what may stand in it is sketched.
    table: Option<&'f dyn TableLike>,
    /// What stands in it: few things, each of which is found sooner by looking than by hashing its key.
    items: Vec<(&'f str, &'f Item)>,
    known: Vec<&'static str>,
    /// What may stand under each key, if that is sketched.
    sketch: Map<String, Value>,
}

impl<'f> Section<'f> {
    pub(super) fn new(file: &'f File<'f>, name: String, span: Range<usize>, table: &'f dyn TableLike) -> Self {
        let (items, known) = (table.iter().collect(), Vec::with_capacity(MOST_KEYS));
        Self { file, name, span, table: Some(table), items, known, sketch: Map::new() }
    }

    /// What may stand in a table that is read like this, as a JSON schema.
    pub(super) fn sketch<T>(
        file: &'f File<'f>,
        read: impl FnOnce(&mut Section<'f>) -> Result<T, SettingsError>,
    ) -> Result<Value, SettingsError> {
        let (items, known, sketch) = (Vec::new(), Vec::new(), Map::new());
        let mut section = Self { file, name: String::new(), span: 0..0, table: None, items, known, sketch };
        read(&mut section)?;
        Ok(shape::table(&section.sketch))
    }

    pub(super) fn is_sketch(&self) -> bool {
        self.table.is_none()
    }

    /// Who wrote the file.
    pub(super) fn level(&self) -> Level {
        self.file.level
    }

    /// What stands under a key, which may stand here.
    fn item(&mut self, key: &'static str, shape: impl FnOnce() -> Value) -> Option<&'f Item> {
        self.known.push(key);
        if self.is_sketch() {
            self.sketch.insert(key.to_owned(), shape());
        }
        self.at(key)
    }

    fn at(&self, key: &str) -> Option<&'f Item> {
        self.items.iter().find(|(name, _)| *name == key).map(|(_, item)| *item)
    }

    /// Whether something stands under this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.at(key).is_some()
    }

    /// Whether this text stands under this key.
    pub(super) fn is(&self, key: &str, text: &str) -> bool {
        self.at(key).is_some_and(|item| item.as_str() == Some(text))
    }

    /// Something is wrong with what stands under this key.
    pub(super) fn wrong(&self, key: &str, message: impl Into<String>) -> SettingsError {
        self.file.wrong(self.at(key).unwrap_or(&Item::None), message)
    }

    /// Something is wrong with this table as a whole.
    pub(super) fn lacks(&self, message: impl Into<String>) -> SettingsError {
        self.file.error(self.span.clone(), Shown, message)
    }

    /// The table of this name; an empty one if there is none.
    pub(super) fn section<T: Default>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Section<'f>) -> Result<T, SettingsError>,
    ) -> Result<T, SettingsError> {
        if self.is_sketch() {
            let inner = Section::sketch(self.file, read)?;
            self.item(key, || inner);
            return Ok(T::default());
        }
        self.table_at(key, || Value::Null, read).map(Option::unwrap_or_default)
    }

    /// The table of this name, which has this shape.
    pub(super) fn table_at<T>(
        &mut self,
        key: &'static str,
        shape: impl FnOnce() -> Value,
        read: impl FnOnce(&mut Section<'f>) -> Result<T, SettingsError>,
    ) -> Result<Option<T>, SettingsError> {
        let Some(item) = self.item(key, shape) else { return Ok(None) };
        let name = self.path(key);
        let Some(table) = item.as_table_like() else {
            let message = if self.name.starts_with("hook") {
                let inner = match key {
                    "match" => "tool = \"bash\"",
                    "run" => "command = \"./check.sh\"",
                    _ => "…",
                };
                format!("`{key}` is a table: write `{key} = {{ {inner} }}`")
            } else if name == "hooks" && item.is_array_of_tables() {
                "a hook is one `[[hook]]`, without an s".to_owned()
            } else {
                format!("`{name}` is a table: write `[{name}]`")
            };
            return Err(self.file.wrong(item, message));
        };
        let mut section = Section::new(self.file, name, item.span().unwrap_or_default(), table);
        let read = read(&mut section)?;
        section.finish()?;
        Ok(Some(read))
    }

    /// All tables in the table of this name, by their names.
    pub(super) fn each<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&mut Section<'f>) -> Result<T, SettingsError>,
    ) -> Result<Vec<(String, Said<T>)>, SettingsError> {
        if self.is_sketch() {
            let inner = Section::sketch(self.file, read)?;
            self.item(key, || json!({ "type": "object", "additionalProperties": inner }));
            return Ok(Vec::new());
        }
        let Some(item) = self.item(key, || Value::Null) else { return Ok(Vec::new()) };
        let path = self.path(key);
        let not_tables = || format!("`{path}` has a table for each: write `[{path}.NAME]`");
        let table = item.as_table_like().ok_or_else(|| self.file.wrong(item, not_tables()))?;
        let mut all = Vec::new();
        for (name, item) in table.iter() {
            let table = item.as_table_like().ok_or_else(|| self.file.wrong(item, not_tables()))?;
            let span = item.span().unwrap_or_default();
            let mut section = Section::new(self.file, format!("{path}.{}", shown(name)), span.clone(), table);
            let value = read(&mut section)?;
            section.finish()?;
            all.push((name.to_owned(), Said { value, origin: self.file.origin(span.start) }));
        }
        Ok(all)
    }

    /// A list of tables, as `[[key]]` or `key = [{ … }]`. In a sketch they look as the reference says, or as they are read.
    pub(super) fn tables<T>(
        &mut self,
        key: &'static str,
        reference: Option<&str>,
        read: impl Fn(&mut Section<'f>, &Origin) -> Result<Option<T>, SettingsError>,
    ) -> Result<Vec<Said<T>>, SettingsError> {
        let one = match reference {
            _ if !self.is_sketch() => Value::Null,
            Some(reference) => json!({ "$ref": reference }),
            None => Section::sketch(self.file, |section| read(section, &self.file.origin(0)))?,
        };
        let Some(item) = self.item(key, || shape::list(&one)) else { return Ok(Vec::new()) };
        let not_tables = || match &*self.name {
            "" => format!("`{key}` is a list of tables: write `[[{key}]]`"),
            _ => format!("`{key}` is a list of tables: write `{key} = [{{ … }}]`"),
        };
        let mut tables: Vec<(Range<usize>, &'f dyn TableLike)> = Vec::new();
        if let Some(list) = item.as_array_of_tables() {
            tables.extend(list.iter().map(|table| (table.span().unwrap_or_default(), table as &dyn TableLike)));
        } else {
            for value in item.as_array().ok_or_else(|| self.file.wrong(item, not_tables()))? {
                let span = value.span().unwrap_or_default();
                let table = value.as_inline_table();
                let table = table.ok_or_else(|| self.file.error(span.clone(), Shown, not_tables()))?;
                tables.push((span, table as &dyn TableLike));
            }
        }
        let (name, mut all) = (self.path(key), Vec::new());
        for (span, table) in tables {
            let origin = self.file.origin(span.start);
            let mut section = Section::new(self.file, name.clone(), span, table);
            let value = read(&mut section, &origin)?;
            section.finish()?;
            all.extend(value.map(|value| Said { value, origin }));
        }
        Ok(all)
    }

    /// A value, made of what stands there; the error says what to write instead.
    pub(super) fn value<T>(
        &mut self,
        key: &'static str,
        shape: impl FnOnce() -> Value,
        make: impl FnOnce(&'f Item) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        self.read(key, Shown, shape, make)
    }

    /// As [`value`](Self::value), for what somebody may have put a secret in by mistake.
    pub(super) fn discreet<T>(
        &mut self,
        key: &'static str,
        shape: impl FnOnce() -> Value,
        make: impl FnOnce(&'f Item) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        self.read(key, Hidden, shape, make)
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        values: Values,
        shape: impl FnOnce() -> Value,
        make: impl FnOnce(&'f Item) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        let Some(item) = self.item(key, shape) else { return Ok(None) };
        let span = item.span().unwrap_or_default();
        let read = make(item).map_err(|message| self.file.error(span.clone(), values, message))?;
        self.file.said(|| self.path(key), &span, read).map(Some)
    }

    /// A text.
    pub(super) fn text(&mut self, key: &'static str, such_as: &str) -> Result<Option<Said<String>>, SettingsError> {
        self.value(
            key,
            || shape::text(such_as),
            |item| {
                let text = item.as_str().ok_or_else(|| format!("`{key}` is a text: write `{key} = \"{such_as}\"`"))?;
                Ok(text.to_owned())
            },
        )
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, key: &'static str) -> Result<Option<Said<bool>>, SettingsError> {
        let make = |item: &Item| item.as_bool().ok_or_else(|| format!("`{key}` is `true` or `false`"));
        self.value(key, shape::flag, make)
    }

    /// A whole number in this range.
    pub(super) fn whole(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<i64>,
        such_as: i64,
    ) -> Result<Option<Said<i64>>, SettingsError> {
        let (least, most) = (*range.start(), *range.end());
        self.value(
            key,
            || shape::whole(least, most),
            |item| {
                item.as_integer().filter(|number| range.contains(number)).ok_or_else(|| {
                    let wanted = match (least, most) {
                        (1, i64::MAX) => "a whole number above 0".to_owned(),
                        _ => format!("a whole number from {least} to {most}"),
                    };
                    format!("`{key}` is {wanted}: write `{key} = {such_as}`")
                })
            },
        )
    }

    /// One of these words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<Said<T>>, SettingsError> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        self.value(
            key,
            || shape::one_of(&names),
            |item| {
                let all = || names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
                let word = item.as_str().ok_or_else(|| format!("`{key}` is one of {}", all()))?;
                words.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
                    let meant = nearest(word, names.iter().copied())
                        .map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
                    format!("`{key}` is one of {}{meant}", all())
                })
            },
        )
    }

    /// A list of texts.
    pub(super) fn list(&mut self, key: &'static str, such_as: &str) -> Result<Vec<Said<String>>, SettingsError> {
        let not_texts = || format!("`{key}` is a list of texts: write `{key} = [\"{such_as}\"]`");
        match self.item(key, || shape::list(&shape::text(such_as))) {
            Some(item) if item.is_array() => self.texts(key, item, &not_texts, |_| Ok(())),
            Some(item) => Err(self.file.wrong(item, not_texts())),
            None => Ok(Vec::new()),
        }
    }

    /// A text or a list of texts, each of which is looked at.
    pub(super) fn one_or_more(
        &mut self,
        key: &'static str,
        such_as: &str,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Vec<Said<String>>, SettingsError> {
        let not_texts = || format!("`{key}` is a text or a list of texts: write `{key} = \"{such_as}\"`");
        let shape = || shape::either([shape::text(such_as), shape::list(&shape::text(such_as))]);
        match self.item(key, shape) {
            Some(item) => self.texts(key, item, &not_texts, check),
            None => Ok(Vec::new()),
        }
    }

    fn texts(
        &self,
        key: &str,
        item: &Item,
        not_texts: &dyn Fn() -> String,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Vec<Said<String>>, SettingsError> {
        let Some(value) = item.as_value() else { return Err(self.file.wrong(item, not_texts())) };
        let values: Vec<&toml_edit::Value> = match value.as_array() {
            Some(list) => list.iter().collect(),
            None => vec![value],
        };
        let mut texts = Vec::with_capacity(values.len());
        for value in values {
            let span = value.span().unwrap_or_default();
            let text = value.as_str().ok_or_else(|| self.file.error(span.clone(), Shown, not_texts()))?;
            check(text).map_err(|message| self.file.error(span.clone(), Shown, message))?;
            texts.push(self.file.said(|| self.path(key), &span, text.to_owned())?);
        }
        Ok(texts)
    }

    /// Everything in the table of this name, whose keys are anybody's.
    pub(super) fn map<T>(
        &mut self,
        key: &'static str,
        shape: impl FnOnce() -> Value,
        make: impl Fn(&str, &Item) -> Result<T, String>,
    ) -> Result<Vec<T>, SettingsError> {
        let shape = || json!({ "type": "object", "additionalProperties": shape() });
        let Some(item) = self.item(key, shape) else { return Ok(Vec::new()) };
        let not_a_table = || format!("`{key}` is a table: write `{key} = {{ … }}`");
        let table = item.as_table_like().ok_or_else(|| self.file.wrong(item, not_a_table()))?;
        let (path, mut all) = (self.path(key), Vec::new());
        for (name, item) in table.iter() {
            let span = item.span().unwrap_or_default();
            let value = make(name, item).map_err(|message| self.file.error(span.clone(), Shown, message))?;
            all.push(self.file.said(|| format!("{path}.{}", shown(name)), &span, value)?.value);
        }
        Ok(all)
    }

    /// There is nothing in the table that was not asked for.
    pub(super) fn finish(&self) -> Result<(), SettingsError> {
        let Some(table) = self.table else { return Ok(()) };
        for (key, item) in &self.items {
            if !self.known.contains(key) {
                let span = table.key(key).and_then(toml_edit::Key::span).or(item.span()).unwrap_or_default();
                let key = shown(key);
                let known = self.known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                let meant = nearest(&key, self.known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
                let hint = match (&*self.name, &*key) {
                    ("hook", "command" | "worker" | "http" | "prompt" | "mcp_tool" | "wasm") => {
                        format!("write `run = {{ {key} = … }}`")
                    }
                    ("hook", "tool" | "path") => format!("write `match = {{ {key} = … }}`"),
                    _ => meant.unwrap_or_else(|| format!("there are {known}")),
                };
                let what = match &*self.name {
                    "" => format!("there is no section `{key}`"),
                    "hook" => format!("`[[hook]]` has no `{key}`"),
                    section => format!("`[{section}]` has no `{key}`"),
                };
                // Whoever misspells what a hook matches has written no key.
                let values = if self.name.ends_with("match") { Shown } else { Hidden };
                return Err(self.file.error(span, values, format!("{what}; {hint}")));
            }
        }
        Ok(())
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}
