//! One step: the model, the tools that it asks for, and the hooks around both.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use vertebra_hooks::{Lasting, Point, State};

use crate::{
    AfterStep, BeforeStep, InferenceReport, Message, Purpose, RunError, Step, StepKind, StepReport, Stop, StopReason,
    ToolCall, ToolResult, ToolStatus,
    clock::millis,
    conversation::compact,
    points::events::{StepEnded, StepStarted},
    run::{
        decision::Pending,
        handle::{Interrupted, locked},
        inference::infer,
        r#loop::Loop,
        tool_use::{close_open, use_tools},
    },
    timeline::{What, feed::News},
};

/// How many calls of one answer are made.
const MAX_CALLS: usize = 128;

impl Loop {
    /// One step inside its arounds.
    pub(crate) async fn step(&mut self) -> Result<StepReport, Interrupted> {
        self.last_good = self.desk.state.clone();
        self.run.recorder().set_step(self.desk.state.steps() + 1);
        let event = StepStarted {
            at: self.run.at(BeforeStep::NAME),
            messages: self.desk.state.messages().len(),
            usage: self.desk.state.usage(),
        };
        let (run, before) = (self.run.clone(), self.desk.state.clone());
        let this = Mutex::new(self);
        let passed = AtomicBool::new(false);
        let core = |event: StepStarted| async {
            passed.store(true, Ordering::Relaxed);
            let mut this = locked(&this).await;
            // What an earlier attempt of an around left does not decide about this one.
            this.desk.pending = Pending::default();
            this.step_once(event).await
        };
        match run.hooks().wrap(Step, event, &before, &run, core).await {
            // Whatever an around made of that.
            _ if run.control().is_suspended() => Err(run.control().interrupted()),
            Ok(Ok(report)) if !passed.load(Ordering::Relaxed) => {
                this.into_inner().answered_outside(&report);
                Ok(report)
            }
            Ok(report) => report,
            Err(error) => {
                let message = error.to_string();
                this.into_inner().tidy(&message).await;
                Err(RunError::Internal { message }.into())
            }
        }
    }

    /// Ends the calls of a step that was cut short: for their hooks, and for the model, which reads no call without a
    /// result.
    pub(crate) async fn tidy(&mut self, why: &str) {
        close_open(&self.run, &mut self.desk, why).await;
        let Some(Message::Assistant { calls, .. }) = self.desk.state.messages().last().cloned() else { return };
        for call in calls {
            let result = ToolResult::ended(ToolStatus::Cancelled, why);
            self.desk.state.push(Message::tool(call, result));
        }
    }

    /// An around answered in place of a whole step. It counts as one, and its answer as the model's.
    fn answered_outside(&mut self, report: &StepReport) {
        self.desk.pending.stop_if(self.run.take_unseen_step().err());
        self.text.clone_from(&report.text);
        if report.kind != StepKind::ToolExecution {
            self.desk.pending.stop(Stop::soft(
                StopReason::Finished,
                "around",
                "an around answered in place of the step",
            ));
        }
    }

    /// `BeforeStep`, the model, the tools, `AfterStep`.
    async fn step_once(&mut self, mut event: StepStarted) -> Result<StepReport, Interrupted> {
        self.desk.pending.stop_if(self.run.take_step().err());
        let nothing = StepReport { kind: StepKind::NoResponse, text: String::new(), tools: Vec::new() };
        if self.desk.pending.strongest().is_some() {
            return Ok(nothing);
        }
        let (began, usage) = (self.run.clock().elapsed(), self.run.spent());
        let step = self.desk.state.begin_step();
        self.run.recorder().set_step(step);
        event.at = self.run.at(BeforeStep::NAME);
        self.desk.state.notes_mut().clear(Lasting::Step);
        self.run.write(What::StepBegan { step }).await?;
        self.run.tell(|| News::Step { step });

        let outcome = self.fire(BeforeStep, &mut event).await?;
        self.desk.take_stops(&outcome);
        self.desk.pending.stop_if(self.run.overrun());
        let report = match self.desk.pending.strongest() {
            Some(_) => nothing,
            None => self.think_and_act().await?,
        };

        let duration = self.run.clock().elapsed().saturating_sub(began);
        let mut ended = StepEnded {
            at: self.run.at(AfterStep::NAME),
            kind: report.kind,
            text: report.text.clone(),
            tools: report.tools.clone(),
            usage: self.run.spent().since(usage),
            duration_ms: millis(duration),
        };
        let outcome = self.fire(AfterStep, &mut ended).await?;
        self.desk.take_stops(&outcome);
        self.take_instructions(&outcome);
        self.failures = 0;
        Ok(report)
    }

    /// Asks the model and does what it asks for.
    async fn think_and_act(&mut self) -> Result<StepReport, Interrupted> {
        compact::if_due(&self.run, &mut self.desk).await?;
        let mut request = self.run.request();
        request.messages = self.desk.state.messages().clone();
        let mut response = match infer(&self.run, &mut self.desk, Purpose::Step, request).await {
            InferenceReport::Answered(response) => response,
            InferenceReport::NotAsked(stop) => {
                // An around may say so without anybody having stopped the run.
                if self.desk.pending.strongest().is_none() {
                    self.desk.pending.stop(stop);
                }
                return Ok(StepReport { kind: StepKind::NoResponse, text: String::new(), tools: Vec::new() });
            }
            InferenceReport::Failed(error) => return Err(error.into()),
            InferenceReport::Cancelled => return Err(self.run.control().interrupted()),
        };
        self.text.clone_from(&response.text);
        let too_many = response.calls.split_off(response.calls.len().min(MAX_CALLS)).len();
        let (text, calls) = (response.text.clone(), response.calls.clone());
        self.desk.state.push(Message::assistant(response));
        if calls.is_empty() {
            self.desk.pending.stop(Stop::soft(StopReason::Finished, "model", "finished"));
            return Ok(StepReport { kind: StepKind::FinalResponse, text, tools: Vec::new() });
        }
        self.run.release_held();
        if self.desk.pending.strongest().is_some() {
            return Ok(self.leave_out(calls, text));
        }
        let tools = calls.iter().map(|call| call.tool.shared()).collect();
        let before = self.desk.state.messages().clone();
        let (results, interrupted) = use_tools(&self.run, &mut self.desk, calls).await;
        let results = results.into_iter().map(|(call, result)| Message::tool(call, result));
        self.desk.state.messages_mut().insert_since(&before, results);
        if too_many > 0 {
            let text = format!("{too_many} calls were dropped: a response may contain at most {MAX_CALLS}");
            self.desk.instruct(&self.run, text, "runtime");
        }
        interrupted?;
        Ok(StepReport { kind: StepKind::ToolExecution, text, tools })
    }

    /// A stop starts nothing more: the model reads of each call that it was not run.
    fn leave_out(&mut self, calls: Vec<ToolCall>, text: String) -> StepReport {
        for call in calls {
            let result = ToolResult::ended(ToolStatus::NotRun, "not run: the run is ending");
            self.desk.state.push(Message::tool(call, result));
        }
        StepReport { kind: StepKind::ToolExecution, text, tools: Vec::new() }
    }
}
