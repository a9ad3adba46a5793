//! What is said between a person, a model and its tools.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
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
