//! What `run` and `chat` share: which agent, with which rights, within which limits.

use std::{path::PathBuf, time::Duration};

/// The agent, its rights and its limits.
#[derive(clap::Args, Clone)]
pub(crate) struct AgentOptions {
    /// The model, as PROVIDER:NAME; `script:FILE` plays a script
    #[arg(long, short, value_name = "MODEL", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// How the model is asked for tools
    #[arg(long, value_enum, default_value_t, help_heading = "Model")]
    pub(crate) driver: DriverChoice,
    /// What the model is told besides, after the built-in prompt
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub(crate) system: Option<String>,
    /// The folder the agent works in
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Allow calls without asking, as in `Bash(cargo *)`; may be repeated
    #[arg(long, value_name = "RULE", help_heading = "Rights")]
    pub(crate) allow: Vec<String>,
    /// Never allow these calls, as in `Read(**/.env)`; may be repeated
    #[arg(long, value_name = "RULE", help_heading = "Rights")]
    pub(crate) deny: Vec<String>,
    /// What happens to calls that no rule speaks of
    #[arg(long, value_enum, default_value_t, help_heading = "Rights")]
    pub(crate) mode: ModeChoice,
    /// End after so many steps
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Limits")]
    pub(crate) max_steps: u32,
    /// End when this many dollars are spent
    #[arg(long, value_name = "DOLLARS", help_heading = "Limits")]
    pub(crate) max_cost: Option<f64>,
    /// End after so long at work, as in `90s`, `10m`, `1h`; waiting for you does not count
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1h", help_heading = "Limits")]
    pub(crate) timeout: Duration,
}

/// How a model is asked for tools.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DriverChoice {
    /// ReAct for local models, the provider's own tool calling for others
    #[default]
    Auto,
    /// The provider's own tool calling
    Native,
    /// Thought, tool and arguments as constrained JSON
    React,
}

/// What happens to calls that no rule speaks of.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ModeChoice {
    /// Reading is free, the rest is asked
    #[default]
    Ask,
    /// Changes to files in the folder are free too
    AcceptEdits,
    /// Only reading
    Plan,
    /// Nobody is asked: denials still hold, and so does the sandbox
    Bypass,
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        other => return Err(format!("`{other}` is no unit of time; write `90s`, `10m` or `1h`")),
    };
    let number: u64 = digits.parse().map_err(|_| "write a number and a unit: `90s`, `10m` or `1h`".to_owned())?;
    let seconds = number.checked_mul(unit).ok_or("that is longer than a program can count")?;
    Ok(Duration::from_secs(seconds))
}
