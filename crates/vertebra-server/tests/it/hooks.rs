//! Hooks that live in clients, and what becomes of runs when they fail.

use serde_json::{Value, json};
use tonic::Code;
use vertebra::testing::Script;
use vertebra_server::proto::{
    CreateSessionRequest, FireRequest, Hook, ListHooksRequest, ListSessionsRequest, Role, Scope, answer, client_frame,
    scope::Which, server_frame,
};

use crate::world::{World, before_tools, commands, on_command, report, results};

#[tokio::test]
async fn a_guard_in_a_client_refuses_what_matches_and_sees_nothing_else() {
    let world = World::new(|| commands(&["git status", "git push --force", "ls"])).await;
    let mut client = world.client("c").await;
    client.register(on_command("no-force", Role::Guard, r"push\s+--force")).await.expect("it stands");
    let _there = client.answering(|event, seen| {
        assert_eq!((event.hook.as_str(), event.point.as_str()), ("no-force", "BeforeToolUse"));
        assert_eq!(seen["args"]["command"], "git push --force", "only what matches crosses");
        json!({ "verdict": "deny", "reason": "not that way" })
    });
    let session = world.open().await;
    let events = world.run(&session).await;
    assert_eq!(report(&events)["status"], "completed");
    assert_eq!(world.calls(), [json!({ "command": "git status" }), json!({ "command": "ls" })]);
    assert_eq!(results(&events)[1], "blocked by no-force: not that way");
}

#[tokio::test]
async fn a_hook_in_a_client_rewrites_and_a_guard_sees_the_final_form() {
    let world = World::new(|| commands(&["sleep"])).await;
    let mut rewriter = world.client("rewriter").await;
    rewriter.register(before_tools("timeout", Role::Hook)).await.expect("it stands");
    let _rewrites = rewriter.answering(|_, _| json!({ "patch": { "timeout": 30 } }));
    let mut guard = world.client("guard").await;
    guard.register(before_tools("sees", Role::Guard)).await.expect("it stands");
    let _sees = guard.answering(|_, seen| match seen["args"]["timeout"].as_u64() {
        Some(30) => json!({}),
        _ => json!({ "verdict": "deny", "reason": "this is not the final form" }),
    });
    let session = world.open().await;
    world.run(&session).await;
    assert_eq!(world.calls(), [json!({ "command": "sleep", "timeout": 30 })]);
}

#[tokio::test]
async fn the_beginning_of_a_session_is_seen_by_hooks_that_were_there_before_it() {
    let world = World::new(|| commands(&[])).await;
    let mut client = world.client("c").await;
    let start = Hook { point: "session_start".to_owned(), ..before_tools("greets", Role::Watch) };
    client.register(start).await.expect("it stands");
    let session = tokio::spawn(async move { (world.open().await, world) });
    let event = client.event().await;
    client.answer(event.id, &json!({})).await;
    let (session, _world) = session.await.expect("it opens");
    assert_eq!((event.point, event.session_id), ("SessionStart".to_owned(), session));
}

#[tokio::test]
async fn a_client_can_deny_a_session_and_the_caller_reads_why() {
    let world = World::new(|| commands(&[])).await;
    let mut client = world.client("c").await;
    let start = Hook { point: "SessionStart".to_owned(), ..before_tools("office-hours", Role::Guard) };
    client.register(start).await.expect("it stands");
    let _there = client.answering(|_, _| json!({ "verdict": "deny", "reason": "come back on Monday" }));
    let denied = world.sessions().await.create(CreateSessionRequest::default()).await.expect_err("it stays closed");
    assert_eq!(denied.code(), Code::PermissionDenied);
    assert_eq!(denied.message(), "the session was denied by office-hours: come back on Monday");
    let listed = world.sessions().await.list(ListSessionsRequest::default()).await.expect("a list").into_inner();
    assert!(listed.sessions.is_empty(), "{listed:?}");
}

