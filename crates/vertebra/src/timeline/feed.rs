//! What front ends see while a run goes on.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use serde::Serialize;
use vertebra_hooks::Record;

use crate::{Approval, CallInSight, Channel, Decision, RunInfo, RunReport, ToolCall, ToolResult, Usage};

/// How many events may wait for a front end.
const WAITING: usize = 4096;

/// Something that a front end may want to show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunEvent {
    /// Which run.
    pub run_id: Arc<str>,
    /// Which agent.
    pub agent: Arc<str>,
    /// How many delegations deep.
    pub depth: u32,
    /// What happened.
    #[serde(flatten)]
    pub news: News,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum News {
    /// A step began.
    Step {
        /// Which, from 1.
        step: u32,
    },
    /// The model says something.
    Delta {
        /// What kind of text.
        channel: Channel,
        /// The text.
        text: String,
        /// Which call it is a piece of.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        call: Option<CallInSight>,
    },
    /// A tool begins to run.
    ToolBegan {
        /// The call in its final form.
        call: ToolCall,
    },
    /// A running tool says something.
    ToolSays {
        /// Which call.
        call_id: Arc<str>,
        /// What.
        text: String,
    },
    /// A tool call has ended.
    ToolEnded {
        /// The call in its final form.
        call: ToolCall,
        /// What came of it.
        result: ToolResult,
    },
    /// Hooks ran.
    Hooks {
        /// What they did.
        record: Record,
        /// What the event was about: the tool and its command, where there is one.
        subject: String,
        /// Which call, if they ran for one.
        #[serde(skip_serializing_if = "Option::is_none")]
        call_id: Option<Arc<str>>,
    },
    /// A model call has ended.
    Used {
        /// What it cost.
        usage: Usage,
    },
    /// Somebody has to decide.
    Asked {
        /// About what.
        approval: Approval,
    },
    /// Somebody has decided.
    Decided {
        /// About which call.
        call_id: Arc<str>,
        /// What.
        decision: Decision,
    },
    /// Something worth knowing.
    Notice {
        /// What kind.
        kind: String,
        /// What.
        message: String,
    },
    /// A model call failed and is made again after a wait.
    Retry {
        /// Why it failed.
        message: String,
        /// Which retry this will be, from 1.
        retry: u32,
        /// How long the wait is.
        wait_ms: u64,
        /// Whether a part of the failed answer was shown. It does not count: the next answer replaces it.
        cut_off: bool,
    },
    /// The front end was too slow and missed this many events.
    Missed {
        /// How many.
        events: u64,
    },
    /// The run has ended.
    Ended {
        /// How.
        report: Box<RunReport>,
    },
}

/// The way to a front end. Never waits for it: when it is slow, text is joined together, then the oldest news is dropped.
#[derive(Clone, Default)]
pub(crate) struct Front(Option<Arc<Shared>>);

/// The front end's side.
pub(crate) struct Feed(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<RunEvent>,
    missed: u64,
    closed: bool,
    waiting: Option<Waker>,
}

impl Front {
    /// Somebody listens.
    pub(crate) fn open() -> (Self, Feed) {
        let shared = Arc::new(Shared::default());
        (Self(Some(shared.clone())), Feed(shared))
    }

    /// Tells, if somebody listens; `news` is made only then.
    pub(crate) fn tell(&self, of: &RunInfo, news: impl FnOnce() -> News) {
        let Some(shared) = &self.0 else { return };
        let event = RunEvent { run_id: of.run_id.clone(), agent: of.agent.clone(), depth: of.depth, news: news() };
        shared.change(|queue| queue.push(event));
    }

    pub(crate) fn close(&self) {
        if let Some(shared) = &self.0 {
            shared.change(|queue| queue.closed = true);
        }
    }
}

impl Shared {
    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Queue)) {
        let waiting = {
            let mut queue = self.queue();
            change(&mut queue);
            queue.waiting.take()
        };
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

impl Queue {
    fn push(&mut self, event: RunEvent) {
        if self.events.len() < WAITING {
            self.events.push_back(event);
            return;
        }
        let joined = match (self.events.back_mut(), &event) {
            (Some(RunEvent { news: News::Delta { channel, text, call }, run_id, .. }), next) => match &next.news {
                News::Delta { channel: c, text: more, call: of }
                    if c == channel && of == call && next.run_id == *run_id =>
                {
                    text.push_str(more);
                    true
                }
                _ => false,
            },
            _ => false,
        };
        if !joined {
            self.events.pop_front();
            self.missed += 1;
            self.events.push_back(event);
        }
    }

    fn pop(&mut self) -> Option<RunEvent> {
        let missed = std::mem::take(&mut self.missed);
        let event = self.events.pop_front()?;
        if missed == 0 {
            return Some(event);
        }
        let notice = RunEvent { news: News::Missed { events: missed }, ..event.clone() };
        self.events.push_front(event);
        Some(notice)
    }
}

impl Feed {
    /// The next event; `None` when the run is over.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        let mut queue = self.0.queue();
        match queue.pop() {
            Some(event) => Poll::Ready(Some(event)),
            None if queue.closed => Poll::Ready(None),
            None => {
                queue.waiting = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
