//! The events of Claude Code's contract, one row each: everything about an event that is not about a handler.

use std::time::Duration;

use serde_json::Value;

use super::handler::Kind;

/// What is fixed about an event.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: &'static str,
    /// What a matcher is compared with.
    pub(super) matched: Matched,
    /// The kinds of handlers that run here.
    pub(super) kinds: &'static [Kind],
    /// What an objection does: exit code 2, `decision: "block"`.
    pub(super) objection: Objection,
    /// What of a handler's answer counts.
    pub(super) reads: Reads,
    /// Whether plain text on stdout is told to the model.
    pub(super) plain_text: bool,
    /// How long handlers have here unless they say, where that is not as usual.
    pub(super) limit: Option<Duration>,
}

/// What a matcher is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matched {
    /// Nothing: matchers are ignored.
    Nothing,
    /// This field of the event.
    Field(&'static str),
    /// This field, and a list is of letters, digits, `_` and `|` alone.
    Narrow(&'static str),
    /// The name of the changed file, in the same narrow way.
    FileName,
}

/// What an objection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objection {
    /// Nothing: nobody even reads it.
    Ignored,
    /// Nothing, but the person reads it.
    Told,
    /// The tool call is denied; the model reads why.
    Deny,
    /// What is about to happen does not; the person reads why.
    BlockToPerson,
    /// What is about to happen does not, or what has happened is objected to; the model reads why.
    BlockToModel,
    /// What is about to happen does not, and nobody reads why.
    BlockInSilence,
    /// The agent does not stop, and reads why.
    GoOn,
}

/// What of a handler's answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// All of it.
    All,
    /// All of it, but nobody is stopped.
    NotContinue,
    /// Nothing that decides or is told: at most a terminal sequence.
    Nothing,
}

const ALL: &[Kind] = &[Kind::Command, Kind::Http, Kind::McpTool, Kind::Prompt, Kind::Agent];
const NOT_AGENT: &[Kind] = &[Kind::Command, Kind::Http, Kind::McpTool, Kind::Prompt];
const NO_MODEL: &[Kind] = &[Kind::Command, Kind::Http, Kind::McpTool];
/// At a start servers are not connected yet: `mcp_tool` is accepted and passed over, which [`Event::passes_over`] says.
const AT_START: &[Kind] = &[Kind::Command, Kind::McpTool];
const COMMAND: &[Kind] = &[Kind::Command];

const HALF_A_MINUTE: Option<Duration> = Some(Duration::from_secs(30));
const TEN_SECONDS: Option<Duration> = Some(Duration::from_secs(10));

macro_rules! events {
    ($($name:ident: $matched:expr, $kinds:ident, $objection:ident $(, $more:ident = $value:expr)*;)*) => {
        &[$(Event {
            $($more: $value,)*
            ..Event {
                name: stringify!($name),
                matched: $matched,
                kinds: $kinds,
                objection: Objection::$objection,
                reads: Reads::All,
                plain_text: false,
                limit: None,
            }
        }),*]
    };
}

use Matched::{Field, FileName, Narrow, Nothing};

const TOOL: Matched = Field("tool_name");

