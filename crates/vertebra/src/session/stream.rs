//! A run as a stream of its events.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    Agent, Prompt, RunEvent, RunFailed, RunReport,
    run::control::Reins,
    session::{ended, info, never_began},
    timeline::feed::{Feed, Front, News},
};

/// A run as a stream of its events. Dropping it cancels the run.
pub struct RunStream {
    feed: Feed,
    reins: Reins,
    task: JoinHandle<RunReport>,
    _cancel_on_drop: DropGuard,
}

impl RunStream {
    pub(crate) fn start(agent: Agent, prompt: Prompt) -> Self {
        let (front, feed) = Front::open();
        let reins = Reins::new(agent.core());
        let held = reins.clone();
        let task = tokio::spawn(async move {
            let mut session = match agent.session().await {
                Ok(session) => session,
                Err(error) => {
                    let report = never_began(error).0;
                    front.tell(&info(&agent, &report.session_id), || News::Ended { report: report.clone() });
                    front.close();
                    return *report;
                }
            };
            let info = session.scope().info().clone();
            let report = session.start(prompt, &front, held, None).wait().await;
            let closed = session.close().await;
            if closed.watches.dropped + closed.watches.unfinished > 0 {
                let message = format!("detached watches missed events: {:?}", closed.watches);
                front.tell(&info, || News::Notice { kind: "watches".to_owned(), message });
            }
            front.close();
            report
        });
        Self::of(feed, reins, task)
    }

    pub(crate) fn of(feed: Feed, reins: Reins, task: JoinHandle<RunReport>) -> Self {
        Self { feed, reins: reins.clone(), task, _cancel_on_drop: reins.cancel.drop_guard() }
    }

    /// Returns the next event, or `None` when the run has ended.
    pub async fn next(&mut self) -> Option<RunEvent> {
        std::future::poll_fn(|cx| self.feed.poll_next(cx)).await
    }

    /// Cancels the run.
    pub fn cancel(&self) {
        self.reins.cancel.cancel();
    }

    /// A token that cancels the run, for a signal handler.
    pub fn token(&self) -> CancellationToken {
        self.reins.cancel.clone()
    }

    /// Suspends the run: the model call and the tools that are running finish, and nothing new starts. A question stays
    /// open. The run is then [suspended](crate::RunStatus::Suspended), unless it has ended by itself, and
    /// [`Session::go_on`](crate::Session::go_on) finishes it after [`Agent::resume`], in this process or another. Nothing is
    /// lost or executed twice.
    ///
    /// A run without a journal could never be resumed, so it is cancelled.
    pub fn suspend(&self) {
        self.reins.rest.cancel();
    }

    /// Ends the work of this process on the run at once, because the process has to end: running tools are cancelled, and
    /// the run is left unfinished. [`Session::go_on`](crate::Session::go_on) finishes it after [`Agent::resume`]; the model
    /// then reads which calls were cancelled. A run without a journal is cancelled.
    pub fn abandon(&self) {
        self.reins.abandon();
    }

    /// A token that suspends the run, for a signal handler.
    pub fn suspend_token(&self) -> CancellationToken {
        self.reins.rest.clone()
    }

    /// Waits for the end of the run and ignores the remaining events.
    pub async fn finish(self) -> Result<RunReport, RunFailed> {
        let Self { task, _cancel_on_drop, .. } = self;
        ended(task.await, String::new(), String::new()).into_result()
    }
}

impl futures_util::Stream for RunStream {
    type Item = RunEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        self.feed.poll_next(cx)
    }
}
