//! The loop. It holds no feature: it passes the points in order, and one resolver says whether it goes on.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use tokio::sync::Mutex;
use vertebra_hooks::{Kind, Point, Retries, Verdict};

use crate::{
    AgentState, Execution, ExecutionStart, Prompt, Run, RunError, RunReport, RunStatus, ShouldContinue, StepReport,
    Stop, StopReason, Usage,
    clock::millis,
    points::events::{Continuing, ExecutionStarted},
    run::{
        decision::Resolution,
        end,
        handle::{Interrupted, Leave, LoopState},
        output,
        prompt::submit,
    },
    session::again::{Again, again},
    timeline::Keeper,
};

/// Runs the loop on a prompt. Whatever happens, the end is told once.
///
/// `known` is what the journal knows of the state.
pub(crate) async fn execute(run: Run, state: AgentState, known: AgentState, prompt: Prompt) -> (AgentState, RunReport) {
    let mut run_loop = match again(&run) {
        Again::Ended(ended) => return *ended,
        Again::Left(left) => Loop::again(run, left.0, left.1),
        Again::New => Loop::new(run, state, known),
    };
    let report = match AssertUnwindSafe(run_loop.begin(prompt)).catch_unwind().await {
        Ok(Ok(report)) => report,
        Ok(Err(interrupted)) => {
            let stop = run_loop.on_fatal_error(interrupted).await;
            run_loop.report(stop)
        }
        Err(_panic) => {
            run_loop.desk.state = run_loop.last_good.clone();
            run_loop.report(Stop::hard(StopReason::Error, "runtime", "the runtime panicked"))
        }
    };
    let mut report = run_loop.unless_abandoned(report);
    if report.status != RunStatus::Suspended {
        run_loop.rest().await;
        report = output::decide(&run_loop.run, &mut run_loop.desk, report).await;
        report = run_loop.unless_abandoned(report);
    }
    if report.status == RunStatus::Suspended { run_loop.suspend(report).await } else { run_loop.end(report).await }
}

/// A run on its way.
pub(crate) struct Loop {
    pub(crate) run: Run,
    pub(crate) desk: LoopState,
    /// The state when the latest step began: what is left if the runtime itself should panic.
    pub(crate) last_good: AgentState,
    pub(crate) began: Duration,
    pub(crate) before: Before,
    pub(crate) text: String,
    pub(crate) continuations: u32,
    /// What the journal knows.
    pub(crate) keeper: Keeper,
    /// Whether it goes on between two steps.
    pub(crate) resumed: bool,
    /// How often in a row a step has failed.
    pub(crate) failures: u32,
}

/// The totals of the session when the run began.
#[derive(Clone, Copy, Default)]
pub(crate) struct Before {
    pub(crate) usage: Usage,
    pub(crate) steps: u32,
    pub(crate) tool_calls: u64,
}

impl Loop {
    pub(crate) fn new(run: Run, state: AgentState, known: AgentState) -> Self {
        let before = Before { usage: state.usage(), steps: state.steps(), tool_calls: state.tool_calls() };
        Self {
            began: run.clock().elapsed(),
            run,
            last_good: state.clone(),
            desk: LoopState { state, ..LoopState::default() },
            before,
            text: String::new(),
            continuations: 0,
            keeper: Keeper::knows(known),
            resumed: false,
            failures: 0,
        }
    }

    /// `PromptSubmit`, then the execution inside its arounds.
    async fn begin(&mut self, prompt: Prompt) -> Result<RunReport, Interrupted> {
        let submitted = if self.resumed { Ok(prompt.text) } else { submit(&self.run, &mut self.desk, prompt).await? };
        let prompt = match submitted {
            Ok(prompt) => prompt,
            Err(stop) => return Ok(self.report(stop)),
        };
        let started = ExecutionStarted {
            at: self.run.at(ExecutionStart::NAME),
            prompt,
            limits: self.run.budget().limits().clone(),
        };
        let (run, before) = (self.run.clone(), self.desk.state.clone());
        let this = Mutex::new(self);
        let core = |started: ExecutionStarted| async { this.lock().await.execution(started).await };
        let wrapped = run.hooks().wrap(Execution, started, &before, &run, core).await;
        wrapped.map_err(|error| RunError::Internal { message: error.to_string() }.into())
    }

    /// `ExecutionStart`, then steps until something ends the run.
    async fn execution(&mut self, mut started: ExecutionStarted) -> RunReport {
        // A run that is resumed has been here. An around may have it done again, and that is another event.
        if !self.resumed {
            started.at = self.run.at(ExecutionStart::NAME);
            match self.fire(ExecutionStart, &mut started).await {
                Ok(outcome) => self.desk.take_stops(&outcome),
                Err(interrupted) => return self.report(interrupted.into()),
            }
        }
        let stop = self.steps().await;
        self.report(stop)
    }

