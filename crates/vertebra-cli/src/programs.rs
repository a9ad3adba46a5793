//! JSON output for programs, which is the default if stdout is not a terminal.

use std::io::{IsTerminal as _, Write as _};

use serde::Serialize;

/// Returns whether to print for a program.
pub(crate) fn read_it(json: bool) -> bool {
    json || !std::io::stdout().is_terminal()
}

/// Prints a value as JSON.
pub(crate) fn print(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(value)?)?)
}
