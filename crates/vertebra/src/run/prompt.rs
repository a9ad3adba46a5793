//! A prompt on its way into the conversation.

use serde::{Deserialize, Serialize};
use vertebra_hooks::{Point, Retries};

use crate::{
    AgentState, Image, Message, PromptSubmit, Refusable, Run, Stop, StopReason,
    points::events::PromptSubmitted,
    run::handle::{Interrupted, Leave, LoopState, instruction},
    run::identity::Identity,
    timeline::What,
};

/// How long a prompt may be.
const MAX_PROMPT_BYTES: usize = 4 << 20;

/// How much its pictures may take in all, in Base64.
const MAX_IMAGE_BYTES: usize = 32 << 20;

/// What a person asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// In words.
    pub text: String,
    /// In pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl Prompt {
    /// The same with one more picture.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.images.push(image);
        self
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Prompt {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self { text, images: Vec::new() }
    }
}

/// The prompt that a run begins with: in its final form, or with who refused it.
pub(crate) async fn submit(
    run: &Run,
    desk: &mut LoopState,
    prompt: Prompt,
) -> Result<Result<String, Stop>, Interrupted> {
    let (agent, depth) = (run.info().agent.clone(), run.info().depth);
    let Identity { parent, foreign, .. } = run.identity();
    let (parent, for_call) = parent.clone().map(|parent| (parent.run_id, parent.call_id)).unzip();
    let (prompt_said, for_call, foreign) = (prompt.clone(), for_call.flatten(), *foreign);
    run.write(What::RunBegan { prompt: prompt_said, agent, depth, parent, for_call, foreign }).await?;
    take(run, &mut desk.state, prompt).await
}

/// `PromptSubmit`: puts a prompt into the conversation as hooks left it, with what they added.
pub(crate) async fn take(
    run: &Run,
    state: &mut AgentState,
    prompt: Prompt,
) -> Result<Result<String, Stop>, Interrupted> {
    let Prompt { text, images } = prompt;
    let mut event = PromptSubmitted { at: run.at(PromptSubmit::NAME), prompt: text, images, context: Vec::new() };
    let outcome = run.dispatch(PromptSubmit, &mut event, state, Retries::Allowed, Leave::OnCancel).await?;
    if let Refusable::Deny { reason } = outcome.verdict() {
        let by = outcome.decided_by().cloned().unwrap_or_default();
        return Ok(Err(Stop::soft(StopReason::Requested, &*by, format!("the prompt was denied: {reason}"))));
    }
    let picture_bytes: usize = event.images.iter().map(|image| image.data.len()).sum();
    let too_long = [
        ("the prompt is", event.prompt.len(), MAX_PROMPT_BYTES),
        ("the pictures of the prompt are", picture_bytes, MAX_IMAGE_BYTES),
    ];
    if let Some((what, _, limit)) = too_long.into_iter().find(|(_, bytes, limit)| bytes > limit) {
        return Ok(Err(Stop::hard(StopReason::Error, "limits", format!("{what} longer than {limit} bytes"))));
    }
    state.push(Message::User { text: event.prompt.clone(), images: event.images });
    for context in event.context {
        state.push(instruction(run, context, PromptSubmit::NAME));
    }
    Ok(Ok(event.prompt))
}
