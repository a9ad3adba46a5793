//! A tool call as hooks see it, and the facts that matchers ask of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Args, paths, shell};

/// The call that a tool event is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Pairs the events of one call.
    pub call_id: Arc<str>,
    /// The tool.
    pub tool: Arc<str>,
    /// Other names of the tool.
    #[serde(default)]
    pub aliases: Arc<[Arc<str>]>,
    /// The arguments.
    pub args: Args,
    /// The model's own text, if its arguments were not a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// The tools used before this call, the latest last.
    #[serde(default)]
    pub recent_tools: Arc<Vec<Arc<str>>>,
}

impl Call {
    /// The arguments, to change. Malformed arguments count as repaired once they are written.
    pub fn args_mut(&mut self) -> &mut Args {
        self.malformed = None;
        &mut self.args
    }

    /// The command line the call would run, if it is that kind of call.
    pub fn command(&self) -> Option<&str> {
        self.args.text("command").or_else(|| self.args.text("cmd"))
    }

    /// Every path among the arguments, absolute and without `.` or `..`.
    pub fn paths(&self, working_directory: &str) -> impl Iterator<Item = String> {
        paths::in_args(&self.args).map(move |path| paths::absolute(working_directory, path))
    }

    pub(crate) fn path_facts(&self, working_directory: &str) -> Vec<String> {
        let mut facts = Vec::new();
        for path in self.paths(working_directory) {
            facts.extend(paths::relative(working_directory, &path).map(str::to_owned));
            facts.push(path);
        }
        facts
    }

    pub(crate) fn simple_commands(&self) -> Vec<String> {
        self.command().map(shell::simple_commands).unwrap_or_default()
    }
}
