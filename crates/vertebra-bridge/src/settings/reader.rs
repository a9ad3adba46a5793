//! Reads tables, rejects unknown keys, and records the values it read.
//!
//! The same functions, run without a file, produce the JSON schema of the file: see [`Section::sketch`].

use std::{
    borrow::Cow,
    cell::{Cell, OnceCell, RefCell},
    ops::Range,
    sync::Arc,
};

use serde_json::{Map, Value, json};
use vertebra::{AnyPoint, PointError, Points, nearest};

use super::{
    Level, Origin, Said, SettingsError,
    error::Values::{self, Hidden, Shown},
    item::{Field, Item},
    shape,
    tools::KnownTools,
};
use crate::{shown, wholly_shown};

/// The usual upper bound of keys in a table.
const MOST_KEYS: usize = 32;

/// The largest number of values in one file.
const MAX_VALUES: usize = 4096;

/// How many errors of a file that is read as far as possible have their line.
const MAX_EXACT_ERRORS: usize = 100;

/// One value that a file sets, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `permissions.allow`.
    pub key: String,
    /// `"Bash(git *)"`, with control characters escaped.
    pub value: String,
    /// The line number, starting at 1.
    pub line: usize,
}

/// The file being read.
pub(super) struct File<'t> {
    pub(super) text: &'t str,
    pub(super) level: Level,
    pub(super) place: Arc<str>,
    /// The number of values read so far.
    pub(super) values: Cell<usize>,
    /// The values, if the caller wants them for display.
    pub(super) entries: Option<RefCell<Vec<Entry>>>,
    /// The byte offsets of the line ends.
    pub(super) ends: OnceCell<Vec<usize>>,
    /// The tools that the file declares. Not set for a hook that does not come from a file: its client may have any tool.
    pub(super) tools: OnceCell<Vec<String>>,
    /// The points that hooks may name: those that were given, and those that the file declares.
    pub(super) points: RefCell<Points>,
    /// What was wrong, if the rest of the file is read all the same.
    pub(super) forgiven: Option<RefCell<Vec<SettingsError>>>,
}

impl<'t> File<'t> {
    pub(super) fn new(text: &'t str, level: Level, place: &str, entries: Option<RefCell<Vec<Entry>>>) -> Self {
        let place = wholly_shown(place).into();
        let (values, ends, tools) = (Cell::new(0), OnceCell::new(), OnceCell::new());
        let points = RefCell::default();
        Self { text, level, place, values, entries, ends, tools, points, forgiven: None }
    }

    /// Keeps an error and goes on, if the file is read as far as possible.
    pub(super) fn forgive<T>(&self, read: Result<T, SettingsError>) -> Result<Option<T>, SettingsError> {
        match (read, &self.forgiven) {
            (Err(error), Some(forgiven)) => {
                forgiven.borrow_mut().push(error);
                Ok(None)
            }
            (read, _) => read.map(Some),
        }
    }

    pub(super) fn wrong(&self, item: Item<'_>, message: impl Into<String>) -> SettingsError {
        self.error(item.span(), Shown, message)
    }

    pub(super) fn error(&self, span: Range<usize>, values: Values, message: impl Into<String>) -> SettingsError {
        // Finding the line of each of thousands of errors would take too long.
        if self.forgiven.as_ref().is_some_and(|forgiven| forgiven.borrow().len() >= MAX_EXACT_ERRORS) {
            let (place, message) = (self.place.clone(), message.into());
            return SettingsError::Content { place, line: 0, text: String::new(), mark: 0..0, message };
        }
        SettingsError::at(&self.place, self.text, span, values, message.into())
    }

    fn origin(&self, byte: usize) -> Origin {
        let ends = self.ends.get_or_init(|| self.text.match_indices('\n').map(|(at, _)| at).collect());
        let line = ends.partition_point(|end| *end < byte) + 1;
        Origin { level: self.level, place: self.place.clone(), line: Some(line) }
    }

