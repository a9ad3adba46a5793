//! A tool call: what a model asks for, what hooks see, what people are asked about.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};
use vertebra_hooks::Commands;
use vertebra_shell::CommandLine;

use crate::{Args, ToolName, tool::paths};

/// A tool call. A model asks for it, hooks judge and change it, a tool runs it.
///
/// In a conversation it is written as the model wrote it: `id`, `tool`, `args`, `malformed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's name for the call; pairs it with its result, and the events of one call with each other.
    pub id: Arc<str>,
    /// The tool.
    pub tool: ToolName,
    /// Other names of the tool. Known once the call comes to its hooks.
    #[serde(skip)]
    pub aliases: Arc<[Arc<str>]>,
    /// The arguments; empty if they were malformed.
    pub args: Args,
    /// The model's own text, if its arguments were not a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// Where the call starts, if that is not the agent's working directory: see [`Tool::folder`](crate::Tool::folder).
    /// Known once the call comes to its hooks.
    #[serde(skip)]
    pub folder: Option<Arc<str>>,
}

/// A call as it is written among the fields of an event.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolCall")]
pub(crate) struct InEvent {
    #[serde(rename = "call_id")]
    id: Arc<str>,
    tool: ToolName,
    #[serde(default)]
    aliases: Arc<[Arc<str>]>,
    args: Args,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    malformed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<Arc<str>>,
}

/// A call as it is written among the fields of a question or a page: `call_id`, `tool` and `args`. Its aliases, its folder
/// and malformed text are left out.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Row {
///     #[serde(flatten, with = "vertebra::FlatCall")]
///     call: vertebra::ToolCall,
/// }
/// let call = vertebra::ToolCall::from_text("1", "bash", r#"{"command": "ls"}"#);
/// assert_eq!(
///     serde_json::to_value(Row { call })?,
///     serde_json::json!({"call_id": "1", "tool": "bash", "args": {"command": "ls"}}),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolCall")]
pub struct FlatCall {
    #[serde(rename = "call_id")]
    id: Arc<str>,
    tool: ToolName,
    #[serde(skip)]
    aliases: Arc<[Arc<str>]>,
    args: Args,
    #[serde(skip)]
    malformed: Option<String>,
    #[serde(skip)]
    folder: Option<Arc<str>>,
}

impl ToolCall {
    /// A call of a tool with these arguments.
    pub fn new(id: impl Into<Arc<str>>, tool: impl Into<ToolName>, args: Args) -> Self {
        let (id, tool) = (id.into(), tool.into());
        Self { id, tool, aliases: Arc::default(), args, malformed: None, folder: None }
    }

    /// A call with arguments as the model wrote them. Text that is not a JSON object is kept as it is.
    pub fn from_text(id: impl Into<Arc<str>>, tool: impl Into<ToolName>, text: &str) -> Self {
        let parsed = if text.trim().is_empty() { Some(Args::default()) } else { serde_json::from_str(text).ok() };
        let malformed = parsed.is_none().then(|| text.to_owned());
        Self { malformed, ..Self::new(id, tool, parsed.unwrap_or_default()) }
    }

    /// The arguments as the model wrote them: JSON, unless they were malformed.
    pub fn written(&self) -> String {
        self.malformed.clone().unwrap_or_else(|| self.args.to_value().to_string())
    }

    /// Roughly how many bytes a model reads for it.
    pub(crate) fn weight(&self) -> usize {
        self.tool.len() + self.args.weight()
    }

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
        let folder = self.folder.as_deref().unwrap_or(working_directory);
        paths::in_args(&self.args).flat_map(|path| paths::forms(working_directory, folder, path)).collect()
    }

    /// The command lines of the call, parsed once: see [`Args::command_lines`].
    pub fn command_lines(&self) -> &[CommandLine] {
        self.args.command_lines()
    }

    /// Whether its commands have more to them than is listed: see [`CommandLine::is_beyond_reading`].
    pub fn is_beyond_reading(&self) -> bool {
        self.command_lines().iter().any(CommandLine::is_beyond_reading)
    }

    /// Each simple command that the call would run: see [`CommandLine::texts`].
    pub fn simple_commands(&self) -> impl Iterator<Item = &str> {
        self.command_lines().iter().flat_map(CommandLine::texts).map(String::as_str)
    }

    /// Commands that it may run besides: see [`CommandLine::further`].
    pub fn further_commands(&self) -> impl Iterator<Item = &str> {
        self.command_lines().iter().flat_map(CommandLine::further).map(String::as_str)
    }

    /// A command of the call that cannot be known before it runs: see [`CommandLine::hidden`].
    pub fn hidden_command(&self) -> Option<String> {
        self.command_lines().iter().find_map(CommandLine::hidden)
    }

    /// The command line as matchers test it, its commands, and those that it may run besides.
    pub(crate) fn commands(&self) -> Commands<'_> {
        commands(self.command(), self.command_lines())
    }

    /// Whether this is still the call that the other is, arguments aside.
    pub(crate) fn is_same_call(&self, other: &Self) -> bool {
        self.id == other.id && self.tool == other.tool && self.aliases == other.aliases && self.folder == other.folder
    }
}

/// Command lines as matchers test them. `line` is the text of the first, if it was not a list of words.
pub(crate) fn commands<'c>(line: Option<&'c str>, lines: &'c [CommandLine]) -> Commands<'c> {
    let mut simple: Vec<Cow<'c, str>> = Vec::new();
    let mut further = Vec::new();
    for parsed in lines {
        let texts = parsed.texts().iter().map(|text| Cow::Borrowed(text.as_str()));
        simple.extend(texts);
        // Of several lines, each is tested as a whole too.
        simple.extend((lines.len() > 1).then(|| Cow::Borrowed(parsed.text())));
        further.extend(parsed.further().iter().map(|text| Cow::Borrowed(text.as_str())));
    }
    if simple.len() == 1 && line == simple.first().map(|only| &**only) {
        simple.clear();
    }
    Commands { line: line.map(Cow::Borrowed), simple, further }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;
    use crate::{events::ToolAsked, testing};

    /// A call as hooks see it, with everything that it can have.
    fn asked() -> ToolAsked {
        let mut asked = testing::call("bash", json!({ "command": "ls" }));
        asked.call.aliases = ["Bash".into()].into();
        asked.call.folder = Some("/tmp".into());
        asked.call.malformed = Some("{".to_owned());
        asked
    }

    #[test]
    fn a_conversation_has_the_call_as_the_model_wrote_it() {
        let written = json!({ "id": "call-1", "tool": "bash", "args": { "command": "ls" }, "malformed": "{" });
        assert_eq!(to_value(asked().call).expect("JSON"), written);
        let read: ToolCall = from_value(written).expect("a call");
        assert_eq!(read, ToolCall { aliases: Arc::default(), folder: None, ..asked().call });
    }

    #[test]
    fn an_event_has_the_whole_call_among_its_fields() {
        let written = to_value(asked()).expect("JSON");
        for (name, value) in [
            ("call_id", json!("call-1")),
            ("tool", json!("bash")),
            ("aliases", json!(["Bash"])),
            ("args", json!({ "command": "ls" })),
            ("malformed", json!("{")),
            ("folder", json!("/tmp")),
            ("recent_tools", json!([])),
            ("run_id", json!("run-1")),
        ] {
            assert_eq!(written[name], value, "{name}");
        }
        assert!(written.get("id").is_none() && written.get("call").is_none());
        assert_eq!(from_value::<ToolAsked>(written).expect("an event"), asked());
    }
}
