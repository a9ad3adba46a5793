//! A handler as settings declare it, read tolerantly.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Map, Value};

use super::event::Event;

/// The longest time that a setting may give a handler.
const MAX_LIMIT: Duration = Duration::from_hours(24);

/// Where a handler is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// Its level.
    pub level: Level,
}

/// Who declares hooks. Later is stronger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    /// A plugin.
    Plugin(Arc<Plugin>),
    /// The person, in every project.
    User,
    /// The project.
    Project,
    /// The person, in this project.
    Local,
    /// The command line.
    CommandLine,
    /// Whoever manages the machine.
    Managed,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(plugin) => write!(f, "plugin {}", plugin.name),
            Self::User => f.write_str("user"),
            Self::Project => f.write_str("project"),
            Self::Local => f.write_str("local"),
            Self::CommandLine => f.write_str("command line"),
            Self::Managed => f.write_str("managed"),
        }
    }
}

/// A plugin whose hooks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Where it lies: `CLAUDE_PLUGIN_ROOT`.
    pub root: PathBuf,
    /// Where it keeps what it needs later: `CLAUDE_PLUGIN_DATA`.
    pub data: PathBuf,
    /// What a person set for it: `CLAUDE_PLUGIN_OPTION_<KEY>`.
    pub options: BTreeMap<String, String>,
}

/// The kinds of handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Command,
    Http,
    McpTool,
    Prompt,
    Agent,
}

impl Kind {
    const NAMED: [(&'static str, Self); 5] = [
        ("command", Self::Command),
        ("http", Self::Http),
        ("mcp_tool", Self::McpTool),
        ("prompt", Self::Prompt),
        ("agent", Self::Agent),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// How long a handler of this kind has unless it or its event says.
    fn limit(self) -> Duration {
        match self {
            Self::Command | Self::Http | Self::McpTool => Duration::from_mins(10),
            Self::Prompt => Duration::from_secs(30),
            Self::Agent => Duration::from_mins(1),
        }
    }
}

/// A handler.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Handler {
    pub(super) action: Action,
    /// The permission rule under which it runs, as it is written.
    pub(super) condition: Option<String>,
    /// How long it has, if it says.
    pub(super) limit: Option<Duration>,
    /// Whether its failure counts as an objection.
    pub(super) blocks_on_failure: bool,
    /// Whether it is done once it has succeeded. Only skills can say so.
    pub(super) once: bool,
}

/// What a handler does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Command { command: String, args: Option<Vec<String>>, shell: Option<String>, background: Option<Background> },
    Http { url: String, headers: Vec<(String, String)>, allowed_variables: Vec<String> },
    McpTool { server: String, tool: String, input: Map<String, Value> },
    Prompt { prompt: String, model: Option<String>, goes_on: bool },
    Agent { prompt: String, model: Option<String> },
}

/// How a handler runs beside the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Background {
    /// What it says is told later.
    Quiet,
    /// It may wake the model.
    Wakes,
}

