//! What a policy makes of one event: for whoever has to answer, and for people who try it.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Exchange;

/// What a policy makes of one event.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Judgement {
    /// Everything outside that was started, in order.
    pub ran: Vec<RanHandler>,
    /// What was decided; none is no opinion.
    pub decision: Option<Decision>,
    /// Why.
    pub reason: Option<String>,
    /// Who decided: a hook, a rule, with its file and line where it has one.
    pub decided_by: Option<String>,
    /// The arguments of the call as they would go on, if hooks changed them.
    pub tool_input: Option<Value>,
    /// What the model is told besides, each text by itself.
    pub model_context: Vec<String>,
    /// What the model reads of the decision.
    pub model_sees: Option<String>,
    /// What the person reads.
    pub user_sees: Option<String>,
    /// Whether the agent goes on at all.
    #[serde(rename = "continue")]
    pub goes_on: bool,
    /// What went wrong without deciding anything.
    pub warnings: Vec<String>,
    /// What else comes of it, by name: `stop`, `prompt`, `tool_result`, `session_rules`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub effects: Map<String, Value>,
}

/// A decision, in the words that hosts share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It needs no permission.
    Allow,
    /// A person decides.
    Ask,
    /// What has happened is objected to, or what is about to is not to: a prompt, a stop, a compaction.
    Block,
    /// The call must not happen.
    Deny,
}

/// Something outside that was started.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RanHandler {
    /// The hook it belongs to.
    pub hook: String,
    /// Where the hook is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Its exit code, if it was a process that exited.
    pub exit_code: Option<i32>,
    /// All else.
    #[serde(flatten)]
    pub exchange: Exchange,
}
