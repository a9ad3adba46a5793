//! Measures the journal: what a turn costs with it, how it grows, how long a resume takes, what a kill leaves.
//!
//! Prints one line of JSON per row. `cargo xtask journal` starts it, and the peer that does the same work.

mod agent;
mod killed;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use vertebra::{Journal, MemoryJournal, NoJournal, What};
use vertebra_journal::{Options, Store, Sync};

use self::agent::agent;

/// As many turns as the peer's run has.
const TURNS: u64 = 200;
const SESSIONS: u64 = 32;
const STEPS: usize = 10_000;
/// How often a run of turns is measured; the fastest counts, because a neighbour only makes it slower.
const TIMES: usize = 7;

fn main() {
    if killed::was_asked_for() {
        return killed::work();
    }
    turns("a turn, no journal", || NoJournal, 1);
    turns("a turn, journal in memory", MemoryJournal::default, 1);
    for (sync, safe) in [(Sync::Process, "a killed process"), (Sync::Power, "a power cut")] {
        let folder = folder();
        let mut count = 0;
        let mut open = || {
            count += 1;
            store(&folder.path().join(format!("{count}.db")), sync)
        };
        turns(&format!("a turn, safe from {safe}"), &mut open, 1);
        turns(&format!("a turn, safe from {safe}, {SESSIONS} sessions at once"), &mut open, SESSIONS);
    }
    growth();
    killed::row();
}

fn row(name: &str, took: Duration, of: u64, bytes: Option<u64>) {
    let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / of.max(1);
    println!("{}", json!({ "row": name, "ns": ns, "bytes": bytes }));
}

fn folder() -> TempDir {
    // On a disk: what is in memory only is no measure.
    tempfile::tempdir_in(std::env::current_dir().expect("a place")).expect("a folder")
}

fn store(path: &Path, sync: Sync) -> Store {
    Store::open(path, &Options { sync, chain: false }).expect("a journal")
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime")
}

/// Runs of so many turns, in so many sessions at once.
fn turns<J: Journal + Clone>(name: &str, mut journal: impl FnMut() -> J, sessions: u64) {
    let took = (0..TIMES).map(|_| {
        let journal = journal();
        runtime().block_on(async {
            let mut runs = Vec::new();
            for _ in 0..sessions {
                runs.push((agent(TURNS, journal.clone(), |_| {}).session().await.expect("a session"), ()));
            }
            let began = Instant::now();
            let runs: Vec<_> = runs
                .into_iter()
                .map(|(mut session, ())| {
                    tokio::spawn(async move {
                        let report = session.prompt("go").await.expect("a run that ends well");
                        assert_eq!(report.tool_calls, TURNS);
                        session
                    })
                })
                .collect();
            let mut done = Vec::new();
            for run in runs {
                done.push(run.await.expect("a run"));
            }
            let took = began.elapsed();
            for session in done {
                session.close().await;
            }
            took
        })
    });
    row(name, took.min().unwrap_or_default(), TURNS * sessions, None);
}

/// One run of many steps: what they take and weigh on the way, and how long it takes to go on afterwards.
fn growth() {
    let (folder, runtime) = (folder(), runtime());
    let path = folder.path().join("long.db");
    let journal = store(&path, Sync::Process);
    let (tell, told) = std::sync::mpsc::channel();
    let long = agent(STEPS as u64, journal.clone(), move |now| tell.send(now).unwrap_or_default());
    let id = runtime.block_on(async {
        let mut session = long.session().await.expect("a session");
        session.prompt("go").await.expect("a run that ends well");
        let id = session.id().to_owned();
        session.close().await;
        id
    });
    let moments: Vec<Instant> = told.try_iter().collect();
    let mut bytes = vec![0_u64; STEPS + 2];
    let mut step = 0;
    for line in journal.lines(&id).expect("the session") {
        let line = line.expect("a line");
        if let What::StepBegan { .. } = line.what {
            step += 1;
        }
        bytes[step] += serde_json::to_string(&line).expect("plain data").len() as u64;
    }
    for at in [100, 1_000, STEPS] {
        // The hundred steps up to this one; of bytes a thousand, or all there are, because one line now and then says all.
        let took = moments[at - 1] - moments[at - 100.min(at)];
        let window = &bytes[at.saturating_sub(1_000) + 1..=at];
        let weight = window.iter().sum::<u64>() / window.len() as u64;
        row(&format!("a step, after {at}"), took, 99, Some(weight));
    }
    let size = std::fs::metadata(&path).map_or(0, |file| file.len());
    row(&format!("{STEPS} steps, on disk"), moments[STEPS - 1] - moments[0], 1, Some(size));
    drop((long, journal));

    let took = (0..TIMES).map(|_| {
        let journal = store(&path, Sync::Process);
        let agent = agent(1, journal, |_| {});
        runtime.block_on(async {
            let began = Instant::now();
            let session = agent.resume(&id).await.expect("nobody runs it");
            let took = began.elapsed();
            assert_eq!(session.state().await.messages().len(), 2 * STEPS + 2);
            session.close().await;
            took
        })
    });
    row(&format!("resume after {STEPS} steps"), took.min().unwrap_or_default(), 1, None);
}
