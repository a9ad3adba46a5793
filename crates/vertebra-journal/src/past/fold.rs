//! Lines, folded into what each session and each of its runs was at the time.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use vertebra::{AgentState, Entry, ModelId, RunInfo, What};

use super::{
    Moment, Unknown,
    run::{Aliases, RunPast},
};

/// Sessions whose lines are being read.
pub(super) struct Fold {
    aliases: Option<Aliases>,
    sessions: BTreeMap<Arc<str>, SessionPast>,
    unknown: Unknown,
}

struct SessionPast {
    agent: Arc<str>,
    working_directory: Arc<str>,
    model: ModelId,
    /// What its next run begins with.
    state: AgentState,
    runs: BTreeMap<Arc<str>, RunPast>,
}

impl Fold {
    pub(super) fn new(aliases: Option<Aliases>) -> Self {
        Self { aliases, sessions: BTreeMap::new(), unknown: Unknown::new() }
    }

    pub(super) fn unknown(&self) -> &Unknown {
        &self.unknown
    }

    /// Takes a line in; what it tells of comes out.
    pub(super) fn take(&mut self, entry: Entry, out: &mut VecDeque<Moment>) {
        let Entry { session_id, run_id, within, timestamp, what } = entry;
        if let What::SessionBegan { agent, working_directory, model, .. } = what {
            let (state, runs) = (AgentState::default(), BTreeMap::new());
            self.sessions.insert(session_id, SessionPast { agent, working_directory, model, state, runs });
            return;
        }
        let unknown = &mut self.unknown;
        let Some(session) = self.sessions.get_mut(&session_id) else {
            *unknown.entry("lines of a session whose beginning is missing").or_default() += 1;
            return;
        };
        match what {
            What::RunBegan { prompt, agent, depth, parent, .. } => {
                let info = RunInfo {
                    session_id,
                    run_id: run_id.clone(),
                    agent,
                    depth,
                    // A child may have a folder of its own, and no line says so.
                    working_directory: session.working_directory.clone(),
                };
                let state = if parent.is_none() { session.state.clone() } else { AgentState::default() };
                let mut run = RunPast::new(info, session.model.clone(), state, self.aliases.clone());
                run.prompted(prompt, timestamp);
                session.runs.insert(run_id, run);
            }
            What::SessionEnded => {
                session.finish(unknown, out);
                self.sessions.remove(&session_id);
            }
            what => match session.runs.get_mut(&run_id) {
                Some(run) => {
                    let ends = matches!(what, What::RunEnded { .. });
                    run.take(what, within.as_ref(), timestamp, unknown, out);
                    if ends && let Some(run) = session.runs.remove(&run_id) {
                        session.keep(run);
                    }
                }
                None => session.itself(what, unknown),
            },
        }
    }

    /// There are no more lines.
    pub(super) fn finish(&mut self, out: &mut VecDeque<Moment>) {
        for session in self.sessions.values_mut() {
            session.finish(&mut self.unknown, out);
        }
    }
}

impl SessionPast {
    /// A line of the session's own.
    fn itself(&mut self, what: What, unknown: &mut Unknown) {
        if let What::Checkpoint(checkpoint) = what {
            if checkpoint.starts_over {
                self.state = AgentState::default();
            }
            if checkpoint.state.apply(&mut self.state).is_err() {
                *unknown.entry(MISFIT).or_default() += 1;
            }
        }
    }

    fn keep(&mut self, run: RunPast) {
        if run.is_of(&self.agent) {
            self.state = run.into_state();
        }
    }

    fn finish(&mut self, unknown: &mut Unknown, out: &mut VecDeque<Moment>) {
        for mut run in std::mem::take(&mut self.runs).into_values() {
            run.cut_short(unknown, out);
        }
    }
}

/// A change that does not fit the state it was made to.
pub(super) const MISFIT: &str = "changes of a state that is not the one they were made to";
