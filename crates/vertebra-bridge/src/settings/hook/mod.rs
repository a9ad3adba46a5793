//! `[[hook]]`: a hook in a settings file.

mod json;
mod matching;
mod place;
mod reading;
mod run;
mod stand;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use vertebra::{AnyPoint, FailurePolicy, Matcher, Role};

pub(super) use self::{
    matching::{any_match, by_point},
    reading::read,
};
use crate::wire::Reply;

/// `[[hook]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct HookSettings {
    /// The point, matcher and order.
    pub stand: Stand,
    /// `enabled`.
    pub enabled: bool,
    /// The fixed answer, or the handler.
    pub action: Action,
}

/// The point, matcher and order of a hook, independent of what it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Stand {
    /// `name`; defaults to the level and line.
    pub name: String,
    /// `point`, by any of its names.
    pub point: AnyPoint,
    /// `role`; defaults to guard for hooks that only decide, otherwise to hook.
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

/// The action of a hook in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `deny`, `ask`, `allow`, `stop`, `halt`, `continue`, `retry`, `set`, `patch`, `add_context`: a fixed answer.
    Say(Arc<Reply>),
    /// `run`: a handler answers.
    Run(RunSettings),
}

/// `run = { … }`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunSettings {
    /// `command`: a program that is started for each event.
    Command {
        /// A shell command line, or a program and its arguments.
        command: Words,
        /// `contract`: the JSON format it uses.
        contract: Contract,
        /// `env`: additional environment variables it receives.
        env: Vec<String>,
    },
    /// `worker`: a resident program that reads one line of JSON per event.
    Worker {
        /// A shell command line, or a program and its arguments.
        command: Words,
        /// `env`: additional environment variables it receives.
        env: Vec<String>,
    },
    /// `http`: a URL that events are posted to.
    Http {
        /// The URL.
        url: String,
        /// `headers`: `$NAME` is replaced with an environment variable.
        headers: BTreeMap<String, String>,
        /// `env`: the environment variables that headers may use.
        env: Vec<String>,
        /// `private`: whether the URL may point to this machine or a private network.
        private: bool,
        /// `contract`: the JSON format it uses.
        contract: Contract,
    },
    /// `prompt`: a model decides.
    Prompt {
        /// The prompt; `$EVENT` is replaced with the event.
        prompt: String,
        /// `model`: the model; defaults to the agent's own.
        model: Option<String>,
    },
    /// `mcp_tool`: a tool of an MCP server.
    McpTool {
        /// The server's name.
        server: String,
        /// The tool.
        tool: String,
        /// `input`: its arguments; `${args.command}` is replaced with that field of the event.
        input: serde_json::Map<String, serde_json::Value>,
    },
    /// `wasm`: a WebAssembly module with limited fuel and memory.
    Wasm {
        /// The file.
        file: String,
        /// `fuel`: the largest number of instructions.
        fuel: u64,
        /// `memory`: the largest number of bytes.
        memory: u64,
    },
}

/// A command to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// A line for `sh -c`.
    Line(String),
    /// A program and its arguments, without a shell.
    List(Vec<String>),
}

/// The JSON format that a handler uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contract {
    /// Vertebra's events and answers.
    Vertebra,
    /// Claude Code's events, answers and exit codes.
    ClaudeCode {
        /// `if`: a permission rule in Claude Code's syntax; the handler runs only for calls that match it.
        only_if: Option<String>,
    },
}

#[cfg(test)]
mod tests;
