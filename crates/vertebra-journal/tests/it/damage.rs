//! A file that is not what was written: said, never made worse, and read as far as it can be.

use std::{collections::HashSet, fs, path::Path};

use vertebra::{Entry, Journal, JournalError, JournalFault};
use vertebra_journal::{Store, Verified};

use crate::support::*;

const PAGE: usize = 4096;

/// A journal of two sessions, closed; the lines of the first one.
async fn recorded(area: &Area) -> Vec<Entry> {
    let store = area.open();
    let session = |name: &str| -> Vec<Entry> {
        std::iter::once(began(name))
            .chain((0..150).map(|n| run_began(name, &format!("{n} {}", "x".repeat(300)))))
            .collect()
    };
    let (first, second) = (session("s"), session("t"));
    for (first, second) in first.iter().zip(second) {
        write(&store, [first.clone(), second]).await;
    }
    write(&store, [suspended("s"), suspended("t")]).await;
    first.into_iter().chain([suspended("s")]).collect()
}

/// What can be read of a session, and what cannot.
fn read(store: &Store, session: &str) -> (Vec<Entry>, Vec<JournalError>) {
    let Ok(lines) = store.lines(session) else { return (vec![], vec![]) };
    let (good, bad): (Vec<_>, Vec<_>) = lines.partition(Result::is_ok);
    (good.into_iter().flatten().collect(), bad.into_iter().filter_map(Result::err).collect())
}

fn page(path: &Path, number: usize) -> Vec<u8> {
    fs::read(path).expect("a file")[number * PAGE..(number + 1) * PAGE].to_vec()
}

#[tokio::test]
async fn whatever_page_is_damaged_it_is_said_and_the_rest_can_be_read() {
    let area = Area::new();
    let given = recorded(&area).await;
    let whole = fs::read(area.path()).expect("a file");
    let pages = whole.len() / PAGE;
    assert!(pages > 30, "{pages} pages");
    let (mut told, mut read_in_part) = (0, 0);
    for number in 0..pages {
        let area = Area::new();
        let mut damaged = whole.clone();
        damaged[number * PAGE..(number + 1) * PAGE].fill(0xa5);
        fs::write(area.path(), &damaged).expect("a file");

        match Store::read_only(area.path()) {
            Err(error) => {
                assert_eq!(error.kind, JournalFault::Corrupt, "page {number}: {error}");
                told += 1;
            }
            Ok(store) => {
                let (good, bad) = read(&store, "s");
                assert!(good.iter().all(|line| given.contains(line)), "page {number}: a line nobody wrote");
                for error in &bad {
                    assert_eq!(error.kind, JournalFault::Corrupt, "page {number}: {error}");
                    assert!(error.message.contains("sessions export"), "{error}");
                }
                let mut out = vec![];
                if let Ok(exported) = store.export("s", &mut out, None) {
                    assert_eq!(exported.lines + exported.unreadable.len() as u64, given.len() as u64, "page {number}");
                }
                read_in_part += usize::from(!good.is_empty() && !bad.is_empty());
                told += usize::from(store.check().is_err());
            }
        }
        assert_eq!(fs::read(area.path()).expect("a file"), damaged, "page {number}: reading changed the file");

        // Whoever writes is refused, or touches other pages only.
        if let Ok(store) = Store::open(area.path(), &OFTEN) {
            let _ = store.claim("t").await;
            for entry in [step("t", 1), started("t", 1), began("u"), started("u", 1)] {
                if let Err(error) = store.append(entry).await {
                    let refused = [JournalFault::Corrupt, JournalFault::Fenced, JournalFault::Unknown];
                    assert!(refused.contains(&error.kind), "page {number}: {error}");
                }
            }
        }
        if number != 1 {
            // The second page only says where others belong, and can be made of them.
            assert_eq!(page(&area.path(), number), vec![0xa5; PAGE], "page {number} was overwritten");
        }
    }
    assert!(read_in_part >= 5, "{read_in_part} of {pages} pages held lines of the session among others");
    assert!(told >= pages - 2, "{told} of {pages} pages were told");
}

#[tokio::test]
async fn a_damaged_line_is_told_with_its_number_and_others_are_exported() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s"), started("s", 1), started("s", 2), suspended("s")]).await;
    drop(store);
    area.sql("UPDATE lines SET body = substr(body, 1, 40) WHERE number = 2; DELETE FROM lines WHERE number = 3");
    let store = area.open();
    let (good, bad) = read(&store, "s");
    assert_eq!(good.len(), 2);
    for (error, words) in bad.iter().zip(["line 2 of `s`: ", "line 3 of `s`: it is missing"]) {
        assert_eq!(error.kind, JournalFault::Corrupt);
        assert!(error.message.contains(words), "{error}");
    }
    let error = store.claim("s").await.expect_err("it cannot be resumed");
    assert_eq!(error.kind, JournalFault::Corrupt);
    assert_eq!(store.find("s").expect("a session").held_by, None, "and nobody holds it for that");
    let mut out = vec![];
    let exported = store.export("s", &mut out, None).expect("what is there");
    assert_eq!((exported.lines, exported.unreadable), (3, vec![3]));
}

#[tokio::test]
async fn a_truncated_file_is_told_wherever_it_was_cut() {
    let area = Area::new();
    recorded(&area).await;
    let whole = fs::read(area.path()).expect("a file");
    let cuts: HashSet<usize> =
        [1, 99, PAGE - 1, PAGE, PAGE + 1, whole.len() / 2, whole.len() - PAGE, whole.len() - 1].into();
    for cut in cuts {
        fs::write(area.path(), &whole[..cut]).expect("a file");
        let opened = [Store::open(area.path(), &OFTEN).err(), Store::read_only(area.path()).err()];
        for error in opened {
            let error = error.unwrap_or_else(|| panic!("{cut} bytes were taken for a journal"));
            assert_eq!(error.kind, JournalFault::Corrupt, "{cut} bytes: {error}");
            assert!(error.message.contains("put a backup in its place"), "{error}");
        }
        assert_eq!(fs::read(area.path()).expect("a file"), &whole[..cut], "{cut} bytes: the file was changed");
    }
}

#[tokio::test]
async fn trouble_of_one_session_is_not_anothers() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s"), began("t")]).await;
    // A line where the next one of `s` belongs: nobody but a journal gives out numbers.
    area.sql("INSERT INTO lines (session, number, body) SELECT id, 2, '{}' FROM sessions WHERE session_id = 's'");
    let (bad, good) = tokio::join!(store.append(started("s", 1)), store.append(started("t", 1)));
    assert_eq!(bad.expect_err("it was meddled with").kind, JournalFault::Corrupt);
    good.expect("it was not");
    write(&store, [step("s", 1), step("t", 1), started("t", 2)]).await;
    area.sql("DELETE FROM lines WHERE body = '{}'");
    let error = store.append(started("s", 2)).await.expect_err("a line before it is lost");
    assert_eq!(error.kind, JournalFault::Corrupt);
    assert_eq!(told(&lines(&store, "t")), ["session_began", "call-1", "step 1", "call-2"]);
    assert!(matches!(store.verify("t"), Ok(Verified::NoChain { lines: 4 })));
}
