//! The process that is killed: it goes on with the session where that is, and says beforehand and afterwards what it gives
//! to its journal.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde::{Deserialize, Serialize};
use vertebra::{Entry, Journal, JournalError, RunFailed, RunReport, RunStatus, Session, What};
use vertebra_journal::Store;

use super::{
    agent::{PROMPTS, agent, told},
    killer::{Death, Side, open, session},
};

#[test]
#[ignore = "it is the process that the other tests kill"]
fn works() {
    let folder = PathBuf::from(std::env::var_os("VERTEBRA_CRASH_FOLDER").expect("started by another test"));
    let death = std::env::var("VERTEBRA_CRASH_DEATH").ok();
    let death = death.map(|death| serde_json::from_str(&death).expect("a way to die"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime").block_on(work(&folder, death));
}

async fn work(folder: &Path, death: Option<Death>) {
    let store = open(folder).expect("a journal");
    let left = session(&store).expect("one session").map(|(id, _)| id);
    let witness = Witness::new(folder, store.clone(), death);
    let agent = agent(folder, witness, store.inbox());
    let (mut session, begun) = match left {
        Some(id) => (agent.resume(&id).await.expect("nobody else runs it"), runs(&store, &id)),
        None => (agent.session().await.expect("a session"), 0),
    };
    if let Some(report) = session.go_on().await
        && waits(report)
    {
        return leave(session).await;
    }
    for prompt in PROMPTS.into_iter().skip(begun) {
        if waits(session.prompt(prompt).await) {
            return leave(session).await;
        }
    }
    let said = told(session.state().await.messages());
    std::fs::write(folder.join("conversation"), said).expect("a file");
    session.close().await;
}

/// How many runs of the session's own have begun.
fn runs(store: &Store, session_id: &str) -> usize {
    let lines = store.lines(session_id).expect("a session");
    let own = |line: &Entry| matches!(line.what, What::RunBegan { depth: 0, .. });
    lines.filter(|line| line.as_ref().is_ok_and(own)).count()
}

fn waits(report: Result<RunReport, RunFailed>) -> bool {
    match report.expect("a run that ends well").status {
        RunStatus::Suspended => true,
        RunStatus::Completed => false,
        status => panic!("it ended {status}"),
    }
}

async fn leave(session: Session) {
    session.close().await;
}

/// What the process says of its journal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It is about to give it this line.
    Gives { process: u32, number: usize, line: Box<Entry> },
    /// The journal has taken it.
    Given { process: u32, number: usize },
}

/// A journal that dies as it is told to.
struct Witness {
    store: Store,
    said: File,
    count: AtomicUsize,
    death: Option<Death>,
}

impl Witness {
    fn new(folder: &Path, store: Store, death: Option<Death>) -> Self {
        let mut said = appending(&folder.join("said"));
        // Behind whatever the process before left unsaid.
        said.write_all(b"\n").expect("a file");
        Self { store, said, count: AtomicUsize::new(0), death }
    }

    fn say(&self, said: &Said) {
        let line = serde_json::to_string(said).expect("plain data") + "\n";
        (&self.said).write_all(line.as_bytes()).expect("a file");
    }

    fn die_if(&self, now: Side, number: usize, kind: &str) {
        let dies = match &self.death {
            Some(Death::AtLine { side, line }) => *side == now && *line == number,
            Some(Death::AtKind { side, kind: wanted }) => *side == now && wanted == kind,
            Some(Death::After(_)) | None => false,
        };
        if dies {
            let this = rustix::process::getpid();
            rustix::process::kill_process(this, rustix::process::Signal::KILL).expect("the end");
        }
    }
}

impl Journal for Witness {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let (process, kind) = (std::process::id(), entry.what.kind());
        self.die_if(Side::Before, number, kind);
        self.say(&Said::Gives { process, number, line: Box::new(entry.clone()) });
        self.store.append(entry).await?;
        self.say(&Said::Given { process, number });
        self.die_if(Side::After, number, kind);
        Ok(())
    }

    async fn claim(&self, session_id: &str) -> Result<Vec<Entry>, JournalError> {
        self.store.claim(session_id).await
    }

    async fn release(&self, session_id: &str) -> Result<(), JournalError> {
        self.store.release(session_id).await
    }
}

pub(crate) fn appending(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).expect("a file")
}
