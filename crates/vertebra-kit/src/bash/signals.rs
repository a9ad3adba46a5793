//! Signals from one command of a session to another, such as `kill` of a server in the background. The sandbox lets a command
//! reach its own processes alone. So its supervisor asks the agent, which sends the signal if the process belongs to a command
//! of the same session, and to no other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use super::running::Leader;
use crate::process::{NotSent, Process, signal_below};

/// The commands that are under way, by session.
#[derive(Debug, Clone, Default)]
pub(super) struct UnderWay(Arc<Mutex<Sessions>>);

/// The leaders of the commands of each session.
type Sessions = HashMap<Arc<str>, Vec<Weak<OnceLock<Process>>>>;

impl UnderWay {
    /// The commands of one session.
    pub(super) fn of(&self, session: &Arc<str>) -> Neighbours {
        Neighbours { all: self.clone(), session: session.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The commands of a session that are under way.
#[derive(Debug, Clone)]
pub(super) struct Neighbours {
    all: UnderWay,
    session: Arc<str>,
}

impl Neighbours {
    /// Adds a command, until its leader is forgotten.
    pub(super) fn add(&self, leader: &Leader) {
        let mut all = self.all.lock();
        all.retain(|_, leaders| {
            leaders.retain(|leader| leader.strong_count() > 0);
            !leaders.is_empty()
        });
        all.entry(self.session.clone()).or_default().push(Arc::downgrade(leader));
    }

    /// Returns whether a command is under way.
    pub(super) fn are_there(&self) -> bool {
        self.leaders().into_iter().any(Process::is_running)
    }

    fn leaders(&self) -> Vec<Process> {
        let all = self.all.lock();
        let leaders = all.get(&self.session).into_iter().flatten();
        leaders.filter_map(|leader| leader.upgrade()?.get().copied()).collect()
    }

    /// Sends a signal to a process, or to a group as a negative number, that a command of the session has started. Returns what
    /// `kill` would: 0 or an error number.
    pub(super) fn signal(&self, target: i32, signal: i32) -> i32 {
        match signal_below(&self.leaders(), target, signal) {
            Ok(()) => 0,
            Err(NotSent(errno)) => errno.raw_os_error(),
        }
    }
}
