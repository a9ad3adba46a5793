//! The inputs every peer is measured on, so that all do the same work.
//!
//! | case | what is registered | what happens |
//! | --- | --- | --- |
//! | `no_hook` | nothing | `bash` is about to run [`COMMAND`] |
//! | `one_hook`, `ten_hooks` | hooks for every tool, which let it pass | the same |
//! | `tools_1000` | [`MANY`] hooks, each for one tool: [`tool`] | the tool number [`CHOSEN`] is about to run |
//! | `regex_1000` | [`MANY`] hooks for `bash`, each for commands like [`pattern`] | `bash` is about to run [`dangerous_command`] |

/// The tool of all events but that of `tools_1000`.
pub const BASH: &str = "bash";

/// What the model wants to run.
pub const COMMAND: &str = "git push origin main";

/// How many hooks there are when there are many.
pub const MANY: usize = 1000;

/// The one of [`MANY`] that matches.
pub const CHOSEN: usize = 500;

/// The name of the tool that the hook number `index` of `tools_1000` is for.
pub fn tool(index: usize) -> String {
    format!("tool_{index}")
}

/// The regex of commands that the hook number `index` of `regex_1000` is for.
pub fn pattern(index: usize) -> String {
    format!(r"\bprog{index}\s+--danger\b")
}

/// The command that matches [`pattern`] of [`CHOSEN`] and of no other.
pub fn dangerous_command() -> String {
    format!("prog{CHOSEN} --danger now")
}
