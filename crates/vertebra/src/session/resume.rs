//! Sessions that go on after their process ended, and sessions that begin where another one was.

use std::sync::Arc;

use crate::{
    Agent, BoxFuture, Entry, JournalError, JournalFault, SessionError, What,
    clock::IdFor,
    session::{Opening, Session, Unfinished},
    timeline::{Past, Tape},
};

impl Agent {
    /// Resumes a session from this agent's journal. A run that was interrupted is finished by [`Session::go_on`], or
    /// before the next prompt.
    ///
    /// Only one process may run a session at a time; if another one does, the error names it. If a hook at
    /// [`SessionStart`](crate::SessionStart) denies it, the session stays as it was.
    pub fn resume<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Session, SessionError>> {
        Box::pin(self.resumed(session_id))
    }

    async fn resumed(&self, session_id: &str) -> Result<Session, SessionError> {
        let lines = self.core().journal.claim(session_id).await?;
        let mut past = match Past::of(&lines) {
            Ok(past) => past,
            Err(error) => {
                self.core().journal.release(session_id).await?;
                return Err(error.into());
            }
        };
        let times = past.resumed + 1;
        let unfinished = past.unfinished.take().map(|run_id| {
            let prompt = past.runs.get(&run_id).map(|run| run.prompt.clone()).unwrap_or_default();
            Unfinished { run_id, prompt }
        });
        let tape = Tape::to_resume(lines, &mut past, times);
        let opening = Opening {
            session_id: session_id.into(),
            first: What::SessionResumed { times },
            state: past.state,
            latest: past.latest,
            tape: unfinished.is_some().then(|| Arc::new(tape)),
            unfinished,
            keep: false,
        };
        Session::open(self.clone(), opening).await
    }

    /// Begins a session where another one was after so many of its steps, or at its end. `lines` are that session's, from
    /// its beginning; nothing of it is changed.
    pub async fn fork(
        &self,
        lines: impl IntoIterator<Item = Entry>,
        after_steps: Option<u32>,
    ) -> Result<Session, SessionError> {
        let mut taken: Vec<Entry> = Vec::new();
        let mut reached = after_steps.is_none();
        for line in lines {
            if let (What::Checkpoint(checkpoint), Some(wanted)) = (&line.what, after_steps)
                && checkpoint.depth == 0
            {
                reached |= checkpoint.state.steps == wanted;
                if checkpoint.state.steps > wanted {
                    break;
                }
            }
            taken.push(line);
        }
        let from = taken.first().map(|line| line.session_id.clone());
        let (Some(from), true) = (from, reached) else {
            let steps = after_steps.unwrap_or_default();
            return Err(JournalError::new(
                JournalFault::Unknown,
                format!("it was never between step {steps} and the next"),
            )
            .into());
        };
        let past = Past::of(&taken)?;
        let opening = Opening { state: past.state, keep: true, ..Opening::of(self, Some(from)) };
        Session::open(self.clone(), opening).await
    }
}

impl Opening {
    /// A new session.
    pub(crate) fn of(agent: &Agent, forked_from: Option<Arc<str>>) -> Self {
        let core = agent.core();
        let first = What::SessionBegan {
            agent: core.name.clone(),
            working_directory: core.working_directory.clone().unwrap_or_else(|| "/".into()),
            model: core.model.id(),
            forked_from,
        };
        Self { session_id: core.ids.fresh(IdFor::Session), first, ..Self::default() }
    }
}
