//! Timeouts, failure policies, and trying again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tokio::time::Instant;
use vertebra_hooks::{
    Attach, Failure, FailurePolicy, HookError, HookOptions, HookSet, Kind, Point, Ran, Verdict, deny, proceed, stop,
};

use crate::world::{Calling, Ending, Line, Noticing, call, check, fire, hooks, story};

#[tokio::test(start_paused = true)]
async fn a_hook_has_thirty_seconds_unless_told_otherwise() {
    let mut set = HookSet::new();
    set.on(Calling.named("hook").fail_open(), async |_| std::future::pending().await);
    set.guard(Calling.named("guard"), async |_| std::future::pending().await);
    set.watch(Calling.named("watch"), async |_| std::future::pending().await);
    set.on(Calling.named("hasty").fail_open().timeout(Duration::from_millis(7)), async |_| {
        std::future::pending().await
    });
    let began = Instant::now();

    let story = [
        "hook gave no answer within 30000 ms, so proceeded",
        "hasty gave no answer within 7 ms, so proceeded",
        "guard gave no answer within 30000 ms, so denied",
        "watch gave no answer within 30000 ms, so proceeded",
        "= denied by guard: `guard` gave no answer within 30000 ms",
    ];
    check(set, call("t"), story).await;
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(90_007) && took < Duration::from_millis(90_050), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_without_a_timeout_takes_as_long_as_it_wants() {
    let mut set = HookSet::new();
    set.on(Calling.named("slow").no_timeout(), async |_| {
        tokio::time::sleep(Duration::from_hours(24)).await;
        deny("after a day")
    });

    check(set, call("t"), ["slow denied: after a day", "= denied by slow: after a day"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_answers_in_time_is_not_cut_off() {
    let mut set = HookSet::new();
    set.on(Calling.named("slow"), async |_| {
        tokio::time::sleep(Duration::from_secs(29)).await;
        proceed()
    });

    check(set, call("t"), ["slow proceeded", "= proceeded"]).await;
}

/// Without a runtime a timer cannot be made, so this dispatch would panic if one were armed.
#[test]
fn no_timer_is_armed_for_a_hook_that_never_waits() {
    let mut set = HookSet::new();
    set.on(Calling.named("hook"), async |_| proceed());
    set.guard(Calling.named("guard"), async |_| proceed());
    set.watch(Calling.named("watch"), async |_| Ok(()));

    let fired = fire(&hooks(set), call("t")).now_or_never().expect("nobody waits");
    assert_eq!(fired.story(), ["hook proceeded", "guard proceeded", "watch proceeded", "= proceeded"]);
}

/// What a failing hook comes to at each point, under each policy.
async fn failing<P: Point<State = vertebra_hooks::Bare, Event = Line>>(
    point: P,
    policy: Option<FailurePolicy>,
) -> Kind {
    hooks(broken(point, policy)).fire(point, &mut Line::default()).await.verdict().kind()
}

fn broken<P: Point>(point: P, policy: Option<FailurePolicy>) -> HookSet {
    let mut set = HookSet::new();
    let site = point.named("broken");
    match policy {
        None => set.on(site, async |_| Err(HookError::new("broken"))),
        Some(policy) => set.on(site.on_failure(policy), async |_| Err(HookError::new("broken"))),
    };
    set
}

#[tokio::test]
async fn a_failure_comes_to_what_its_policy_says_as_far_as_the_point_has_the_power() {
    use FailurePolicy::{Ask, Closed, Open};
    // By default closed where the point can refuse, open elsewhere.
    let cases = [
        (None, Kind::Deny, Kind::Proceed, Kind::Proceed),
        (Some(Open), Kind::Proceed, Kind::Proceed, Kind::Proceed),
        (Some(Closed), Kind::Deny, Kind::Stop, Kind::Proceed),
        (Some(Ask), Kind::Ask, Kind::Stop, Kind::Proceed),
    ];
    for (policy, at_call, at_end, at_notice) in cases {
        let fired = fire(&hooks(broken(Calling, policy)), call("t")).await;

        assert_eq!(fired.outcome.verdict().kind(), at_call, "a call, {policy:?}");
        assert_eq!(failing(Ending, policy).await, at_end, "an end, {policy:?}");
        assert_eq!(failing(Noticing, policy).await, at_notice, "a notice, {policy:?}");
    }
}

#[test]
fn the_default_policy_is_closed_where_the_point_can_refuse_and_open_elsewhere() {
    let mut set = HookSet::new();
    set.on(Calling.named("at-call"), async |_| proceed());
    set.on(Ending.named("at-end"), async |_| proceed());
    set.on(Noticing.named("at-notice"), async |_| proceed());
    set.guard(Ending.named("guard-at-end"), async |_| stop("x"));
    set.watch(Calling.named("watch"), async |_| Ok(()));
    let hooks = hooks(set);
    let policies = hooks.list().into_iter().map(|hook| (hook.name.to_string(), hook.on_failure)).collect::<Vec<_>>();

    let expected = [
        ("at-call", FailurePolicy::Closed),
        ("at-end", FailurePolicy::Open),
        ("at-notice", FailurePolicy::Open),
        ("guard-at-end", FailurePolicy::Closed),
        ("watch", FailurePolicy::Open),
    ];
    assert_eq!(policies, expected.map(|(name, policy)| (name.to_owned(), policy)));
}

#[tokio::test]
async fn a_guard_that_fails_refuses_with_the_strongest_word_its_point_has() {
    let mut set = HookSet::new();
    set.guard(Ending.named("guard"), async |_| Err(HookError::new("broken")));

    let outcome = hooks(set).fire(Ending, &mut Line::default()).await;
    assert_eq!(
        story(&outcome.record()),
        ["guard failed: broken, so stopped", "= stopped by guard: `guard` failed: broken"]
    );
}

#[tokio::test]
async fn a_failure_that_fails_closed_ends_the_hook_phase_like_a_deny() {
    let mut set = HookSet::new();
    set.on(Calling.named("broken"), async |_| Err(HookError::new("broken")));
    set.on(Calling.named("late"), async |_| proceed());

    let story = [
        "broken failed: broken, so denied",
        "late not run, because broken denied",
        "= denied by broken: `broken` failed: broken",
    ];
    check(set, call("t"), story).await;
}

#[tokio::test]
async fn a_crash_is_told_apart_from_a_deny() {
    let mut by_panic = HookSet::new();
    by_panic.on(Calling.named("h"), async |_| panic!("crash"));
    let mut by_verdict = HookSet::new();
    by_verdict.on(Calling.named("h"), async |_| deny("crash"));

    let crashed = fire(&hooks(by_panic), call("t")).await.outcome.record();
    let denied = fire(&hooks(by_verdict), call("t")).await.outcome.record();

    assert_eq!((crashed.verdict, denied.verdict), (Kind::Deny, Kind::Deny));
    assert_eq!((crashed.decided_by_failure(), denied.decided_by_failure()), (true, false));
    let failure = Failure::Panic { message: "crash".into() };
    assert_eq!(crashed.failures().collect::<Vec<_>>(), [("h", &failure)]);
    assert_eq!(denied.failures().count(), 0);
    let failed =
        Ran::Failed { failure: failure.clone(), policy: FailurePolicy::Closed, verdict: Kind::Deny, attempts: 1 };
    assert_eq!(crashed.hooks[0].ran, failed);
}

#[tokio::test]
async fn an_error_is_told_with_all_its_causes() {
    #[derive(Debug, thiserror::Error)]
    #[error("the rules cannot be read")]
    struct Outer(#[source] std::num::ParseIntError);
    let mut set = HookSet::new();
    set.on(Calling.named("rules"), async |_| Err("x".parse::<u8>().map_err(Outer).expect_err("not a number").into()));

    let fired = fire(&hooks(set), call("t")).await;
    let told = "denied by rules: `rules` failed: the rules cannot be read: invalid digit found in string";
    assert_eq!(fired.outcome.to_string(), told);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_is_tried_again_as_often_as_it_may() {
    let cases = [
        (0, "flaky failed: attempt 1, so denied"),
        (1, "flaky failed: attempt 2, 2 times, so denied"),
        (2, "flaky proceeded; /tool \"t\" → \"t3\""),
        (9, "flaky proceeded; /tool \"t\" → \"t3\""),
    ];
    for (retries, expected) in cases {
        let attempts = Arc::new(AtomicU32::new(0));
        let mut set = HookSet::new();
        set.on(Calling.named("flaky").max_retries(retries), async move |cx| {
            let attempt = attempts.fetch_add(1, Ordering::Relaxed) + 1;
            // Each attempt begins with the event as it was.
            cx.tool.push_str(&attempt.to_string());
            if attempt < 3 { Err(HookError::new(format!("attempt {attempt}"))) } else { proceed() }
        });
        let fired = fire(&hooks(set), call("t")).await;
        assert_eq!(fired.story()[0], expected, "max_retries({retries})");
    }
}

#[tokio::test(start_paused = true)]
async fn guards_are_tried_again_too_and_each_attempt_has_its_own_timeout() {
    let mut set = HookSet::new();
    set.guard(Calling.named("guard").max_retries(2).timeout(Duration::from_secs(1)), async |_| {
        std::future::pending().await
    });
    let began = Instant::now();

    let story = [
        "guard gave no answer within 1000 ms, 3 times, so denied",
        "= denied by guard: `guard` gave no answer within 1000 ms",
    ];
    check(set, call("t"), story).await;
    assert_eq!(began.elapsed().as_secs(), 3);
}
