//! The check of a call before anyone is asked about it: a call that cannot succeed is not put to a person.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;

use crate::{
    AgentState, Run, ToolCall,
    events::ToolAsked,
    journal::What,
    scope::{Desk, Interrupted},
};

/// What [`Tool::check`](crate::Tool::check) found about a call that can succeed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Why a person has to agree to this call, whatever rules and hooks say. After a yes, the tool reads the same text
    /// from [`Invocation::approved`](crate::Invocation::approved).
    pub ask: Option<String>,
    /// What the call would change, as a unified diff, for the person who is asked.
    pub preview: Option<String>,
}

/// What a check is given besides the arguments.
#[derive(Clone)]
pub struct CheckCx {
    run: Run,
    state: AgentState,
    earlier: Arc<[ToolCall]>,
}

impl CheckCx {
    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// What the agent knows now.
    pub fn state(&self) -> &AgentState {
        &self.state
    }

    /// The calls of the same answer that come before this one and have not ended. What they do can make a call possible
    /// that is not possible now.
    pub fn earlier(&self) -> &[ToolCall] {
        &self.earlier
    }
}

/// Checks a call that hooks and guards let pass. The inner error says why the call cannot succeed.
pub(crate) async fn check(
    run: &Run,
    desk: &Desk,
    asked: &ToolAsked,
    earlier: Arc<[ToolCall]>,
) -> Result<Result<Checked, String>, Interrupted> {
    let call = &asked.call;
    if let Some(tape) = run.tape() {
        if let Some(found) = tape.checked(run.place(), &call.call_id) {
            return Ok(found);
        }
        // A call that had started keeps its admission, and a replay looks at no file.
        if run.replayed().is_some() || tape.has_begun(run.place(), &call.call_id) {
            return Ok(Ok(Checked::default()));
        }
    }
    let Some(tool) = run.core().tools.get(&call.tool) else { return Ok(Ok(Checked::default())) };
    let cx = CheckCx { run: run.clone(), state: desk.state.clone(), earlier };
    // Called inside the barrier: a tool may panic before it returns a future.
    let work = AssertUnwindSafe(async { tool.check(call.args.clone(), cx).await }).catch_unwind();
    let found = match run.unless_cancelled(work).await? {
        Ok(Ok(None)) => return Ok(Ok(Checked::default())),
        Ok(Ok(Some(checked))) => Ok(checked),
        Ok(Err(error)) => Err(error.into_message()),
        Err(panic) => Err(format!("the check of tool `{}` {}", call.tool, vertebra_hooks::Failure::of_panic(panic))),
    };
    let (ask, problem) = match &found {
        Ok(checked) => (checked.ask.clone(), None),
        Err(problem) => (None, Some(problem.clone())),
    };
    run.write(What::ToolChecked { call_id: call.call_id.clone(), ask, problem }).await?;
    Ok(found)
}
