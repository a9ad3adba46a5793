//! A process killed while it writes: what was acknowledged is there, in order, and nothing else is broken.

use vertebra::{Journal, JournalFault};
use vertebra_journal::{Options, Store, Sync, Verified};

use crate::support::*;

const SESSIONS: usize = 3;
const ROUNDS: usize = 30;

#[tokio::test]
#[ignore = "it is the process that the test below kills"]
async fn writes_safe_from_power_cuts() {
    write_for_ever(Sync::Power).await;
}

#[tokio::test]
#[ignore = "it is the process that the test below kills"]
async fn writes_safe_from_its_own_death() {
    write_for_ever(Sync::Process).await;
}

#[test]
fn every_acknowledged_line_outlives_its_process_with_power_in_mind() {
    kill_again_and_again("kill::writes_safe_from_power_cuts");
}

#[test]
fn every_acknowledged_line_outlives_its_process() {
    kill_again_and_again("kill::writes_safe_from_its_own_death");
}

/// Goes on with some sessions at once, and says which calls are safe.
async fn write_for_ever(sync: Sync) {
    let store = Store::open(given_journal(), &Options { sync, chain: true }).expect("a journal");
    let go_on = |session: usize| {
        let store = store.clone();
        tokio::spawn(async move {
            let name = name(session);
            match store.claim(&name).await {
                Ok(_) => {}
                Err(error) if error.kind == JournalFault::Unknown => write(&store, [began(&name)]).await,
                Err(error) => panic!("{error}"),
            }
            for call in calls(&store, session).. {
                write(&store, [step(&name, call), started(&name, call)]).await;
                say(format!("{session} {call}"));
            }
        })
    };
    for session in (0..SESSIONS).map(go_on).collect::<Vec<_>>() {
        session.await.expect("it goes on for ever");
    }
}

fn kill_again_and_again(writer: &str) {
    let area = Area::new();
    let mut safe = [0; SESSIONS];
    for round in 0..ROUNDS {
        let mut other = Other::start(writer, &area.path());
        // Another moment each time, from the first lines on.
        let heard: Vec<_> = (0..=round * 7 % 19).filter_map(|_| other.hear()).collect();
        for said in heard.into_iter().chain(other.kill()) {
            // The last words may have been cut off.
            let Some((session, call)) = said.split_once(' ') else { continue };
            let (Ok(session), Ok(call)) = (session.parse::<usize>(), call.parse::<u32>()) else { continue };
            safe[session] = safe[session].max(call + 1);
        }
        let store = Store::read_only(area.path()).expect("a journal");
        for (session, safe) in safe.iter().enumerate() {
            // A number that was cut off is smaller than what was said, so it asks for less.
            let there = calls(&store, session);
            assert!(there >= *safe, "round {round}: {safe} calls of {session} were safe, and {there} are there");
            assert!(matches!(store.verify(&name(session)), Err(_) | Ok(Verified::Intact { .. })));
        }
        store.check().expect("a file that is whole");
    }
    assert!(safe.iter().all(|safe| *safe > 0), "{safe:?}");
}

/// How many calls of a session there are; each is the next one after the step before it.
fn calls(store: &Store, session: usize) -> u32 {
    let Ok(lines) = store.lines(&name(session)) else { return 0 };
    let lines: Vec<_> = lines.collect::<Result<_, _>>().expect("whole lines");
    let told = told(&lines);
    let mut count = 0;
    for (before, line) in told.iter().zip(told.iter().skip(1)).filter(|(_, line)| line.starts_with("call-")) {
        assert_eq!((before.as_str(), line.as_str()), (&*format!("step {count}"), &*format!("call-{count}")));
        count += 1;
    }
    count
}

fn name(session: usize) -> String {
    format!("s-{session}")
}
