//! Reads the test cases of a policy from a file.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};
use regex::Regex;
use serde_json::{Map, Value};
use toml_edit::{Document, Item, TableLike};
use vertebra::nearest;

use crate::hooks::trial;

/// The largest size of a test file, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The keys of a case.
const KEYS: &[&str] = &["name", "event", "decision", "reason", "decided_by", "args", "context", "continue"];

/// The values of `decision`.
const DECISIONS: &[&str] = &["allow", "ask", "deny", "block", "none"];

/// A test file.
pub(super) struct Suite {
    /// The file.
    pub(super) file: PathBuf,
    /// The policy under test.
    pub(super) policy: PathBuf,
    /// Whether the policy is a settings file of Claude Code.
    pub(super) is_claude: bool,
    /// Its cases, in the order they are written.
    pub(super) cases: Vec<Case>,
}

/// An event and the expected decision. A missing expectation accepts anything.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) event: Value,
    pub(super) decision: Option<String>,
    pub(super) reason: Option<Text>,
    pub(super) decided_by: Option<Text>,
    pub(super) args: Option<Value>,
    pub(super) context: Option<Vec<Text>>,
    pub(super) goes_on: Option<bool>,
}

/// An expected text: the exact text, or a `/regex/`.
#[derive(Debug)]
pub(super) enum Text {
    Whole(String),
    Pattern(Box<Regex>),
}

impl Text {
    fn read(text: &str) -> Result<Self, String> {
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(pattern) => Regex::new(pattern).map(|pattern| Self::Pattern(Box::new(pattern))).map_err(|error| {
                let first = error.to_string().lines().last().unwrap_or_default().to_owned();
                format!("invalid regex `{text}`: {first}")
            }),
            None => Ok(Self::Whole(text.to_owned())),
        }
    }

    /// Whether a text is as expected.
    pub(super) fn holds(&self, text: &str) -> bool {
        match self {
            Self::Whole(whole) => whole == text,
            Self::Pattern(pattern) => pattern.is_match(text),
        }
    }

    /// Returns the expectation as it is written.
    pub(super) fn written(&self) -> String {
        match self {
            Self::Whole(whole) => whole.clone(),
            Self::Pattern(pattern) => format!("/{pattern}/"),
        }
    }
}

impl Suite {
    /// Reads a test file. Errors have the line.
    pub(super) fn read(file: &Path) -> anyhow::Result<Self> {
        let mut text = String::new();
        let read = fs::File::open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
        read.with_context(|| file.display().to_string())?;
        if text.len() as u64 > MAX_BYTES {
            bail!("{}: a test file can have at most {MAX_BYTES} bytes", file.display());
        }
        let reading = Reading { file, text: &text };
        let document = Document::parse(&*text).map_err(|error| {
            let byte = error.span().map_or(0, |span| span.start);
            reading.wrong(byte, &format!("invalid TOML: {}", error.message().replace('\n', ", ")))
        })?;
        reading.suite(document.as_table())
    }
}

struct Reading<'t> {
    file: &'t Path,
    text: &'t str,
}

