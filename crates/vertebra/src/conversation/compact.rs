//! Making a conversation shorter: who does it is a trait, that it passes its points is here.

use std::{future::Future, pin::Pin};

use vertebra_hooks::{HookError, Point, Retries};

use crate::{
    AfterCompact, AgentState, BeforeCompact, Messages, Refusable, Run, RunError,
    points::events::Compacting,
    run::handle::{Interrupted, Leave, LoopState},
};

/// Makes conversations shorter.
pub trait Compactor: Send + Sync + 'static {
    /// Why this conversation should be made shorter now, if it should.
    fn due(&self, state: &AgentState) -> Option<String>;

    /// The shorter conversation. Model calls it makes go through [`Run::infer`].
    fn compact(
        &self,
        run: &Run,
        state: &mut AgentState,
        instructions: &str,
    ) -> impl Future<Output = Result<Messages, HookError>> + Send;

    /// The shorter conversation that a person asked for, whether it is due or not.
    fn compact_on_request(
        &self,
        run: &Run,
        state: &mut AgentState,
        instructions: &str,
    ) -> impl Future<Output = Result<Messages, HookError>> + Send {
        self.compact(run, state, instructions)
    }
}

/// Who wants it.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// The conversation is too long.
    Due,
    /// A person asked for it.
    OnRequest,
}

/// [`Compactor`] with its future boxed.
pub(crate) trait ErasedCompactor: Send + Sync {
    fn due(&self, state: &AgentState) -> Option<String>;
    fn compact<'a>(
        &'a self,
        wanted: Wanted,
        run: &'a Run,
        state: &'a mut AgentState,
        instructions: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Messages, HookError>> + Send + 'a>>;
}

impl<C: Compactor> ErasedCompactor for C {
    fn due(&self, state: &AgentState) -> Option<String> {
        Compactor::due(self, state)
    }

    fn compact<'a>(
        &'a self,
        wanted: Wanted,
        run: &'a Run,
        state: &'a mut AgentState,
        instructions: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Messages, HookError>> + Send + 'a>> {
        match wanted {
            Wanted::Due => Box::pin(Compactor::compact(self, run, state, instructions)),
            Wanted::OnRequest => Box::pin(Compactor::compact_on_request(self, run, state, instructions)),
        }
    }
}

/// Makes the conversation shorter if that is due.
pub(crate) async fn if_due(run: &Run, desk: &mut LoopState) -> Result<(), Interrupted> {
    let Some(compactor) = &run.core().compactor else { return Ok(()) };
    let Some(reason) = compactor.due(&desk.state) else { return Ok(()) };
    run.control().may_begin()?;
    shorten(run, desk, &**compactor, Wanted::Due, (reason, "")).await.map(drop)
}

/// Makes the conversation shorter because a person wants it. Answers with whether it was done.
pub(crate) async fn asked_for(run: &Run, desk: &mut LoopState, instructions: &str) -> Result<bool, Interrupted> {
    let Some(compactor) = &run.core().compactor else { return Ok(false) };
    let why = ("a person asked for it".to_owned(), instructions);
    shorten(run, desk, &**compactor, Wanted::OnRequest, why).await
}

async fn shorten(
    run: &Run,
    desk: &mut LoopState,
    compactor: &dyn ErasedCompactor,
    wanted: Wanted,
    (reason, instructions): (String, &str),
) -> Result<bool, Interrupted> {
    let mut event = compacting(run, BeforeCompact::NAME, desk, reason);
    instructions.clone_into(&mut event.instructions);
    let outcome = run.dispatch(BeforeCompact, &mut event, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    if let Refusable::Deny { .. } = outcome.verdict() {
        return Ok(false);
    }
    let shorter =
        run.control().unless_cancelled(compactor.compact(wanted, run, &mut desk.state, &event.instructions)).await?;
    *desk.state.messages_mut() = shorter.map_err(|error| RunError::Internal { message: error.to_string() })?;
    let mut event =
        Compacting { instructions: event.instructions, ..compacting(run, AfterCompact::NAME, desk, event.reason) };
    run.dispatch(AfterCompact, &mut event, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    Ok(true)
}

fn compacting(run: &Run, point: &'static str, desk: &LoopState, reason: String) -> Compacting {
    let messages = desk.state.messages();
    Compacting {
        at: run.at(point),
        reason,
        messages: messages.len(),
        tokens: messages.estimated_tokens(),
        instructions: String::new(),
    }
}
