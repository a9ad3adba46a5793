//! What the runtime asks of a model.

pub(crate) mod delta;

use std::{future::Future, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Deltas, Messages, ToolCall, Usage};

/// Which model, and whose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelId {
    /// The provider.
    pub provider: Arc<str>,
    /// The model's name there.
    pub name: Arc<str>,
}

impl ModelId {
    /// This model of this provider.
    pub fn new(provider: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { provider: provider.into(), name: name.into() }
    }
}

/// A model behind whatever wire. Drivers implement it; the runtime owns everything around the call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "expected a model",
    note = "for a model of a provider, use `vertebra_models::model(\"provider:name\")?`",
    note = "for a test without a model, use `vertebra::testing::Script`"
)]
pub trait Model: Send + Sync + 'static {
    /// The model that is asked unless a hook changes it.
    fn id(&self) -> ModelId;

    /// Asks the model in `request.model` and returns its whole answer.
    ///
    /// A driver that streams hands each piece to `out` as it comes, in order, and returns what they add up to; one
    /// that does not, just returns. When the future is dropped, the call is cancelled.
    fn infer(
        &self,
        request: &Request,
        out: &mut Deltas<'_>,
    ) -> impl Future<Output = Result<Response, ModelError>> + Send;

    /// Called when a run of an agent with this model has failed, for models of tests.
    #[doc(hidden)]
    fn run_failed(&self) {}
}

/// What a model is asked. Hooks may change all of it, and it is what goes out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Which model.
    pub model: ModelId,
    /// What it is told before the conversation.
    pub system_prompt: Arc<str>,
    /// The conversation.
    pub messages: Messages,
    /// The tools it may ask for.
    pub tools: Arc<[Offer]>,
    /// How much it may write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// How much it may vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Anything else a driver understands.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub options: Value,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
    /// The JSON schema of its arguments.
    pub schema: Arc<Value>,
}

/// What a model answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Response {
    /// What it said.
    pub text: String,
    /// What it thought, where the provider tells.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The tools it asks for, in order.
    pub calls: Vec<ToolCall>,
    /// What it cost.
    pub usage: Usage,
    /// Why it stopped, in the provider's word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub finish: String,
    /// What the provider wants back with this answer when the conversation goes on, unread: signatures of its thoughts.
    /// The driver that wrote it reads it; if the answer was changed since, it may be of no use any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carry: Option<Arc<Value>>,
    /// The provider's name for the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Response {
    /// An answer of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl From<&str> for Response {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Response {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Why a model gave no answer. One variant per thing a caller would do differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelError {
    /// The provider wants us to wait.
    #[error("the model is busy: {message}")]
    Busy {
        /// Their words.
        message: String,
        /// How long, if they say.
        wait: Option<Duration>,
    },
    /// The same request will never succeed.
    #[error("the model rejected the request: {message}")]
    Rejected {
        /// Their words.
        message: String,
    },
    /// The conversation is longer than the model can read.
    #[error("the conversation is too long for the model: {message}")]
    TooLong {
        /// Their words.
        message: String,
    },
    /// The provider does not know us.
    #[error("the provider refused our credentials: {message}")]
    Unauthorised {
        /// Their words.
        message: String,
    },
    /// The provider was not reached.
    #[error("the provider was not reached: {message}")]
    Network {
        /// What the network said.
        message: String,
    },
    /// The answer broke off.
    #[error("the answer broke off: {message}")]
    Broken {
        /// How.
        message: String,
    },
}

impl ModelError {
    /// Its class, for the error policy.
    pub fn class(&self) -> crate::ErrorClass {
        use crate::ErrorClass;
        match self {
            Self::Busy { .. } => ErrorClass::ModelBusy,
            Self::Rejected { .. } => ErrorClass::ModelRejected,
            Self::TooLong { .. } => ErrorClass::TooLong,
            Self::Unauthorised { .. } => ErrorClass::Unauthorised,
            Self::Network { .. } => ErrorClass::Network,
            Self::Broken { .. } => ErrorClass::Broken,
        }
    }
}
