//! Whatever several handles do to several sessions, in whatever order: exactly the acknowledged lines are there.

use proptest::{collection::vec, prelude::*};
use vertebra::{Entry, Journal, JournalFault};
use vertebra_journal::{Options, Store, Sync, Verified};

use crate::support::*;

const HANDLES: usize = 3;
const SESSIONS: usize = 3;

#[derive(Debug, Clone, Copy)]
enum Deed {
    Begin,
    /// A line that need not last.
    Tell,
    /// One that must.
    Do,
    Suspend,
    Claim,
    Release,
    TakeOver,
    /// The handle is dropped, and another opened in its place.
    Reopen,
}

fn deeds() -> impl Strategy<Value = Vec<(usize, usize, Deed)>> {
    use Deed::*;
    let deed = prop_oneof![
        3 => Just(Begin), 6 => Just(Tell), 6 => Just(Do), 1 => Just(Suspend),
        3 => Just(Claim), 2 => Just(Release), 1 => Just(TakeOver), 1 => Just(Reopen),
    ];
    vec((0..HANDLES, 0..SESSIONS, deed), 1..60)
}

/// What should be.
#[derive(Default)]
struct Session {
    lines: Vec<Entry>,
    holder: Option<usize>,
}

async fn check(chain: bool, deeds: Vec<(usize, usize, Deed)>) {
    let area = Area::new();
    let options = Options { sync: Sync::Process, chain };
    let mut handles: Vec<Store> = (0..HANDLES).map(|_| area.open_with(options)).collect();
    let mut expected: Vec<Session> = (0..SESSIONS).map(|_| Session::default()).collect();
    let mut last = 0;
    for (number, (handle, session, deed)) in (0..).zip(deeds) {
        // What one handle was only given, another may overtake.
        if std::mem::replace(&mut last, handle) != handle {
            for handle in &handles {
                settle(handle).await;
            }
        }
        let (name, number) = (format!("s-{session}"), number);
        let store = handles[handle].clone();
        let session = &mut expected[session];
        let (known, ours) = (!session.lines.is_empty(), session.holder == Some(handle));
        let refusal = if known { JournalFault::Fenced } else { JournalFault::Unknown };
        match deed {
            Deed::Begin => {
                let free = session.holder.is_none() || ours;
                let result = store.append(began(&name)).await.map_err(|error| error.kind);
                assert_eq!(result, if free { Ok(()) } else { Err(JournalFault::Fenced) });
                if free {
                    session.lines.push(began(&name));
                    session.holder = Some(handle);
                }
            }
            Deed::Tell => {
                store.append(step(&name, number)).await.expect("it is only queued");
                session.lines.extend(ours.then(|| step(&name, number)));
            }
            Deed::Do => {
                let result = store.append(started(&name, number)).await.map_err(|error| error.kind);
                assert_eq!(result, if ours { Ok(()) } else { Err(refusal) });
                session.lines.extend(ours.then(|| started(&name, number)));
            }
            Deed::Suspend => {
                let result = store.append(suspended(&name)).await.map_err(|error| error.kind);
                assert_eq!(result, if ours { Ok(()) } else { Err(refusal) });
                if ours {
                    session.lines.push(suspended(&name));
                    session.holder = None;
                }
            }
            Deed::Claim => {
                let result = store.claim(&name).await.map_err(|error| error.kind);
                match (known, session.holder) {
                    (false, _) => assert_eq!(result, Err(JournalFault::Unknown)),
                    (true, Some(_)) => assert_eq!(result, Err(JournalFault::Busy)),
                    (true, None) => {
                        assert_eq!(result.as_ref(), Ok(&session.lines));
                        session.holder = Some(handle);
                    }
                }
            }
            Deed::Release => {
                store.release(&name).await.expect("always");
                session.holder = session.holder.filter(|_| !ours);
            }
            Deed::TakeOver => {
                assert_eq!(store.take_over(&name).is_ok(), known);
                session.holder = None;
            }
            Deed::Reopen => {
                drop(store);
                handles.remove(handle);
                handles.insert(handle, area.open_with(options));
                for session in expected.iter_mut().filter(|session| session.holder == Some(handle)) {
                    session.holder = None;
                }
            }
        }
    }
    drop(handles);
    let store = Store::read_only(area.path()).expect("a journal");
    for (number, session) in expected.iter().enumerate().filter(|(_, session)| !session.lines.is_empty()) {
        let name = format!("s-{number}");
        assert_eq!(lines(&store, &name), session.lines);
        match store.verify(&name).expect("a session") {
            Verified::Intact { lines, .. } | Verified::NoChain { lines } => {
                assert_eq!(lines, session.lines.len() as u64);
            }
            broken @ Verified::Broken { .. } => panic!("{broken:?}"),
        }
    }
    store.check().expect("a file that is whole");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exactly_the_acknowledged_lines_are_there(chain: bool, deeds in deeds()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(check(chain, deeds));
    }
}
