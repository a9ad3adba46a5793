//! Options that `run`, `chat`, `serve` and `sessions resume` share: the agent, its permissions and its limits.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use vertebra_bridge::settings;
use vertebra_kit::bash::sandbox::{NetworkAccess, Opened};

/// The options of an agent.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct AgentOptions {
    /// Use this model: PROVIDER:NAME, script:FILE or cassette:FILE
    #[arg(long, short, value_name = "MODEL", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// Choose how the model calls tools [default: auto]
    #[arg(long, value_enum, help_heading = "Model")]
    pub(crate) driver: Option<DriverChoice>,
    /// Record requests and responses to FILE, for `--model cassette:FILE`
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub(crate) record: Option<PathBuf>,
    /// Append this text to the system prompt
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub(crate) system: Option<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyOptions,
    /// Export traces and metrics to this OpenTelemetry collector [default: `http://localhost:4318`]
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        help_heading = "Telemetry"
    )]
    pub(crate) otlp: Option<String>,
    /// Suspend and wait up to TIME for an approval instead of denying [default: 7d]
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "7d",
        value_parser = duration,
        conflicts_with = "no_journal",
        help_heading = "Journal"
    )]
    pub(crate) wait: Option<Duration>,
    /// Record nothing; the session cannot be resumed, shown or replayed
    #[arg(long, help_heading = "Journal")]
    pub(crate) no_journal: bool,
    /// Stop after N steps [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub(crate) max_steps: Option<u64>,
    /// Stop when this many dollars are spent, such as 0.50
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, help_heading = "Limits")]
    pub(crate) max_cost: Option<u64>,
    /// Stop after this much working time, not counting questions [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,
}

impl AgentOptions {
    /// Returns the folder that the agent works in.
    pub(crate) fn folder(&self) -> &Path {
        self.policy.dir.as_deref().unwrap_or(Path::new("."))
    }
}

/// The folder of a session and the permissions that apply in it.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct PolicyOptions {
    /// Work in this folder [default: the current one, or the session's]
    #[arg(long, short = 'C', value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
    /// Allow matching calls without asking, such as 'Bash(cargo *)' (repeatable)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) allow: Vec<String>,
    /// Deny matching calls, such as 'Read(**/.env)' (repeatable)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) deny: Vec<String>,
    /// Decide what happens when no rule matches a call [default: ask]
    #[arg(long, value_enum, help_heading = "Permissions")]
    pub(crate) mode: Option<ModeChoice>,
    /// Let commands reach the network: on, off, domains, or localhost:PORT (repeatable)
    #[arg(long, value_name = "on|off|DOMAIN|localhost:PORT", value_delimiter = ',', value_parser = reach, help_heading = "Permissions")]
    pub(crate) network: Vec<Opened>,
    /// Let commands write this folder too (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Permissions")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Trust the folder's settings and instructions, for this run only
    #[arg(long, help_heading = "Permissions")]
    pub(crate) trust: bool,
}

/// How a model calls tools.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverChoice {
    /// Use `react` for local models and `native` for all others
    Auto,
    /// Use the provider's own tool calling
    Native,
    /// Ask for a thought, a tool and its arguments as constrained JSON
    React,
}

/// What happens to a call that no rule matches.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeChoice {
    /// Read without asking; ask before anything else
    Ask,
    /// Also edit files in the folder without asking
    AcceptEdits,
    /// Only read; deny everything else
    Plan,
    /// Never ask; deny rules and the sandbox still apply
    Bypass,
}

/// Parses a duration such as `90s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    settings::duration(text)
        .ok_or_else(|| "expected a number and a unit, such as `90s`, `10m`, `1h` or `7d`".to_owned())
}

/// Parses `on`, `off`, a domain or a port of this machine.
fn reach(text: &str) -> Result<Opened, String> {
    text.parse().map_err(|error| format!("expected `on`, `off`, a domain or `localhost:PORT`: {error}"))
}

impl PolicyOptions {
    /// Returns the network that the options choose, if they do.
    pub(crate) fn network(&self) -> Result<Option<NetworkAccess>, String> {
        if self.network.is_empty() {
            return Ok(None);
        }
        NetworkAccess::of(self.network.iter().cloned()).map(Some).map_err(|error| format!("--network: {error}"))
    }
}

/// Parses an amount in dollars and returns it in millionths of a dollar.
fn dollars(text: &str) -> Result<u64, String> {
    let dollars = text.trim_start_matches('$').parse().ok().and_then(settings::micros);
    dollars.ok_or_else(|| "expected an amount in dollars above 0, such as `0.50` or `3`".to_owned())
}
