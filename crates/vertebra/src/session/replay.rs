//! A recorded session once more: its hooks run, and nothing else does.

use std::{pin::Pin, sync::Arc, time::Duration};

use jiff::Timestamp;
use vertebra_hooks::{Kind, Point};

use crate::{
    Agent, AgentState, BoxFuture, Clock, Divergence, Entry, JournalError, JournalFault, Likeness, NoJournal, Prompt,
    SessionError, SessionStart, What,
    session::{Opening, Session},
    timeline::{Replayed, Tape},
};

/// What a replay came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// How many runs of the session's own were replayed.
    pub runs: u32,
    /// How many lines of them were compared.
    pub lines: u64,
    /// The first thing that was not as recorded; `None`: all was.
    pub divergence: Option<Divergence>,
}

impl Agent {
    /// Replays a recorded session with this agent's hooks. Models, tools, people and the clock give their recorded
    /// answers. `lines` are all lines of the session, from its beginning.
    ///
    /// Responses are replayed whole: hooks at [`InferenceDelta`](crate::InferenceDelta) do not run.
    pub fn replay(&self, lines: Vec<Entry>, likeness: Likeness) -> BoxFuture<'_, Result<Replay, JournalError>> {
        Box::pin(self.replayed(lines, likeness))
    }

    async fn replayed(&self, lines: Vec<Entry>, likeness: Likeness) -> Result<Replay, JournalError> {
        let first = lines.first().filter(|line| matches!(line.what, What::SessionBegan { .. }));
        let Some(Entry { session_id, timestamp, what, .. }) = first.cloned() else {
            return Err(JournalError::new(JournalFault::Unknown, "the beginning of the session is not there any more"));
        };
        if !lines.iter().any(of_use) {
            return Ok(Replay { runs: 0, lines: 0, divergence: None });
        }
        let denial = lines.iter().find(|line| is_start(line)).filter(|line| denies(line)).cloned();
        let top: Vec<Entry> = lines.iter().filter(|line| of_top(line)).cloned().collect();
        let tape = Arc::new(Tape::to_replay(lines, Replayed::new(likeness, timestamp)));
        let mut core = (**self.core()).clone();
        core.journal = Arc::new(NoJournal);
        core.clock = Arc::new(ThatTime { tape: tape.clone(), began: timestamp });
        let agent = Self::new(core, self.hooks().clone());
        let opening = Opening { session_id, first: what, tape: Some(tape.clone()), ..Opening::of(self, None) };
        let found = |tape: &Tape| tape.replayed().and_then(Replayed::divergence);
        let replay = |runs: u32| {
            let lines = tape.replayed().map(Replayed::lines).unwrap_or_default();
            Replay { runs, lines, divergence: found(&tape) }
        };
        let mut session = match Session::open(agent, opening).await {
            Ok(session) => {
                if let (Some(denial), Some(replayed)) = (denial, tape.replayed()) {
                    replayed.missing(0, &denial);
                }
                session
            }
            Err(SessionError::Denied { .. }) => return Ok(replay(0)),
            Err(SessionError::Journal(error)) => return Err(error),
            Err(error @ SessionError::Internal { .. }) => {
                return Err(JournalError::new(JournalFault::Failed, error.to_string()));
            }
        };
        let mut runs = 0;
        for line in top {
            if found(&tape).is_some() {
                break;
            }
            match line.what {
                What::RunBegan { prompt, .. } => {
                    runs += 1;
                    session.replay_run(line.run_id.clone(), prompt).await;
                    if let (Some(left), Some(replayed)) = (tape.left_over(&line.run_id), tape.replayed())
                        && !tape.is_cut(&line.run_id, None)
                    {
                        replayed.missing(session.state().await.steps(), &left);
                    }
                }
                What::Checkpoint(checkpoint) => {
                    let mut state = session.state().await;
                    if checkpoint.starts_over {
                        state = AgentState::default();
                    }
                    if checkpoint.state.apply(&mut state).is_ok() {
                        session.replace_state(state).await;
                    }
                }
                _ => {}
            }
        }
        session.close().await;
        Ok(replay(runs))
    }
}

/// Whether a line is from after a session has begun. Its caller may leave before: then nobody knows how far that came.
fn of_use(line: &Entry) -> bool {
    is_start(line) || matches!(line.what, What::RunBegan { .. } | What::Checkpoint(_))
}

/// Returns whether a line is the dispatch at `SessionStart`.
fn is_start(line: &Entry) -> bool {
    matches!(&line.what, What::Dispatched { record, .. } if record.point == SessionStart::NAME)
}

fn denies(line: &Entry) -> bool {
    matches!(&line.what, What::Dispatched { record, .. } if record.verdict == Kind::Deny)
}

/// Whether a line begins a run of the session's own, or changes the session between two of them.
fn of_top(line: &Entry) -> bool {
    match &line.what {
        What::RunBegan { depth, .. } => *depth == 0,
        What::Checkpoint(_) => line.run_id == line.session_id,
        _ => false,
    }
}

impl Session {
    async fn replay_run(&mut self, run_id: Arc<str>, prompt: Prompt) {
        self.start_as(Some(run_id), prompt).wait().await;
    }
}

/// The time it was then.
struct ThatTime {
    tape: Arc<Tape>,
    began: Timestamp,
}

impl Clock for ThatTime {
    fn now(&self) -> Timestamp {
        self.tape.replayed().map_or(self.began, Replayed::now)
    }

    fn elapsed(&self) -> Duration {
        Duration::try_from(self.now().duration_since(self.began)).unwrap_or_default()
    }

    fn sleep(&self, _duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }
}
