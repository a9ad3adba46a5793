//! Hooks of clients come and go: in every session that they govern, or in none.

use serde_json::json;
use vertebra_server::proto::{ListHooksRequest, Role, Scope, Unregister, client_frame, scope::Which, server_frame};

use crate::world::{Client, World, before_tools, commands, report, results};

/// Takes a hook away; what is wrong with that comes back.
async fn unregister(client: &mut Client, name: &str) -> Result<(), String> {
    client.send(client_frame::Frame::Unregister(Unregister { request: 99, name: name.to_owned() })).await;
    loop {
        if let server_frame::Frame::Unregistered(gone) = client.frame().await.expect("an answer") {
            assert_eq!(gone.request, 99);
            return if gone.error.is_empty() { Ok(()) } else { Err(gone.error) };
        }
    }
}

/// The hooks of clients in a session, or of those that would be in one: name and client.
async fn in_force(world: &World, session_id: &str) -> Vec<(String, String)> {
    let request = ListHooksRequest { session_id: session_id.to_owned() };
    let hooks = world.hooks().await.list(request).await.expect("a list").into_inner().hooks;
    hooks.into_iter().map(|hook| (hook.name, hook.client_id)).collect()
}

#[tokio::test]
async fn a_hook_that_is_taken_away_is_asked_no_more_and_what_waits_for_it_is_refused_at_once() {
    let world = World::new(|| commands(&["ls", "pwd"])).await;
    let mut client = world.client("c").await;
    client.register(before_tools("guard", Role::Guard)).await.expect("it stands");
    let session = world.open().await;
    let (events, mut client) = tokio::join!(world.run(&session), async {
        client.event().await;
        unregister(&mut client, "guard").await.expect("it was there");
        client
    });
    assert_eq!(report(&events)["status"], "completed");
    assert!(results(&events)[0].contains("the hook was unregistered"), "{:?}", results(&events));
    assert_eq!(world.calls(), [json!({ "command": "pwd" })], "nobody is asked about the second");
    assert_eq!(in_force(&world, &session).await, []);
    let error = unregister(&mut client, "guard").await.expect_err("it is gone");
    assert_eq!(error, "this client has no hook `guard`");
}

#[tokio::test]
async fn a_hook_that_cannot_stand_in_one_session_stands_in_none() {
    let world = World::new(|| commands(&[])).await;
    let mut sessions = Vec::new();
    for _ in 0..12 {
        sessions.push(world.open().await);
    }
    let mut first = world.client("first").await;
    let only = Some(Scope { which: Some(Which::SessionId(sessions[0].clone())) });
    first.register_for(before_tools("guard", Role::Guard), only).await.expect("it stands");
    let mut second = world.client("second").await;
    second.register(before_tools("other", Role::Guard)).await.expect("it stands");
    let error = second.register(before_tools("guard", Role::Guard)).await.expect_err("there is one of that name");
    assert!(error.contains(&sessions[0]), "{error}");
    let named = |name: &str, client: &str| (name.to_owned(), client.to_owned());
    assert_eq!(in_force(&world, &sessions[0]).await, [named("guard", "first"), named("other", "second")]);
    sessions.push(world.open().await);
    for session in &sessions[1..] {
        assert_eq!(in_force(&world, session).await, [named("other", "second")], "as it was before");
    }
}

#[tokio::test]
async fn a_client_that_came_back_is_not_forgotten_when_its_grace_time_is_over() {
    let world = World::new(|| commands(&["ls"])).await;
    let mut first = world.client("c").await;
    first.register(before_tools("guard", Role::Guard)).await.expect("it stands");
    drop(first);
    let mut second = world.client("c").await;
    second.register(before_tools("guard", Role::Guard)).await.expect("it stands again");
    // Somebody who is lost later and stays away is forgotten later.
    let mut other = world.client("other").await;
    other.register(before_tools("other", Role::Guard)).await.expect("it stands");
    drop(other);
    while in_force(&world, "").await.len() > 1 {}
    let session = world.open().await;
    let (events, _second) = tokio::join!(world.run(&session), async {
        let event = second.event().await;
        second.answer(event.id, &json!({ "verdict": "deny", "reason": "still there" })).await;
        second
    });
    assert_eq!(results(&events), ["blocked by guard: still there"]);
}
