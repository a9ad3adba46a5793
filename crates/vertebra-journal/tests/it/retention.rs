//! What goes, what stays, and that the disk gets it back.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use vertebra::{Journal, JournalFault};
use vertebra_journal::{Pruned, Retention, Store, Wanted};

use crate::support::*;

/// Sessions `s-0`, oldest, to `s-5`, an hour between them.
async fn six(store: &Store) {
    for number in 0..6 {
        let session = format!("s-{number}");
        for mut entry in [began(&session), run_began(&session, &"x".repeat(50_000)), ended(&session)] {
            entry.timestamp += SignedDuration::from_hours(number);
            write(store, [entry]).await;
        }
    }
}

fn names(store: &Store) -> Vec<String> {
    let sessions = store.sessions(&Wanted::default()).expect("sessions");
    sessions.iter().map(|session| session.session_id.to_string()).collect()
}

fn taken(pruned: &Pruned) -> Vec<&str> {
    pruned.sessions.iter().map(|session| &*session.session_id).collect()
}

#[tokio::test]
async fn old_sessions_go_by_age_number_and_size() {
    let hours = |hours| began("s").timestamp + SignedDuration::from_hours(hours);
    let cases = [
        (Retention::default(), vec![]),
        (Retention { since: Some(hours(2)), ..Retention::default() }, vec!["s-1", "s-0"]),
        (Retention { sessions: Some(4), ..Retention::default() }, vec!["s-1", "s-0"]),
        (Retention { bytes: Some(160_000), ..Retention::default() }, vec!["s-2", "s-1", "s-0"]),
        (Retention { sessions: Some(5), since: Some(hours(1)), bytes: None }, vec!["s-0"]),
    ];
    for (retention, expected) in cases {
        let area = Area::new();
        let store = area.open();
        six(&store).await;
        let pruned = store.prune(&retention).expect("what may go goes");
        assert_eq!(taken(&pruned), expected, "{retention:?}");
        assert_eq!(pruned.lines(), 3 * expected.len() as u64);
        assert_eq!(names(&store).len(), 6 - expected.len());
        assert!(pruned.freed >= 45_000 * expected.len() as u64, "{}", pruned.freed);
        for session in expected {
            assert_eq!(store.lines(session).err().expect("it is gone").kind, JournalFault::Unknown);
        }
        store.check().expect("a file that is whole");
    }
}

#[tokio::test]
async fn what_somebody_runs_or_waits_for_never_goes() {
    let area = Area::new();
    let (store, other) = (area.open(), area.open());
    six(&store).await;
    store.claim("s-0").await.expect("it is free");
    other.claim("s-1").await.expect("it is free");
    store.claim("s-2").await.expect("it is free");
    write(&store, [suspended("s-2")]).await;
    store.claim("s-3").await.expect("it is free");
    write(&store, [asked(&approval("s-3", "call-1", "d"), Timestamp::MAX)]).await;
    store.release("s-3").await.expect("it is ours");
    store.claim("s-4").await.expect("it is free");
    store.release("s-4").await.expect("it is ours");

    let nothing = Retention { since: Some(Timestamp::MAX), sessions: Some(0), bytes: Some(0) };
    let pruned = store.prune(&nothing).expect("what may go goes");
    assert_eq!(taken(&pruned), ["s-5", "s-4"]);
    assert_eq!(names(&store).len(), 4);
    write(&store, [started("s-0", 1)]).await;
    write(&other, [started("s-1", 1)]).await;
}

#[tokio::test]
async fn one_session_is_deleted_by_its_name_unless_it_runs() {
    let area = Area::new();
    let (store, other) = (area.open(), area.open());
    write(&store, [began("s"), started("s", 1), began("t")]).await;
    let error = other.delete("s").expect_err("it runs");
    assert_eq!(error.kind, JournalFault::Busy);
    assert_eq!(error.message, format!("`s` is run by process {}", std::process::id()));
    write(&store, [suspended("s")]).await;
    assert_eq!(other.delete("s").expect("somebody wants it gone").lines(), 3);
    assert_eq!(other.delete("s").expect_err("it is gone").kind, JournalFault::Unknown);
    assert_eq!(names(&other), ["t"]);
}

#[tokio::test]
async fn freed_room_is_given_back_to_the_disk() {
    let area = Area::new();
    let store = area.open();
    six(&store).await;
    drop(store);
    let size = || fs::metadata(area.path()).expect("a file").len();
    let before = size();
    let store = area.open();
    store.prune(&Retention { sessions: Some(0), ..Retention::default() }).expect("what may go goes");
    drop(store);
    assert!(before > 300_000 && size() < 50_000, "{before} to {}", size());
}
