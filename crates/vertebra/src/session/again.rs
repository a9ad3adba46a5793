//! What a run does that goes on after its process ended: it finds what had begun, and repeats nothing in silence.

use std::{ops::ControlFlow, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use tokio::sync::Mutex;

use crate::{
    AgentState, Args, Checkpoint, Entry, Invocation, Meter, Reconciled, Run, RunReport, RunStatus, ToolResult,
    ToolSpec, ToolStatus, Used,
    clock::millis,
    points::events::ToolAsked,
    run::handle::{Interrupted, LoopState},
    run::r#loop::{Before, Loop},
    run::output,
    timeline::feed::News,
    timeline::{Keeper, RunPast, What},
    tool::ErasedTool,
};

/// Begins a use of a tool, or takes up one that had begun before. Breaks with its result if it is over. Continues with the key
/// of the attempt; in a replay, with what came of it then.
pub(crate) async fn begin(
    run: &Run,
    tool: &dyn ErasedTool,
    spec: &ToolSpec,
    asked: &ToolAsked,
    desk: &Mutex<LoopState>,
    invocation: impl FnOnce(Arc<str>) -> Invocation,
) -> Result<ControlFlow<ToolResult, (String, Option<ToolResult>)>, Interrupted> {
    let new = async || {
        // Models may use one name for several calls, so it cannot be the key.
        let key = asked.at.event_id();
        run.write(intended(asked, key.clone())).await?;
        run.write(What::ToolStarted { call_id: asked.id.clone(), key: key.clone() }).await?;
        Ok(ControlFlow::Continue((key, None)))
    };
    let Some(tape) = run.tape() else { return new().await };
    let call_id = &asked.call.id;
    let begun = tape.begun(run.place(), call_id);
    let Some(Entry { what: What::ToolIntended { key, args, digest, .. }, .. }) = &begun else {
        if run.replayed().is_some() {
            run.happens(None, intended(asked, String::new()));
            return Err(Interrupted::Cancelled);
        }
        if run.recorder().has_redacted_calls() {
            let why = "not run: its arguments were redacted in the journal; call the tool again";
            return Ok(ControlFlow::Break(ToolResult::ended(ToolStatus::NotRun, why)));
        }
        return new().await;
    };
    // Some arguments may be hidden in the record.
    let whole = digest.is_empty() || args.digest() == *digest;
    let (result, until) = tape.ended(run.place(), key).unzip();
    let again = |then: Option<ToolResult>| Ok(ControlFlow::Continue((key.clone(), then)));
    let over = async |result: ToolResult| {
        let mut desk = desk.lock().await;
        run.leave_call(tape, &mut desk.state, call_id, until);
        Ok(ControlFlow::Break(result))
    };
    if run.replayed().is_some() {
        run.happens(begun.as_ref(), intended(asked, key.clone()));
        return match result {
            then if spec.delegates => again(then),
            Some(result) => over(run.as_it_was(result).await?).await,
            None => Err(Interrupted::Cancelled),
        };
    }
    if let Some(result) = result {
        return over(result).await;
    }
    if whole && (spec.idempotent || spec.delegates) {
        return again(None);
    }
    match reconcile(tool, args.clone(), invocation(key.as_str().into())).await {
        Reconciled::NotDone if whole => again(None),
        Reconciled::Done(output) => over(ended(run, call_id, key.clone(), output.into()).await?).await,
        Reconciled::NotDone | Reconciled::Unknown => {
            let tool = &spec.name;
            let words = format!(
                "unknown: the process ended while `{tool}` was at work. It may have done all, a part or nothing of what \
                 it was asked, and was not done again. Find out how things stand before you repeat it."
            );
            over(ended(run, call_id, key.clone(), ToolResult::ended(ToolStatus::Unknown, words)).await?).await
        }
    }
}

fn intended(asked: &ToolAsked, key: String) -> What {
    let call = &asked.call;
    What::ToolIntended {
        call_id: call.id.clone(),
        key,
        tool: call.tool.shared(),
        args: call.args.clone(),
        digest: String::new(),
    }
}

async fn ended(run: &Run, call_id: &Arc<str>, key: String, result: ToolResult) -> Result<ToolResult, Interrupted> {
    run.write(What::ToolEnded { call_id: call_id.clone(), key, result: result.clone() }).await?;
    Ok(result)
}

/// Asks the tool. One that fails to say does not know.
async fn reconcile(tool: &dyn ErasedTool, args: Args, invocation: Invocation) -> Reconciled {
    let asked = AssertUnwindSafe(async { tool.reconcile(args, invocation).await }).catch_unwind();
    match asked.await {
        Ok(Ok(reconciled)) => reconciled,
        Ok(Err(_)) | Err(_) => Reconciled::Unknown,
    }
}

/// How a run stands.
pub(crate) enum Again {
    /// It was never begun.
    New,
    /// It was left after this checkpoint, knowing this.
    Left(Box<(Checkpoint, AgentState)>),
    /// It is over.
    Ended(Box<(AgentState, RunReport)>),
}

/// How a run stands that may have begun before.
pub(crate) fn again(run: &Run) -> Again {
    match run.tape().and_then(|tape| tape.run(&run.info().run_id)) {
        Some(RunPast { ended: Some(report), state, checkpoint, .. }) => {
            run.run_budget().restore(&checkpoint.unwrap_or_default().used, run.info().depth > 0);
            Again::Ended(Box::new((state, report)))
        }
        Some(RunPast { checkpoint: Some(checkpoint), state, .. }) => Again::Left(Box::new((checkpoint, state))),
        _ => Again::New,
    }
}

impl Loop {
    /// A run between the two steps that its journal says.
    pub(crate) fn again(run: Run, checkpoint: Checkpoint, state: AgentState) -> Self {
        let Checkpoint { used, continuations, failures, counters, session_counters, .. } = checkpoint;
        run.run_budget().restore(&used, run.info().depth > 0);
        run.run_budget().counters.restore(&counters, &session_counters);
        let before = Before { usage: used.usage_before, steps: used.steps_before, tool_calls: used.calls_before };
        let text = state.messages().iter().rev().find_map(|message| match message {
            crate::Message::Assistant { text, .. } => Some(text.clone()),
            _ => None,
        });
        Self {
            before,
            continuations,
            failures,
            resumed: true,
            text: text.unwrap_or_default(),
            ..Self::new(run, state.clone(), state)
        }
    }

    /// Tells the journal what the loop knows, between two steps.
    pub(crate) async fn checkpoint(&mut self) -> Result<(), Interrupted> {
        // One that was resumed is where the journal says.
        if std::mem::take(&mut self.resumed) {
            return Ok(());
        }
        let checkpoint = self.memory().checkpoint(&self.run, &self.desk, &mut self.keeper);
        Ok(self.run.write(What::Checkpoint(checkpoint)).await?)
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory { before: self.before, continuations: self.continuations, failures: self.failures }
    }

    /// A run that was cancelled because its process ends has not ended.
    pub(crate) fn unless_abandoned(&self, report: RunReport) -> RunReport {
        let is_left = report.status == RunStatus::Cancelled && self.run.control().is_suspended();
        if is_left { self.report(self.run.control().interrupted().into()) } else { report }
    }

    /// Leaves the run as it is, for whoever resumes it.
    pub(crate) async fn suspend(self, mut report: RunReport) -> (AgentState, RunReport) {
        self.run.control().children_ended().await;
        if self.run.is_cancelled() && !self.run.control().is_suspended() {
            let report = output::undecided(&self.run, self.report(Interrupted::Cancelled.into()));
            return self.end(report).await;
        }
        report = output::undecided(&self.run, report);
        self.run.veils().report(&mut report);
        let state = self.keeper.known().clone();
        if self.run.info().depth > 0 {
            return (state, report);
        }
        let report = match self.run.write(What::Suspended { message: report.stop.message.clone() }).await {
            Ok(()) => report,
            Err(error) => {
                let stop: crate::Stop = Interrupted::from(error).into();
                RunReport { status: stop.reason.into(), stop, ..report }
            }
        };
        // Whoever watches has nothing more to wait for.
        self.run.tell(|| News::Ended { report: Box::new(report.clone()) });
        (state, report)
    }
}

/// What the loop knows besides the state.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    pub(crate) before: Before,
    pub(crate) continuations: u32,
    pub(crate) failures: u32,
}

impl Memory {
    pub(crate) fn checkpoint(self, run: &Run, desk: &LoopState, keeper: &mut Keeper) -> Box<Checkpoint> {
        // Only the top agent's checkpoints say all.
        let checkpointed = (run.info().depth == 0).then_some(&*run.recorder().checkpointed);
        let (starts_over, state) = keeper.news(&desk.state, checkpointed);
        let Self { before, continuations, failures } = self;
        let (counters, session_counters) = run.run_budget().counters.all();
        let (budget, totals) = (run.budget(), run.run_budget().totals());
        let used = Used {
            steps: budget.used(Meter::Steps),
            tokens: budget.used(Meter::Tokens),
            cost_micros: budget.used(Meter::Cost),
            active_ms: millis(budget.active(&**run.clock())),
            usage: run.spent(),
            calls: desk.state.tool_calls().saturating_sub(before.tool_calls),
            usage_before: before.usage,
            steps_before: before.steps,
            calls_before: before.tool_calls,
            session: totals.usage,
            session_calls: totals.tool_calls,
            runs: totals.runs,
            resumed: totals.resumed,
        };
        let depth = run.info().depth;
        Box::new(Checkpoint { starts_over, depth, state, used, continuations, failures, counters, session_counters })
    }
}