    async fn steps(&mut self) -> Stop {
        loop {
            if let Some(stop) = self.stopped() {
                return stop;
            }
            let ended = match self.go().await {
                Ok(ended) => ended,
                Err(interrupted) => self.on_error(interrupted).await,
            };
            if let Some(stop) = ended {
                return stop;
            }
        }
    }

    /// One step, and whether it was the last.
    async fn go(&mut self) -> Result<Option<Stop>, Interrupted> {
        self.checkpoint().await?;
        self.run.control().may_begin()?;
        // A run beside this one may have taken the last step meanwhile.
        if let Some(stop) = self.run.exhausted() {
            return Ok(Some(stop));
        }
        let report = self.step().await?;
        self.should_continue(report).await
    }

    /// `ShouldContinue`, then the resolver. Answers with the stop, if the run ends.
    async fn should_continue(&mut self, report: StepReport) -> Result<Option<Stop>, Interrupted> {
        self.run.control().late_stops().into_iter().for_each(|stop| self.desk.pending.stop(stop));
        let mut event = Continuing {
            at: self.run.at(ShouldContinue::NAME),
            kind: report.kind,
            text: report.text,
            stops: self.desk.pending.stops().to_vec(),
            continuations: self.continuations,
        };
        let outcome = self.fire(ShouldContinue, &mut event).await?;
        self.run.control().late_stops().into_iter().for_each(|stop| self.desk.pending.stop(stop));
        self.desk.take_stops(&outcome);
        self.take_instructions(&outcome);
        let (instructions, overridden) = match self.desk.pending.resolve() {
            Resolution::Stop(stop) => return Ok(Some(stop)),
            Resolution::GoOn { instructions, overridden } => (instructions, overridden),
        };
        if !overridden.is_empty()
            && let Some(stop) = self.once_more()
        {
            return Ok(Some(stop));
        }
        for instruction in instructions {
            self.desk.instruct(&self.run, instruction.text, instruction.from);
        }
        // A limit ends a run that would go on; one that has ended by itself is not blamed on it.
        Ok(self.run.exhausted())
    }

    /// Counts that the run goes on although it would have ended. Answers with the stop, if that was once too often.
    pub(crate) fn once_more(&mut self) -> Option<Stop> {
        self.continuations += 1;
        let limit = self.run.core().continuation_limit;
        (self.continuations > limit).then(|| {
            let message = format!("hooks continued the run {limit} times, which is the limit");
            Stop::hard(StopReason::Retries, "continuation limit", message)
        })
    }

    /// Waits for children and ends the calls that are left.
    async fn rest(&mut self) {
        self.run.control().children_ended().await;
        self.tidy("cut short: the run has ended").await;
    }

    /// `ExecutionEnd`: once, on every path.
    pub(crate) async fn end(mut self, report: RunReport) -> (AgentState, RunReport) {
        self.rest().await;
        let memory = self.memory();
        let report = end::tell(&self.run, &mut self.desk, (memory, &mut self.keeper), report).await;
        (self.desk.state, report)
    }

    /// What stands against another step: a stop that somebody asked for, or a limit.
    fn stopped(&self) -> Option<Stop> {
        if self.run.is_cancelled() {
            return Some(Interrupted::Cancelled.into());
        }
        self.desk.pending.strongest().cloned().or_else(|| self.run.exhausted())
    }

    pub(crate) fn take_instructions<P: Point>(&mut self, outcome: &vertebra_hooks::Outcome<P>) {
        for ruling in outcome.of_kind(Kind::GoOn) {
            self.desk.pending.go_on(&*ruling.by, ruling.verdict.reason().unwrap_or_default());
        }
    }

    pub(crate) fn report(&self, stop: Stop) -> RunReport {
        let (info, state) = (self.run.info(), &self.desk.state);
        RunReport {
            session_id: info.session_id.clone(),
            run_id: info.run_id.clone(),
            status: stop.reason.into(),
            stop,
            text: self.text.clone(),
            steps: state.steps().saturating_sub(self.before.steps),
            tool_calls: state.tool_calls().saturating_sub(self.before.tool_calls),
            usage: self.run.spent(),
            duration_ms: millis(self.run.clock().elapsed().saturating_sub(self.began)),
        }
    }

    pub(crate) async fn fire<P>(
        &mut self,
        point: P,
        event: &mut P::Event,
    ) -> Result<vertebra_hooks::Outcome<P>, Interrupted>
    where
        P: Point<State = AgentState, Event: crate::points::attributes::Located>,
    {
        self.run.dispatch(point, event, &mut self.desk.state, Retries::Allowed, Leave::OnCancel).await
    }
}
