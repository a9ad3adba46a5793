//! A process and everything it started, ended as one.

use std::{any::Any, collections::HashSet, fs, time::Duration};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

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
    strays: Vec<Stray>,
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
        for stray in self.strays.iter().filter(|stray| stray.is_alive()) {
            _ = kill_process(stray.pid, signal);
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

/// A process by its number and its start, because numbers are used again.
#[derive(Clone, Copy, PartialEq)]
struct Stray {
    pid: Pid,
    parent: i32,
    started: u64,
}

impl Stray {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name of the program is in brackets and may contain anything, brackets too.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let (parent, started) = (fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?);
        Some(Self { pid: Pid::from_raw(pid)?, parent, started })
    }

    fn is_alive(&self) -> bool {
        Self::read(self.pid.as_raw_nonzero().get()).is_some_and(|now| now.started == self.started)
    }
}

/// All processes. None where there is no `/proc`.
fn everybody() -> impl Iterator<Item = Stray> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| Stray::read(entry.file_name().to_str()?.parse().ok()?))
}

/// Every process below this one, also those that left its group.
fn family(leader: Pid) -> Vec<Stray> {
    let mut others: Vec<Stray> = everybody().collect();
    let mut found = Vec::new();
    let mut family = HashSet::from([leader.as_raw_nonzero().get()]);
    loop {
        let (children, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|stray| family.contains(&stray.parent));
        if children.is_empty() {
            return found;
        }
        family.extend(children.iter().map(|child| child.pid.as_raw_nonzero().get()));
        found.extend(children);
        others = rest;
    }
}

/// Every process below this one.
#[cfg(target_os = "linux")]
pub(crate) fn descendants(of: Pid) -> Vec<Pid> {
    family(of).into_iter().map(|stray| stray.pid).collect()
}
