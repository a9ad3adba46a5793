//! Settings: what `vertebra.toml` says, at four levels and on the command line.
//!
//! `/etc/vertebra/vertebra.toml` is *managed*: nothing below weakens it. The *user's* stands in their configuration
//! folder, the *project's* in the folder or above, up to the root of its repository, and what is a person's own there is
//! *local*, in `vertebra.local.toml`. What lists say adds up; of single
//! values the nearest counts, within what the managed level says. Every value knows the line it comes from, and what is
//! not understood is an error: a rule that is silently left out protects nobody.
//!
//! To add a setting: a field below, a line in `schema`, a line in `merge`.

mod error;
mod hook;
mod item;
mod merge;
mod place;
mod reader;
mod schema;
mod shape;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

pub use self::{
    error::SettingsError,
    hook::{Action, Contract, HookSettings, RunSettings, Stand, Words},
    merge::merge,
    place::{FILE_NAME, LOCAL_NAME, MANAGED, project_file, project_root},
    reader::Entry,
    schema::{Sheet, duration, json_schema, micros, own, parse, read},
};

/// How large a file of settings may be.
pub const MAX_BYTES: u64 = 256 * 1024;

/// What is set. Of one level, or of all of them together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Which model, and how it is reached.
    pub model: ModelSettings,
    /// Who may do what.
    pub permissions: PermissionSettings,
    /// How much a run may use.
    pub limits: LimitSettings,
    /// What holds commands.
    pub sandbox: SandboxSettings,
    /// What the model is told besides.
    pub instructions: InstructionSettings,
    /// Servers of tools.
    pub mcp: McpSettings,
    /// What is recorded, and for how long.
    pub journal: JournalSettings,
    /// Hooks, in the order they are written.
    pub hooks: Vec<Said<Arc<HookSettings>>>,
    /// What holds for all hooks.
    pub about_hooks: AboutHooks,
}

/// `[model]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelSettings {
    /// `name = "PROVIDER:NAME"`.
    pub name: Option<Said<String>>,
    /// `driver`.
    pub driver: Option<Said<Driver>>,
    /// `[model.provider.NAME]`.
    pub providers: BTreeMap<String, Said<ProviderSettings>>,
}

/// `[model.provider.NAME]`: how one provider is reached.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderSettings {
    /// `base_url`.
    pub base_url: Option<Said<String>>,
    /// `key`: the *name* of the environment variable that has the key.
    pub key: Option<Said<String>>,
}

/// `[permissions]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PermissionSettings {
    /// `mode`.
    pub mode: Option<Said<Mode>>,
    /// `allow`.
    pub allow: Vec<Said<String>>,
    /// `ask`.
    pub ask: Vec<Said<String>>,
    /// `deny`.
    pub deny: Vec<Said<String>>,
}

/// `[limits]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LimitSettings {
    /// `steps`.
    pub steps: Option<Said<u64>>,
    /// `tokens`.
    pub tokens: Option<Said<u64>>,
    /// `time`.
    pub time: Option<Said<Duration>>,
    /// `cost`, in millionths of a dollar.
    pub cost_micros: Option<Said<u64>>,
}

/// `[sandbox]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SandboxSettings {
    /// `need`.
    pub need: Option<Said<Need>>,
    /// `network`.
    pub network: Option<Said<Network>>,
    /// `write`: folders that may be written besides.
    pub write: Vec<Said<String>>,
    /// `deny_read`: what may not be read besides.
    pub deny_read: Vec<Said<String>>,
}

/// `[instructions]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstructionSettings {
    /// `text`, of every level.
    pub text: Vec<Said<String>>,
    /// `project`: whether `AGENTS.md` and `CLAUDE.md` are read.
    pub project: Option<Said<bool>>,
}

/// `[hooks]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AboutHooks {
    /// `disable`: hooks of levels farther away that are not to run, by name.
    pub disable: Vec<Said<String>>,
    /// `project`: whether hooks of projects count at all.
    pub project: Option<Said<bool>>,
}

/// `[mcp]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpSettings {
    /// `file`: a file of servers in the form that other agents read too.
    pub file: Option<Said<String>>,
}

/// `[journal]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JournalSettings {
    /// `enabled`: whether sessions are recorded.
    pub enabled: Option<Said<bool>>,
    /// `path`: the file.
    pub path: Option<Said<String>>,
    /// `sync`.
    pub sync: Option<Said<Sync>>,
    /// `chain`: whether each line is bound to the one before it.
    pub chain: Option<Said<bool>>,
    /// `keep`: for how long.
    pub keep: Option<Said<Duration>>,
    /// `max_sessions`: how many.
    pub max_sessions: Option<Said<u64>>,
    /// `max_bytes`: how much.
    pub max_bytes: Option<Said<u64>>,
}

/// What a line of the journal outlasts, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sync {
    /// A power cut.
    Power,
    /// The death of the process.
    Process,
}

/// How a model is asked for tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// As suits the model.
    Auto,
    /// By the provider's own tool calling.
    Native,
    /// By constrained JSON.
    React,
}

/// What happens to calls that no rule speaks of, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Only reading.
    Plan,
    /// Reading is free, the rest is asked.
    Ask,
    /// Changes to files are free too.
    AcceptEdits,
    /// Nobody is asked. No file can say so.
    Bypass,
}

/// Whether commands run in a sandbox, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Only in a whole one.
    Required,
    /// In as much of one as there is.
    IfAvailable,
    /// Without.
    Off,
}

/// Whether commands may use the network, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Network {
    /// They may not.
    Off,
    /// They may.
    On,
}

/// Something that was set, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Said<T> {
    /// What.
    pub value: T,
    /// Where.
    pub origin: Origin,
}

/// Where something was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// At which level.
    pub level: Level,
    /// The file, or a word for what is none.
    pub place: Arc<str>,
    /// The line, from 1, if it is a file.
    pub line: Option<usize>,
}

/// Who sets something, strongest last; only [`Managed`](Self::Managed) is a fence for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Whoever keeps the machine.
    Managed,
    /// Whoever uses it.
    User,
    /// Whoever wrote the project.
    Project,
    /// Whoever works in it, for themselves.
    Local,
    /// Whoever typed the command.
    CommandLine,
}

impl Origin {
    /// The words of a command line.
    pub fn command_line() -> Self {
        Self { level: Level::CommandLine, place: "the command line".into(), line: None }
    }

    /// As editors and terminals understand it: `vertebra.toml:12`.
    pub fn spot(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.place),
            None => self.place.to_string(),
        }
    }

    /// This is said here.
    pub fn said<T>(&self, value: T) -> Said<T> {
        Said { value, origin: self.clone() }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::CommandLine => "command line",
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}", self.place),
            None => f.write_str(&self.place),
        }
    }
}

#[cfg(test)]
mod tests;
