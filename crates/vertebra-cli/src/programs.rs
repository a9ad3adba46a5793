//! What programs read of a command: JSON, where nobody looks at a terminal.

use std::io::{IsTerminal as _, Write as _};

use serde::Serialize;

/// Whether a program reads what is printed.
pub(crate) fn read_it(json: bool) -> bool {
    json || !std::io::stdout().is_terminal()
}

/// Prints a value for programs.
pub(crate) fn print(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(value)?)?)
}
