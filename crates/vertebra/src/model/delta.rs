//! Streamed pieces on their way to the front end: rewritten, held back or cut off by hooks.

use std::{collections::VecDeque, future::Future, pin::Pin};

use vertebra_hooks::{Kind, Point, Retries};

use crate::{
    AgentState, AnswerEnd, CallInSight, Channel, InferenceDelta, ModelId, Purpose, Response, Run, RunError, Usage,
    points::events::{DeltaArrived, InferenceAsked},
    run::handle::{Interrupted, Leave},
};

/// How much text a hook may hold back before the stream is ended.
const HELD_BYTES: usize = 256 * 1024;

/// Of how many calls of one answer the pieces are shown.
const MAX_CALLS: u32 = 128;

/// Where a driver puts the pieces of an answer as they come.
pub struct Deltas<'a> {
    live: Option<Live<'a>>,
    reader: Option<&'a mut dyn ErasedReader>,
    text: Flow,
    reasoning: Flow,
    calls: Vec<(CallInSight, Flow)>,
    spent: Usage,
    ended: Option<Ended>,
}

struct Live<'a> {
    run: &'a Run,
    state: &'a mut AgentState,
    model: &'a ModelId,
    /// Front ends see what the agent says. What a capability asks a model is not said to them.
    purpose: &'a Purpose,
}

/// One channel: what was let through, and what is held back.
#[derive(Default)]
struct Flow {
    passed: String,
    held: String,
    streamed: bool,
}

/// Where a piece belongs.
enum Source {
    Text,
    Reasoning,
    Call(CallInSight),
}

fn flow_of<'c>(calls: &'c mut Vec<(CallInSight, Flow)>, call: &CallInSight) -> &'c mut Flow {
    let at = calls.iter().position(|(known, _)| known.index == call.index).unwrap_or_else(|| {
        calls.push((call.clone(), Flow::default()));
        calls.len() - 1
    });
    &mut calls[at].1
}

/// The position of a piece in its answer.
enum Last {
    No,
    OfChannel,
    OfAnswer(Box<AnswerEnd>),
}

impl AnswerEnd {
    fn of(answer: Result<&Response, &RunError>) -> Self {
        match answer {
            Ok(Response { finish, calls, .. }) => Self::Finished { reason: finish.clone(), calls: calls.clone() },
            Err(error) => Self::BrokenOff { error: error.to_string() },
        }
    }
}

enum Ended {
    Halted { by: String, reason: String },
    Interrupted(Interrupted),
}

/// The rest of the answer is not wanted. A driver returns what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halted;

/// Takes the pieces of an answer in place of a run: for a model that asks another one and translates what it streams.
pub trait DeltaReader: Send {
    /// Takes a piece of this channel, and for pieces of a call of this call. [`Halted`] says that no more are wanted.
    fn read(
        &mut self,
        channel: Channel,
        call: Option<&CallInSight>,
        piece: &str,
    ) -> impl Future<Output = Result<(), Halted>> + Send;
}

/// [`DeltaReader`] with its future boxed.
trait ErasedReader: Send {
    fn read<'r>(
        &'r mut self,
        channel: Channel,
        call: Option<&'r CallInSight>,
        piece: &'r str,
    ) -> Pin<Box<dyn Future<Output = Result<(), Halted>> + Send + 'r>>;
}

impl<R: DeltaReader> ErasedReader for R {
    fn read<'r>(
        &'r mut self,
        channel: Channel,
        call: Option<&'r CallInSight>,
        piece: &'r str,
    ) -> Pin<Box<dyn Future<Output = Result<(), Halted>> + Send + 'r>> {
        Box::pin(DeltaReader::read(self, channel, call, piece))
    }
}

impl<'a> Deltas<'a> {
    pub(crate) fn live(run: &'a Run, state: &'a mut AgentState, asked: &'a InferenceAsked) -> Self {
        let live = Some(Live { run, state, model: &asked.request.model, purpose: &asked.purpose });
        Self { live, ..Self::collect() }
    }

    /// Collects pieces without hooks: for the tests of a driver.
    pub fn collect() -> Self {
        Self {
            live: None,
            reader: None,
            text: Flow::default(),
            reasoning: Flow::default(),
            calls: Vec::new(),
            spent: Usage::default(),
            ended: None,
        }
    }

    /// Hands every piece to a reader: for a model around another one.
    pub fn to(reader: &'a mut impl DeltaReader) -> Self {
        Self { reader: Some(reader), ..Self::collect() }
    }

    /// Says what the call has cost so far. It counts if no answer comes of it; an answer says so itself.
    pub fn spend(&mut self, usage: Usage) {
        self.spent += usage;
    }

    pub(crate) fn spent(&self) -> Usage {
        self.spent
    }

    /// What was let through of what the model said.
    pub fn shown(&self) -> &str {
        &self.text.passed
    }

    /// A piece of what the model says.
    pub async fn text(&mut self, piece: &str) -> Result<(), Halted> {
        self.piece(&Source::Text, piece, Last::No).await
    }

    /// A piece of what the model thinks.
    pub async fn reasoning(&mut self, piece: &str) -> Result<(), Halted> {
        self.piece(&Source::Reasoning, piece, Last::No).await
    }

