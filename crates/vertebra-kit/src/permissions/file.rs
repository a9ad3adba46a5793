//! Rules in a TOML file: `[permissions]` with `allow`, `ask`, `deny` and `mode`.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use toml_edit::{Array, Document, DocumentMut, Item, Table, TableLike, Value};

use super::{
    Mode,
    rule::{Effect, Rule, RuleError},
};

/// The largest file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Why a rule file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is not TOML.
    #[error("{}: {message}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// What and where.
        message: String,
    },
    /// A value in it is invalid.
    #[error("{}, line {line}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to write instead.
        message: String,
    },
}

/// A file with rules.
#[derive(Debug)]
pub(super) struct RuleFile {
    path: PathBuf,
    /// Serialises writes: two people may add a rule at once.
    writing: Mutex<()>,
}

/// The contents of a rule file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) rules: Vec<(Effect, Rule)>,
    /// What is allowed in sessions that work in a folder.
    pub(super) in_folders: Vec<(String, Rule)>,
    pub(super) mode: Option<Mode>,
}

impl RuleFile {
    pub(super) fn new(path: &Path) -> Result<Self, FileError> {
        let absolute = std::path::absolute(path);
        let path = absolute.map_err(|source| FileError::Io { path: path.to_owned(), source })?;
        Ok(Self { path, writing: Mutex::new(()) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file as the source of its rules.
    pub(super) fn source(&self) -> Arc<str> {
        self.path.display().to_string().into()
    }

    /// Reads the rules. A missing file has none.
    pub(super) fn read(&self) -> Result<Contents, FileError> {
        let text = self.text()?;
        let document = Document::parse(text.as_str())
            .map_err(|error| FileError::Toml { path: self.path.clone(), message: error.to_string() })?;
        let wrong = |span: Option<std::ops::Range<usize>>, message: String| {
            let before = text.get(..span.map_or(0, |span| span.start)).unwrap_or_default();
            FileError::Content { path: self.path.clone(), line: before.matches('\n').count() + 1, message }
        };
        let mut contents = Contents::default();
        let Some(item) = document.as_item().get("permissions") else { return Ok(contents) };
        let Some(table) = item.as_table_like() else {
            return Err(wrong(item.span(), "`permissions` is a table: write `[permissions]`".to_owned()));
        };
        let listed = |key: &str, item: &Item| {
            let not_texts = || format!("`{key}` is a list of rules: write `{key} = [\"Bash(git *)\"]`");
            let list = item.as_array().ok_or_else(|| wrong(item.span(), not_texts()))?;
            let rule = |value: &Value| {
                let text = value.as_str().ok_or_else(|| wrong(value.span(), not_texts()))?;
                text.parse::<Rule>().map_err(|error: RuleError| wrong(value.span(), error.to_string()))
            };
            list.iter().map(rule).collect::<Result<Vec<Rule>, _>>()
        };
        let unknown = |table: &dyn TableLike, key: &str, item: &Item, expected: &str| {
            let span = table.key(key).and_then(toml_edit::Key::span).or(item.span());
            wrong(span, format!("unknown key `{key}`; expected {expected}"))
        };
        for (key, item) in table.iter() {
            let effect = match key {
                "allow" => Effect::Allow,
                "ask" => Effect::Ask,
                "deny" => Effect::Deny,
                "mode" => {
                    contents.mode = Some(mode(item).map_err(|message| wrong(item.span(), message))?);
                    continue;
                }
                "folder" => {
                    let not_tables = "`folder` has a table for each folder: write `[permissions.folder.\"/a/folder\"]`";
                    let tables = item.as_table_like().ok_or_else(|| wrong(item.span(), not_tables.to_owned()))?;
                    for (folder, item) in tables.iter() {
                        let table = item.as_table_like().ok_or_else(|| wrong(item.span(), not_tables.to_owned()))?;
                        for (key, item) in table.iter() {
                            if key != "allow" {
                                return Err(unknown(table, key, item, "`allow`"));
                            }
                            let rules = listed(key, item)?.into_iter();
                            contents.in_folders.extend(rules.map(|rule| (folder.to_owned(), rule)));
                        }
                    }
                    continue;
                }
                _ => return Err(unknown(table, key, item, "`allow`, `ask`, `deny`, `folder` or `mode`")),
            };
            contents.rules.extend(listed(key, item)?.into_iter().map(|rule| (effect, rule)));
        }
        Ok(contents)
    }

    /// Appends a rule to its list, or to that of a folder, and keeps everything else in the file. The file is replaced
    /// atomically.
    pub(super) fn append(&self, folder: Option<&str>, effect: Effect, rule: &str) -> Result<(), FileError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let content =
            |message: &str| FileError::Content { path: self.path.clone(), line: 1, message: message.to_owned() };
        let mut document: DocumentMut = self.text()?.parse().map_err(|error: toml_edit::TomlError| {
            FileError::Toml { path: self.path.clone(), message: error.to_string() }
        })?;
        let table = document.entry("permissions").or_insert_with(|| tables(folder.is_some()));
        let table = match folder {
            None => table.as_table_like_mut().ok_or_else(|| content("`permissions` is not a table"))?,
            Some(folder) => {
                let inner =
                    "`permissions.folder` is not a table with a header: write `[permissions.folder.\"/a/folder\"]`";
                let table = table
                    .as_table_mut()
                    .ok_or_else(|| content("`permissions` has no header: write `[permissions]`"))?;
                let table = table.entry("folder").or_insert_with(|| tables(true));
                let table = table.as_table_mut().ok_or_else(|| content(inner))?;
                let table = table.entry(folder).or_insert_with(|| tables(false));
                table.as_table_like_mut().ok_or_else(|| content(inner))?
            }
        };
        let key = match effect {
            Effect::Allow => "allow",
            Effect::Ask => "ask",
            Effect::Deny => "deny",
        };
        let list = table.entry(key).or_insert_with(|| Item::Value(Value::Array(Array::new())));
        let list = list.as_array_mut().ok_or_else(|| content("the rules are not a list"))?;
        if list.iter().any(|known| known.as_str() == Some(rule)) {
            return Ok(());
        }
        // On its own line, if the others are.
        let own_line = list.iter().last().and_then(|last| last.decor().prefix()?.as_str()).map(last_line);
        match own_line.flatten() {
            Some(indent) => list.push_formatted(Value::from(rule).decorated(indent, "")),
            None => list.push(rule),
        }
        self.replace(&document.to_string())
    }

    fn text(&self) -> Result<String, FileError> {
        match fs::metadata(&self.path) {
            Ok(metadata) if metadata.len() > MAX_FILE_BYTES => {
                Err(self.io(io::Error::other(format!("it is larger than {MAX_FILE_BYTES} bytes"))))
            }
            Ok(_) => fs::read_to_string(&self.path).map_err(|error| self.io(error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(self.io(error)),
        }
    }

    /// Replaces the file and keeps its permissions.
    fn replace(&self, text: &str) -> Result<(), FileError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let write = || {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(text.as_bytes())?;
            if let Ok(old) = fs::metadata(&self.path) {
                file.as_file().set_permissions(old.permissions())?;
            }
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok(())
        };
        write().map_err(|error: io::Error| self.io(error))
    }

    fn io(&self, source: io::Error) -> FileError {
        FileError::Io { path: self.path.clone(), source }
    }
}

/// Returns a new table. Without a header, it holds only other tables.
fn tables(without_header: bool) -> Item {
    let mut table = Table::new();
    table.set_implicit(without_header);
    Item::Table(table)
}

/// Returns the line break and the indentation before a value on its own line.
fn last_line(prefix: &str) -> Option<String> {
    prefix.rfind('\n').map(|at| prefix[at..].to_owned())
}

fn mode(item: &Item) -> Result<Mode, String> {
    match item.as_str() {
        Some("ask") => Ok(Mode::Ask),
        Some("accept_edits") => Ok(Mode::AcceptEdits),
        Some("sandboxed") => Ok(Mode::Sandboxed),
        Some("plan") => Ok(Mode::Plan),
        Some("bypass") => Err("a file cannot turn on bypass mode; only the program can".to_owned()),
        _ => Err("`mode` is one of \"ask\", \"accept_edits\", \"sandboxed\", \"plan\"".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, RuleFile) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("settings.toml");
        fs::write(&path, text).expect("a file");
        (folder, RuleFile::new(&path).expect("a path"))
    }

    #[test]
    fn a_rule_is_added_and_everything_else_stays() {
        let (_folder, file) = file(
            "# mine\n[other]\nx = 1 # one\n\n[permissions]\n# what is fine\nallow = [\n    \"Bash(git *)\", # always\n    \"Read\",\n]\ndeny = [\"Bash(rm *)\"]\n",
        );
        file.append(None, Effect::Allow, "Bash(cargo test *)").expect("a rule more");
        file.append(None, Effect::Allow, "Bash(cargo test *)").expect("nothing more");
        file.append(None, Effect::Deny, "Read(~/.ssh/**)").expect("a rule more");
        assert_eq!(
            fs::read_to_string(file.path()).expect("the file"),
            "# mine\n[other]\nx = 1 # one\n\n[permissions]\n# what is fine\nallow = [\n    \"Bash(git *)\", # always\n    \"Read\",\n    \"Bash(cargo test *)\",\n]\ndeny = [\"Bash(rm *)\", \"Read(~/.ssh/**)\"]\n"
        );
        assert_eq!(file.read().expect("rules").rules.len(), 5);
    }

    #[test]
    fn a_file_that_is_not_there_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = RuleFile::new(&folder.path().join("new/settings.toml")).expect("a path");
        assert!(file.read().expect("nothing").rules.is_empty());
        file.append(None, Effect::Allow, "Bash(ls *)").expect("a file");
        assert_eq!(fs::read_to_string(file.path()).expect("the file"), "[permissions]\nallow = [\"Bash(ls *)\"]\n");
    }

    #[test]
    fn a_rule_for_a_folder_has_a_table_of_its_own() {
        let (_folder, file) = file("[permissions]\nallow = [\"Read\"]\n\n[model]\nname = \"x:y\"\n");
        let append = |folder, rule| file.append(Some(folder), Effect::Allow, rule).expect("a rule more");
        append("/home/me/a \"b\"", "Bash(npm test *)");
        append("/home/me/a \"b\"", "Bash(make)");
        append("/srv", "Bash(make)");
        let text = fs::read_to_string(file.path()).expect("the file");
        assert!(text.contains("allow = [\"Bash(npm test *)\", \"Bash(make)\"]"), "{text}");
        let Contents { rules, in_folders, .. } = file.read().expect("rules");
        let read: Vec<(&str, &str)> = in_folders.iter().map(|(folder, rule)| (&**folder, &**rule.text())).collect();
        let own = "/home/me/a \"b\"";
        assert_eq!(read, [(own, "Bash(npm test *)"), (own, "Bash(make)"), ("/srv", "Bash(make)")], "{text}");
        assert_eq!(rules.len(), 1, "{text}");
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_its_line() {
        let cases = [
            (
                "[permissions]\n\nallow = [\n  \"Bash(git *)\",\n  \"Bash(git *\"\n]\n",
                "line 5: invalid rule `Bash(git *`",
            ),
            ("[permissions]\nalow = []\n", "line 2: unknown key `alow`"),
            ("[permissions]\nallow = \"Bash\"\n", "line 2: `allow` is a list of rules"),
            ("[permissions.folder.\"/a\"]\ndeny = []\n", "line 2: unknown key `deny`; expected `allow`"),
            ("[permissions]\ndeny = [1]\n", "line 2: `deny` is a list of rules"),
            ("x = 1\npermissions = 3\n", "line 2: `permissions` is a table"),
            ("[permissions]\nmode = \"bypass\"\n", "line 2: a file cannot turn on bypass mode"),
            ("[permissions\n", "line 1"),
        ];
        for (text, expected) in cases {
            let (_folder, file) = file(text);
            let error = file.read().expect_err(text).to_string();
            assert!(error.contains("settings.toml") && error.contains(expected), "{text}: {error}");
        }
    }
}
