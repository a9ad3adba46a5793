//! The check of a call before anyone is asked about it: a call that cannot succeed is not put to a person.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;

use crate::{
    AgentState, Run, ToolCall, ToolError, ToolSpec,
    points::events::ToolAsked,
    run::handle::{Interrupted, LoopState},
    timeline::What,
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
    is_asked: bool,
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

    /// Whether hooks or guards ask about the call, so that it runs only if someone says yes.
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }
}

/// Why a call cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) text: String,
    /// The capability that refuses it; `None`: its tool.
    pub(crate) by: Option<Arc<str>>,
}

/// Says why a call cannot be made.
pub(crate) type Check = dyn Fn(&ToolAsked, Option<&ToolSpec>) -> Result<(), ToolError> + Send + Sync;

/// The checks that capabilities brought, those of parents first.
#[derive(Clone, Default)]
pub(crate) struct Checks(Vec<(Arc<str>, Arc<Check>)>);

impl Checks {
    pub(crate) fn add(&mut self, name: Arc<str>, check: Arc<Check>) {
        self.0.push((name, check));
    }

    /// These, then those of a child.
    pub(crate) fn and(&self, own: &Self) -> Self {
        Self(self.0.iter().chain(&own.0).cloned().collect())
    }

    fn check(&self, asked: &ToolAsked, spec: Option<&ToolSpec>) -> Result<(), Problem> {
        self.0.iter().try_for_each(|(name, check)| {
            let found = std::panic::catch_unwind(AssertUnwindSafe(|| check(asked, spec)));
            let panicked = |panic| ToolError::new(format!("its check {}", vertebra_hooks::Failure::of_panic(panic)));
            let found = found.unwrap_or_else(|panic| Err(panicked(panic)));
            found.map_err(|error| Problem { text: format!("blocked by {name}: {error}"), by: Some(name.clone()) })
        })
    }
}

/// Checks a call that hooks and guards let pass, or ask about. The inner error says why the call cannot succeed.
pub(crate) async fn check(
    run: &Run,
    desk: &LoopState,
    asked: &ToolAsked,
    earlier: Arc<[ToolCall]>,
    is_asked: bool,
) -> Result<Result<Checked, Problem>, Interrupted> {
    let call = &asked.call;
    if let Some(tape) = run.tape() {
        if let Some(found) = tape.checked(run.place(), &call.id) {
            return Ok(found);
        }
        // A call that had started keeps its admission, and a replay looks at no file.
        if run.replayed().is_some() || tape.has_begun(run.place(), &call.id) {
            return Ok(Ok(Checked::default()));
        }
    }
    let tools = &run.core().tools;
    let found = match (run.core().checks.check(asked, tools.spec(&call.tool)), tools.get(&call.tool)) {
        (Err(problem), _) => Err(problem),
        (Ok(()), None) => return Ok(Ok(Checked::default())),
        (Ok(()), Some(tool)) => {
            let cx = CheckCx { run: run.clone(), state: desk.state.clone(), earlier, is_asked };
            // Called inside the barrier: a tool may panic before it returns a future.
            let work = AssertUnwindSafe(async { tool.check(call.args.clone(), cx).await }).catch_unwind();
            match run.control().unless_cancelled(work).await? {
                Ok(Ok(None)) => return Ok(Ok(Checked::default())),
                Ok(Ok(Some(checked))) => Ok(checked),
                Ok(Err(error)) => Err(Problem { text: error.into_message(), by: None }),
                Err(panic) => {
                    let failure = vertebra_hooks::Failure::of_panic(panic);
                    Err(Problem { text: format!("the check of tool `{}` {failure}", call.tool), by: None })
                }
            }
        }
    };
    let (ask, problem, by) = match &found {
        Ok(checked) => (checked.ask.clone(), None, None),
        Err(Problem { text, by }) => (None, Some(text.clone()), by.clone()),
    };
    run.write(What::ToolChecked { call_id: call.id.clone(), ask, problem, by }).await?;
    Ok(found)
}