impl Reading<'_> {
    fn line(&self, byte: usize) -> usize {
        self.text.get(..byte).unwrap_or(self.text).matches('\n').count() + 1
    }

    fn wrong(&self, byte: usize, message: &str) -> anyhow::Error {
        let line = self.line(byte);
        let written = self.text.lines().nth(line - 1).unwrap_or_default();
        anyhow!("{}, line {line}: {message}\n  {line} | {}", self.file.display(), vertebra_bridge::shown(written))
    }

    fn at(&self, item: &Item, message: &str) -> anyhow::Error {
        self.wrong(item.span().map_or(0, |span| span.start), message)
    }

    fn known(&self, table: &dyn TableLike, known: &[&str], what: &str) -> anyhow::Result<()> {
        for (key, item) in table.iter() {
            if !known.contains(&key) {
                let meant = nearest(key, known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
                let hint = meant.unwrap_or_else(|| format!("known keys: {}", known.join(", ")));
                let message = format!("unknown key `{key}` in {what}; {hint}");
                return Err(self.at(item, &message));
            }
        }
        Ok(())
    }

    fn suite(&self, root: &dyn TableLike) -> anyhow::Result<Suite> {
        self.known(root, &["policy", "settings", "case"], "a test file")?;
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let (policy, is_claude) = match (root.get("policy"), root.get("settings")) {
            (Some(_), Some(item)) => {
                return Err(self.at(item, "`policy` and `settings` cannot be combined: remove one of them"));
            }
            (Some(item), None) => (self.string(item, "policy", "policy = \"vertebra.toml\"")?, false),
            (None, Some(item)) => (self.string(item, "settings", "settings = \".claude/settings.json\"")?, true),
            (None, None) => ("vertebra.toml".to_owned(), false),
        };
        let cases = match root.get("case") {
            None => Vec::new(),
            Some(item) => {
                let tables = item.as_array_of_tables().ok_or_else(|| self.at(item, "write each case as `[[case]]`"))?;
                tables
                    .iter()
                    .map(|table| self.case(table, table.span().map_or(0, |span| span.start)))
                    .collect::<Result<_, _>>()?
            }
        };
        if cases.is_empty() {
            bail!("{}: the file has no cases: write `[[case]]`", self.file.display());
        }
        Ok(Suite { file: self.file.to_owned(), policy: folder.join(policy), is_claude, cases })
    }

    fn case(&self, table: &dyn TableLike, byte: usize) -> anyhow::Result<Case> {
        self.known(table, KEYS, "a case")?;
        let text = |key: &str, such_as: &str| table.get(key).map(|item| self.string(item, key, such_as)).transpose();
        let found = |key: &str, such_as: &str| -> anyhow::Result<Option<Text>> {
            let Some(item) = table.get(key) else { return Ok(None) };
            Text::read(&self.string(item, key, such_as)?).map(Some).map_err(|message| self.at(item, &message))
        };
        let missing = |what: &str| self.wrong(byte, &format!("the case has no {what}"));
        let event = table.get("event").ok_or_else(|| {
            missing(
                "event: write `event = { point = \"BeforeToolUse\", tool = \"bash\", args = { command = \"ls\" } }`",
            )
        })?;
        let decision = text("decision", "decision = \"deny\"")?;
        if let (Some(word), Some(item)) = (&decision, table.get("decision"))
            && !DECISIONS.contains(&&**word)
        {
            return Err(self.at(item, &format!("`decision` must be one of {}", DECISIONS.join(", "))));
        }
        let args = table.get("args").map(|item| {
            let value = json(item).filter(Value::is_object);
            value.ok_or_else(|| {
                self.at(item, "`args` must be a table with the final arguments: write `args = { command = \"ls\" }`")
            })
        });
        let context = table.get("context").map(|item| {
            let texts = match json(item) {
                Some(Value::String(text)) => vec![text],
                Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
                    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                _ => return Err(self.at(item, "`context` must be a string or a list of strings")),
            };
            let texts = texts.iter().map(|text| Text::read(text).map_err(|message| self.at(item, &message)));
            texts.collect::<Result<Vec<_>, _>>()
        });
        let goes_on = table
            .get("continue")
            .map(|item| item.as_bool().ok_or_else(|| self.at(item, "`continue` must be `true` or `false`")));
        let case = Case {
            name: text("name", "name = \"force is for humans\"")?.ok_or_else(|| missing("`name`"))?,
            line: self.line(byte),
            event: self.event(event)?,
            decision,
            reason: found("reason", "reason = \"/force/\"")?,
            decided_by: found("decided_by", "decided_by = \"no-force-push\"")?,
            args: args.transpose()?,
            context: context.transpose()?,
            goes_on: goes_on.transpose()?,
        };
        let expects = table.iter().any(|(key, _)| !matches!(key, "name" | "event"));
        if !expects {
            return Err(missing("expectation: write `decision = \"deny\"`, or `\"none\"` if no hook should decide"));
        }
        Ok(case)
    }

    /// Reads an event, inline or from a JSON file.
    fn event(&self, item: &Item) -> anyhow::Result<Value> {
        let folder = self.file.parent().unwrap_or(Path::new(""));
        match json(item) {
            Some(Value::String(path)) => {
                trial::event_file(&folder.join(path)).map_err(|error| self.at(item, &format!("{error:#}")))
            }
            Some(event @ Value::Object(_)) => Ok(event),
            _ => Err(self.at(item, "`event` must be a table or the name of a JSON file")),
        }
    }

    fn string(&self, item: &Item, key: &str, such_as: &str) -> anyhow::Result<String> {
        let text =
            item.as_str().ok_or_else(|| self.at(item, &format!("`{key}` must be a string: write `{such_as}`")))?;
        Ok(text.to_owned())
    }
}

/// Converts a TOML value to JSON; `None` for dates.
fn json(item: &Item) -> Option<Value> {
    fn table(table: &dyn TableLike) -> Option<Value> {
        let fields = table.iter().map(|(key, item)| Some((key.to_owned(), json(item)?)));
        fields.collect::<Option<Map<_, _>>>().map(Value::Object)
    }
    fn simple(value: &toml_edit::Value) -> Option<Value> {
        match value {
            toml_edit::Value::String(text) => Some(text.value().as_str().into()),
            toml_edit::Value::Integer(number) => Some((*number.value()).into()),
            toml_edit::Value::Float(number) => Some((*number.value()).into()),
            toml_edit::Value::Boolean(flag) => Some((*flag.value()).into()),
            toml_edit::Value::Array(list) => list.iter().map(simple).collect::<Option<Vec<_>>>().map(Value::Array),
            toml_edit::Value::InlineTable(inline) => table(inline),
            toml_edit::Value::Datetime(_) => None,
        }
    }
    match item {
        Item::Value(value) => simple(value),
        Item::Table(fields) => table(fields),
        Item::ArrayOfTables(list) => {
            list.iter().map(|fields| table(fields)).collect::<Option<Vec<_>>>().map(Value::Array)
        }
        Item::None => None,
    }
}
