//! A capability asks a model for a value of a schema, and asks again with the errors shown.

use std::future::Future;

use serde_json::Value;
use vertebra::{AgentState, InferenceReport, Invocation, Message, Messages, Request, Response, Run};

use super::Schema;

/// Who asks: a hook with the state at hand, or a tool.
pub(crate) trait Asker {
    /// Asks once, between the hooks of the run and out of its budget.
    fn infer(&mut self, purpose: &'static str, request: Request) -> impl Future<Output = InferenceReport> + Send;
}

/// A hook that asks.
pub(crate) struct InHook<'a> {
    pub(crate) run: &'a Run,
    pub(crate) state: &'a mut AgentState,
}

impl Asker for InHook<'_> {
    async fn infer(&mut self, purpose: &'static str, request: Request) -> InferenceReport {
        self.run.infer(self.state, purpose, request).await
    }
}

/// A tool that asks.
impl Asker for &Invocation {
    async fn infer(&mut self, purpose: &'static str, request: Request) -> InferenceReport {
        Invocation::infer(self, purpose, request).await
    }
}

/// Why there is no value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoValue {
    /// The model gave no answer.
    #[error("the model gave no answer: {0}")]
    NoAnswer(String),
    /// No answer fitted.
    #[error("after {retries} retries the answer still does not fit `{schema}`: {}", .problems.join("; "))]
    NoFit {
        /// The schema.
        schema: String,
        /// What is wrong with the last answer.
        problems: Vec<String>,
        /// How often it was asked for again.
        retries: u32,
    },
}

/// A request of a capability's own: its words, no tools, and not the agent's system prompt.
pub(crate) fn own_request(run: &Run, system_prompt: &str, prompt: String) -> Request {
    Request {
        system_prompt: system_prompt.into(),
        messages: Messages::from_iter([Message::user(prompt)]),
        tools: [].into(),
        ..run.request()
    }
}

/// Asks until an answer fits, `max_retries` times after the first.
pub(crate) async fn ask(
    mut asker: impl Asker,
    purpose: &'static str,
    mut request: Request,
    schema: &Schema,
    max_retries: u32,
) -> Result<Value, NoValue> {
    schema.ask_for(&mut request);
    let mut retries = 0;
    loop {
        let answer = answer(asker.infer(purpose, request.clone()).await)?;
        let problems = match schema.read(&answer) {
            Ok(value) => return Ok(value),
            Err(problems) => problems,
        };
        if retries == max_retries {
            return Err(NoValue::NoFit { schema: schema.name().to_owned(), problems, retries });
        }
        retries += 1;
        if !answer.is_empty() {
            request.messages.push(Message::assistant(Response::text(answer)));
        }
        request.messages.push(Message::instruction(schema.complaint(&problems), purpose));
    }
}

/// What a model said, if it said something.
pub(crate) fn answer(report: InferenceReport) -> Result<String, NoValue> {
    match report {
        InferenceReport::Answered(response) => Ok(response.text),
        InferenceReport::NotAsked(stop) => Err(NoValue::NoAnswer(stop.to_string())),
        InferenceReport::Failed(error) => Err(NoValue::NoAnswer(error.to_string())),
        InferenceReport::Cancelled => Err(NoValue::NoAnswer("the run was cancelled".to_owned())),
    }
}
