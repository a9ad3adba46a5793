//! The slash commands of a chat.

use vertebra::nearest;

use crate::view::rows::{BOLD, PLAIN, Row};

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    /// Shows the model, or switches to the one that is named.
    Model(Option<String>),
    /// Shows the permission mode, or changes it to the one that is named.
    Mode(Option<String>),
    Hooks,
    /// Restores the files that the last prompt changed.
    Undo,
    /// Compacts the conversation. The text says what to keep.
    Compact(String),
    Clear,
    Cost,
    Quit,
}

/// The commands, their arguments and what they do.
const COMMANDS: [(&str, &str, &str); 9] = [
    ("help", "", "show commands and keys"),
    ("model", "[NAME]", "show the model, or switch to another one"),
    ("mode", "[MODE]", "show the mode, or switch: ask, accept-edits, plan"),
    ("hooks", "", "list the hooks in the order in which they run"),
    ("undo", "", "restore the files that the last prompt changed"),
    ("compact", "[WHAT TO KEEP]", "compact the conversation"),
    ("clear", "", "start a new session"),
    ("cost", "", "show steps, tokens and cost so far"),
    ("quit", "", "quit (or press Ctrl-D)"),
];

impl Command {
    /// Parses a slash command. Returns `None` if the text is a prompt for the model.
    pub(super) fn parse(typed: &str) -> Option<Result<Self, String>> {
        let typed = typed.trim().strip_prefix('/')?;
        let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        // A path is not a command.
        if name.contains('/') || name.is_empty() {
            return None;
        }
        let rest = rest.trim();
        let command = match name {
            "help" | "?" => Self::Help,
            "model" => Self::Model((!rest.is_empty()).then(|| rest.to_owned())),
            "mode" => Self::Mode((!rest.is_empty()).then(|| rest.to_owned())),
            "hooks" => Self::Hooks,
            "undo" => Self::Undo,
            "compact" => return Some(Ok(Self::Compact(rest.to_owned()))),
            "clear" | "new" => Self::Clear,
            "cost" => Self::Cost,
            "quit" | "exit" | "q" => Self::Quit,
            other => return Some(Err(unknown(other))),
        };
        if !rest.is_empty() && !matches!(command, Self::Model(_) | Self::Mode(_)) {
            return Some(Err(format!("/{name} takes no argument")));
        }
        Some(Ok(command))
    }
}

fn unknown(name: &str) -> String {
    let names = COMMANDS.map(|(name, ..)| name);
    match nearest(name, names.iter().copied()) {
        Some(meant) => format!("unknown command /{name}; did you mean /{meant}?"),
        None => format!("unknown command /{name}; type /help for a list"),
    }
}

/// Lists the commands and the keys.
pub(super) fn help() -> Vec<Row> {
    let rows = COMMANDS.iter().map(|(name, argument, what)| {
        let typed = format!("  {:<25}", format!("/{name} {argument}"));
        Row::default().with(BOLD, typed).with(PLAIN, *what)
    });
    let keys = [
        ("enter", "send; while the agent works, steer its next step"),
        ("alt-enter, \\ enter", "start a new line"),
        ("up, down", "show earlier prompts"),
        ("shift-tab", "switch to the next permission mode"),
        ("esc, ctrl-c", "stop the run and keep the session"),
        ("ctrl-c ctrl-c, ctrl-d", "quit"),
    ];
    let keys = keys.map(|(key, what)| Row::default().with(BOLD, format!("  {key:<25}")).with(PLAIN, what));
    rows.chain([Row::default()]).chain(keys).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_prompts_and_mistakes_are_told_apart() {
        assert_eq!(Command::parse("hello"), None);
        assert_eq!(Command::parse("/etc/passwd is what?"), None);
        assert_eq!(Command::parse(" /model gpt "), Some(Ok(Command::Model(Some("gpt".to_owned())))));
        assert_eq!(Command::parse("/compact the plan"), Some(Ok(Command::Compact("the plan".to_owned()))));
        let wrong = |typed| Command::parse(typed).expect("a command").expect_err("a wrong one");
        assert_eq!(wrong("/hoks"), "unknown command /hoks; did you mean /hooks?");
        assert_eq!(wrong("/frobnicate"), "unknown command /frobnicate; type /help for a list");
        assert_eq!(wrong("/clear all"), "/clear takes no argument");
    }
}
