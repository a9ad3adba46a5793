//! What can be said to the program instead of to the model.

use vertebra::nearest;

use crate::view::rows::{BOLD, PLAIN, Row};

/// A command of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    /// Which model; another one, if it is named.
    Model(Option<String>),
    Hooks,
    /// Puts files back as they were before the latest prompt.
    Undo,
    /// Makes the conversation shorter; this is what to keep.
    Compact(String),
    Clear,
    Cost,
    Quit,
}

/// The commands as people type them, and what they do.
const COMMANDS: [(&str, &str, &str); 8] = [
    ("help", "", "what can be typed here"),
    ("model", "[NAME]", "which model is asked, or ask another one"),
    ("hooks", "", "the hooks in force, in the order they run"),
    ("undo", "", "put back the files that the latest prompt changed"),
    ("compact", "[WHAT TO KEEP]", "make the conversation shorter"),
    ("clear", "", "begin a new session"),
    ("cost", "", "what was used so far"),
    ("quit", "", "leave (Ctrl-D does too)"),
];

impl Command {
    /// The command in what was typed, or what is wrong with it; `None` if it is said to the model.
    pub(super) fn parse(typed: &str) -> Option<Result<Self, String>> {
        let typed = typed.trim().strip_prefix('/')?;
        let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        // A path is no command.
        if name.contains('/') || name.is_empty() {
            return None;
        }
        let rest = rest.trim();
        let command = match name {
            "help" | "?" => Self::Help,
            "model" => Self::Model((!rest.is_empty()).then(|| rest.to_owned())),
            "hooks" => Self::Hooks,
            "undo" => Self::Undo,
            "compact" => return Some(Ok(Self::Compact(rest.to_owned()))),
            "clear" | "new" => Self::Clear,
            "cost" => Self::Cost,
            "quit" | "exit" | "q" => Self::Quit,
            other => return Some(Err(unknown(other))),
        };
        if !rest.is_empty() && !matches!(command, Self::Model(_)) {
            return Some(Err(format!("/{name} takes nothing after it")));
        }
        Some(Ok(command))
    }
}

fn unknown(name: &str) -> String {
    let names = COMMANDS.map(|(name, ..)| name);
    match nearest(name, names.iter().copied()) {
        Some(meant) => format!("there is no /{name}; did you mean /{meant}?"),
        None => format!("there is no /{name}; /help lists what there is"),
    }
}

/// The commands and the keys.
pub(super) fn help() -> Vec<Row> {
    let rows = COMMANDS.iter().map(|(name, argument, what)| {
        let typed = format!("  {:<25}", format!("/{name} {argument}"));
        Row::default().with(BOLD, typed).with(PLAIN, *what)
    });
    let keys = [
        ("enter", "send; while it works: say something for the next step"),
        ("alt-enter, \\ enter", "a new line"),
        ("up, down", "what was sent before"),
        ("esc, ctrl-c", "stop what it does; the session goes on"),
        ("ctrl-c ctrl-c, ctrl-d", "leave"),
    ];
    let keys = keys.map(|(key, what)| Row::default().with(BOLD, format!("  {key:<25}")).with(PLAIN, what));
    rows.chain([Row::default()]).chain(keys).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prompts_and_mistakes_from_both() {
        assert_eq!(Command::parse("hello"), None);
        assert_eq!(Command::parse("/etc/passwd is what?"), None);
        assert_eq!(Command::parse(" /model gpt "), Some(Ok(Command::Model(Some("gpt".to_owned())))));
        assert_eq!(Command::parse("/compact the plan"), Some(Ok(Command::Compact("the plan".to_owned()))));
        let wrong = |typed| Command::parse(typed).expect("a command").expect_err("a wrong one");
        assert_eq!(wrong("/hoks"), "there is no /hoks; did you mean /hooks?");
        assert_eq!(wrong("/frobnicate"), "there is no /frobnicate; /help lists what there is");
        assert_eq!(wrong("/clear all"), "/clear takes nothing after it");
    }
}
