//! What one client costs: others do not wait for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tonic::transport::Channel;
use vertebra_kit::bash::policy::{BashPolicy, Ground};
use vertebra_server::{
    Limits, Refused,
    proto::{FireRequest, Hook, Role, hooks_client::HooksClient},
};

use crate::world::{World, before_tools, commands, limits, on_command, results};

/// A pattern that is about as large as one may be, and another at each call.
fn large(number: usize) -> String {
    format!(r"^x{number}(\w{{2}}|\d{{2}}){{9}}$")
}

/// Counts how often the thread of this test has time for something else. The tests here have one thread.
fn counting() -> Arc<AtomicU64> {
    let turns = Arc::new(AtomicU64::new(0));
    let counter = Arc::downgrade(&turns);
    tokio::spawn(async move {
        while let Some(counter) = counter.upgrade() {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    turns
}

fn event(command: &str) -> FireRequest {
    let event = json!({ "point": "BeforeToolUse", "tool": "bash", "args": { "command": command } });
    FireRequest { event_json: event.to_string(), session_id: String::new() }
}

#[tokio::test]
async fn events_and_patterns_of_one_client_leave_the_thread_to_others() {
    let world = World::new(|| commands(&[])).await;
    let mut client = world.client("c").await;
    let turns = counting();
    // Every registration compiles the patterns, and so does every event without a session.
    let before = turns.load(Ordering::Relaxed);
    for number in 0..20 {
        client.register(on_command(&format!("h{number}"), Role::Guard, &large(number))).await.expect("it stands");
    }
    // All of them together: on a busy machine, a single one may run in the time of this thread.
    assert!(turns.load(Ordering::Relaxed) > before + 20 * 20, "others had no turn while patterns were compiled");
    let mut hooks = world.hooks().await;
    let line = (0..1200).map(|number| format!("echo {{a,b}} {number}")).collect::<Vec<_>>().join("; ");
    let before = turns.load(Ordering::Relaxed);
    let fired = hooks.fire(event(&line)).await.expect("it is judged").into_inner();
    let judgement: Value = serde_json::from_str(&fired.judgement_json).expect("JSON");
    assert_eq!(judgement["decision"], "deny", "{judgement}");
    assert!(judgement["reason"].as_str().is_some_and(|reason| reason.contains("too complex to judge")), "{judgement}");
    assert!(turns.load(Ordering::Relaxed) > before + 20, "others had no turn while the event was judged");
}

/// How long an event takes that costs next to nothing, in the middle of many.
async fn usual(hooks: &mut HooksClient<Channel>) -> Duration {
    let mut took = Vec::new();
    for _ in 0..21 {
        let began = Instant::now();
        hooks.fire(event("ls")).await.expect("it is judged");
        took.push(began.elapsed());
    }
    took.sort();
    took[took.len() / 2]
}

#[tokio::test]
async fn expensive_events_of_some_clients_delay_another_by_less_than_a_tenth_of_a_second() {
    let world = World::new(|| commands(&[])).await;
    let mut client = world.client("c").await;
    client.register(on_command("h", Role::Guard, r"^frobnicate (a+)+$")).await.expect("it stands");
    let mut quick = world.hooks().await;
    let alone = usual(&mut quick).await;
    // It is read to its end, and then refused.
    let line = (0..1200).map(|number| format!("echo {{a,b}} {number}")).collect::<Vec<_>>().join("; ");
    let (done, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut neighbours = Vec::new();
    for _ in 0..4 {
        let (mut hooks, line, done, stop) = (world.hooks().await, line.clone(), done.clone(), stop.clone());
        neighbours.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let fired = hooks.fire(event(&line)).await.expect("it is judged").into_inner();
                assert!(fired.judgement_json.contains("too complex to judge"), "{}", fired.judgement_json);
                done.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let before = done.load(Ordering::Relaxed);
    let beside = usual(&mut quick).await;
    stop.store(true, Ordering::Relaxed);
    for neighbour in neighbours {
        neighbour.await.expect("no panic");
    }
    assert!(done.load(Ordering::Relaxed) > before, "the neighbours were at work");
    assert!(beside < alone + Duration::from_millis(100), "{alone:?} alone, {beside:?} beside expensive events");
}

#[tokio::test]
async fn a_command_of_a_session_is_judged_aside_and_denied_when_that_is_too_much() {
    let loops = ("for a in 1 2 3 4 5 6 7 8; do ".repeat(9), "; done".repeat(9));
    let line: &'static str = format!("{}echo $a{}", loops.0, loops.1).leak();
    let with = |builder: &mut vertebra::AgentBuilder| {
        builder.with(BashPolicy::new(Ground::new("/work", "/home/me")));
    };
    let world = World::with(move || commands(&[line, "ls"]), with, limits()).await;
    let session = world.open().await;
    let turns = counting();
    let before = turns.load(Ordering::Relaxed);
    let run = tokio::time::timeout(Duration::from_mins(1), world.run(&session));
    let events = run.await.expect("nobody is asked");
    assert_eq!(world.calls(), [json!({ "command": "ls" })]);
    assert!(results(&events)[0].contains("too complex to judge"), "{:?}", results(&events));
    assert!(turns.load(Ordering::Relaxed) > before + 20, "others had no turn while the command was judged");
}

#[tokio::test]
async fn refused_registrations_are_counted_and_too_many_are_not_even_read() {
    let refused = Refused { at_once: 3, every: Duration::from_hours(1) };
    let world = World::with(|| commands(&[]), |_| {}, Limits { refused, ..limits() }).await;
    let mut client = world.client("c").await;
    for _ in 0..3 {
        let error = client.register(on_command("h", Role::Guard, r"(\w{900}){900}")).await.expect_err("too large");
        assert!(error.contains("takes more than 1024 KiB"), "{error}");
    }
    let good = || before_tools("good", Role::Guard);
    let error = client.register(good()).await.expect_err("it has to wait");
    assert!(error.starts_with("too many of your registrations were refused; try again in"), "{error}");
    // The count is of the principal: another name does not help.
    let mut other = world.client("other").await;
    let error = other.register(Hook { name: "else".to_owned(), ..good() }).await.expect_err("it has to wait");
    assert!(error.starts_with("too many of your registrations were refused"), "{error}");
}
