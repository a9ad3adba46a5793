//! Detached watches: behind the dispatch, bounded, drained, and what is dropped is counted.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::sync::Semaphore;
use vertebra_hooks::{Attach, Drained, HookError, HookOptions, HookSet, Ran, deny};

use crate::world::{Calling, Seen, call, fire, hooks};

const A_WHILE: Duration = Duration::from_secs(5);

/// A detached watch that takes one permit per event, and says what it saw.
fn gated(name: &'static str, gate: &Arc<Semaphore>, seen: &Seen) -> HookSet {
    let (gate, seen) = (gate.clone(), seen.clone());
    let mut set = HookSet::new();
    set.watch(Calling.named(name).no_timeout().detached(), async move |cx| {
        gate.acquire().await?.forget();
        seen.add(format!("{name} {} {}", cx.tool, cx.record()));
        Ok(())
    });
    set
}

#[tokio::test(start_paused = true)]
async fn a_slow_detached_watch_holds_up_neither_the_dispatch_nor_other_watches() {
    let (closed, open, seen) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(9)), Seen::default());
    let mut set = gated("slow", &closed, &seen);
    set.append(gated("fast", &open, &seen));
    set.guard(Calling.named("guard"), async |_| deny("no"));
    let hooks = hooks(set);

    let fired = fire(&hooks, call("t")).now_or_never().expect("nobody waits for a detached watch");
    assert_eq!(fired.story(), ["guard denied: no", "slow runs behind", "fast runs behind", "= denied by guard: no"]);

    assert_eq!(hooks.drain(A_WHILE).await, Drained { dropped: 0, unfinished: 1 });
    assert_eq!(seen.all(), ["fast t denied by guard: no"]);

    closed.add_permits(1);
    assert_eq!(hooks.drain(A_WHILE).await, Drained::default());
    assert_eq!(seen.all(), ["fast t denied by guard: no", "slow t denied by guard: no"]);
}

#[tokio::test(start_paused = true)]
async fn a_detached_watch_sees_events_in_order_and_as_they_were_then() {
    let (gate, seen) = (Arc::new(Semaphore::new(0)), Seen::default());
    let hooks = hooks(gated("w", &gate, &seen));
    for tool in ["one", "two", "three"] {
        fire(&hooks, call(tool)).await;
    }

    gate.add_permits(3);
    assert_eq!(hooks.drain(A_WHILE).await, Drained::default());
    assert_eq!(seen.all(), ["w one proceeded", "w two proceeded", "w three proceeded"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_full_queue_drops_is_recorded_and_counted() {
    let (gate, seen) = (Arc::new(Semaphore::new(0)), Seen::default());
    let hooks = hooks(gated("w", &gate, &seen));
    let (mut queued, mut dropped) = (0, 0);
    while dropped < 10 {
        match fire(&hooks, call("t")).await.outcome.record().hooks[0].ran {
            Ran::Detached => queued += 1,
            Ran::Dropped => dropped += 1,
            ref other => panic!("{other:?}"),
        }
        assert!(queued <= 10_000, "the queue has no bound");
    }

    assert_eq!(hooks.drain(A_WHILE).await, Drained { dropped: 10, unfinished: queued });
    gate.add_permits(Semaphore::MAX_PERMITS / 2);
    // Whoever asks next is told of what was dropped since.
    assert_eq!(hooks.drain(A_WHILE).await, Drained::default());
    assert_eq!(seen.all().len() as u64, queued);
}

#[tokio::test(start_paused = true)]
async fn draining_takes_no_longer_than_it_may() {
    let (gate, seen) = (Arc::new(Semaphore::new(0)), Seen::default());
    let hooks = hooks(gated("w", &gate, &seen));
    fire(&hooks, call("t")).await;
    let began = tokio::time::Instant::now();

    hooks.drain(A_WHILE).await;
    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_detached_watch_that_fails_goes_on_with_the_next_event() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    let log = seen.clone();
    set.watch(Calling.detached().timeout(Duration::from_secs(1)), async move |cx| match cx.tool.as_str() {
        "errs" => Err(HookError::new("no")),
        "panics" => panic!("no"),
        "hangs" => std::future::pending().await,
        tool => {
            log.add(tool);
            Ok(())
        }
    });
    let hooks = hooks(set);
    for tool in ["errs", "panics", "hangs", "works"] {
        fire(&hooks, call(tool)).await;
    }

    assert_eq!(hooks.drain(A_WHILE).await, Drained::default());
    assert_eq!(seen.all(), ["works"]);
}

#[tokio::test(start_paused = true)]
async fn a_switched_off_detached_watch_sees_nothing() {
    let (gate, seen) = (Arc::new(Semaphore::new(9)), Seen::default());
    let hooks = hooks(gated("w", &gate, &seen));
    hooks.disable("w").expect("it is there");

    fire(&hooks, call("t")).await;
    assert_eq!(hooks.drain(A_WHILE).await, Drained::default());
    assert!(seen.all().is_empty());
}

#[test]
fn a_detached_watch_works_again_in_the_next_runtime_and_what_the_last_one_lost_is_counted() {
    let (gate, seen) = (Arc::new(Semaphore::new(1)), Seen::default());
    let hooks = hooks(gated("w", &gate, &seen));
    let mut drained = vec![];
    for tool in ["one", "lost", "lost", "three"] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            if tool == "three" {
                gate.add_permits(1);
            }
            fire(&hooks, call(tool)).await;
            if tool != "lost" {
                drained.push(hooks.drain(A_WHILE).await);
            }
        });
    }

    assert_eq!(drained, [Drained::default(), Drained { dropped: 2, unfinished: 0 }]);
    assert_eq!(seen.all(), ["w one proceeded", "w three proceeded"]);
}

#[tokio::test(start_paused = true)]
async fn draining_does_not_wait_for_what_others_hand_over_meanwhile() {
    let (gate, seen) = (Arc::new(Semaphore::new(0)), Seen::default());
    let hooks = hooks(gated("w", &gate, &seen));
    fire(&hooks, call("mine")).await;
    let drained = tokio::spawn({
        let hooks = hooks.clone();
        async move { hooks.drain(A_WHILE).await }
    });
    tokio::task::yield_now().await;
    fire(&hooks, call("theirs")).await;
    gate.add_permits(1);
    assert_eq!(drained.await.expect("it ends"), Drained::default());
}
