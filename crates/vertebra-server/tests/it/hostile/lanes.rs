//! Lanes as clients meet them: who waits, who is refused, and that nobody keeps the others out.

use tokio::task::JoinHandle;
use tonic::{Code, Status};
use vertebra_server::{
    Lane, Limits, Places,
    proto::{CancelRequest, FireRequest, FireResponse, hooks_client::HooksClient},
};

use super::world::{
    BOT, CI, Client, Guest, TOKEN, World, limits, open, patient_guard, prompt, results, soon, three, until,
};

/// Tries an event, which takes as long as the guard of a client does.
fn fire(mut hooks: HooksClient<Guest>) -> JoinHandle<Result<FireResponse, Status>> {
    let event_json = r#"{"point":"BeforeToolUse","tool":"bash","args":{"command":"ls"}}"#.to_owned();
    let request = FireRequest { event_json, session_id: String::new() };
    tokio::spawn(async move { hooks.fire(request).await.map(tonic::Response::into_inner) })
}

#[tokio::test]
async fn of_events_that_are_tried_one_is_under_way_one_waits_and_whoever_stops_waiting_makes_room() {
    let one = Places { at_once: 1, at_once_of_one: 1, waiting: 1, waiting_of_one: 1 };
    let world = World::new(Limits { execute: one, ..limits() }).await;
    let mut client = world.client("c").await;
    client.register(patient_guard("g")).await.expect("it stands");
    let first = fire(world.hooks().await);
    let event = client.event().await;
    let second = fire(world.hooks().await);
    until(|| world.server.waiting(Lane::Execute) == 1).await;
    let third = soon(fire(world.hooks().await)).await.expect("it ends").expect_err("there is no room to wait");
    assert_eq!(third.code(), Code::ResourceExhausted, "{third}");
    second.abort();
    until(|| world.server.waiting(Lane::Execute) == 0).await;
    let fourth = fire(world.hooks().await);
    until(|| world.server.waiting(Lane::Execute) == 1).await;
    client.answer(event.id, "{}").await;
    soon(first).await.expect("it ends").expect("it is judged");
    let event = client.event().await;
    client.answer(event.id, "{}").await;
    soon(fourth).await.expect("it ends").expect("it had its turn");
    assert_eq!(world.server.under_way(Lane::Execute), 0);
}

#[tokio::test]
async fn whoever_fills_its_places_does_not_fill_those_of_others() {
    let one_each = Places { at_once: 2, at_once_of_one: 1, waiting: 1, waiting_of_one: 0 };
    let world = World::behind(&[], Limits { execute: one_each, ..limits() }, three(), None).await;
    let mut client = Client::attach(world.hooks_of(CI).await, "c").await.expect("it is let in");
    client.register(patient_guard("g")).await.expect("it stands");
    let _first = fire(world.hooks_of(CI).await);
    client.event().await;
    let second = soon(fire(world.hooks_of(CI).await)).await.expect("it ends").expect_err("it has no other place");
    assert_eq!(second.code(), Code::ResourceExhausted, "{second}");
    soon(fire(world.hooks_of(BOT).await)).await.expect("it ends").expect("it has a place of its own");
}

#[tokio::test]
async fn a_server_with_as_many_runs_as_it_may_have_refuses_another_and_can_be_told_to_stop() {
    let one = Places { at_once: 1, at_once_of_one: 1, waiting: 0, waiting_of_one: 0 };
    let world = World::running(&["ask"], Limits { generate: one, ..limits() }).await;
    let (session_id, events) = world.asks(TOKEN).await;
    let mut sessions = world.sessions().await;
    let other = open(&mut sessions).await;
    for session_id in [&session_id, &other] {
        let refused = prompt(&mut sessions, session_id).await.expect_err("there is one already");
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    }
    let stopped = soon(sessions.cancel(CancelRequest { session_id })).await.expect("it is told");
    assert!(stopped.into_inner().was_running);
    results(events).await;
    until(|| world.server.under_way(Lane::Generate) == 0).await;
    let mut events = prompt(&mut sessions, &other).await.expect("there is room again");
    while soon(events.message()).await.expect("an event").expect("it asks").kind != "asked" {}
}
