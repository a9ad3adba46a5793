//! What the journal says of a session, line by line.

use tonic::Streaming;
use vertebra_server::{
    Limits, Places,
    proto::{
        CloseSessionRequest, EventsRequest, GetSessionRequest, ReadRecordsRequest, RecordLine,
        records_client::RecordsClient,
    },
};

use super::world::{Bearer, TOKEN, World, limits, open, prompt, results, soon};

async fn all(mut lines: Streaming<RecordLine>) -> Vec<RecordLine> {
    let mut all = Vec::new();
    while let Some(line) = soon(lines.message()).await.expect("a line") {
        all.push(line);
    }
    all
}

#[tokio::test]
async fn the_lines_of_a_session_are_read_in_order_from_anywhere_and_by_kind() {
    let world = World::running(&["one", "two"], limits()).await;
    let mut sessions = world.sessions().await;
    let session_id = open(&mut sessions).await;
    results(prompt(&mut sessions, &session_id).await.expect("a run")).await;
    let mut records = world.records_of(TOKEN).await;
    let whole = ReadRecordsRequest { session_id, ..ReadRecordsRequest::default() };
    let lines = all(records.read(whole.clone()).await.expect("lines").into_inner()).await;
    assert!(lines.iter().map(|line| line.number).eq(1..=lines.len() as u64), "{lines:?}");
    assert_eq!(lines[0].kind, "session_began");
    let rest = ReadRecordsRequest { after: 3, ..whole.clone() };
    assert_eq!(all(records.read(rest).await.expect("lines").into_inner()).await, lines[3..]);
    let calls = ReadRecordsRequest { kinds: vec!["tool_ended".to_owned()], ..whole };
    let calls = all(records.read(calls).await.expect("lines").into_inner()).await;
    assert_eq!(calls.len(), 2, "{calls:?}");
    for call in calls {
        assert_eq!(lines[usize::try_from(call.number).expect("it is small") - 1], call, "it keeps its number");
    }
}

#[tokio::test]
async fn whoever_follows_reads_every_line_once_until_the_session_has_ended() {
    let world = World::running(&["one", "two"], limits()).await;
    // More than once: whether somebody is behind or waits already is nothing that a test decides.
    for _ in 0..5 {
        let mut sessions = world.sessions().await;
        let session_id = open(&mut sessions).await;
        let request =
            ReadRecordsRequest { session_id: session_id.clone(), follow: true, ..ReadRecordsRequest::default() };
        let mut lines = world.records_of(TOKEN).await.read(request).await.expect("lines").into_inner();
        assert_eq!(soon(lines.message()).await.expect("a line").expect("a line").kind, "session_began");
        results(prompt(&mut sessions, &session_id).await.expect("a run")).await;
        let mut told = Vec::new();
        while told.last().is_none_or(|line: &RecordLine| line.kind != "run_ended") {
            told.push(soon(lines.message()).await.expect("a line").expect("it has not ended"));
        }
        sessions.close(CloseSessionRequest { session_id }).await.expect("it closes");
        let lines = [told, all(lines).await].concat();
        assert!(lines.iter().map(|line| line.number).eq(2..=lines.len() as u64 + 1), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.kind == "tool_ended").count(), 2);
        assert_eq!(lines.last().map(|line| line.kind.as_str()), Some("session_ended"));
    }
}

#[tokio::test]
async fn whoever_stops_reading_does_not_keep_others_from_looking_and_reads_the_rest_later() {
    let one = Places { at_once: 1, at_once_of_one: 1, waiting: 9, waiting_of_one: 9 };
    let large: Vec<String> = (0..20).map(|number| format!("{number} {}", "x".repeat(2000))).collect();
    let large: Vec<&str> = large.iter().map(String::as_str).collect();
    let world = World::running(&large, Limits { query: one, ..limits() }).await;
    let mut sessions = world.sessions().await;
    let session_id = open(&mut sessions).await;
    results(prompt(&mut sessions, &session_id).await.expect("a run")).await;
    let request = ReadRecordsRequest { session_id: session_id.clone(), ..ReadRecordsRequest::default() };
    let mut slow = RecordsClient::with_interceptor(world.narrow_channel().await, Bearer(TOKEN));
    let mut lines = slow.read(request).await.expect("lines").into_inner();
    assert_eq!(soon(lines.message()).await.expect("a line").expect("a line").number, 1);
    soon(sessions.get(GetSessionRequest { session_id })).await.expect("there is a place to look");
    let rest = all(lines).await;
    assert!(rest.len() > 100, "it was not told at once: {}", rest.len());
    assert!(rest.iter().map(|line| line.number).eq(2..=rest.len() as u64 + 1));
}

#[tokio::test]
async fn after_the_largest_of_all_numbers_nothing_comes() {
    let world = World::running(&["one"], limits()).await;
    let mut sessions = world.sessions().await;
    let session_id = open(&mut sessions).await;
    results(prompt(&mut sessions, &session_id).await.expect("a run")).await;
    let after = u64::MAX;
    let request = ReadRecordsRequest { session_id: session_id.clone(), after, ..ReadRecordsRequest::default() };
    assert_eq!(all(world.records_of(TOKEN).await.read(request).await.expect("lines").into_inner()).await, []);
    let request = EventsRequest { session_id: session_id.clone(), after };
    let mut events = sessions.events(request).await.expect("events").into_inner();
    sessions.close(CloseSessionRequest { session_id }).await.expect("it closes");
    assert_eq!(soon(events.message()).await.expect("the end"), None);
}
