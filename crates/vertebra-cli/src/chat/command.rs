//! The slash commands of a chat.

use vertebra::nearest;
use vertebra_kit::bash::sandbox::{NetworkAccess, NotANetwork, Opened};

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
    /// Applies what the last `/undo` took back.
    Redo,
    /// Continues a suspended run.
    Continue,
    /// Compacts the conversation. The text says what to keep.
    Compact(String),
    Clear,
    Cost,
    /// Shows what commands can do, or changes it.
    Sandbox(Sandbox),
    Quit,
}

/// What `/sandbox` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sandbox {
    Show,
    Network(NetworkAccess),
    Write(String),
}

impl Sandbox {
    fn parse(rest: &str) -> Result<Self, String> {
        let mut words = rest.split_whitespace();
        match (words.next(), words.next()) {
            (None, _) => Ok(Self::Show),
            (Some("network"), Some(_)) => {
                let named = rest.split([' ', ',']).skip(1).filter(|word| !word.is_empty()).map(str::parse);
                let named = named.collect::<Result<Vec<Opened>, NotANetwork>>();
                named.and_then(NetworkAccess::of).map(Self::Network).map_err(|error| error.to_string())
            }
            (Some("write"), Some(_)) => Ok(Self::Write(rest["write".len()..].trim().to_owned())),
            _ => Err("/sandbox takes `network on`, `network off`, `network public`, `network DOMAIN…`, `network \
                     localhost:PORT` or `write FOLDER`"
                .to_owned()),
        }
    }
}

/// The commands, their arguments and what they do.
const COMMANDS: [(&str, &str, &str); 12] = [
    ("help", "", "show commands and keys"),
    ("model", "[NAME]", "show the model, or switch to another one"),
    ("mode", "[MODE]", "show or switch it: ask, accept-edits, sandboxed, plan"),
    ("hooks", "", "list the hooks in the order in which they run"),
    ("undo", "", "restore the files that the last prompt changed"),
    ("redo", "", "apply again what the last /undo took back"),
    ("continue", "", "continue a suspended run"),
    ("compact", "[WHAT TO KEEP]", "compact the conversation"),
    ("clear", "", "start a new session"),
    ("cost", "", "show steps, tokens and cost so far"),
    ("sandbox", "[network|write …]", "show what commands can do, or change it"),
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
            "redo" => Self::Redo,
            "continue" => Self::Continue,
            "compact" => return Some(Ok(Self::Compact(rest.to_owned()))),
            "clear" | "new" => Self::Clear,
            "cost" => Self::Cost,
            "sandbox" => return Some(Sandbox::parse(rest).map(Self::Sandbox)),
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
        let typed = format!("  {:<27}", format!("/{name} {argument}"));
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
    let keys = keys.map(|(key, what)| Row::default().with(BOLD, format!("  {key:<27}")).with(PLAIN, what));
    rows.chain([Row::default()]).chain(keys).collect()
}

#[cfg(test)]
mod tests {
    use vertebra_kit::bash::sandbox::Network;

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
        let sandbox = |typed| match Command::parse(typed) {
            Some(Ok(Command::Sandbox(sandbox))) => sandbox,
            other => panic!("{typed}: {other:?}"),
        };
        assert_eq!(sandbox("/sandbox"), Sandbox::Show);
        let access = |network, ports: &[u16]| {
            Sandbox::Network(NetworkAccess { network, ports: ports.iter().copied().collect() })
        };
        assert_eq!(sandbox("/sandbox network on"), access(Network::On, &[]));
        let domains = ["crates.io", "example.org"].map(|domain| domain.parse().expect("a domain"));
        assert_eq!(
            sandbox("/sandbox network crates.io, example.org localhost:5432"),
            access(Network::Domains(domains.into()), &[5432])
        );
        assert_eq!(sandbox("/sandbox write ../my files"), Sandbox::Write("../my files".to_owned()));
        assert!(wrong("/sandbox network https://crates.io").contains("is not a domain"));
        assert!(wrong("/sandbox off").contains("takes `network on`"));
    }
}
