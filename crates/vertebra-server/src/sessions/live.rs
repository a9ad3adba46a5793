//! One open session: its agent, what happens in it, and who governs it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Mutex as Turn, Notify, oneshot};
use tonic::Status;
use vertebra::{CancellationToken, News, RunEvent, RunStatus, RunStream, Session, SessionReport};

use super::service::not_open;
use crate::{
    clients::Governance,
    lanes::Permit,
    limits::Limits,
    log::{Log, Reader},
    proto::{self, SessionStatus, WhenLost},
};

/// An open session.
pub(crate) struct Live {
    pub(crate) id: Arc<str>,
    pub(crate) about: About,
    /// Whose it is, and whose hooks are in force.
    pub(crate) governance: Governance,
    pub(crate) log: Arc<Log>,
    session: Turn<Option<Session>>,
    state: Mutex<State>,
    rested: Arc<Notify>,
}

/// What its owner said of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) folder: String,
    pub(crate) labels: HashMap<String, String>,
    pub(crate) when_lost: WhenLost,
}

#[derive(Default)]
struct State {
    /// Ends the run that is under way.
    running: Option<CancellationToken>,
    /// Whether the run that is under way is to come to rest, and how it is told.
    rests: bool,
    rest: Option<CancellationToken>,
    suspended: bool,
    closed: bool,
    /// The run that was left without an end.
    unfinished: String,
}

/// What is to be done in a session.
pub(crate) enum Work {
    Prompt(String),
    /// Finish what was left without an end.
    GoOn,
}

impl Live {
    pub(crate) fn new(
        session: Session,
        governance: Governance,
        about: About,
        limits: &Limits,
        rested: Arc<Notify>,
    ) -> Arc<Self> {
        let state = State { unfinished: session.unfinished().unwrap_or_default().to_owned(), ..State::default() };
        Arc::new(Self {
            id: session.id().into(),
            about,
            governance,
            log: Log::new(limits.kept_events, limits.kept_bytes),
            session: Turn::new(Some(session)),
            state: Mutex::new(state),
            rested,
        })
    }

    /// Begins something, and answers with what happens from then on. It goes on whether anybody reads that or not.
    pub(crate) async fn begin(self: &Arc<Self>, work: Work, permit: Permit) -> Result<Run, Status> {
        let mut session = self.session.lock().await;
        let closed = || Status::failed_precondition("the session is closed");
        let (is_closed, is_suspended) = {
            let state = self.lock();
            (state.closed, state.suspended)
        };
        if is_suspended && !is_closed {
            // What waits in the journal is taken up from there. Should somebody else have it now, they may give it back.
            if let Some(left) = session.take() {
                left.close().await;
            }
            *session = Some(self.governance.agent.resume(&self.id).await.map_err(not_open)?);
            self.lock().suspended = false;
        }
        let open = session.as_mut().ok_or_else(closed)?;
        let stream = match work {
            Work::Prompt(text) => Some(open.stream(text)),
            Work::GoOn => open.stream_on(),
        };
        let Some(stream) = stream else {
            return Err(Status::failed_precondition("nothing in the session was left without an end"));
        };
        let events = self.log.read(self.log.latest());
        {
            let mut state = self.lock();
            state.running = Some(stream.token());
            state.unfinished.clear();
        }
        let this = self.clone();
        let (told, last) = oneshot::channel();
        tokio::spawn(async move {
            let last = this.follow(stream).await;
            let _ = told.send(last);
            drop(permit);
        });
        Ok(Run { events, last: Some(last) })
    }

    /// Writes down what happens until nothing does; answers with the number of the last event.
    async fn follow(&self, mut stream: RunStream) -> u64 {
        {
            let mut state = self.lock();
            state.rest = Some(stream.suspend_token());
            // Somebody may have been faster.
            if state.rests {
                stream.suspend();
            }
        }
        let mut suspended = false;
        while let Some(event) = stream.next().await {
            if let RunEvent { depth: 0, news: News::Ended { report }, .. } = &event {
                suspended = report.status == RunStatus::Suspended;
            }
            self.log.push(&event);
        }
        let mut state = self.lock();
        let State { running, rests, rest, .. } = &mut *state;
        (*running, *rests, *rest) = (None, false, None);
        state.suspended = suspended;
        drop(state);
        self.rested.notify_waiters();
        self.log.latest()
    }

    /// Asks the run that is under way to end; says whether one was.
    pub(crate) fn cancel(&self) -> bool {
        self.lock().running.as_ref().is_some_and(|running| {
            running.cancel();
            true
        })
    }

    /// Asks the run that is under way to come to rest in the journal.
    pub(crate) fn suspend(&self) {
        let mut state = self.lock();
        state.rests = state.running.is_some();
        state.rest.as_ref().inspect(|rest| rest.cancel());
    }

    pub(crate) fn is_running(&self) -> bool {
        self.lock().running.is_some()
    }

    /// Ends the session.
    pub(crate) async fn close(&self) -> Option<SessionReport> {
        self.cancel();
        let session = self.session.lock().await.take()?;
        self.lock().closed = true;
        let report = session.close().await;
        self.log.close();
        Some(report)
    }

    /// Leaves the session to whoever resumes it, unless a run is still under way.
    pub(crate) async fn leave(&self) {
        if self.is_running() {
            return;
        }
        if let Some(session) = self.session.lock().await.take() {
            session.leave().await;
        }
        self.lock().closed = true;
        self.log.close();
    }

    /// As its clients see it.
    pub(crate) fn told(&self) -> proto::Session {
        let state = self.lock();
        let status = match () {
            () if state.closed => SessionStatus::Closed,
            () if state.running.is_some() => SessionStatus::Running,
            () if state.suspended => SessionStatus::Suspended,
            () => SessionStatus::Idle,
        };
        proto::Session {
            id: self.id.to_string(),
            status: status.into(),
            owner: self.governance.owner.to_string(),
            folder: self.about.folder.clone(),
            labels: self.about.labels.clone(),
            last_event: self.log.latest(),
            unfinished_run: state.unfinished.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What happens while something is done in a session.
pub(crate) struct Run {
    events: Reader,
    /// Tells the number of its last event, until it has.
    last: Option<oneshot::Receiver<u64>>,
}

impl Run {
    /// The next event of this run; `None` after its last.
    pub(crate) async fn next(&mut self) -> Option<proto::SessionEvent> {
        loop {
            let Some(last) = &mut self.last else { return self.events.next().await };
            tokio::select! {
                biased;
                event = self.events.next() => return event,
                last = last => {
                    self.last = None;
                    self.events.stop_after(last.unwrap_or_default());
                }
            }
        }
    }
}