    /// Records that this key has this value.
    fn said<T>(&self, key: impl FnOnce() -> String, span: &Range<usize>, read: T) -> Result<Said<T>, SettingsError> {
        let origin = self.origin(span.start);
        if self.values.get() == MAX_VALUES {
            let error = self.error(span.clone(), Shown, format!("a file can set at most {MAX_VALUES} values"));
            self.forgive::<()>(Err(error))?;
        }
        self.values.set(self.values.get() + 1);
        if let Some(entries) = &self.entries {
            let value = wholly_shown(self.text.get(span.clone()).unwrap_or_default().trim());
            entries.borrow_mut().push(Entry { key: key(), value, line: origin.line.unwrap_or_default() });
        }
        Ok(Said { value: read, origin })
    }
}

/// A table of the file. The keys read from it are the keys it may have.
pub(super) struct Section<'f> {
    file: &'f File<'f>,
    name: Cow<'static, str>,
    span: Range<usize>,
    /// Its fields. A table has few, so a linear search is faster than an index.
    fields: Vec<Field<'f>>,
    known: Vec<&'static str>,
    /// The JSON schema of each key, while a schema is made; there is no table then.
    sketch: Option<Map<String, Value>>,
}

impl<'f> Section<'f> {
    pub(super) fn new(file: &'f File<'f>, name: Cow<'static, str>, span: Range<usize>, fields: Vec<Field<'f>>) -> Self {
        Self { file, name, span, fields, known: Vec::with_capacity(MOST_KEYS), sketch: None }
    }

    /// Returns the JSON schema of a table that is read by this function.
    pub(super) fn sketch<T>(
        file: &'f File<'f>,
        read: impl FnOnce(&mut Section<'f>) -> Result<T, SettingsError>,
    ) -> Result<Value, SettingsError> {
        let (fields, known, sketch) = (Vec::new(), Vec::new(), Some(Map::new()));
        let mut section = Self { file, name: "".into(), span: 0..0, fields, known, sketch };
        read(&mut section)?;
        Ok(shape::table(&section.sketch.unwrap_or_default()))
    }

    pub(super) fn is_sketch(&self) -> bool {
        self.sketch.is_some()
    }

    /// Returns the level of the file.
    pub(super) fn level(&self) -> Level {
        self.file.level
    }

    /// Returns the value of a key, and records that the key is known.
    fn item(&mut self, key: &'static str, shape: impl FnOnce() -> Value) -> Option<Item<'f>> {
        self.known.push(key);
        if let Some(sketch) = &mut self.sketch {
            sketch.insert(key.to_owned(), shape());
        }
        self.at(key)
    }

    fn at(&self, key: &str) -> Option<Item<'f>> {
        self.fields.iter().find(|field| field.key == key).map(|field| field.item)
    }

    /// Whether this key is set.
    pub(super) fn has(&self, key: &str) -> bool {
        self.at(key).is_some()
    }

    /// Whether this key is set to this string.
    pub(super) fn is(&self, key: &str, text: &str) -> bool {
        self.at(key).is_some_and(|item| item.as_str() == Some(text))
    }

    /// Returns the keys that are set.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'f str> {
        self.fields.iter().map(|field| field.key)
    }

    /// Returns an error about the value of this key.
    pub(super) fn wrong(&self, key: &str, message: impl Into<String>) -> SettingsError {
        self.file.error(self.at(key).map(Item::span).unwrap_or_default(), Shown, message)
    }

    /// Returns an error if this key is set.
    pub(super) fn none_such(&self, key: &str, why: impl FnOnce() -> String) -> Result<(), SettingsError> {
        if self.has(key) { Err(self.wrong(key, why())) } else { Ok(()) }
    }

    /// Returns an error about this table as a whole.
    pub(super) fn lacks(&self, message: impl Into<String>) -> SettingsError {
        self.file.error(self.span.clone(), Shown, message)
    }

    /// Reads the table of this name; a missing table is an empty one.
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

