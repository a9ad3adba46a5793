//! Lines on their way to the disk: taken at once, in bounded room, written together.

use std::{
    fs,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use rusqlite::Connection;
use vertebra::{Journal, JournalFault};

use crate::support::*;

/// Another program that writes to the file, and so keeps all others from it until it is dropped.
fn in_the_way(area: &Area) -> Connection {
    let other = Connection::open(area.path()).expect("a file");
    other.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    other
}

fn look<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn lines_nobody_waits_for_are_taken_at_once_until_the_queue_is_full() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s")]).await;
    let other = in_the_way(&area);
    let line = run_began("s", &"x".repeat(100_000));
    let mut taken = 0;
    loop {
        let mut append = pin!(store.append(line.clone()));
        match look(append.as_mut()) {
            Poll::Ready(result) => result.expect("it is taken"),
            Poll::Pending => {
                assert!((20..60).contains(&taken), "{taken} lines of 100 kB were taken");
                drop(other);
                append.await.expect("there is room again");
                break;
            }
        }
        taken += 1;
    }
    settle(&store).await;
    assert_eq!(lines(&store, "s").len(), taken + 2);
}

#[tokio::test]
async fn all_who_wait_are_served_in_one_transaction() {
    let area = Area::new();
    let store = area.open();
    let names: Vec<_> = (0..40).map(|number| format!("s-{number}")).collect();
    let other = in_the_way(&area);
    let before = commits(&area);
    let mut waiting: Vec<_> = names.iter().map(|name| Box::pin(store.append(began(name)))).collect();
    for append in &mut waiting {
        assert!(look(append.as_mut()).is_pending(), "a line that must last is not taken before it is written");
    }
    drop(other);
    for append in waiting {
        append.await.expect("it is written");
    }
    // Those that came while the first could not begin are together.
    let commits = commits(&area) - before;
    assert!((1..=2).contains(&commits), "{commits} transactions");
    assert_eq!(store.find("s-39").expect("a session").lines, 1);
}

/// How many transactions are in the write-ahead log: frames that end one say how large the file is after it.
fn commits(area: &Area) -> usize {
    let log = fs::read(area.path().with_file_name("journal.db-wal")).expect("a log");
    let Some((head, frames)) = log.split_at_checked(32) else { return 0 };
    // Frames of an earlier use of the log may follow; they have other salts.
    frames.chunks_exact(24 + 4096).filter(|frame| frame[8..16] == head[16..24] && frame[4..8] != [0; 4]).count()
}

#[tokio::test]
async fn a_line_larger_than_the_queue_is_written_and_one_without_end_is_not() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s"), run_began("s", &"x".repeat(5 << 20)), started("s", 1)]).await;
    let error = store.append(run_began("s", &"x".repeat((64 << 20) + 1))).await.expect_err("too large");
    assert_eq!(error.kind, JournalFault::Failed);
    assert!(error.message.contains("a `run_began` of `s` has 671"), "{error}");
    write(&store, [started("s", 2)]).await;
    assert_eq!(told(&lines(&store, "s")), ["session_began", "run_began", "call-1", "call-2"]);
}