    /// A piece of the arguments of the `index`th call, from 0.
    pub async fn call(&mut self, index: u32, tool: &str, piece: &str) -> Result<(), Halted> {
        if index >= MAX_CALLS {
            return Ok(());
        }
        self.piece(&Source::Call(CallInSight { index, tool: tool.into() }), piece, Last::No).await
    }

    async fn piece(&mut self, source: &Source, piece: &str, place: Last) -> Result<(), Halted> {
        if self.ended.is_some() {
            return Err(Halted);
        }
        let (channel, call, flow) = match source {
            Source::Text => (Channel::Text, None, &mut self.text),
            Source::Reasoning => (Channel::Reasoning, None, &mut self.reasoning),
            Source::Call(call) => (Channel::Call, Some(call), flow_of(&mut self.calls, call)),
        };
        flow.streamed = true;
        if let Some(reader) = &mut self.reader {
            return reader.read(channel, call, piece).await;
        }
        let Some(live) = &mut self.live else {
            flow.passed.push_str(piece);
            return Ok(());
        };
        flow.held.push_str(piece);
        let text = std::mem::take(&mut flow.held);
        if !live.run.hooks().any_at(InferenceDelta) {
            live.show(flow, channel, call, text);
            return Ok(());
        }
        let at = live.run.at(InferenceDelta::NAME);
        let (model, follows) = (live.model.clone(), flow.passed.chars().next_back());
        let last = !matches!(place, Last::No);
        let end = match place {
            Last::OfAnswer(end) => Some(end),
            Last::No | Last::OfChannel => None,
        };
        let mut event =
            DeltaArrived { at, model, channel, call: call.cloned(), text, follows, kept: String::new(), last, end };
        let fired = live.run.dispatch(InferenceDelta, &mut event, live.state, Retries::Allowed, Leave::OnCancel).await;
        let outcome = match fired {
            Ok(outcome) => outcome,
            Err(interrupt) => return self.end(Ended::Interrupted(interrupt)),
        };
        let by = || outcome.decided_by().map_or("a hook", |by| by).to_owned();
        let (shown, held) = match outcome.kind() {
            Kind::Halt => {
                let (by, reason) = (by(), outcome.reason().unwrap_or_default().to_owned());
                return self.end(Ended::Halted { by, reason });
            }
            Kind::Hold => (String::new(), event.text + &event.kept),
            _ => (event.text, event.kept),
        };
        live.show(flow, channel, call, shown);
        if held.len() > HELD_BYTES {
            let by = by();
            return self.end(Ended::Halted { by, reason: format!("more than {HELD_BYTES} bytes were held back") });
        }
        // At the end of the stream nothing comes after what is held, so it is never shown.
        if !last {
            flow.held = held;
        }
        Ok(())
    }

    /// Returns whether a hook at `InferenceDelta` reads how the answer ended.
    fn tells_end(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.run.hooks().any_at(InferenceDelta))
    }

    fn end(&mut self, ended: Ended) -> Result<(), Halted> {
        self.ended = Some(ended);
        Err(Halted)
    }

    /// Ends the stream: what is held back is judged a last time, and what a driver returned without streaming it is one
    /// last piece. The last piece of all says how the answer ended. Answers with the text as it was shown, and with who
    /// halted the stream.
    pub(crate) async fn finish(mut self, answer: Result<&Response, &RunError>) -> Result<Shown, Interrupted> {
        let (reasoning, text) = answer.map_or(("", ""), |answer| (&*answer.reasoning, &*answer.text));
        let said = [(Source::Reasoning, self.reasoning.streamed, reasoning), (Source::Text, self.text.streamed, text)];
        let said = said.into_iter().filter(|(_, streamed, whole)| *streamed || !whole.is_empty());
        let said = said.map(|(source, streamed, whole)| (source, if streamed { "" } else { whole }));
        let calls = self.calls.iter().map(|(call, _)| (Source::Call(call.clone()), ""));
        let mut rest: VecDeque<_> = said.chain(calls).collect();
        let mut end = self.tells_end().then(|| Box::new(AnswerEnd::of(answer)));
        // An answer of which nothing was said ends all the same.
        if rest.is_empty() && end.is_some() {
            rest.push_back((Source::Text, ""));
        }
        while let Some((source, piece)) = rest.pop_front() {
            let end = if rest.is_empty() { end.take() } else { None };
            if self.piece(&source, piece, end.map_or(Last::OfChannel, Last::OfAnswer)).await.is_err() {
                break;
            }
        }
        let halted = match self.ended {
            Some(Ended::Interrupted(interrupt)) => return Err(interrupt),
            Some(Ended::Halted { by, reason }) => Some((by, reason)),
            None => None,
        };
        Ok(Shown { text: self.text.passed, reasoning: self.reasoning.passed, halted })
    }
}

/// What front ends have seen of an answer.
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) halted: Option<(String, String)>,
}

impl Live<'_> {
    fn show(&self, flow: &mut Flow, channel: Channel, call: Option<&CallInSight>, text: String) {
        if !text.is_empty() {
            // Of a call only the end is kept, for whoever asks what a piece follows: its arguments come whole.
            if channel == Channel::Call {
                flow.passed.clear();
            }
            flow.passed.push_str(&text);
            if *self.purpose == Purpose::Step {
                self.run.show(channel, text, call.cloned());
            }
        }
    }
}
