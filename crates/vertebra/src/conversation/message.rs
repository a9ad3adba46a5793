//! What is said between a person, a model and its tools.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rpds::VectorSync;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{Response, ToolCall, ToolResult};

/// What a picture weighs, in bytes of text: providers count one as a thousand tokens and more, whatever its file takes.
const IMAGE_WEIGHT: usize = 6000;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A person said it.
    User {
        /// What they said.
        text: String,
        /// What they showed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// A hook or the runtime said it, for the model to read.
    Instruction {
        /// What it says.
        text: String,
        /// Who wrote it.
        from: String,
    },
    /// The model said it.
    Assistant {
        /// What it said.
        text: String,
        /// What it thought, where the provider tells.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// The tools it asked for, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// See [`Response::carry`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carry: Option<Arc<Value>>,
    },
    /// What came of one tool call.
    Tool {
        /// Which call.
        call_id: Arc<str>,
        /// Which tool.
        tool: Arc<str>,
        /// What came of it.
        result: ToolResult,
    },
}

impl Message {
    /// A person's message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), images: Vec::new() }
    }

    /// An instruction for the model.
    pub fn instruction(text: impl Into<String>, from: impl Into<String>) -> Self {
        Self::Instruction { text: text.into(), from: from.into() }
    }

    /// What a model answered.
    pub fn assistant(response: Response) -> Self {
        let Response { text, reasoning, calls, carry, .. } = response;
        Self::Assistant { text, reasoning, calls, carry }
    }

    /// What came of a call.
    pub fn tool(call: ToolCall, result: ToolResult) -> Self {
        Self::Tool { call_id: call.id, tool: call.tool.shared(), result }
    }

    /// The text, whoever said it.
    pub fn text(&self) -> &str {
        match self {
            Self::User { text, .. } | Self::Instruction { text, .. } | Self::Assistant { text, .. } => text,
            Self::Tool { result, .. } => &result.output,
        }
    }

    /// Roughly how many bytes a model reads for it.
    pub(crate) fn weight(&self) -> usize {
        let besides = match self {
            Self::Assistant { calls, reasoning, .. } => {
                reasoning.len() + calls.iter().map(|call| 32 + call.weight()).sum::<usize>()
            }
            Self::User { images, .. } => images.len() * IMAGE_WEIGHT,
            Self::Instruction { .. } | Self::Tool { .. } => 0,
        };
        16 + self.text().len() + besides
    }
}

/// A picture, as providers take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What it is: `image/png`.
    pub media_type: Arc<str>,
    /// Its bytes in Base64.
    pub data: Arc<str>,
}

/// A conversation: a persistent list. A clone is O(1), and so is a push.
#[derive(Debug, Clone)]
pub struct Messages {
    list: VectorSync<Arc<Message>>,
    bytes: usize,
    /// Changes with everything but a push, so that two lists of one generation differ only in their tails.
    generation: u64,
}

impl Messages {
    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        self.bytes += message.weight();
        self.list.push_back_mut(Arc::new(message));
    }

    /// Keeps the messages for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&Message) -> bool) {
        *self = self.list.iter().filter(|message| keep(message)).cloned().collect();
    }

    /// Puts messages right behind what the list was `before`, and what has been added to it since behind them. If more
    /// than adding has happened since, they go to the end.
    pub(crate) fn insert_since(&mut self, before: &Self, messages: impl Iterator<Item = Message>) {
        let added: Vec<Message> = match before.added(self) {
            Some(added) => added.cloned().collect(),
            None => Vec::new(),
        };
        if !added.is_empty() {
            *self = before.clone();
        }
        for message in messages.chain(added) {
            self.push(message);
        }
    }

    /// Puts another message in place of one.
    pub fn set(&mut self, index: usize, message: Message) -> bool {
        let Some(old) = self.list.get(index) else { return false };
        self.bytes = self.bytes - old.weight() + message.weight();
        self.generation = fresh_generation();
        self.list.set_mut(index, Arc::new(message))
    }

    /// The messages, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.list.iter().map(|message| &**message)
    }

    /// The message at this place.
    pub fn get(&self, index: usize) -> Option<&Message> {
        self.list.get(index).map(|message| &**message)
    }

    /// The newest message.
    pub fn last(&self) -> Option<&Message> {
        self.list.last().map(|message| &**message)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Roughly how many tokens a model reads for them: four bytes a token.
    pub fn estimated_tokens(&self) -> u64 {
        (self.bytes / 4) as u64
    }

    /// Roughly how many bytes they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// How many messages from the first `after` has in common with this list, and what stands behind them there.
    pub(crate) fn tail(&self, after: &Self) -> (usize, Vec<Arc<Message>>) {
        let same = |(one, other): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(one, other);
        let common = match self.added(after) {
            Some(_) => self.len(),
            None => self.list.iter().zip(after.list.iter()).take_while(same).count(),
        };
        (common, (common..after.len()).filter_map(|index| after.list.get(index).cloned()).collect())
    }

    /// Keeps so many from the first, and puts these behind them.
    pub(crate) fn regrow(&mut self, kept: usize, behind: Vec<Arc<Message>>) {
        if kept < self.len() {
            *self = self.list.iter().take(kept).cloned().collect();
        }
        for message in behind {
            self.bytes += message.weight();
            self.list.push_back_mut(message);
        }
    }

    /// The messages that `after` has added to this list, if adding is all that happened. Costs nothing but the answer.
    pub(crate) fn added<'m>(&self, after: &'m Self) -> Option<impl Iterator<Item = &'m Message>> {
        let shared = self.len().checked_sub(1);
        let same = |index: usize| match (self.list.get(index), after.list.get(index)) {
            (Some(before), Some(after)) => Arc::ptr_eq(before, after),
            _ => false,
        };
        let grown = self.generation == after.generation && shared.is_none_or(same);
        grown.then(|| (self.len()..after.len()).filter_map(|index| after.get(index)))
    }
}

fn fresh_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Default for Messages {
    fn default() -> Self {
        Self { list: VectorSync::new_sync(), bytes: 0, generation: fresh_generation() }
    }
}

impl FromIterator<Arc<Message>> for Messages {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut list = Self::default();
        for message in messages {
            list.bytes += message.weight();
            list.list.push_back_mut(message);
        }
        list
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        messages.into_iter().map(Arc::new).collect()
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Message>::deserialize(deserializer)?.into_iter().collect())
    }
}
