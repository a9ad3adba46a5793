//! `[[hook]]`: a hook that stands in a file.

mod json;
mod matching;
mod place;
mod reading;
mod run;
mod stand;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use vertebra::{FailurePolicy, Matcher, Role};

pub(super) use self::{matching::any_match, reading::read};
use crate::wire::Reply;

/// `[[hook]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct HookSettings {
    /// Where it stands, and when it runs.
    pub stand: Stand,
    /// `enabled`.
    pub enabled: bool,
    /// What it does.
    pub action: Action,
}

/// Where a hook stands and when it runs, whatever it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Stand {
    /// `name`; without one, its level and line.
    pub name: String,
    /// `point`, by any of its names.
    pub point: &'static str,
    /// `role`; a guard where it only decides, else a hook.
    pub role: Role,
    /// `match`.
    pub matcher: Option<Matcher>,
    /// `priority`.
    pub priority: i32,
    /// `before`.
    pub before: Vec<String>,
    /// `after`.
    pub after: Vec<String>,
    /// `timeout`.
    pub timeout: Option<Duration>,
    /// `max_retries`.
    pub max_retries: u32,
    /// `on_failure`.
    pub on_failure: Option<FailurePolicy>,
    /// `shadow`.
    pub shadow: bool,
    /// `detached`, of a watch.
    pub detached: bool,
}

/// What a hook in a file does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `deny`, `ask`, `allow`, `stop`, `halt`, `continue`, `retry`, `set`, `patch`, `add_context`: the answer itself.
    Say(Arc<Reply>),
    /// `run`: something outside answers.
    Run(RunSettings),
}

/// `run = { … }`.
#[derive(Debug, Clone, PartialEq)]
pub enum RunSettings {
    /// `command`: a program for each event.
    Command {
        /// A line for the shell, or a program and its arguments.
        command: Words,
        /// `contract`: which JSON it speaks.
        contract: Contract,
        /// `env`: variables it gets besides the usual ones.
        env: Vec<String>,
    },
    /// `worker`: a program that stays, a line of JSON for each event.
    Worker {
        /// A line for the shell, or a program and its arguments.
        command: Words,
        /// `env`: variables it gets besides the usual ones.
        env: Vec<String>,
    },
    /// `http`: an address that events are posted to.
    Http {
        /// The address.
        url: String,
        /// `headers`: `$NAME` stands for an environment variable.
        headers: BTreeMap<String, String>,
        /// `env`: the variables that headers may name.
        env: Vec<String>,
        /// `private`: whether the address may be in a private network or on this machine.
        private: bool,
        /// `contract`: which JSON it speaks.
        contract: Contract,
    },
    /// `prompt`: a model judges.
    Prompt {
        /// What it is asked; `$EVENT` stands for the event.
        prompt: String,
        /// `model`: which; the agent's own unless told otherwise.
        model: Option<String>,
    },
    /// `mcp_tool`: a tool of an MCP server.
    McpTool {
        /// The server's name.
        server: String,
        /// The tool.
        tool: String,
        /// `input`: its arguments; `${args.command}` stands for a place in the event.
        input: serde_json::Map<String, serde_json::Value>,
    },
    /// `wasm`: a module, held by fuel and memory.
    Wasm {
        /// The file.
        file: String,
        /// `fuel`: how many instructions it may take.
        fuel: u64,
        /// `memory`: how many bytes it may have.
        memory: u64,
    },
}

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// A line for `sh -c`.
    Line(String),
    /// A program and its arguments, no shell.
    List(Vec<String>),
}

/// Which JSON something outside speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contract {
    /// Our events and answers.
    Vertebra,
    /// Those of Claude Code, exit codes included.
    ClaudeCode {
        /// `if`: the permission rule, as Claude Code writes it, under which it is asked; always without one.
        only_if: Option<String>,
    },
}

#[cfg(test)]
mod tests;
