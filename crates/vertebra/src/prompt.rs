//! A prompt on its way into the conversation.

use vertebra_hooks::{Point, Retries};

use crate::{
    Message, PromptSubmit, Refusable, Run, Stop, StopReason,
    events::PromptSubmitted,
    journal::What,
    scope::{Desk, Interrupted, Leave},
};

/// How long a prompt may be.
const MAX_PROMPT_BYTES: usize = 4 << 20;

/// `PromptSubmit`: puts the prompt into the conversation as hooks left it, with what they added. Answers with the prompt
/// in its final form, or with who refused it.
pub(crate) async fn submit(run: &Run, desk: &mut Desk, prompt: String) -> Result<Result<String, Stop>, Interrupted> {
    run.write(What::RunBegan { prompt: prompt.clone(), depth: run.info().depth }).await?;
    let mut event = PromptSubmitted { at: run.at(PromptSubmit::NAME), prompt, context: Vec::new() };
    let outcome = run.fire(PromptSubmit, &mut event, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    if let Refusable::Deny { reason } = outcome.verdict() {
        let by = outcome.record.decided_by.unwrap_or_default();
        return Ok(Err(Stop::soft(StopReason::Requested, &*by, format!("the prompt was refused: {reason}"))));
    }
    if event.prompt.len() > MAX_PROMPT_BYTES {
        let message = format!("the prompt is longer than {MAX_PROMPT_BYTES} bytes");
        return Ok(Err(Stop::hard(StopReason::Error, "limits", message)));
    }
    desk.state.push(Message::user(event.prompt.clone()));
    for context in event.context {
        desk.instruct(run, context, PromptSubmit::NAME);
    }
    Ok(Ok(event.prompt))
}
