//! Wherever a hook panics, the dispatch goes on.

use std::{panic::panic_any, time::Duration};

use futures_util::FutureExt;
use vertebra_hooks::{Answer, Attach, Cx, Hook, HookOptions, HookSet, Match, deny, proceed};

use crate::world::{Calling, call, check, fire, hooks};

#[tokio::test]
async fn a_panic_is_a_failure_with_its_message() {
    let mut set = HookSet::new();
    set.on(Calling.named("text").fail_open(), async |_| panic!("plain"));
    set.on(Calling.named("formatted").fail_open(), async |cx| panic!("about {}", cx.tool));
    set.on(Calling.named("number").fail_open(), async |_| panic_any(7));
    set.guard(Calling.named("guard"), async |_| panic!("guard"));

    let story = [
        "text panicked: plain, so proceeded",
        "formatted panicked: about t, so proceeded",
        "number panicked: no message, so proceeded",
        "guard panicked: guard, so denied",
        "= denied by guard: `guard` panicked: guard",
    ];
    check(set, call("t"), story).await;
}

#[tokio::test]
async fn one_guard_that_panics_does_not_keep_the_others_from_judging() {
    let mut set = HookSet::new();
    set.guard(Calling.named("first"), async |_| panic!("first"));
    set.guard(Calling.named("second"), async |_| {
        tokio::task::yield_now().await;
        deny("second")
    });

    let story =
        ["first panicked: first, so denied", "second denied: second", "= denied by first: `first` panicked: first"];
    check(set, call("t"), story).await;
}

/// Panics before there is a future.
struct Stillborn;

impl Hook<Calling> for Stillborn {
    fn run(&self, cx: &mut Cx<'_, Calling>) -> impl Future<Output = Answer<Calling>> + Send {
        cx.tool.clear();
        assert!(!cx.tool.is_empty(), "no tool");
        std::future::ready(proceed())
    }
}

#[tokio::test]
async fn a_panic_before_the_future_is_made_is_a_failure_too() {
    let mut set = HookSet::new();
    set.add_hook(Calling.named("stillborn").max_retries(1), Stillborn);

    let story =
        ["stillborn panicked: no tool, 2 times, so denied", "= denied by stillborn: `stillborn` panicked: no tool"];
    let fired = check(set, call("t"), story).await;
    assert_eq!(fired.call, call("t"));
}

/// Panics when dropped.
#[derive(Clone)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "the bomb");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_when_it_is_let_go_after_its_timeout_has_timed_out() {
    let mut set = HookSet::new();
    set.on(Calling.named("bomb").timeout(Duration::from_secs(1)), async |_| {
        let _bomb = Bomb;
        std::future::pending().await
    });

    let story =
        ["bomb gave no answer within 1000 ms, so denied", "= denied by bomb: `bomb` gave no answer within 1000 ms"];
    check(set, call("t"), story).await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_when_its_dispatch_is_cancelled_harms_nobody() {
    let mut set = HookSet::new();
    set.on(Calling, async |_| {
        let _bomb = Bomb;
        std::future::pending().await
    });

    assert!(fire(&hooks(set), call("t")).now_or_never().is_none());
}

#[tokio::test]
async fn a_hook_that_panics_while_it_cleans_up_has_failed() {
    let mut set = HookSet::new();
    set.on(Calling.named("bomb"), async |cx| {
        cx.tool.clear();
        let _bomb = Bomb;
        proceed()
    });

    let fired =
        check(set, call("t"), ["bomb panicked: the bomb, so denied", "= denied by bomb: `bomb` panicked: the bomb"])
            .await;
    assert_eq!(fired.call, call("t"));
}

#[tokio::test]
async fn a_panic_whose_own_message_panics_is_still_only_a_failure() {
    let mut set = HookSet::new();
    set.on(Calling.named("bomb"), async |_| panic_any(Bomb));

    check(set, call("t"), ["bomb panicked: no message, so denied", "= denied by bomb: `bomb` panicked: no message"])
        .await;
}

/// An error that cannot be shown.
#[derive(Debug)]
struct Unspeakable;

impl std::fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("unspeakable")
    }
}

impl std::error::Error for Unspeakable {}

#[tokio::test]
async fn an_error_whose_text_panics_is_still_only_a_failure() {
    let mut set = HookSet::new();
    set.on(Calling.named("odd"), async |_| Err(Unspeakable.into()));

    check(set, call("t"), ["odd panicked: unspeakable, so denied", "= denied by odd: `odd` panicked: unspeakable"])
        .await;
}

#[tokio::test]
async fn a_hook_runs_if_its_condition_cannot_tell() {
    let mut set = HookSet::new();
    set.guard(
        Calling.when(|call| call.args["secret"].as_str().expect("a secret").is_empty()).named("guard"),
        async |_| deny("no"),
    );

    check(set, call("t"), ["guard denied: no", "= denied by guard: no"]).await;
}