/// Every event, in the order of the contract.
pub(super) const EVENTS: &[Event] = events! {
    SessionStart: Field("source"), AT_START, Told, plain_text = true;
    Setup: Field("trigger"), COMMAND, Told, reads = Reads::Nothing;
    UserPromptSubmit: Nothing, ALL, BlockToPerson, plain_text = true, limit = HALF_A_MINUTE;
    UserPromptExpansion: Field("command_name"), ALL, BlockToPerson, plain_text = true;
    PreToolUse: TOOL, ALL, Deny;
    PermissionRequest: TOOL, NOT_AGENT, Ignored;
    PermissionDenied: TOOL, ALL, Ignored;
    PostToolUse: TOOL, ALL, BlockToModel;
    PostToolUseFailure: TOOL, ALL, BlockToModel;
    PostToolBatch: Nothing, ALL, BlockToPerson;
    Notification: Field("notification_type"), NO_MODEL, Ignored, reads = Reads::Nothing;
    MessageDisplay: Nothing, NO_MODEL, Ignored, limit = TEN_SECONDS;
    SubagentStart: Field("agent_type"), NO_MODEL, Told;
    SubagentStop: Field("agent_type"), ALL, GoOn;
    TaskCreated: Nothing, ALL, BlockToModel, reads = Reads::NotContinue;
    TaskCompleted: Nothing, ALL, BlockToModel;
    Stop: Nothing, ALL, GoOn;
    StopFailure: Narrow("error"), NO_MODEL, Ignored, reads = Reads::Nothing;
    TeammateIdle: Nothing, ALL, BlockToModel;
    InstructionsLoaded: Field("load_reason"), NO_MODEL, Ignored, reads = Reads::Nothing;
    ConfigChange: Field("source"), NO_MODEL, BlockInSilence;
    CwdChanged: Nothing, NO_MODEL, Told;
    DirectoryAdded: Field("source"), NO_MODEL, Ignored;
    FileChanged: FileName, NO_MODEL, Told;
    WorktreeCreate: Nothing, NO_MODEL, BlockToPerson;
    WorktreeRemove: Nothing, NO_MODEL, Ignored, reads = Reads::Nothing;
    PreCompact: Field("trigger"), NO_MODEL, BlockToPerson;
    PostCompact: Field("trigger"), NO_MODEL, Told;
    PreModelSwitch: Field("to_model"), NO_MODEL, BlockToPerson, limit = HALF_A_MINUTE;
    PostModelSwitch: Field("to_model"), NO_MODEL, Ignored, plain_text = true, limit = HALF_A_MINUTE;
    Elicitation: Field("mcp_server_name"), NO_MODEL, BlockToPerson;
    ElicitationResult: Field("mcp_server_name"), NO_MODEL, BlockToPerson;
    SessionEnd: Field("reason"), NO_MODEL, Told, reads = Reads::Nothing;
};

impl Event {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        EVENTS.iter().find(|event| event.name == name)
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Whether it is about a tool call, so that `if` means something.
    pub(super) fn is_about_a_tool(&self) -> bool {
        self.matched == TOOL
    }

    /// Whether it decides about a call, and so blocks where a matcher cannot be told.
    pub(super) fn is_gate(&self) -> bool {
        self.is("PreToolUse") || self.is("PermissionRequest")
    }

    /// Whether `onFailure` means nothing here.
    pub(super) fn ignores_on_failure(&self) -> bool {
        self.objection == Objection::GoOn || self.is("TaskCompleted") || self.is("TeammateIdle")
    }

    /// Whether a top-level `decision` counts.
    pub(super) fn reads_decision(&self) -> bool {
        match self.name {
            "PostToolBatch"
            | "ConfigChange"
            | "PreCompact"
            | "TaskCreated"
            | "PreModelSwitch"
            | "UserPromptSubmit"
            | "UserPromptExpansion"
            | "PostToolUse"
            | "PostToolUseFailure" => true,
            _ => self.objection == Objection::GoOn || self.objection == Objection::Deny,
        }
    }

    /// Whether a command may leave variables for later commands.
    pub(super) fn has_env_file(&self) -> bool {
        matches!(self.name, "SessionStart" | "Setup" | "CwdChanged" | "FileChanged")
    }

    /// Whether a kind of handler is understood here and still not run.
    pub(super) fn passes_over(&self, kind: Kind) -> bool {
        self.is("SessionStart") && kind == Kind::McpTool
    }

    /// What matchers are compared with in this event.
    pub(super) fn query<'e>(&self, input: &'e Value) -> Option<&'e str> {
        let field = |name: &str| Some(input.get(name).and_then(Value::as_str).unwrap_or_default());
        match self.matched {
            Matched::Nothing => None,
            Field(name) | Narrow(name) => field(name),
            FileName => field("file_path").map(|path| path.rsplit('/').next().unwrap_or(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_of_the_contract_are_there_once() {
        let mut names: Vec<&str> = EVENTS.iter().map(|event| event.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 33);
    }

    #[test]
    fn a_file_is_matched_by_its_name() {
        let event = Event::named("FileChanged").expect("there");
        assert_eq!(event.query(&serde_json::json!({ "file_path": "/a/b/.env" })), Some(".env"));
        let stop = Event::named("Stop").expect("there");
        assert_eq!(stop.query(&serde_json::json!({ "tool_name": "x" })), None);
    }
}