    /// Reads the table of this name, which has this JSON schema.
    pub(super) fn table_at<T>(
        &mut self,
        key: &'static str,
        shape: impl FnOnce() -> Value,
        read: impl FnOnce(&mut Section<'f>) -> Result<T, SettingsError>,
    ) -> Result<Option<T>, SettingsError> {
        let Some(item) = self.item(key, shape) else { return Ok(None) };
        let name = self.path(key);
        let Some(fields) = item.fields() else {
            let message = if self.name.starts_with("hook") {
                let inner = match key {
                    "match" => "tool = \"bash\"",
                    "run" => "command = \"./check.sh\"",
                    _ => "…",
                };
                format!("`{key}` must be a table: write `{key} = {{ {inner} }}`")
            } else if name == "hooks" && item.is_list_of_tables() {
                "write each hook as `[[hook]]`, without an s".to_owned()
            } else {
                format!("`{name}` must be a table: write `[{name}]`")
            };
            return Err(self.file.wrong(item, message));
        };
        let mut section = Section::new(self.file, name, item.span(), fields);
        let read = read(&mut section)?;
        // What a hook says must be understood whole.
        if self.name.is_empty() {
            self.file.forgive(section.finish())?;
        } else {
            section.finish()?;
        }
        Ok(Some(read))
    }

    /// Reads something of the file that can be left out if it is wrong and the rest is wanted all the same.
    pub(super) fn forgiven<T: Default>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, SettingsError>,
    ) -> Result<T, SettingsError> {
        let read = read(self);
        self.file.forgive(read).map(Option::unwrap_or_default)
    }

    /// Declares a point that the hooks of this file may name.
    pub(super) fn declare_point(&self, point: AnyPoint) -> Result<(), PointError> {
        self.file.points.borrow_mut().add(point)
    }

    /// Returns the points that the hooks of this file may name.
    pub(super) fn points(&self) -> Points {
        self.file.points.borrow().clone()
    }

    /// Declares tools that rules and matchers of this file may name.
    pub(super) fn declare_tools(&self, names: &[Said<String>]) {
        // The file has one such list.
        let _ = self.file.tools.set(names.iter().map(|said| said.value.clone()).collect());
    }