#[tokio::test]
async fn a_client_decides_what_of_an_answer_leaves_a_run() {
    let world = World::new(|| Script::new().stream(["the code ", "is SECRET"])).await;
    let mut client = world.client("c").await;
    let output = Hook { point: "Output".to_owned(), ..before_tools("redact", Role::Hook) };
    client.register(output).await.expect("it stands");
    let _there = client.answering(|_, seen| {
        let text = seen["text"].as_str().unwrap_or_default();
        json!({ "modified": { "text": text.replace("SECRET", "***") } })
    });
    let session = world.open().await;
    let events = world.run(&session).await;
    assert_eq!(report(&events)["text"], "the code is ***");
    let deltas = events.iter().filter(|event| event["event"] == "delta").map(|event| event["text"].clone());
    assert_eq!(deltas.collect::<Vec<_>>(), ["the code is ***"]);
    assert!(!json!(events).to_string().contains("SECRET"), "{events:?}");
}

#[tokio::test]
async fn what_could_not_hold_is_an_error_at_registration_that_says_what_to_write() {
    let world = World::new(|| commands(&[])).await;
    let mut client = world.client("c").await;
    let wrong = Hook { point: "BeforeToolUze".to_owned(), ..before_tools("h", Role::Guard) };
    let error = client.register(wrong).await.expect_err("there is no such point");
    assert!(error.contains("did you mean `BeforeToolUse`?"), "{error}");
    let error = client.register(on_command("h", Role::Guard, "(")).await.expect_err("this is no pattern");
    assert!(error.contains("invalid regex `(` in `command`"), "{error}");
    let guards_nothing = Hook { point: "SessionEnd".to_owned(), ..before_tools("h", Role::Guard) };
    let error = client.register(guards_nothing).await.expect_err("nothing is decided there");
    assert!(error.contains("a guard has no effect at SessionEnd"), "{error}");
    let elsewhere = Some(Scope { which: Some(Which::SessionId("none".to_owned())) });
    let error = client.register_for(before_tools("h", Role::Guard), elsewhere).await.expect_err("there is none");
    assert!(error.contains("there is no open session `none`"), "{error}");
    client.register(before_tools("h", Role::Guard)).await.expect("nothing of all that is left");
}

/// Runs with a guard whose client does this with the event that it gets.
async fn refused(answer: fn(u64) -> Option<answer::Answer>) -> String {
    let world = World::new(|| commands(&["ls"])).await;
    let mut client = world.client("c").await;
    let hook = Hook { timeout_ms: Some(200), ..before_tools("guard", Role::Guard) };
    client.register(hook).await.expect("it stands");
    let session = world.open().await;
    let (events, _client) = tokio::join!(world.run(&session), async {
        let event = client.event().await;
        if let Some(answer) = answer(event.id) {
            let answer = vertebra_server::proto::Answer { id: event.id, answer: Some(answer) };
            client.send(client_frame::Frame::Answer(answer)).await;
        }
        client
    });
    assert!(world.calls().is_empty(), "nothing passes a guard that fails");
    assert_eq!(report(&events)["status"], "completed");
    results(&events)[0].clone()
}

