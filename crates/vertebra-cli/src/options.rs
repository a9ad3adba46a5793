//! What `run` and `chat` share: which agent, with which rights, within which limits.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use vertebra_bridge::settings;

/// The agent, its rights and its limits.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct AgentOptions {
    /// The model, as PROVIDER:NAME; `script:FILE` plays a script, `cassette:FILE` a recording
    #[arg(long, short, value_name = "MODEL", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// How the model is asked for tools [default: auto]
    #[arg(long, value_enum, help_heading = "Model")]
    pub(crate) driver: Option<DriverChoice>,
    /// Record what the model is asked and answers, for `--model cassette:FILE`
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub(crate) record: Option<PathBuf>,
    /// What the model is told besides, after the built-in prompt
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub(crate) system: Option<String>,
    /// The folder the agent works in [default: this one, or that of the session]
    #[arg(long, short = 'C', value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
    /// Allow calls without asking, as in `Bash(cargo *)`; may be repeated
    #[arg(long, value_name = "RULE", help_heading = "Rights")]
    pub(crate) allow: Vec<String>,
    /// Never allow these calls, as in `Read(**/.env)`; may be repeated
    #[arg(long, value_name = "RULE", help_heading = "Rights")]
    pub(crate) deny: Vec<String>,
    /// What happens to calls that no rule speaks of [default: ask]
    #[arg(long, value_enum, help_heading = "Rights")]
    pub(crate) mode: Option<ModeChoice>,
    /// Let the folder's own settings and instructions count, for this run
    #[arg(long, help_heading = "Rights")]
    pub(crate) trust: bool,
    /// Export traces and metrics to an OpenTelemetry collector [default: `http://localhost:4318`]
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        help_heading = "Telemetry"
    )]
    pub(crate) otlp: Option<String>,
    /// Where nobody is there to be asked, suspend the run and wait so long for an answer, instead of a no [default: 7d]
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
    /// Record nothing: the session cannot be resumed, shown or replayed
    #[arg(long, help_heading = "Journal")]
    pub(crate) no_journal: bool,
    /// End after so many steps [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub(crate) max_steps: Option<u64>,
    /// End when this many dollars are spent, as in `0.50`
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, help_heading = "Limits")]
    pub(crate) max_cost: Option<u64>,
    /// End after so long at work, as in `90s`, `10m`, `1h`; waiting for you does not count [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,
}

impl AgentOptions {
    /// The folder the agent works in.
    pub(crate) fn folder(&self) -> &Path {
        self.dir.as_deref().unwrap_or(Path::new("."))
    }
}

/// How a model is asked for tools.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverChoice {
    /// As `react` for local models, as `native` for others
    Auto,
    /// The provider's own tool calling
    Native,
    /// Thought, tool and arguments as constrained JSON
    React,
}

/// What happens to calls that no rule speaks of.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeChoice {
    /// Reading is free, the rest is asked
    Ask,
    /// Changes to files in the folder are free too
    AcceptEdits,
    /// Only reading
    Plan,
    /// Nobody is asked: denials still hold, and so does the sandbox
    Bypass,
}

/// How long.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    settings::duration(text).ok_or_else(|| "write a number and a unit: `90s`, `10m`, `1h` or `7d`".to_owned())
}

/// Millionths of a dollar.
fn dollars(text: &str) -> Result<u64, String> {
    let dollars = text.trim_start_matches('$').parse().ok().and_then(settings::micros);
    dollars.ok_or_else(|| "write dollars above 0: `0.50` or `3`".to_owned())
}
