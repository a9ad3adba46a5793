//! What an agent knows: a persistent value. A snapshot is O(1), at message 10 and at message 10 000.

use std::{collections::BTreeMap, sync::Arc};

use rpds::HashTrieMapSync;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use vertebra_hooks::{Change, Notes, State};

use crate::{Message, Messages, Run, StateChange, ToolName, Usage};

/// How many of the latest tool names are kept for hooks to see.
pub const RECENT_TOOLS: usize = 20;

/// What an agent knows. Hooks may change all of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AgentState {
    messages: Messages,
    metadata: Metadata,
    usage: Usage,
    steps: u32,
    tool_calls: u64,
    recent_tools: Arc<Vec<Arc<str>>>,
    notes: Notes,
}

impl AgentState {
    /// The conversation.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// The conversation, to change.
    pub fn messages_mut(&mut self) -> &mut Messages {
        &mut self.messages
    }

    /// Adds a message to the conversation.
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// What hooks and tools keep from step to step.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The same, to change.
    pub fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    /// What model calls of this session have cost so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// How many steps this session has taken.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// How many tool calls this session has made, blocked ones included.
    pub fn tool_calls(&self) -> u64 {
        self.tool_calls
    }

    /// The tools used lately, the latest last.
    pub fn recent_tools(&self) -> &Arc<Vec<Arc<str>>> {
        &self.recent_tools
    }

    /// Becomes what it was when this change was made.
    pub(crate) fn restore(&mut self, change: StateChange) {
        let StateChange { kept, messages, metadata, removed, notes, usage, steps, tool_calls, recent_tools } = change;
        self.messages.regrow(kept, messages);
        for (key, value) in metadata {
            self.metadata.set(key, value);
        }
        for key in removed {
            self.metadata.remove(&key);
        }
        if let Some(notes) = notes {
            self.notes = *notes;
        }
        if let Some(recent_tools) = recent_tools {
            self.recent_tools = recent_tools;
        }
        (self.usage, self.steps, self.tool_calls) = (usage, steps, tool_calls);
    }

    pub(crate) fn spend(&mut self, usage: Usage) {
        self.usage += usage;
    }

    pub(crate) fn settle(&mut self, usage: Usage) {
        self.usage = usage;
    }

    pub(crate) fn begin_step(&mut self) -> u32 {
        self.steps += 1;
        self.steps
    }

    pub(crate) fn used_tool(&mut self, tool: &ToolName) {
        self.tool_calls += 1;
        let recent = Arc::make_mut(&mut self.recent_tools);
        if recent.len() == RECENT_TOOLS {
            recent.remove(0);
        }
        recent.push(tool.shared());
    }
}

impl State for AgentState {
    type Scope = Run;

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn notes_mut(&mut self) -> &mut Notes {
        &mut self.notes
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    fn changes(&self, after: &Self) -> Vec<Change> {
        let mut changes = self.notes.changes(&after.notes);
        changes.extend(message_changes(&self.messages, &after.messages));
        changes.extend(self.metadata.changes(&after.metadata));
        changes
    }
}

/// How two conversations differ: what was added, or that more than that happened.
pub(crate) fn message_changes(before: &Messages, after: &Messages) -> Vec<Change> {
    match before.added(after) {
        Some(added) => added
            .map(|message| Change {
                path: "/messages/-".to_owned(),
                before: None,
                after: serde_json::to_value(message).ok(),
            })
            .collect(),
        // It was written anew, as whoever changes another part of a request from outside does, and is the same.
        None if before == after => Vec::new(),
        None => vec![Change {
            path: "/messages".to_owned(),
            before: Some(json!({ "count": before.len() })),
            after: Some(json!({ "count": after.len() })),
        }],
    }
}

/// Values kept by key. A key with a slash, such as `planning/tasks`, is in a namespace: hooks write those, but no tool
/// of the model may.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata(HashTrieMapSync<Arc<str>, Value>);

impl Metadata {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The value under a key, as a type of one's own.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, serde_json::Error> {
        self.get(key).map(T::deserialize).transpose()
    }

    /// Puts a value under a key.
    pub fn set(&mut self, key: impl Into<Arc<str>>, value: impl Into<Value>) {
        self.0.insert_mut(key.into(), value.into());
    }

    /// Takes a value away.
    pub fn remove(&mut self, key: &str) -> bool {
        self.0.remove_mut(key)
    }

    /// Keys and values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// Whether a tool of the model may write this key.
    pub fn is_open(key: &str) -> bool {
        !key.contains('/')
    }

    /// What `after` has written, and what it has taken away.
    pub(crate) fn written(&self, after: &Self) -> (BTreeMap<Arc<str>, Value>, Vec<Arc<str>>) {
        let written = after.0.iter().filter(|(key, value)| self.0.get(*key) != Some(value));
        let removed = self.0.keys().filter(|key| !after.0.contains_key(*key));
        (written.map(|(key, value)| (key.clone(), value.clone())).collect(), removed.cloned().collect())
    }

    fn changes(&self, after: &Self) -> Vec<Change> {
        let place = |key: &Arc<str>| format!("/metadata/{}", key.replace('~', "~0").replace('/', "~1"));
        let written = after.0.iter().filter(|(key, value)| self.0.get(*key) != Some(value)).map(|(key, value)| {
            Change { path: place(key), before: self.0.get(key).cloned(), after: Some(value.clone()) }
        });
        let removed = self.0.iter().filter(|(key, _)| !after.0.contains_key(*key)).map(|(key, value)| Change {
            path: place(key),
            before: Some(value.clone()),
            after: None,
        });
        written.chain(removed).collect()
    }
}
