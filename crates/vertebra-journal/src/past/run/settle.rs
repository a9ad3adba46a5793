//! Moments that wait for a line about them, and the end of a step: what is told, and what comes of it.

use std::{collections::VecDeque, sync::Arc};

use jiff::Timestamp;
use vertebra::{
    AfterStep, AfterToolUse, BeforeInference, BeforeToolUse, Kind, Left, Message, Point, PromptSubmit, Purpose,
    Response, ShouldContinue, StepKind, Stop,
    events::{Continuing, StepEnded},
};

use super::{
    CallPast, Dispatch, Event, MISFIT, Moment, NO_RESULT, NO_STOPS, NOT_REACHED, Now, RunPast, Step, StepState,
    Unknown, Waiting, millis, tally,
};

impl RunPast {
    /// Hooks ran: on what waits to hear so, or on what begins with it.
    pub(super) fn dispatched(
        &mut self,
        dispatch: Dispatch<'_>,
        now: &Now<'_>,
        unknown: &mut Unknown,
        out: &mut VecDeque<Moment>,
    ) {
        let Dispatch { number, call_id, record, left } = dispatch;
        let about = |waiting: &Waiting| {
            let Moment { event, then, .. } = &waiting.moment;
            then.is_none() && event.point() == record.point && event.call_id() == call_id.as_ref()
        };
        if let Some(index) = self.waiting.iter().position(about) {
            if record.point == AfterToolUse::NAME
                && let Some(call_id) = &call_id
            {
                self.settle_call(call_id, None, out);
            }
            let index = self.waiting.iter().position(about).unwrap_or(index);
            let mut waiting = self.waiting.remove(index);
            waiting.moment.event.at_mut().number = number;
            waiting.moment.then = Some(record);
            self.changed(left, unknown);
            self.settle(waiting.moment, left, out);
            return;
        }
        self.settle_before(now, out);
        match &*record.point {
            BeforeToolUse::NAME => {
                if let Some(index) = call_id.as_ref().and_then(|id| self.open_call(id)) {
                    self.ask(index, number, Some(record), now, out);
                }
            }
            BeforeInference::NAME => {
                let moment = Moment { then: Some(record), ..self.asking(number, now) };
                self.waiting.push(Waiting { moment, within: now.within.cloned() });
            }
            AfterToolUse::NAME => tally(unknown, NO_RESULT, true),
            AfterStep::NAME => {
                self.flush(unknown, out);
                if let Some(mut moment) = self.step_ended(now.timestamp, unknown) {
                    moment.event.at_mut().number = number;
                    out.push_back(Moment { then: Some(record), ..moment });
                }
            }
            ShouldContinue::NAME => {
                self.flush(unknown, out);
                out.extend(self.step_ended(now.timestamp, unknown));
                let mut moment = Moment { then: Some(record), ..self.continuing(now.timestamp) };
                moment.event.at_mut().number = number;
                self.step.state = StepState::Before;
                self.waiting.push(Waiting { moment, within: now.within.cloned() });
            }
            _ => {}
        }
        self.changed(left, unknown);
    }

    /// Does what hooks did to the state.
    fn changed(&mut self, left: Option<&Left>, unknown: &mut Unknown) {
        if let Some(change) = left.and_then(|left| left.state.clone()) {
            tally(unknown, MISFIT, change.apply(&mut self.state).is_err());
        }
    }

    /// What waits for a line that would have come by now is told without it.
    pub(super) fn settle_before(&mut self, now: &Now<'_>, out: &mut VecDeque<Moment>) {
        let is_due = |waiting: &Waiting| {
            waiting.within.as_ref() == now.within
                && waiting.moment.event.call_id().is_none()
                && !matches!(waiting.moment.event, Event::ShouldContinue(_))
        };
        while let Some(index) = self.waiting.iter().position(is_due) {
            let waiting = self.waiting.remove(index);
            self.settle(waiting.moment, None, out);
        }
    }

    /// The same for what is told of one call; what would have been told next has not been, if the call is made again.
    pub(super) fn settle_call(&mut self, call_id: &Arc<str>, but_not: Option<&str>, out: &mut VecDeque<Moment>) {
        let is_due = |waiting: &Waiting| match &waiting.moment.event {
            Event::ToolUseFailed(event) => event.call.id == *call_id,
            Event::AfterToolUse(event) => but_not.is_some() && event.call.id == *call_id,
            _ => false,
        };
        while let Some(index) = self.waiting.iter().position(is_due) {
            let waiting = self.waiting.remove(index);
            if but_not != Some(waiting.moment.event.point()) {
                out.push_back(waiting.moment);
            }
        }
    }

