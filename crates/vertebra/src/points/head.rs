//! What every event carries: who, where, when.

use std::{borrow::Cow, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What is the same for all events of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunInfo {
    /// The session.
    pub session_id: Arc<str>,
    /// The run.
    pub run_id: Arc<str>,
    /// The agent's name.
    pub agent: Arc<str>,
    /// 0 for the top agent, one more for each delegation.
    pub depth: u32,
    /// The folder the agent works in.
    pub working_directory: Arc<str>,
}

/// The head of every event. A clone is one shared pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", from = "Wire")]
pub struct At {
    /// The run the event belongs to.
    pub run: Arc<RunInfo>,
    /// The point.
    pub point: Cow<'static, str>,
    /// Counts the events of the run.
    pub number: u64,
    /// The step, from 1; 0 before the first.
    pub step: u32,
    /// When.
    pub timestamp: Timestamp,
}

impl At {
    /// The event's identifier: unique, and the same again when the run is replayed.
    pub fn event_id(&self) -> String {
        let mut id = String::with_capacity(self.run.run_id.len() + 8);
        id.push_str(&self.run.run_id);
        id.push('.');
        id.push_str(&self.number.to_string());
        id
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    event_id: String,
    point: Cow<'static, str>,
    session_id: Arc<str>,
    run_id: Arc<str>,
    agent: Arc<str>,
    depth: u32,
    step: u32,
    timestamp: Timestamp,
    working_directory: Arc<str>,
}

impl From<At> for Wire {
    fn from(at: At) -> Self {
        Self {
            event_id: at.event_id(),
            point: at.point,
            session_id: at.run.session_id.clone(),
            run_id: at.run.run_id.clone(),
            agent: at.run.agent.clone(),
            depth: at.run.depth,
            step: at.step,
            timestamp: at.timestamp,
            working_directory: at.run.working_directory.clone(),
        }
    }
}

impl From<Wire> for At {
    fn from(wire: Wire) -> Self {
        let number = wire.event_id.rsplit('.').next().and_then(|number| number.parse().ok()).unwrap_or_default();
        let run = Arc::new(RunInfo {
            session_id: wire.session_id,
            run_id: wire.run_id,
            agent: wire.agent,
            depth: wire.depth,
            working_directory: wire.working_directory,
        });
        Self { run, point: wire.point, number, step: wire.step, timestamp: wire.timestamp }
    }
}
