//! `Output`: decides which text leaves a run as its final answer.
//!
//! A text that a front end has shown cannot be taken back. So if a hook or a guard is registered at `Output`, the pieces of an
//! answer wait here until it is decided, or until the answer asks for tools and is not the final one.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use vertebra_hooks::{Point, Retries};

use crate::{
    AfterInference, AgentState, CallInSight, Channel, InferenceDelta, Interrupted, Message, Output, Refusable, Run,
    RunReport, Stop, StopReason,
    points::events::OutputReady,
    run::handle::{Leave, LoopState, lock},
    timeline::feed::News,
};

/// What waits for `Output`.
#[derive(Default)]
pub(crate) struct Held {
    /// True if `news` has entries; read without the lock.
    any: AtomicBool,
    news: Mutex<Vec<News>>,
}

impl Held {
    fn push(&self, news: News) {
        lock(&self.news).push(news);
        self.any.store(true, Ordering::Release);
    }

    fn take(&self) -> Vec<News> {
        if self.any.swap(false, Ordering::AcqRel) { std::mem::take(&mut *lock(&self.news)) } else { Vec::new() }
    }
}

/// Returns whether records of this point may quote an answer.
pub(crate) fn is_of_answer(point: &str) -> bool {
    [InferenceDelta::NAME, AfterInference::NAME].contains(&point)
}

impl Run {
    /// Returns whether pieces of answers are held until `Output` has decided.
    fn holds_answers(&self) -> bool {
        self.hooks().any_decides_at(Output) || self.recorder().held.any.load(Ordering::Acquire)
    }

    /// Sends a piece of an answer to the front end, or holds it until the answer is decided.
    pub(crate) fn show(&self, channel: Channel, text: String, call: Option<CallInSight>) {
        let piece = News::Delta { channel, text, call };
        if self.holds_answers() { self.recorder().held.push(piece) } else { self.send_shown(piece) }
    }

    /// Sends an event that contains text of an answer to the front end, or holds it until the answer is decided.
    pub(crate) fn send_or_hold(&self, news: impl FnOnce() -> News) {
        if self.holds_answers() { self.recorder().held.push(news()) } else { self.tell(news) }
    }

    /// Sends what is held: the answer asks for tools, so it is not the final one.
    pub(crate) fn release_held(&self) {
        self.recorder().held.take().into_iter().for_each(|news| self.send_shown(news));
    }

    /// Discards the text that is held. The front end only learns which hooks ran.
    pub(crate) fn drop_held(&self) {
        self.recorder().held.take().into_iter().for_each(|news| self.send_without_text(news));
    }

    /// Sends the accepted text: as the pieces that are held, if they add up to it, otherwise as one piece.
    fn release_as(&self, left: &str) {
        let held = self.recorder().held.take();
        let said: String = held.iter().filter_map(said).collect();
        if said == left {
            for news in held {
                self.send_shown(news);
            }
            return;
        }
        for news in held {
            self.send_without_text(news);
        }
        if !said.is_empty() {
            self.send_shown(News::Delta { channel: Channel::Text, text: left.to_owned(), call: None });
        }
    }

    fn send_shown(&self, news: News) {
        if let News::Delta { text, .. } = &news {
            self.recorder().has_shown(text);
        }
        self.tell(|| news);
    }

    fn send_without_text(&self, news: News) {
        if let News::Hooks { mut record, subject, call_id } = news {
            for change in record.hooks.iter_mut().flat_map(|trace| &mut trace.changes) {
                (change.before, change.after) = (None, None);
            }
            self.tell(|| News::Hooks { record, subject, call_id });
        }
    }
}

/// The text of the model in an event.
fn said(news: &News) -> Option<&str> {
    match news {
        News::Delta { channel: Channel::Text, text, .. } => Some(text),
        _ => None,
    }
}

/// Fires `Output` and returns the report with the text that may leave the run.
pub(crate) async fn decide(run: &Run, desk: &mut LoopState, report: RunReport) -> RunReport {
    if report.text.is_empty() {
        run.drop_held();
        return report;
    }
    // A run that is resumed may have a recorded decision, even if the hook is gone.
    if !run.hooks().any_at(Output) && run.tape().is_none() {
        run.release_as(&report.text);
        return report;
    }
    let mut event = OutputReady { at: run.at(Output::NAME), text: report.text.clone(), stop: report.stop.clone() };
    // A loop that is not ours is over by now: nothing of it can be cancelled any more.
    let leave = if run.identity().foreign { Leave::Never } else { Leave::OnCancel };
    let withheld = match run.dispatch(Output, &mut event, &mut desk.state, Retries::Allowed, leave).await {
        Ok(outcome) => match outcome.verdict() {
            Refusable::Proceed | Refusable::Skip => None,
            Refusable::Deny { reason } => {
                let by = outcome.decided_by().cloned().unwrap_or_default();
                Some(Stop::soft(StopReason::Requested, &*by, format!("the output was denied: {reason}")))
            }
        },
        // Only watches are left, and they decide nothing.
        Err(Interrupted::Cancelled) if !run.hooks().any_decides_at(Output) => None,
        Err(interrupted) => Some(interrupted.into()),
    };
    let report = RunReport { usage: run.spent(), ..report };
    let Some(stop) = withheld else {
        if event.text != report.text {
            replace(&mut desk.state, &report.text, &event.text);
        }
        run.release_as(&event.text);
        return RunReport { text: event.text, ..report };
    };
    replace(&mut desk.state, &report.text, &format!("[{}]", stop.message));
    run.drop_held();
    let report = RunReport { text: String::new(), ..report };
    if stop.reason > report.stop.reason { RunReport { status: stop.reason.into(), stop, ..report } } else { report }
}

/// Removes the text from the report of a run that did not reach `Output`, if a hook would have decided about it.
pub(crate) fn undecided(run: &Run, mut report: RunReport) -> RunReport {
    if run.hooks().any_decides_at(Output) {
        report.text.clear();
    }
    report
}

/// Puts the text that left the run in place of the model's own in the conversation.
fn replace(state: &mut AgentState, said: &str, left: &str) {
    let behind = state.messages().iter().rev().position(|message| matches!(message, Message::Assistant { .. }));
    let Some(behind) = behind else { return };
    let index = state.messages().len() - 1 - behind;
    // A text beside calls is not the final answer, and front ends have shown it.
    if let Some(Message::Assistant { text, calls, .. }) = state.messages().get(index)
        && text == said
        && calls.is_empty()
    {
        state.messages_mut().set(index, Message::assistant(left.into()));
    }
}