    /// Everything that waits is told.
    pub(super) fn flush(&mut self, unknown: &mut Unknown, out: &mut VecDeque<Moment>) {
        for waiting in std::mem::take(&mut self.waiting) {
            if let Event::ShouldContinue(event) = &waiting.moment.event {
                tally(unknown, NO_STOPS, event.stops.is_empty() && event.kind != StepKind::ToolExecution);
            }
            self.settle(waiting.moment, None, out);
        }
    }

    /// Tells of a moment, and does what came of it.
    pub(super) fn settle(&mut self, moment: Moment, left: Option<&Left>, out: &mut VecDeque<Moment>) {
        let left = left.and_then(|left| left.event.as_ref());
        let refused = moment.then.as_ref().is_some_and(|then| then.verdict == Kind::Deny);
        match &moment.event {
            Event::PromptSubmit(event) if !refused => {
                let event = reread(left, event);
                self.state.push(Message::User { text: event.prompt, images: event.images });
                for text in event.context {
                    self.state.push(Message::instruction(text, PromptSubmit::NAME));
                }
            }
            Event::AfterInference(event) if event.purpose == Purpose::Step => {
                self.answered(reread(left, event).response);
            }
            _ => {}
        }
        out.push_back(moment);
    }

    /// The model's answer, as hooks left it, is part of the conversation.
    fn answered(&mut self, response: Response) {
        self.step.kind =
            Some(if response.calls.is_empty() { StepKind::FinalResponse } else { StepKind::ToolExecution });
        self.step.text.clone_from(&response.text);
        self.step.tools = response.calls.iter().map(|call| call.tool.shared()).collect();
        let calls = response.calls.clone();
        self.state.push(Message::assistant(response));
        self.calls = calls.into_iter().map(|call| CallPast::new(call, self.aliases.as_ref())).collect();
    }

    /// The end of a step that no line has told of.
    pub(super) fn end_step(&mut self, stop: Option<&Stop>, unknown: &mut Unknown, out: &mut VecDeque<Moment>) {
        let is_open = |waiting: &&mut Waiting| matches!(waiting.moment.event, Event::ShouldContinue(_));
        if let Some(waiting) = self.waiting.iter_mut().find(is_open) {
            if let (Event::ShouldContinue(event), Some(stop)) = (&mut waiting.moment.event, stop) {
                event.stops.push(stop.clone());
            }
            return;
        }
        if matches!(self.step.state, StepState::Before | StepState::Failed) {
            return;
        }
        self.flush(unknown, out);
        let timestamp = self.latest;
        out.extend(self.step_ended(timestamp, unknown));
        let mut moment = self.continuing(timestamp);
        if let Event::ShouldContinue(event) = &mut moment.event {
            event.stops.extend(stop.cloned());
        }
        self.waiting.push(Waiting { moment, within: None });
    }

    /// Ends the step for its hooks, once.
    pub(super) fn step_ended(&mut self, timestamp: Timestamp, unknown: &mut Unknown) -> Option<Moment> {
        if self.step.state != StepState::UnderWay {
            return None;
        }
        self.step.state = StepState::Ended;
        for open in std::mem::take(&mut self.calls) {
            tally(unknown, NOT_REACHED, !open.passed);
            if let Some(result) = open.result {
                self.state.push(Message::tool(open.call, result));
            }
        }
        let at = self.at(AfterStep::NAME, timestamp);
        let Step { kind, text, tools, usage, began, .. } = &self.step;
        Some(self.moment(Event::AfterStep(StepEnded {
            at,
            kind: kind.unwrap_or(StepKind::NoResponse),
            text: text.clone(),
            tools: tools.clone(),
            usage: *usage,
            duration_ms: millis(*began, timestamp),
        })))
    }

    pub(super) fn continuing(&self, timestamp: Timestamp) -> Moment {
        self.moment(Event::ShouldContinue(Continuing {
            at: self.at(ShouldContinue::NAME, timestamp),
            kind: self.step.kind.unwrap_or(StepKind::NoResponse),
            text: self.step.text.clone(),
            stops: Vec::new(),
            continuations: self.continuations,
        }))
    }
}

/// An event as hooks left it.
fn reread<E: Clone + serde::de::DeserializeOwned>(left: Option<&serde_json::Value>, event: &E) -> E {
    left.and_then(|left| E::deserialize(left).ok()).unwrap_or_else(|| event.clone())
}
