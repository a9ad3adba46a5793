//! What the lines of a session come to: what the agent knew, and what it was in the middle of.

use std::{collections::HashMap, sync::Arc};

use super::{Checkpoint, Entry, JournalError, JournalFault, What};
use crate::{AgentState, Prompt, RunReport, Usage};

/// A session as its journal knows it.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// What the agent knew between the latest two steps.
    pub(crate) state: AgentState,
    /// The latest checkpoint of the session's own runs, without its state.
    pub(crate) latest: Checkpoint,
    /// What models were paid since.
    paid: Usage,
    /// How often the session was resumed.
    pub(crate) resumed: u32,
    /// The run that has no end.
    pub(crate) unfinished: Option<Arc<str>>,
    /// Every run, by its identifier.
    pub(crate) runs: HashMap<Arc<str>, RunPast>,
}

/// A run as its journal knows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunPast {
    /// What it began with.
    pub(crate) prompt: Prompt,
    /// What the agent knew between the latest two steps, and the loop with it; `None` before the first.
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) state: AgentState,
    /// Where in the lines that was.
    pub(crate) since: usize,
    /// How it ended.
    pub(crate) ended: Option<RunReport>,
}

impl Past {
    /// Reads lines, oldest first.
    pub(crate) fn of(lines: &[Entry]) -> Result<Self, JournalError> {
        let mut past = Self::default();
        for (number, line) in lines.iter().enumerate() {
            past.read(number, line)?;
        }
        // What was paid since counts too, whoever asked.
        past.latest.used.session += past.paid;
        Ok(past)
    }

    fn read(&mut self, number: usize, line: &Entry) -> Result<(), JournalError> {
        let run_id = &line.run_id;
        match &line.what {
            What::SessionResumed { times } => self.resumed = *times,
            What::ModelAnswered { usage, .. } => self.paid += *usage,
            What::RunBegan { prompt, depth, foreign, .. } => {
                let run = RunPast { prompt: prompt.clone(), since: number, ..RunPast::default() };
                self.runs.entry(run_id.clone()).or_insert(run);
                if *depth == 0 && !foreign {
                    self.unfinished = Some(run_id.clone());
                }
            }
            What::Checkpoint(checkpoint) => self.checkpoint(number, line, checkpoint)?,
            What::RunEnded { report, checkpoint } => {
                self.checkpoint(number, line, checkpoint)?;
                self.runs.entry(run_id.clone()).or_default().ended = Some(RunReport::clone(report));
                if self.unfinished.as_ref() == Some(run_id) {
                    self.unfinished = None;
                }
            }
            What::SessionBegan { .. }
            | What::StepBegan { .. }
            | What::Dispatched { .. }
            | What::ModelAsked { .. }
            | What::ToolChecked { .. }
            | What::ToolIntended { .. }
            | What::ToolStarted { .. }
            | What::ToolEnded { .. }
            | What::ToolLeftOut { .. }
            | What::Asked { .. }
            | What::Answered { .. }
            | What::Suspended { .. }
            | What::SessionEnded => {}
        }
        Ok(())
    }

    fn checkpoint(&mut self, number: usize, line: &Entry, checkpoint: &Checkpoint) -> Result<(), JournalError> {
        let of_session = line.run_id == line.session_id;
        let run = self.runs.entry(line.run_id.clone()).or_default();
        let state = if checkpoint.depth == 0 { &mut self.state } else { &mut run.state };
        if checkpoint.starts_over {
            *state = AgentState::default();
        }
        checkpoint.state.clone().apply(state).map_err(|problem| {
            JournalError::new(JournalFault::Corrupt, format!("line {number} of `{}`: {problem}", line.session_id))
        })?;
        if checkpoint.depth == 0 {
            self.resumed = self.resumed.max(checkpoint.used.resumed);
            self.paid = Usage::default();
            self.latest = checkpoint.besides_state();
            run.state = self.state.clone();
        }
        run.since = number;
        run.checkpoint = Some(checkpoint.besides_state());
        // A session is resumed from lines that may begin in the middle of a run.
        if checkpoint.depth == 0 && !of_session && self.runs[&line.run_id].ended.is_none() {
            self.unfinished = Some(line.run_id.clone());
        }
        Ok(())
    }
}
