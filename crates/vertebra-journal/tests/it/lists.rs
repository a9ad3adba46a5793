//! Which sessions there are, and which one somebody means.

use jiff::SignedDuration;
use vertebra::{JournalFault, Usage};
use vertebra_journal::{Status, Store, Wanted};

use crate::support::*;

#[tokio::test]
async fn a_session_is_listed_with_what_its_lines_add_up_to() {
    let area = Area::new();
    let store = area.open();
    let mut child = run_began("s", "look into it");
    if let vertebra::What::RunBegan { depth, .. } = &mut child.what {
        *depth = 1;
    }
    let written = [
        began("s"),
        run_began("s", "mend the tests"),
        step("s", 1),
        answered("s", Usage::tokens(100, 10)),
        child,
        step("s", 1),
        answered("s", Usage { cost_micros: 7, ..Usage::tokens(20, 2) }),
        run_began("s", "and commit"),
        started("s", 1),
    ];
    let bytes: usize = written.iter().map(|entry| serde_json::to_string(entry).expect("JSON").len()).sum();
    write(&store, written.clone()).await;
    let row = store.find("s").expect("a session");
    assert_eq!((&*row.agent, &*row.working_directory), ("coder", "/project"));
    assert_eq!((&*row.model.provider, &*row.model.name), ("acme", "small"));
    assert_eq!(row.prompt.as_deref(), Some("mend the tests"));
    assert_eq!((row.runs, row.steps, row.tool_calls, row.questions), (2, 2, 0, 0));
    assert_eq!(row.usage, Usage { cost_micros: 7, ..Usage::tokens(120, 12) });
    assert_eq!((row.began, row.touched), (written[0].timestamp, written[8].timestamp));
    assert_eq!((row.lines, row.bytes), (9, bytes as u64));
    assert_eq!((row.status, row.epoch), (Status::Running, 1));
    assert_eq!(row.held_by, Some(format!("process {}", std::process::id())));
}

#[tokio::test]
async fn calls_are_counted_as_the_loop_counts_them() {
    let area = Area::new();
    let store = area.open();
    let intended = |attempt: &str| {
        let (call_id, tool) = ("call-1".into(), "bash".into());
        let (key, args) = (attempt.to_owned(), vertebra::Args::default());
        entry("s", vertebra::What::ToolIntended { call_id, key, tool, args, digest: String::new() })
    };
    write(&store, [began("s"), run_began("s", "go"), step("s", 1), intended("first"), intended("second")]).await;
    let counted = |calls: u64| {
        let mut counted = checkpoint("s", false);
        if let vertebra::What::Checkpoint(checkpoint) = &mut counted.what {
            checkpoint.used.session_calls = calls;
        }
        counted
    };
    // One call that was tried twice, and three that were refused.
    write(&store, [counted(4), step("s", 2), intended("third")]).await;
    settle(&store).await;
    assert_eq!(store.find("s").expect("a session").tool_calls, 5);
    write(&store, [counted(5), checkpoint("s", false)]).await;
    settle(&store).await;
    assert_eq!(store.find("s").expect("a session").tool_calls, 5);
}

#[tokio::test]
async fn sessions_are_wanted_by_folder_time_state_and_number() {
    let area = Area::new();
    let store = area.open();
    for (number, folder) in ["/a", "/b", "/a"].into_iter().enumerate() {
        let session = format!("s-{number}");
        let mut began = began(&session);
        began.timestamp += SignedDuration::from_hours(number.try_into().expect("few"));
        if let vertebra::What::SessionBegan { working_directory, .. } = &mut began.what {
            *working_directory = folder.into();
        }
        write(&store, [began]).await;
    }
    write(&store, [suspended("s-1"), ended("s-0")]).await;
    let listed = |wanted: &Wanted| -> Vec<String> {
        store.sessions(wanted).expect("sessions").iter().map(|session| session.session_id.to_string()).collect()
    };
    let all = Wanted::default();
    assert_eq!(listed(&all), ["s-0", "s-1", "s-2"], "the one written to last comes first");
    assert_eq!(listed(&Wanted { limit: Some(2), ..all.clone() }), ["s-0", "s-1"]);
    assert_eq!(listed(&Wanted { working_directory: Some("/a".to_owned()), ..all.clone() }), ["s-0", "s-2"]);
    assert_eq!(listed(&Wanted { status: Some(Status::Suspended), ..all.clone() }), ["s-1"]);
    assert_eq!(listed(&Wanted { status: Some(Status::Ended), ..all.clone() }), ["s-0"]);
    let late = began("s").timestamp + SignedDuration::from_mins(90);
    assert_eq!(listed(&Wanted { since: Some(late), ..all }), ["s-2"]);
}

#[tokio::test]
async fn a_session_is_found_by_what_people_write() {
    let area = Area::new();
    let store = area.open();
    for session in ["0190-aaaa-1111", "0190-aaaa-2222", "0190-bbbb-1122", "0190"] {
        write(&store, [began(session)]).await;
    }
    let cases = [
        ("0190-aaaa-1111", Ok("0190-aaaa-1111")),
        ("0190-b", Ok("0190-bbbb-1122")),
        ("2222", Ok("0190-aaaa-2222")),
        ("aaaa-1", Ok("0190-aaaa-1111")),
        ("last", Ok("0190")),
        ("0190", Ok("0190")),
        ("22", Err("no such session: `22` could be 0190-bbbb-1122, 0190-aaaa-2222: write more of it")),
        ("0190-%", Err("no such session: `0190-%`")),
        ("", Err("no such session: ``")),
    ];
    for (words, expected) in cases {
        let found = store.find(words).map(|session| session.session_id.to_string()).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{words}");
    }
    let empty = Area::new();
    assert_eq!(empty.open().find("last").expect_err("nothing there").kind, JournalFault::Unknown);
}

#[tokio::test]
async fn a_handle_that_only_reads_sees_what_others_write_and_writes_nothing() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s"), started("s", 1)]).await;
    let reader = Store::read_only(area.path()).expect("a journal");
    assert_eq!(lines(&reader, "s").len(), 2);
    write(&store, [started("s", 2)]).await;
    assert_eq!(lines(&reader, "s").len(), 3);
    let refused = [
        vertebra::Journal::append(&reader, began("t")).await,
        vertebra::Journal::claim(&reader, "s").await.map(drop),
        reader.delete("s").map(drop),
        reader.take_over("s").map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.expect_err("it only reads").kind, JournalFault::ReadOnly);
    }
}

#[tokio::test]
async fn lines_are_those_there_were_when_reading_began() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s"), started("s", 1)]).await;
    let mut reading = store.lines("s").expect("a session");
    reading.next().expect("a line").expect("whole");
    write(&store, [started("s", 2), ended("s")]).await;
    store.delete("s").expect("it has ended");
    assert_eq!(reading.map(|line| line.expect("whole").what.kind()).collect::<Vec<_>>(), ["tool_started"]);
    assert_eq!(store.lines("s").err().expect("it is gone").kind, JournalFault::Unknown);
}

#[tokio::test]
async fn lines_are_read_from_anywhere() {
    let area = Area::new();
    let store = area.open();
    write(&store, [began("s"), started("s", 1), started("s", 2)]).await;
    let whole = lines(&store, "s");
    for number in [0, 1, 2, 3, u64::MAX] {
        let rest = store.lines_after("s", number).expect("a session").map(|line| line.expect("whole"));
        let number = usize::try_from(number).unwrap_or(usize::MAX).min(whole.len());
        assert_eq!(rest.collect::<Vec<_>>(), whole[number..]);
    }
}