    /// Returns the tools that rules and matchers of this file may name, or `None` if they may name any.
    pub(super) fn known_tools(&self) -> Option<KnownTools<'f>> {
        let file: &'f File<'f> = self.file;
        file.tools.get().map(|declared| KnownTools(declared))
    }

    /// Reads all tables inside the table of this name, with their names.
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
        let not_tables = || format!("`{path}` needs one table per name: write `[{path}.NAME]`");
        let fields = item.fields().ok_or_else(|| self.file.wrong(item, not_tables()))?;
        let mut all = Vec::new();
        for Field { key, item, .. } in fields {
            let fields = item.fields().ok_or_else(|| self.file.wrong(item, not_tables()))?;
            let name = format!("{path}.{}", shown(key)).into();
            let mut section = Section::new(self.file, name, item.span(), fields);
            let value = read(&mut section).and_then(|value| section.finish().map(|()| value));
            let Some(value) = self.file.forgive(value)? else { continue };
            all.push((key.to_owned(), Said { value, origin: self.file.origin(item.span().start) }));
        }
        Ok(all)
    }

    /// Reads a list of tables, as `[[key]]` or `key = [{ … }]`. Its JSON schema is the reference, or made from `read`.
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
            "" => format!("`{key}` must be a list of tables: write `[[{key}]]`"),
            _ => format!("`{key}` must be a list of tables: write `{key} = [{{ … }}]`"),
        };
        let list = item.as_array().ok_or_else(|| self.file.wrong(item, not_tables()))?;
        let (name, mut all) = (self.path(key), Vec::with_capacity(list.len()));
        for item in list {
            let fields = item.fields().ok_or_else(|| self.file.wrong(item, not_tables()))?;
            let origin = self.file.origin(item.span().start);
            let mut section = Section::new(self.file, name.clone(), item.span(), fields);
            let value = read(&mut section, &origin).and_then(|value| section.finish().map(|()| value));
            let value = if self.name.is_empty() { self.file.forgive(value)?.flatten() } else { value? };
            all.extend(value.map(|value| Said { value, origin }));
        }
        Ok(all)
    }

    /// Reads a value and converts it; the error of `make` says what to write instead.
    pub(super) fn value<T>(
        &mut self,
        key: &'static str,
        shape: impl FnOnce() -> Value,
        make: impl FnOnce(Item<'f>) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        self.read(key, Shown, shape, make)
    }

    /// As [`value`](Self::value), for keys that may hold a secret by mistake: errors hide the value.
    pub(super) fn discreet<T>(
        &mut self,
        key: &'static str,
        shape: impl FnOnce() -> Value,
        make: impl FnOnce(Item<'f>) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        self.read(key, Hidden, shape, make)
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        values: Values,
        shape: impl FnOnce() -> Value,
        make: impl FnOnce(Item<'f>) -> Result<T, String>,
    ) -> Result<Option<Said<T>>, SettingsError> {
        let Some(item) = self.item(key, shape) else { return Ok(None) };
        let read = make(item).map_err(|message| self.file.error(item.span(), values, message));
        // Keys of a section are independent of each other. What a hook or a provider says must be understood whole.
        let is_alone = !self.name.contains('.') && self.name != "hook" && self.name != "point";
        let read = if is_alone { self.file.forgive(read)? } else { Some(read?) };
        let Some(read) = read else { return Ok(None) };
        self.file.said(|| self.path(key).into_owned(), &item.span(), read).map(Some)
    }

    /// Reads a string.
    pub(super) fn text(&mut self, key: &'static str, such_as: &str) -> Result<Option<Said<String>>, SettingsError> {
        self.value(
            key,
            || shape::text(such_as),
            |item| {
                let text =
                    item.as_str().ok_or_else(|| format!("`{key}` must be a string: write `{key} = \"{such_as}\"`"))?;
                Ok(text.to_owned())
            },
        )
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&mut self, key: &'static str) -> Result<Option<Said<bool>>, SettingsError> {
        let make = |item: Item<'_>| item.as_bool().ok_or_else(|| format!("`{key}` must be `true` or `false`"));
        self.value(key, shape::flag, make)
    }

    /// Reads a whole number in this range.
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
                    format!("`{key}` must be {wanted}: write `{key} = {such_as}`")
                })
            },
        )
    }

    /// Reads one of these words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<Said<T>>, SettingsError> {
        let names = || words.iter().map(|(name, _)| *name);
        self.value(
            key,
            || shape::one_of(&names().collect::<Vec<_>>()),
            |item| {
                let all = || names().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
                let word = item.as_str().ok_or_else(|| format!("`{key}` must be one of {}", all()))?;
                words.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
                    let meant =
                        nearest(word, names()).map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
                    format!("`{key}` must be one of {}{meant}", all())
                })
            },
        )
    }

    /// Reads a list of strings.
    pub(super) fn list(&mut self, key: &'static str, such_as: &str) -> Result<Vec<Said<String>>, SettingsError> {
        self.checked_list(key, such_as, |_| Ok(()))
    }

    /// Reads a list of strings and checks each.
    pub(super) fn checked_list(
        &mut self,
        key: &'static str,
        such_as: &str,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Vec<Said<String>>, SettingsError> {
        let not_texts = || format!("`{key}` must be a list of strings: write `{key} = [\"{such_as}\"]`");
        let Some(item) = self.item(key, || shape::list(&shape::text(such_as))) else { return Ok(Vec::new()) };
        let Some(list) = item.as_array() else {
            return self.file.forgive(Err(self.file.wrong(item, not_texts()))).map(Option::unwrap_or_default);
        };
        let checked = |text: &str| check(text).map(|()| text.to_owned());
        let mut all = Vec::with_capacity(list.len());
        for item in list {
            all.extend(self.file.forgive(self.text_in(key, item, &not_texts, &checked))?);
        }
        Ok(all)
    }

    /// Reads a string or a list of strings, and converts each.
    pub(super) fn one_or_more<T>(
        &mut self,
        key: &'static str,
        such_as: &str,
        make: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<Said<T>>, SettingsError> {
        let not_texts = || format!("`{key}` must be a string or a list of strings: write `{key} = \"{such_as}\"`");
        let shape = || shape::either([shape::text(such_as), shape::list(&shape::text(such_as))]);
        match self.item(key, shape) {
            Some(item) => self.texts(key, item, &not_texts, make),
            None => Ok(Vec::new()),
        }
    }

    fn texts<T>(
        &self,
        key: &'static str,
        item: Item<'f>,
        not_texts: &dyn Fn() -> String,
        make: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<Said<T>>, SettingsError> {
        let one = |item: Item<'f>| self.text_in(key, item, not_texts, &make);
        match item.as_array() {
            Some(list) => list.map(one).collect(),
            None => Ok(vec![one(item)?]),
        }
    }

    fn text_in<T>(
        &self,
        key: &'static str,
        item: Item<'f>,
        not_texts: &dyn Fn() -> String,
        make: &dyn Fn(&str) -> Result<T, String>,
    ) -> Result<Said<T>, SettingsError> {
        let text = item.as_str().ok_or_else(|| self.file.wrong(item, not_texts()))?;
        let value = make(text).map_err(|message| self.file.wrong(item, message))?;
        self.file.said(|| self.path(key).into_owned(), &item.span(), value)
    }

    /// Reads the table of this name, which may have any keys.
    pub(super) fn map<T>(
        &mut self,
        key: &'static str,
        shape: impl FnOnce() -> Value,
        make: impl Fn(&str, Item<'f>) -> Result<T, String>,
    ) -> Result<Vec<T>, SettingsError> {
        let shape = || json!({ "type": "object", "additionalProperties": shape() });
        let Some(item) = self.item(key, shape) else { return Ok(Vec::new()) };
        let not_a_table = || format!("`{key}` must be a table: write `{key} = {{ … }}`");
        let fields = item.fields().ok_or_else(|| self.file.wrong(item, not_a_table()))?;
        let (path, mut all) = (self.path(key), Vec::new());
        for Field { key, item, .. } in fields {
            let value = make(key, item).map_err(|message| self.file.wrong(item, message))?;
            all.push(self.file.said(|| format!("{path}.{}", shown(key)), &item.span(), value)?.value);
        }
        Ok(all)
    }

    /// Rejects keys that were not read.
    pub(super) fn finish(&self) -> Result<(), SettingsError> {
        for Field { key, span, .. } in &self.fields {
            if !self.known.contains(key) {
                let key = shown(key);
                let known = self.known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                let meant = nearest(&key, self.known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
                let hint = match (&*self.name, &*key) {
                    ("hook", "command" | "worker" | "http" | "prompt" | "mcp_tool" | "wasm") => {
                        format!("write `run = {{ {key} = … }}`")
                    }
                    ("hook", "tool" | "path") => format!("write `match = {{ {key} = … }}`"),
                    ("", _) => meant.unwrap_or_else(|| format!("known sections: {known}")),
                    _ => meant.unwrap_or_else(|| format!("known keys: {known}")),
                };
                let what = match &*self.name {
                    "" => format!("unknown section `{key}`"),
                    "hook" | "point" => format!("unknown key `{key}` in `[[{}]]`", self.name),
                    section => format!("unknown key `{key}` in `[{section}]`"),
                };
                // The value of a misspelt key may be a secret; the value of a misspelt matcher is not.
                let values = if self.name.ends_with("match") { Shown } else { Hidden };
                return Err(self.file.error(span.clone(), values, format!("{what}; {hint}")));
            }
        }
        Ok(())
    }

    fn path(&self, key: &'static str) -> Cow<'static, str> {
        if self.name.is_empty() { key.into() } else { [&*self.name, ".", key].concat().into() }
    }
}
