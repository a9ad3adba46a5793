//! Aliases of the built-in tools, for code that has no agent to ask.

use std::sync::Arc;

/// The tools and their aliases.
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

/// Returns the aliases of a tool.
pub(crate) fn aliases(tool: &str) -> Arc<[Arc<str>]> {
    ALIASES.iter().filter(|(name, _)| *name == tool).map(|(_, alias)| Arc::from(*alias)).collect()
}
