//! A process and everything it started, ended as one.

use std::{any::Any, collections::HashSet, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Process;

/// How long processes may tidy up between being asked to end and being killed.
const GRACE: Duration = Duration::from_millis(200);

/// A process group, and what left it. When this is dropped, all of it is asked to end, and killed a moment later.
pub struct Tree(Option<Doomed>);

impl Tree {
    /// The tree that begins with this process, which leads a group of its own.
    pub fn of(child: &tokio::process::Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self(leader.map(|leader| Doomed { leader, strays: Vec::new(), lifeline: None }))
    }

    /// The leader is a supervisor: it kills all the others, and ends, once this is dropped.
    #[must_use]
    pub fn supervised(mut self, lifeline: impl Any + Send + Sync) -> Self {
        if let Some(doomed) = &mut self.0 {
            doomed.lifeline = Some(Box::new(lifeline));
        }
        self
    }

    /// Asks all of it to end, gives it a moment, kills what is left.
    pub async fn end(mut self) {
        if let Some(doomed) = self.0.take() {
            doomed.end().await;
        }
    }

    /// Kills what the leader left behind in its group when it ended.
    pub fn sweep(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(doomed) = self.0.take() else { return };
        // Without a runtime nobody can wait, so it is killed at once.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(doomed.end());
        }
    }
}

/// Killed when dropped: also if the runtime goes down while a task waits.
struct Doomed {
    leader: Pid,
    strays: Vec<Process>,
    lifeline: Option<Box<dyn Any + Send + Sync>>,
}

impl Doomed {
    /// Asks at once; what is waited for is the killing. A runtime that goes down does not wait, and kills.
    fn end(mut self) -> impl Future<Output = ()> + Send {
        // Looked for first: once their parents are dead, nobody can tell whose they were.
        self.strays = family(self.leader);
        self.signal(Signal::TERM);
        async move {
            tokio::time::sleep(GRACE).await;
            drop(self);
        }
    }

    /// What fails here is gone already.
    fn signal(&self, signal: Signal) {
        _ = kill_process_group(self.leader, signal);
        for stray in &self.strays {
            stray.signal(signal);
        }
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        // A supervisor that were killed could not kill the others.
        if self.lifeline.take().is_none() {
            self.signal(Signal::KILL);
        }
    }
}

/// Every process below this one, also those that left its group.
fn family(leader: Pid) -> Vec<Process> {
    let mut others: Vec<(Process, i32)> = Process::all().collect();
    let mut found = Vec::new();
    let mut family = HashSet::from([leader.as_raw_nonzero().get()]);
    loop {
        let (children, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, parent)| family.contains(parent));
        if children.is_empty() {
            return found;
        }
        family.extend(children.iter().map(|(child, _)| child.pid()));
        found.extend(children.into_iter().map(|(child, _)| child));
        others = rest;
    }
}

/// Every process below this one.
#[cfg(target_os = "linux")]
pub(crate) fn descendants(of: Pid) -> Vec<Pid> {
    family(of).into_iter().filter_map(|process| Pid::from_raw(process.pid())).collect()
}
