//! The sessions that are under way, and what of them is open.

use std::{collections::HashMap, sync::Arc, time::SystemTime};

use opentelemetry::Context;
use vertebra::{Decision, Entry, Prompt, RunStatus, What};

use super::{
    Instruments, content, names,
    span::{Plan, name_of},
    track::Track,
    words,
};

/// Every session under way.
#[derive(Default)]
pub(super) struct Tracks {
    sessions: HashMap<Arc<str>, Session>,
    /// What had begun and not ended when a session was left: it goes on when its resumption is written.
    left: HashMap<Arc<str>, Vec<Entry>>,
}

struct Session {
    /// How often it was resumed: each part is a trace of its own.
    part: u32,
    own: Track,
    runs: HashMap<Arc<str>, Track>,
}

impl Tracks {
    /// A line was written.
    pub(super) fn line(&mut self, with: &Instruments, entry: &Entry) {
        let at = SystemTime::from(entry.timestamp);
        match &entry.what {
            What::SessionBegan { agent, forked_from, .. } => {
                let of = forked_from.as_ref().map(|session| name_of(session, session, 0));
                let plan = session(entry, 0, at).with(names::AGENT, agent.clone()).linked(of);
                self.open(with, entry, 0, plan);
            }
            What::SessionResumed { times } => {
                let before = times.checked_sub(1).map(|part| name_of(&entry.session_id, &entry.session_id, part));
                self.open(with, entry, *times, session(entry, *times, at).linked(before));
                let Some(session) = self.sessions.get_mut(&entry.session_id) else { return };
                for left in self.left.remove(&entry.session_id).into_iter().flatten() {
                    session.line(with, &left, at, *times);
                }
            }
            What::Suspended { .. } => {
                if let Some(run) = self.sessions.get_mut(&entry.session_id).map(|session| session.track(&entry.run_id))
                {
                    run.span().set(names::STATUS, words::of(&RunStatus::Suspended));
                }
                self.close(&entry.session_id, at);
            }
            What::SessionEnded => self.close(&entry.session_id, at),
            _ => {
                if let Some(session) = self.sessions.get_mut(&entry.session_id) {
                    session.line(with, entry, at, 0);
                }
            }
        }
    }

    /// A session was taken over, with these lines.
    pub(super) fn claimed(&mut self, session_id: &str, lines: &[Entry]) {
        self.left.insert(session_id.into(), unfinished(lines));
    }

    /// Nobody here works on it any more.
    pub(super) fn close(&mut self, session_id: &str, at: SystemTime) {
        self.left.remove(session_id);
        if let Some(Session { own, runs, .. }) = self.sessions.remove(session_id) {
            for run in runs.into_values() {
                run.end(at);
            }
            own.end(at);
        }
    }

    /// Ends all there is.
    pub(super) fn close_all(&mut self, at: SystemTime) {
        let sessions: Vec<Arc<str>> = self.sessions.keys().cloned().collect();
        for session in sessions {
            self.close(&session, at);
        }
    }

    fn open(&mut self, with: &Instruments, entry: &Entry, part: u32, plan: Plan) {
        let own = Track::new(plan.begin(&with.tracer, &Context::new()), entry.session_id.clone());
        let session = Session { part, own, runs: HashMap::new() };
        self.sessions.insert(entry.session_id.clone(), session);
    }
}

fn session(entry: &Entry, part: u32, at: SystemTime) -> Plan {
    let named = name_of(&entry.session_id, &entry.session_id, part);
    Plan::new("session", at).named(named).with(names::CONVERSATION, entry.session_id.clone())
}

impl Session {
    /// Lines of no run that we know belong to the session: its own, and what is done to it between two runs.
    fn track(&mut self, run_id: &str) -> &mut Track {
        self.runs.get_mut(run_id).unwrap_or(&mut self.own)
    }

    /// A line of this session. `again` is above 0 for one from before it was resumed for that time.
    fn line(&mut self, with: &Instruments, entry: &Entry, at: SystemTime, again: u32) {
        match &entry.what {
            What::RunBegan { prompt, agent, depth, parent, for_call, .. } => {
                let inside = self.track(parent.as_deref().unwrap_or_default()).inside(for_call.as_deref());
                let name = if agent.is_empty() { "invoke_agent".to_owned() } else { format!("invoke_agent {agent}") };
                let before = again.checked_sub(1).map(|part| name_of(&entry.session_id, &entry.run_id, part));
                let said = (with.contents && !prompt.text.is_empty()).then(|| content::prompt(prompt));
                let span = Plan::new(name, at)
                    .named(name_of(&entry.session_id, &entry.run_id, self.part))
                    .linked(before)
                    .with(names::OPERATION, "invoke_agent")
                    .with_some(names::AGENT, (!agent.is_empty()).then(|| agent.clone()))
                    .with(names::CONVERSATION, entry.session_id.clone())
                    .with(names::RUN, entry.run_id.clone())
                    .with(names::DEPTH, i64::from(*depth))
                    .with_some(names::INPUT, said)
                    .begin(&with.tracer, &inside);
                self.runs.insert(entry.run_id.clone(), Track::new(span, entry.session_id.clone()));
            }
            What::RunEnded { report, checkpoint: _ } => {
                if let Some(run) = self.runs.remove(&entry.run_id) {
                    run.end_as(with, report, at);
                }
            }
            _ => self.track(&entry.run_id).line(with, entry, at),
        }
    }
}

/// The lines of what had begun and not ended.
fn unfinished(lines: &[Entry]) -> Vec<Entry> {
    let mut left: Vec<Entry> = Vec::new();
    if let Some(first) = lines.first().filter(|first| first.what.starts_over() && first.run_id != first.session_id) {
        // The run that wrote it began before these lines do.
        let (prompt, agent) = (Prompt::default(), Arc::from(""));
        let what = What::RunBegan { prompt, agent, depth: 0, parent: None, for_call: None, foreign: false };
        left.push(Entry { what, ..first.clone() });
    }
    for line in lines {
        left.retain(|begun| !ends(line, begun));
        if begins(&line.what) {
            left.push(line.clone());
        }
    }
    left
}

fn begins(what: &What) -> bool {
    matches!(
        what,
        What::RunBegan { .. }
            | What::StepBegan { .. }
            | What::ModelAsked { .. }
            | What::ToolIntended { .. }
            | What::ToolStarted { .. }
            | What::Asked { .. }
    )
}

/// Whether a line ends what another one began.
fn ends(line: &Entry, begun: &Entry) -> bool {
    let same_run = line.run_id == begun.run_id;
    match (&line.what, &begun.what) {
        (What::RunEnded { .. }, _) | (What::StepBegan { .. } | What::Checkpoint(_), What::StepBegan { .. }) => same_run,
        (What::ModelAnswered { key: ended, .. }, What::ModelAsked { key, .. })
        | (What::ToolEnded { key: ended, .. }, What::ToolIntended { key, .. } | What::ToolStarted { key, .. }) => {
            ended == key
        }
        (What::Answered { decision: Decision::Later, .. }, _) => false,
        (What::Answered { call_id, .. }, What::Asked { approval, .. }) => same_run && *call_id == approval.call.id,
        _ => false,
    }
}
