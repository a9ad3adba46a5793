//! Settings: the contents of `vertebra.toml`, from four levels and the command line.
//!
//! `/etc/vertebra/vertebra.toml` is *managed*: no other level can weaken it. The *user's* file is in the configuration
//! folder. The *project's* file is in the working folder or above it, up to the root of the repository. A *local* file,
//! `vertebra.local.toml` beside the project's, holds a person's own settings for that project. Lists from all levels add
//! up. For single values the most specific file wins, within the bounds of the managed level. Every value remembers its
//! line, and anything that is not understood is an error, because a rule that is silently ignored protects nothing.
//!
//! To add a setting, add a field below, a line in `schema` and a line in `merge`.

mod error;
mod hook;
mod item;
mod merge;
mod place;
mod point;
mod reader;
mod salvage;
mod schema;
mod shape;
mod tools;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

pub use self::{
    error::SettingsError,
    hook::{Action, Contract, HookSettings, RunSettings, Stand, Words},
    merge::merge,
    place::{FILE_NAME, HOOKS_FOLDER, LOCAL_NAME, MANAGED, project_file, project_root},
    reader::Entry,
    salvage::{Salvaged, salvage, salvage_file},
    schema::{Sheet, duration, json_schema, micros, parse, parse_with, read},
    tools::check_rule_tool,
};
use vertebra::AnyPoint;
pub use vertebra_kit::bash::sandbox::{Network, NetworkAccess};

/// The largest size of a settings file, in bytes.
pub const MAX_BYTES: u64 = 256 * 1024;

/// The settings of one level, or of all levels merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// The model, and how to reach it.
    pub model: ModelSettings,
    /// Permission rules and mode.
    pub permissions: PermissionSettings,
    /// The limits of a run.
    pub limits: LimitSettings,
    /// The sandbox for commands.
    pub sandbox: SandboxSettings,
    /// Additional instructions for the model.
    pub instructions: InstructionSettings,
    /// MCP servers.
    pub mcp: McpSettings,
    /// Tools that rules and matchers may name.
    pub tools: ToolSettings,
    /// The journal: what is recorded, and for how long.
    pub journal: JournalSettings,
    /// Points that are declared, in the order they are written.
    pub points: Vec<Said<AnyPoint>>,
    /// Hooks, in the order they are written.
    pub hooks: Vec<Said<Arc<HookSettings>>>,
    /// Settings that apply to all hooks.
    pub about_hooks: AboutHooks,
}

/// `[model]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelSettings {
    /// `name = "PROVIDER:NAME"`.
    pub name: Option<Said<String>>,
    /// `driver`.
    pub driver: Option<Said<Driver>>,
    /// `window`: how many tokens the model reads at once.
    pub window: Option<Said<u64>>,
    /// `retry`: how long to retry a provider that cannot be reached.
    pub retry: Option<Said<Duration>>,
    /// `[model.provider.NAME]`.
    pub providers: BTreeMap<String, Said<ProviderSettings>>,
    /// Why the address of a provider is not known, if a file with an address could not be read as a whole. No provider is
    /// then asked, because what is sent to the usual address may be meant for another.
    pub unknown_address: Option<String>,
}

/// `[model.provider.NAME]`: how to reach one provider.
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
    /// `[permissions.folder."/PATH"]`: what is allowed in sessions that work in that folder.
    pub folders: Vec<(String, Vec<Said<String>>)>,
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
    pub network: Option<Said<NetworkAccess>>,
    /// `write`: additional folders that commands may write to.
    pub write: Vec<Said<String>>,
    /// `deny_read`: additional paths that commands may not read.
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
    /// `disable`: names of hooks from less specific levels that must not run.
    pub disable: Vec<Said<String>>,
    /// `project`: whether hooks of projects run at all.
    pub project: Option<Said<bool>>,
}

/// `[mcp]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpSettings {
    /// `file`: a file of MCP servers, in the JSON form that other agents read too.
    pub file: Option<Said<String>>,
}

/// `[tools]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolSettings {
    /// `known`: names of tools that this program does not know, such as those of an SDK client.
    pub known: Vec<Said<String>>,
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
    /// `chain`: whether each fact carries a hash of the one before it.
    pub chain: Option<Said<bool>>,
    /// `keep`: how long sessions are kept.
    pub keep: Option<Said<Duration>>,
    /// `max_sessions`: how many sessions are kept.
    pub max_sessions: Option<Said<u64>>,
    /// `max_bytes`: how large the journal may grow.
    pub max_bytes: Option<Said<u64>>,
}

/// What a fact in the journal survives, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sync {
    /// A power cut.
    Power,
    /// A crash of the process.
    Process,
}

/// How tool calls are requested from a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// Chosen to suit the model.
    Auto,
    /// The provider's own tool calling.
    Native,
    /// Constrained JSON.
    React,
}

/// What happens to calls that no rule matches, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Calls that only read run; all others are denied.
    Plan,
    /// Calls that only read run; all others need approval.
    Ask,
    /// As `Ask`, but file edits run without approval.
    AcceptEdits,
    /// As `AcceptEdits`, but harmless commands in the sandbox run without approval too.
    Sandboxed,
    /// Everything runs without approval. Cannot be set in a file.
    Bypass,
}

/// Whether commands run in a sandbox, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Commands run only in a complete sandbox.
    Required,
    /// Commands use as much of the sandbox as the machine supports.
    IfAvailable,
    /// Commands run without a sandbox.
    Off,
}

/// A value and the place it was set.
#[derive(Debug, Clone, PartialEq)]
pub struct Said<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub origin: Origin,
}

/// The place where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The level.
    pub level: Level,
    /// The file, or a description if it is not a file.
    pub place: Arc<str>,
    /// The line number, starting at 1, if it is a file.
    pub line: Option<usize>,
}

/// A settings level, most specific last. Only [`Managed`](Self::Managed) sets bounds for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The administrator of the machine.
    Managed,
    /// The user.
    User,
    /// The authors of the project.
    Project,
    /// The user, for this project only.
    Local,
    /// The command line of one run.
    CommandLine,
}

impl Origin {
    /// Returns the origin of command-line options.
    pub fn command_line() -> Self {
        Self { level: Level::CommandLine, place: "the command line".into(), line: None }
    }

    /// Returns the place in the form that editors and terminals understand: `vertebra.toml:12`.
    pub fn spot(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.place),
            None => self.place.to_string(),
        }
    }

    /// Attaches this origin to a value.
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