impl Handler {
    /// Reads a handler; what is wrong with it, if it is none. Unknown keys are for others.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let object = value.as_object().ok_or("a handler is an object")?;
        let named = text(object, "type")?.ok_or("it has no `type`")?;
        let kind = Kind::NAMED.iter().find(|(name, _)| *name == named).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| format!("unknown handler type `{named}`"))?;
        let needed = |key: &str| match text(object, key) {
            Ok(Some(text)) if !text.trim().is_empty() => Ok(text),
            Ok(_) => Err(format!("it has no `{key}`")),
            Err(error) => Err(error),
        };
        let action = match kind {
            Kind::Command => Action::Command {
                command: needed("command")?,
                args: match object.get("args") {
                    None | Some(Value::Null) => None,
                    Some(args) => Some(texts(args).ok_or("`args` is a list of texts")?),
                },
                shell: text(object, "shell")?,
                background: match (flag(object, "async")?, flag(object, "asyncRewake")?) {
                    (_, true) => Some(Background::Wakes),
                    (true, false) => Some(Background::Quiet),
                    (false, false) => None,
                },
            },
            Kind::Http => Action::Http {
                url: needed("url")?,
                headers: headers(object.get("headers"))?,
                allowed_variables: match object.get("allowedEnvVars") {
                    None | Some(Value::Null) => Vec::new(),
                    Some(list) => texts(list).ok_or("`allowedEnvVars` is a list of names")?,
                },
            },
            Kind::McpTool => Action::McpTool {
                server: needed("server")?,
                tool: needed("tool")?,
                input: match object.get("input") {
                    None | Some(Value::Null) => Map::new(),
                    Some(Value::Object(input)) => input.clone(),
                    Some(_) => return Err("`input` is an object".to_owned()),
                },
            },
            Kind::Prompt => Action::Prompt {
                prompt: needed("prompt")?,
                model: text(object, "model")?,
                goes_on: flag(object, "continueOnBlock")?,
            },
            Kind::Agent => Action::Agent { prompt: needed("prompt")?, model: text(object, "model")? },
        };
        Ok(Self {
            condition: text(object, "if")?,
            limit: limit(object.get("timeout"))?,
            blocks_on_failure: match text(object, "onFailure")?.as_deref() {
                Some("block") => matches!(kind, Kind::Command | Kind::Http),
                Some("continue") | None => false,
                Some(other) => return Err(format!("`onFailure` is `block` or nothing, not `{other}`")),
            },
            // Where it means nothing it may be anything.
            once: object.get("once") == Some(&Value::Bool(true)),
            action,
        })
    }

    pub(super) fn kind(&self) -> Kind {
        match &self.action {
            Action::Command { .. } => Kind::Command,
            Action::Http { .. } => Kind::Http,
            Action::McpTool { .. } => Kind::McpTool,
            Action::Prompt { .. } => Kind::Prompt,
            Action::Agent { .. } => Kind::Agent,
        }
    }

    /// What people know it as.
    pub(super) fn shown(&self) -> String {
        match &self.action {
            Action::Command { command, args: None, .. } => command.clone(),
            Action::Command { command, args: Some(args), .. } => {
                std::iter::once(command).chain(args).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            Action::Http { url, .. } => url.clone(),
            Action::McpTool { server, tool, .. } => format!("mcp__{server}__{tool}"),
            Action::Prompt { prompt, .. } | Action::Agent { prompt, .. } => {
                let line = prompt.lines().next().unwrap_or_default();
                format!("{}: {}", self.kind().name(), line.chars().take(60).collect::<String>())
            }
        }
    }

    /// Whether two declarations are of one handler: what they run, and under which rule, is the same. What runs beside the
    /// agent decides nothing, so it stands for none that does.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.action, &other.action) {
            _ if self.condition != other.condition => false,
            (
                Action::Command { command: one, args: with, shell: by, background: beside },
                Action::Command { command: other, args: and, shell: of, background },
            ) => (one, with, by, beside.is_some()) == (other, and, of, background.is_some()),
            (Action::Http { url: one, .. }, Action::Http { url: other, .. }) => one == other,
            (one, other) => one == other,
        }
    }

    /// How long it has at an event.
    pub(super) fn limit_at(&self, event: &Event) -> Duration {
        self.limit.or(event.limit).unwrap_or_else(|| self.kind().limit())
    }

    /// Whether it runs beside the agent, and how.
    pub(super) fn background(&self) -> Option<&Background> {
        match &self.action {
            Action::Command { background, .. } => background.as_ref(),
            _ => None,
        }
    }
}

fn text(object: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is a text")),
    }
}

fn flag(object: &Map<String, Value>, key: &str) -> Result<bool, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("`{key}` is true or false")),
    }
}

/// A list of texts, if it is one.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn headers(value: Option<&Value>) -> Result<Vec<(String, String)>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(headers)) => headers
            .iter()
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect::<Option<_>>()
            .ok_or_else(|| "every header is a text".to_owned()),
        Some(_) => Err("`headers` is an object".to_owned()),
    }
}

fn limit(value: Option<&Value>) -> Result<Option<Duration>, String> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.map(|limit| Some(limit.min(MAX_LIMIT))).ok_or_else(|| "`timeout` is a number of seconds".to_owned())
}