#[tokio::test]
async fn a_guard_that_fails_answers_nonsense_or_nothing_refuses() {
    let said = refused(|_| Some(answer::Answer::Failed("it threw".to_owned()))).await;
    assert!(said.contains("blocked: hook `guard` failed: it threw"), "{said}");
    let said = refused(|_| Some(answer::Answer::Json("maybe".to_owned()))).await;
    assert!(said.contains("not a JSON object"), "{said}");
    let said = refused(|_| Some(answer::Answer::Json(r#"{"verdict":"go_on","instruction":"x"}"#.to_owned()))).await;
    assert!(said.contains("invalid answer at BeforeToolUse"), "{said}");
    let said = refused(|_| None).await;
    assert!(said.contains("no answer within 200 ms"), "{said}");
}

#[tokio::test]
async fn an_answer_after_its_time_is_none_and_the_client_hears_that_nobody_waits() {
    let world = World::new(|| commands(&["ls", "pwd"])).await;
    let mut client = world.client("c").await;
    let hook = Hook { timeout_ms: Some(100), ..before_tools("slow", Role::Guard) };
    client.register(hook).await.expect("it stands");
    let session = world.open().await;
    let (events, ()) = tokio::join!(world.run(&session), async {
        let late = client.event().await;
        while !matches!(client.frame().await, Ok(server_frame::Frame::Withdrawn(gone)) if gone.id == late.id) {}
        client.answer(late.id, &json!({ "verdict": "allow" })).await;
        let next = client.event().await;
        assert_ne!(next.id, late.id);
        client.answer(next.id, &json!({})).await;
    });
    assert_eq!(world.calls(), [json!({ "command": "pwd" })], "the late yes passed nothing");
    assert!(results(&events)[0].contains("no answer within 100 ms"), "{:?}", results(&events));
}

#[tokio::test]
async fn a_client_that_comes_back_in_time_answers_what_waits() {
    let world = World::new(|| commands(&["ls"])).await;
    let mut first = world.client("c").await;
    first.register(before_tools("guard", Role::Guard)).await.expect("it stands");
    let session = world.open().await;
    let (events, _second) = tokio::join!(world.run(&session), async {
        let event = first.event().await;
        drop(first);
        let mut second = world.client("c").await;
        assert!(second.resumed);
        second.register(before_tools("guard", Role::Guard)).await.expect("it stands again");
        let again = second.event().await;
        assert_eq!((again.id, &again.json), (event.id, &event.json), "the event that waits, not another");
        second.answer(again.id, &json!({ "verdict": "deny", "reason": "still no" })).await;
        second
    });
    assert_eq!(results(&events), ["blocked by guard: still no"]);
}

#[tokio::test]
async fn a_client_that_stays_away_leaves_its_guards_closed_and_its_watches_dropped() {
    let world = World::new(|| commands(&["ls"])).await;
    let mut client = world.client("c").await;
    client.register(before_tools("guard", Role::Guard)).await.expect("it stands");
    let watch = Hook { point: "AfterToolUse".to_owned(), ..before_tools("watch", Role::Watch) };
    client.register(watch).await.expect("it stands");
    let session = world.open().await;
    drop(client);
    let events = world.run(&session).await;
    assert_eq!(report(&events)["status"], "completed", "the session goes on");
    assert!(results(&events)[0].contains("the client disconnected"), "{:?}", results(&events));
    let watched = events
        .iter()
        .filter(|event| event["event"] == "hooks")
        .flat_map(|event| event["record"]["hooks"].as_array().cloned().unwrap_or_default().into_iter());
    let watched: Vec<Value> = watched.filter(|trace| trace["hook"] == "watch").collect();
    assert!(watched[0].to_string().contains("missed the event"), "{watched:?}");
    // A session that begins now is not governed by somebody who is gone.
    world.hears_of_no_hooks().await;
    let session = world.open().await;
    world.run(&session).await;
    assert_eq!(world.calls().len(), 1);
}

#[tokio::test]
async fn a_client_that_comes_back_too_late_still_governs_what_it_governed() {
    let world = World::new(|| commands(&["ls"])).await;
    let mut first = world.client("c").await;
    first.register(before_tools("asks", Role::Guard)).await.expect("it stands");
    first.register(on_command("no-ls", Role::Guard, "ls")).await.expect("it stands");
    let session = world.open().await;
    drop(first);
    world.hears_of_no_hooks().await;
    let mut second = world.client("c").await;
    second.register(before_tools("asks", Role::Guard)).await.expect("it stands again");
    let _there = second.answering(|event, _| match &*event.hook {
        "no-ls" => json!({ "verdict": "deny", "reason": "it was never taken away" }),
        _ => json!({}),
    });
    let events = world.run(&session).await;
    assert_eq!(results(&events), ["blocked by no-ls: it was never taken away"]);
    assert!(world.calls().is_empty(), "one hook that is registered again does not take the others away");
}

#[tokio::test]
async fn an_event_is_tried_without_a_run_and_the_record_says_who_said_what() {
    let world = World::new(|| commands(&[])).await;
    let mut client = world.client("c").await;
    client.register(on_command("no-force", Role::Guard, "--force")).await.expect("it stands");
    let _there = client.answering(|_, _| json!({ "verdict": "ask", "reason": "sure?" }));
    let event = json!({ "point": "PreToolUse", "tool": "bash", "args": { "command": "push --force" } });
    let request = FireRequest { event_json: event.to_string(), session_id: String::new() };
    let fired = world.hooks().await.fire(request).await.expect("it is judged").into_inner();
    let record: Value = serde_json::from_str(&fired.record_json).expect("JSON");
    assert_eq!((&record["verdict"], &record["decided_by"]), (&json!("ask"), &json!("no-force")));
    let judgement: Value = serde_json::from_str(&fired.judgement_json).expect("JSON");
    assert_eq!((&judgement["decision"], &judgement["reason"]), (&json!("ask"), &json!("sure?")));
    let listed = world.hooks().await.list(ListHooksRequest::default()).await.expect("a list").into_inner().hooks;
    assert_eq!(listed.iter().map(|hook| (&*hook.name, &*hook.client_id)).collect::<Vec<_>>(), [("no-force", "c")]);
    let wrong = FireRequest { event_json: r#"{"point":"Nowhere"}"#.to_owned(), session_id: String::new() };
    let error = world.hooks().await.fire(wrong).await.expect_err("there is no such point");
    assert_eq!(error.code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn the_answers_of_many_sessions_are_not_crossed_and_none_is_lost() {
    const SESSIONS: usize = 200;
    let world = World::new(|| commands(&["one", "two", "three"])).await;
    let mut client = world.client("c").await;
    client.register(before_tools("names", Role::Guard)).await.expect("it stands");
    let named = |session: &str, call: &str, command: &str| format!("{session} {call} {command}");
    let _there = client.answering(move |event, seen| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let reason = named(&event.session_id, &text(&seen["call_id"]), &text(&seen["args"]["command"]));
        json!({ "verdict": "deny", "reason": reason })
    });
    let runs = (0..SESSIONS).map(|_| async {
        let session = world.open().await;
        (session.clone(), world.run(&session).await)
    });
    for (session, events) in futures_util::future::join_all(runs).await {
        let calls = events.iter().filter(|event| event["event"] == "tool_ended");
        let meant: Vec<String> = calls
            .map(|event| {
                let (call, command) = (&event["call"]["id"], &event["call"]["args"]["command"]);
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                format!("blocked by names: {}", named(&session, &text(call), &text(command)))
            })
            .collect();
        assert_eq!((results(&events), meant.len()), (meant.clone(), 3));
    }
    assert!(world.calls().is_empty());
}

#[tokio::test]
async fn a_watch_in_a_client_sees_the_decision_also_of_a_call_that_was_blocked() {
    let world = World::new(|| commands(&["ls"])).await;
    let mut guard = world.client("guard").await;
    guard.register(before_tools("strict", Role::Guard)).await.expect("it stands");
    let _there = guard.answering(|_, _| json!({ "verdict": "deny", "reason": "no" }));
    let mut watch = world.client("watch").await;
    watch.register(before_tools("sees", Role::Watch)).await.expect("it stands");
    let session = world.open().await;
    let (_, seen) = tokio::join!(world.run(&session), async {
        let event = watch.event().await;
        watch.answer(event.id, &json!({})).await;
        (serde_json::from_str::<Value>(&event.json).expect("JSON"), watch)
    });
    let decision = json!({ "verdict": "deny", "decided_by": "strict", "reason": "no" });
    assert_eq!(seen.0["decision"], decision);
}

#[tokio::test]
async fn hooks_of_several_clients_run_in_the_order_in_which_their_clients_came() {
    let world = World::new(|| commands(&["ls"])).await;
    let mut there = Vec::new();
    let names: Vec<String> = (0..12).map(|at| format!("{}", (b'z' - at) as char)).collect();
    for name in &names {
        let mut client = world.client(name).await;
        client.register(before_tools(name, Role::Hook)).await.expect("it stands");
        there.push(client.answering(|_, _| json!({})));
    }
    let session = world.open().await;
    let events = world.run(&session).await;
    let at_call = events.iter().find(|event| event["record"]["point"] == "BeforeToolUse").expect("hooks ran");
    let ran = at_call["record"]["hooks"].as_array().expect("a list");
    assert_eq!(ran.iter().map(|trace| trace["hook"].as_str().unwrap_or_default()).collect::<Vec<_>>(), names);
}
