//! Other names of the built-in tools, for whoever reads of them without an agent at hand.

use std::sync::Arc;

/// Tools, and what else they are called.
const ALIASES: &[(&str, &str)] = &[
    ("bash", "Bash"),
    ("read_file", "Read"),
    ("write_file", "Write"),
    ("edit_file", "Edit"),
    ("list_dir", "LS"),
    ("search_files", "Glob"),
    ("todo_write", "TodoWrite"),
    ("load_skill", "Skill"),
    ("spawn_subagent", "Task"),
];

/// What else a tool is called.
pub(crate) fn aliases(tool: &str) -> Arc<[Arc<str>]> {
    ALIASES.iter().filter(|(name, _)| *name == tool).map(|(_, alias)| Arc::from(*alias)).collect()
}
