//! What handlers need from whoever assembles them, and how settings become a handler.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use vertebra_kit::mcp::Servers;

use super::{
    Answered, Ask, BoxFuture, Handler, command::Command, condition::Conditional, http::Http, mcp_tool::McpTool,
    prompt::Prompt, worker::Worker,
};
use crate::{
    claude::contract::Condition,
    settings::{Contract, RunSettings},
    trust::Seals,
};

/// What handlers need from whoever assembles them. A model is reached through the run that an event belongs to.
#[derive(Clone, Default)]
pub struct Services {
    /// The project's folder: programs run in it, and paths are taken from it.
    pub folder: PathBuf,
    /// The whole environment to choose from. What a program gets of it is a short list, and what its hook names.
    pub variables: BTreeMap<String, String>,
    /// The MCP servers that are connected.
    pub servers: Servers,
    /// The project's scripts as they were trusted.
    pub seals: Seals,
}

/// Values of variables are nobody's business, not even a log's.
impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Why something cannot answer for a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerError {
    /// There is nothing to start.
    #[error("the command is empty: write a line for the shell, or a list of a program and its arguments")]
    EmptyCommand,
    /// An address cannot be used.
    #[error("`{url}` cannot be posted to: {message}")]
    Address {
        /// The address.
        url: String,
        /// Why not, and what to write instead.
        message: String,
    },
    /// A header cannot be sent.
    #[error("the header `{header}` cannot be sent: {message}")]
    Header {
        /// Its name.
        header: String,
        /// Why not, and what to write instead.
        message: String,
    },
    /// A header names a variable that has no value here.
    #[error("the header `{header}` cannot be sent: the variable `{variable}` is not set")]
    Unset {
        /// Its name.
        header: String,
        /// The variable.
        variable: String,
    },
    /// A model would be asked whether a model may be asked.
    #[error("a `prompt` asks a model, so it cannot stand at {point}, where a model is asked: use a command there")]
    Recursive {
        /// The point.
        point: &'static str,
    },
    /// A contract has no words for a point.
    #[error(
        "Claude Code has no event at {point}: leave `contract` out, and it reads and answers in Vertebra's own form"
    )]
    NoSuchEvent {
        /// The point.
        point: &'static str,
    },
    /// A rule is about calls, and none is made at a point.
    #[error("`if` is a rule about a call, and at {point} there is none: leave it out, or say it in `match`")]
    NoCall {
        /// The point.
        point: &'static str,
    },
    /// A text stands for a place in the event, and none is named.
    #[error("`{text}` stands for no place in an event: write `${{args.command}}`")]
    Template {
        /// The text.
        text: String,
    },
    /// A module cannot be run.
    #[error("the module `{file}` cannot be run: {message}")]
    Module {
        /// The file.
        file: String,
        /// Why not.
        message: String,
    },
}

/// What these settings mean: something that answers.
pub fn build(run: &RunSettings, services: &Services) -> Result<Arc<dyn Handler>, HandlerError> {
    Ok(match run {
        RunSettings::Command { command, contract, env } => {
            only_if(contract, services, Arc::new(Command::new(command, env, contract.clone(), services)?))
        }
        RunSettings::Worker { command, env } => Arc::new(Worker::new(command, env, services)?),
        RunSettings::Http { url, headers, env, private, contract } => {
            match super::http::filled(headers, env, &services.variables) {
                Ok(headers) => {
                    let http = Http::new(url, &headers, *private)?.speaking(contract.clone());
                    only_if(contract, services, Arc::new(http))
                }
                // What is missing on this machine is a failure of this hook alone, under its policy.
                Err(unset @ HandlerError::Unset { .. }) => {
                    only_if(contract, services, Arc::new(Unready { shown: url.clone(), why: unset.to_string() }))
                }
                Err(error) => return Err(error),
            }
        }
        RunSettings::Prompt { prompt, model } => Arc::new(Prompt::new(prompt, model.as_deref())),
        RunSettings::McpTool { server, tool, input } => Arc::new(McpTool::new(server, tool, input, services)?),
        #[cfg(feature = "wasm")]
        RunSettings::Wasm { file, fuel, memory } => super::wasm::Wasm::load(file, *fuel, *memory, services)?,
        #[cfg(not(feature = "wasm"))]
        RunSettings::Wasm { file, .. } => {
            let message = "this program was built without the feature `wasm`".to_owned();
            return Err(HandlerError::Module { file: file.clone(), message });
        }
    })
}

/// A handler under the condition of its contract.
fn only_if(contract: &Contract, services: &Services, handler: Arc<dyn Handler>) -> Arc<dyn Handler> {
    match contract {
        Contract::ClaudeCode { only_if: Some(rule) } => {
            let home = services.variables.get("HOME").map(PathBuf::from);
            let condition = Condition { rule: rule.clone(), project: services.folder.clone(), home };
            Arc::new(Conditional { handler, condition })
        }
        Contract::ClaudeCode { only_if: None } | Contract::Vertebra => handler,
    }
}

/// What cannot be asked on this machine, and fails whenever it is.
pub(super) struct Unready {
    pub(super) shown: String,
    pub(super) why: String,
}

impl Handler for Unready {
    fn shown(&self) -> String {
        self.shown.clone()
    }

    fn ask<'a>(&'a self, _: Ask<'a>) -> BoxFuture<'a, Answered> {
        Box::pin(async { Answered::not_asked(self.shown.clone(), self.why.clone()) })
    }
}
