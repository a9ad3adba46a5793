//! Who may run a session: one handle, as long as it lives, whatever the clock says.

use std::{fs, thread};

use vertebra::{Journal, JournalFault};
use vertebra_journal::{Status, Store, Wanted};

use crate::support::*;

#[tokio::test]
#[ignore = "it is the other process of the tests below"]
async fn holds_a_session() {
    let store = Store::open(given_journal(), &OFTEN).expect("a journal");
    match store.claim("s").await {
        Ok(lines) => say(format!("claimed {}", lines.len())),
        Err(error) => say(error),
    }
    wait_for_the_end();
}

#[tokio::test]
async fn a_process_that_runs_a_session_is_named_and_one_that_died_is_not_waited_for() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s"), started("s", 1)]).await;
    store.release("s").await.expect("it is ours");

    let mut other = Other::start("claims::holds_a_session", &area.path());
    assert_eq!(other.hear().as_deref(), Some("claimed 2"));
    let busy = store.claim("s").await.expect_err("it is taken");
    assert_eq!(busy.kind, JournalFault::Busy);
    assert_eq!(busy.message, format!("`s` is run by process {}", other.child.id()));
    assert_eq!(store.find("s").expect("a session").status, Status::Running);

    other.kill();
    assert_eq!(store.find("s").expect("a session").status, Status::Unfinished);
    assert_eq!(store.claim("s").await.expect("its process is dead").len(), 2);
    assert_eq!(store.find("s").expect("a session").epoch, 3, "begun, taken by the other, taken back");
}

#[tokio::test]
async fn of_many_processes_that_want_a_session_at_once_one_gets_it() {
    let area = Area::new();
    write(&area.open(), [began("s")]).await;
    let mut others: Vec<_> = (0..6).map(|_| Other::start("claims::holds_a_session", &area.path())).collect();
    let said: Vec<_> = others.iter_mut().map(|other| other.hear().expect("an answer")).collect();
    let won = said.iter().filter(|said| *said == "claimed 1").count();
    let busy = said.iter().filter(|said| said.starts_with("the session is in use: `s` is run by process ")).count();
    assert_eq!((won, busy), (1, 5), "{said:?}");
    for other in others {
        other.end();
    }
}

#[test]
fn of_many_threads_that_want_a_session_at_once_one_gets_it() {
    let area = Area::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.block_on(async { write(&area.open(), [began("s")]).await });
    for round in 0..5 {
        let won: usize = thread::scope(|scope| {
            let claims: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let store = area.open();
                        let claimed = runtime.block_on(store.claim("s")).is_ok();
                        (claimed, store)
                    })
                })
                .collect();
            // All handles live until every one has tried.
            let tried: Vec<_> = claims.into_iter().map(|claim| claim.join().expect("no panic")).collect();
            tried.iter().filter(|(claimed, _)| *claimed).count()
        });
        assert_eq!(won, 1, "round {round}");
    }
}

#[tokio::test]
async fn whoever_was_taken_over_from_records_nothing_more() {
    let area = Area::new();
    let (ours, theirs) = (area.open(), area.open());
    write(&ours, [began("s"), started("s", 1)]).await;
    let was = theirs.take_over("s").expect("anybody may");
    assert_eq!(was, Some(format!("process {}", std::process::id())));
    theirs.claim("s").await.expect("it is free now");

    ours.append(step("s", 1)).await.expect("it is only queued");
    let error = ours.append(started("s", 2)).await.expect_err("it is not ours any more");
    assert_eq!(error.kind, JournalFault::Fenced);
    write(&theirs, [started("s", 3)]).await;
    assert_eq!(told(&lines(&ours, "s")), ["session_began", "call-1", "call-3"]);
    assert_eq!(ours.take_over("t").expect_err("there is no such session").kind, JournalFault::Unknown);
}

#[tokio::test]
async fn a_session_taken_over_and_let_go_again_stays_lost_until_it_is_claimed() {
    let area = Area::new();
    let (ours, theirs) = (area.open(), area.open());
    write(&ours, [began("s")]).await;
    theirs.take_over("s").expect("anybody may");
    let error = ours.append(started("s", 1)).await.expect_err("it is nobody's");
    assert_eq!(error.to_string(), "the session was taken over: `s` is run by nobody, since it was let go");
    ours.claim("s").await.expect("it is free");
    write(&ours, [started("s", 2)]).await;
    assert_eq!(told(&lines(&ours, "s")), ["session_began", "call-2"]);
}

#[tokio::test]
async fn a_dropped_handle_writes_what_it_was_given_and_lets_go() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s")]).await;
    write(&store, (0..200).map(|n| step("s", n))).await;
    drop(store);
    let store = area.open();
    assert_eq!(store.find("s").expect("a session").status, Status::Unfinished);
    assert_eq!(store.claim("s").await.expect("it is free").len(), 201);
}

#[tokio::test]
async fn files_of_dead_handles_are_cleared_away() {
    let area = Area::new();
    write(&area.open(), [began("s")]).await;
    let mut others: Vec<_> = (0..3).map(|_| Other::start("claims::holds_a_session", &area.path())).collect();
    for other in &mut others {
        other.hear();
    }
    for other in others {
        other.kill();
    }
    let files = || fs::read_dir(area.folder.path().join("journal.db.holders")).expect("a folder").count();
    assert_eq!(files(), 4, "three dead handles, and the lock for opening");
    let store = area.open();
    assert_eq!(files(), 2, "ours, and the lock for opening");
    drop(store);
    assert_eq!(files(), 1);
}

#[tokio::test]
async fn a_clock_that_goes_back_changes_no_order() {
    let area = Area::new();
    let store = area.open();
    for (session, back) in [("first", 0_i64), ("second", 1000)] {
        let mut written = vec![began(session), step(session, 1), step(session, 2), started(session, 3)];
        for (number, entry) in (0_i64..).zip(&mut written) {
            entry.timestamp -= jiff::SignedDuration::from_secs(back + 10 * number);
        }
        write(&store, written.clone()).await;
        assert_eq!(lines(&store, session), written, "times are as they were given, and do not order");
    }
    let listed = store.sessions(&Wanted::default()).expect("sessions");
    let listed: Vec<_> = listed.iter().map(|session| &*session.session_id).collect();
    assert_eq!(listed, ["second", "first"]);
    store.release("first").await.expect("it is ours");
    area.open().claim("first").await.expect("no clock has a say");
}
