//! A tool call as hooks see it, and what matchers test of it.

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

    /// Every path among the arguments as matchers test it: absolute, and relative to the working directory.
    pub(crate) fn path_texts(&self, working_directory: &str) -> Vec<String> {
        let mut texts = Vec::new();
        let folder = self.folder.as_deref().unwrap_or(working_directory);
        for path in paths::in_args(&self.args) {
            let path = paths::from_home(path).unwrap_or_else(|| paths::absolute(folder, path));
            texts.extend(paths::relative(working_directory, &path).map(str::to_owned));
            texts.push(path);
        }
        texts
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

    /// Each simple command that the call would run, and each further text that it would run as a command: see
    /// [`shell::further_commands`].
    pub fn commands(&self) -> Vec<String> {
        let mut commands = self.simple_commands();
        commands.extend(shell::further_commands(self.command().unwrap_or_default(), &commands));
        commands
    }

    fn listed(&self) -> Listed {
        let (mut commands, mut is_whole) = (Vec::new(), true);
        let mut read = |line: &str| {
            let listed = shell::listed(line);
            is_whole &= listed.is_whole;
            listed.commands
        };
        for value in ["command", "cmd"].iter().filter_map(|name| self.args.get(name)) {
            match value {
                Value::String(line) => {
                    commands.extend(read(line));
                    commands.extend((Some(line.as_str()) != self.command()).then(|| line.clone()));
                }
                Value::Array(words) => {
                    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                    let quoted: Vec<String> =
                        words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
                    commands.push(words.join(" "));
                    commands.extend(read(&quoted.join(" ")));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
            }
        }
        Listed { commands, is_whole }
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
