//! A tool call as hooks see it, and the facts that matchers ask of it.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Args,
    shell::{self, Listed},
    tool::paths,
};

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
    /// How long the tool itself may take; as long as it likes unless a hook says. Then it is dropped, and has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Duration>,
    /// The tools used before this call, the latest last.
    #[serde(default)]
    pub recent_tools: Arc<Vec<Arc<str>>>,
    /// Where the call starts, if that is not the agent's working directory: see [`Tool::folder`](crate::Tool::folder).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<Arc<str>>,
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

    /// Every path among the arguments, absolute and without `.` or `..`. `~` is a name like any other here; to matchers it is the
    /// home of whoever runs this.
    ///
    /// A relative path belongs to the [folder](Self::folder) that the call starts in.
    pub fn paths(&self, working_directory: &str) -> impl Iterator<Item = String> {
        let folder = self.folder.as_deref().unwrap_or(working_directory).to_owned();
        paths::in_args(&self.args).map(move |path| paths::absolute(&folder, path))
    }

    pub(crate) fn path_facts(&self, working_directory: &str) -> Vec<String> {
        let mut facts = Vec::new();
        let folder = self.folder.as_deref().unwrap_or(working_directory);
        for path in paths::in_args(&self.args) {
            let path = paths::from_home(path).unwrap_or_else(|| paths::absolute(folder, path));
            facts.extend(paths::relative(working_directory, &path).map(str::to_owned));
            facts.push(path);
        }
        facts
    }

    /// Whether its command has more to it than [`simple_commands`](Self::simple_commands) lists.
    pub fn is_beyond_reading(&self) -> bool {
        !self.listed().is_whole
    }

    /// Each simple command that the call would run, whether its command is a line or a list of words. A line that is one
    /// plain command is not listed: see [`shell::simple_commands`].
    pub fn simple_commands(&self) -> Vec<String> {
        self.listed().commands
    }

    /// More commands that the call may run: see [`shell::further_commands`].
    pub fn further_commands(&self) -> Vec<String> {
        shell::further_commands(self.command().unwrap_or_default(), &self.simple_commands())
    }

    /// A command of the call that cannot be known before it runs: see [`shell::hidden_command`].
    pub fn hidden_command(&self) -> Option<String> {
        self.command_lines().find_map(|line| shell::hidden_command(&line))
    }

    /// The command lines of the call. One that is a list of words is quoted as a shell would need it.
    pub fn command_lines(&self) -> impl Iterator<Item = String> {
        self.given().filter_map(line)
    }

    fn given(&self) -> impl Iterator<Item = &Value> {
        ["command", "cmd"].iter().filter_map(|name| self.args.get(name))
    }

    fn listed(&self) -> Listed {
        let mut all = Listed { commands: Vec::new(), is_whole: true };
        let is_only = self.given().count() == 1;
        for value in self.given() {
            let Some(line) = line(value) else { continue };
            let listed = shell::listed(&line);
            all.is_whole &= listed.is_whole;
            match value {
                Value::Array(words) => {
                    all.commands.push(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
                    all.commands.extend(listed.commands);
                }
                _ => {
                    all.commands.extend(listed.commands);
                    all.commands.extend((!is_only).then_some(line));
                }
            }
        }
        all
    }

    /// Whether this is still the call that the other is, arguments aside.
    pub(crate) fn is_same_call(&self, other: &Self) -> bool {
        self.call_id == other.call_id
            && self.tool == other.tool
            && self.aliases == other.aliases
            && self.folder == other.folder
    }

    /// Takes back everything but the arguments.
    pub(crate) fn become_again(&mut self, original: &Self) {
        let Self { args, malformed, .. } = std::mem::replace(self, original.clone());
        self.args = args;
        self.malformed = malformed;
    }
}

/// A command as a line, also where it is a list of words.
fn line(command: &Value) -> Option<String> {
    match command {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words = words.iter().filter_map(Value::as_str);
            Some(words.map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect::<Vec<_>>().join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
