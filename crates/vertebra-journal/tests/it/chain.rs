//! A chain shows every change to what was written; a signature shows it to others.

use vertebra::{Journal, JournalFault};
use vertebra_journal::{ExportError, Options, SigningKey, Sync, Verified, verify_export};

use crate::support::*;

const CHAINED: Options = Options { sync: Sync::Process, chain: true };

async fn recorded() -> Area {
    let area = Area::new();
    let store = area.open_with(CHAINED);
    write(&store, [began("s"), step("s", 1), started("s", 1), step("s", 2), started("s", 2), ended("s")]).await;
    area
}

#[tokio::test]
async fn an_untouched_session_is_intact_whoever_went_on_with_it() {
    let area = recorded().await;
    let Verified::Intact { lines: 6, head } = area.open().verify("s").expect("a session") else { panic!("intact") };

    let without = area.open();
    without.claim("s").await.expect("it is free");
    write(&without, [started("s", 3)]).await;
    let Verified::Intact { lines: 7, head: later } = without.verify("s").expect("a session") else { panic!("intact") };
    assert_ne!(head, later);
    assert_eq!(without.find("s").expect("a session").head, Some(later));

    write(&without, [began("t")]).await;
    assert_eq!(without.verify("t").expect("a session"), Verified::NoChain { lines: 1 });
}

#[tokio::test]
async fn the_first_line_that_is_not_what_was_written_is_named() {
    let cases = [
        ("changed", "UPDATE lines SET body = replace(body, 'call-1', 'call-9') WHERE number = 3", 3),
        ("only moved in time", "UPDATE lines SET body = replace(body, '2027', '2026') WHERE number = 2", 2),
        ("removed", "DELETE FROM lines WHERE number = 4", 4),
        ("removed at the end", "DELETE FROM lines WHERE number = 6", 6),
        (
            "removed at the end, and the count with it",
            "DELETE FROM lines WHERE number = 6; UPDATE sessions SET lines = 5",
            5,
        ),
        (
            "removed, and those after it moved up",
            "DELETE FROM lines WHERE number = 2;
             UPDATE lines SET number = number - 1 WHERE number > 2; UPDATE sessions SET lines = 5",
            2,
        ),
        (
            "added at the end",
            "INSERT INTO lines (session, number, body, hash) SELECT session, 7, body, hash FROM lines WHERE number = 5",
            7,
        ),
        (
            "added in between",
            "UPDATE lines SET number = -number WHERE number > 2; UPDATE lines SET number = 1 - number WHERE number < 0;
             INSERT INTO lines (session, number, body, hash) SELECT session, 3, body, hash FROM lines WHERE number = 2;
             UPDATE sessions SET lines = 7",
            3,
        ),
        (
            "in another order",
            "UPDATE lines SET number = 100 WHERE number = 3; UPDATE lines SET number = 3 WHERE number = 5;
             UPDATE lines SET number = 5 WHERE number = 100",
            3,
        ),
        ("without its link", "UPDATE lines SET hash = NULL WHERE number = 5", 5),
    ];
    for (how, sql, expected) in cases {
        let area = recorded().await;
        area.sql(sql);
        match area.open().verify("s").expect("a session") {
            Verified::Broken { line, .. } => assert_eq!(line, expected, "{how}"),
            other => panic!("{how}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn what_stands_there_instead_is_shown() {
    let area = recorded().await;
    area.sql("UPDATE lines SET body = replace(body, 'call-1', 'call-9') WHERE number = 3");
    let Verified::Broken { line: 3, why, found } = area.open().verify("s").expect("a session") else {
        panic!("broken")
    };
    assert_eq!(why, "it is not the line that was written here");
    assert!(found.expect("a line").contains("call-9"));
}

#[tokio::test]
async fn an_export_is_the_lines_as_they_are_stored() {
    let area = recorded().await;
    let store = area.open();
    let mut out = vec![];
    let exported = store.export("s", &mut out, None).expect("an export");
    let expected: Vec<_> = lines(&store, "s").iter().map(|entry| serde_json::to_string(entry).expect("JSON")).collect();
    let text = String::from_utf8(out).expect("text");
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    assert_eq!((exported.lines, exported.unreadable), (6, vec![]));
    let Verified::Intact { head, .. } = store.verify("s").expect("a session") else { panic!("intact") };
    assert_eq!(exported.head, head);
}

#[tokio::test]
async fn a_signed_export_proves_itself_and_no_other() {
    let area = recorded().await;
    let store = area.open();
    let (key, other) = (SigningKey::from_bytes(&[7; 32]), SigningKey::from_bytes(&[8; 32]));
    let mut out = vec![];
    let exported = store.export("s", &mut out, Some(&key)).expect("an export");
    let signed = verify_export(&*out, &key.verifying_key()).expect("a proof");
    assert_eq!((signed.session_id.as_str(), signed.lines, signed.head), ("s", 6, exported.head));

    assert!(matches!(verify_export(&*out, &other.verifying_key()), Err(ExportError::OtherKey(_))));
    let text = String::from_utf8(out).expect("text");
    let lines: Vec<_> = text.lines().collect();
    let without = |left_out: usize| -> String {
        lines.iter().enumerate().filter(|(at, _)| *at != left_out).flat_map(|(_, line)| [line, "\n"]).collect()
    };
    let mut other_seal = vec![];
    write(&store, [began("t")]).await;
    store.export("t", &mut other_seal, Some(&key)).expect("an export");
    let other_seal = String::from_utf8(other_seal).expect("text");
    let changed = [
        text.replacen("call-1", "call-9", 1),
        without(2),
        without(5),
        text.replacen("\"lines\":6", "\"lines\":5", 1),
        text.trim_end().to_owned(),
        format!("{}{}\n", without(6), other_seal.lines().last().expect("a seal")),
    ];
    for changed in changed {
        let error = verify_export(changed.as_bytes(), &key.verifying_key()).expect_err(&changed);
        assert!(matches!(error, ExportError::Changed(_)), "{error}");
    }
    for unsigned in [String::new(), without(6)] {
        let error = verify_export(unsigned.as_bytes(), &key.verifying_key()).expect_err(&unsigned);
        assert!(matches!(error, ExportError::NotSigned), "{error}");
    }
}

#[tokio::test]
async fn a_broken_chain_is_not_signed() {
    let area = recorded().await;
    area.sql("UPDATE lines SET body = replace(body, 'call-1', 'call-9') WHERE number = 3");
    let store = area.open();
    let mut out = vec![];
    let error = store.export("s", &mut out, Some(&SigningKey::from_bytes(&[7; 32]))).expect_err("broken");
    assert_eq!((error.kind, out.len()), (JournalFault::Corrupt, 0));
    store.export("s", &mut out, None).expect("what is there can be read all the same");
}
