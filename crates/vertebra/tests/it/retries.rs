//! Retries: they wait on the clock, are bounded, can be cancelled, and then the failure policy speaks.

use tokio_util::sync::CancellationToken;
use vertebra::{
    AgentBuilder,
    prelude::*,
    testing::{FakeClock, Script},
};

use super::support::*;

/// What the tool's result is, how often it ran, and how long was waited.
async fn check(hooks: impl FnOnce(&mut AgentBuilder), result: &str, ran: usize, waits: &[u64]) {
    let clock = FakeClock::new();
    let told = story_on(&Script::new().call("ls", "{}").say("done"), &clock, hooks).await;
    assert_eq!(told[2], result);
    assert_eq!(told.iter().filter(|line| line.starts_with("ran")).count(), ran, "{told:?}");
    assert_eq!(clock.sleeps(), waits.iter().map(|wait| secs(*wait)).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_retry_before_a_tool_is_bounded_by_three_and_then_fails_closed() {
    let closed = "ls: blocked: hook `stubborn` asked to retry once more than allowed";
    check(
        |b| {
            b.on(BeforeToolUse.named("stubborn"), async |_| retry(secs(2)));
        },
        closed,
        0,
        &[2, 2, 2],
    )
    .await;
    check(
        |b| {
            b.guard(BeforeToolUse.named("stubborn"), async |_| retry(secs(2)));
        },
        closed,
        0,
        &[2, 2, 2],
    )
    .await;
}

#[tokio::test]
async fn a_retry_before_a_tool_that_fails_open_goes_on() {
    let open = |b: &mut AgentBuilder| {
        b.on(BeforeToolUse.fail_open(), async |_| retry(secs(2)));
    };
    check(open, "ls: files", 1, &[2, 2, 2]).await;
}

#[tokio::test]
async fn a_retry_after_a_tool_runs_it_again_at_most_three_times() {
    check(
        |b| {
            b.on(AfterToolUse, async |_| retry(secs(1)));
        },
        "ls: files",
        4,
        &[1, 1, 1],
    )
    .await;
}

#[tokio::test]
async fn the_limit_on_retries_can_be_set_and_holds_for_an_operation_as_a_whole() {
    check(
        |b| {
            b.retry_limit(2);
            b.on(BeforeToolUse.fail_open(), async |_| retry(secs(1)));
            b.on(AfterToolUse, async |_| retry(secs(5)));
        },
        "ls: files",
        1,
        &[1, 1],
    )
    .await;
}

#[tokio::test]
async fn a_call_counts_once_however_often_it_is_tried() {
    let mut builder = agent(&Script::new().call("ls", "{}").say("done"));
    builder.tool(logged("ls", "files", &Log::default())).on(AfterToolUse, async |_| retry(secs(1)));
    assert_eq!(run(&mut builder).await.tool_calls, 1);
}

#[tokio::test]
async fn retries_of_a_model_call_are_bounded_too() {
    let model = Script::new().say("1").say("2").say("3").say("4");
    let told = story(&model, |b| {
        b.on(AfterInference, async |_| retry(secs(1)));
    })
    .await;
    assert_eq!(told, ["user: go", "model: 4", FINISHED]);
    let clock = FakeClock::new();
    let told = story_on(&Script::new(), &clock, |b| {
        b.on(BeforeInference.named("stubborn"), async |_| retry(secs(1)));
    })
    .await;
    assert_eq!(
        told,
        ["user: go", "= stopped (requested) by stubborn: `stubborn` asked to retry once more than allowed"]
    );
    assert_eq!(clock.sleeps().len(), 3);
}

#[tokio::test]
async fn a_retry_counts_against_the_time() {
    let told = story(&Script::new().call("ls", "{}"), |b| {
        b.max_time(secs(10));
        b.on(AfterToolUse, async |_| retry(secs(4)));
    })
    .await;
    assert_eq!(
        told.last().map(String::as_str),
        Some("= stopped (time!) by limits of tester: reached the time limit of 10s")
    );
}

#[tokio::test]
async fn a_wait_can_be_cancelled_and_the_call_still_ends_for_its_hooks() {
    let clock = FakeClock::by_hand();
    let mut builder = agent_on(&Script::new().call("ls", "{}"), &clock);
    builder.tool(logged("ls", "files", &Log::default()));
    let seen = watch_all(&mut builder);
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    builder.on(BeforeToolUse, async move |_| {
        token.cancel();
        retry(secs(1_000_000))
    });
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    let report = report(session.prompt_until("go", &cancel).await);
    session.close().await;
    assert_eq!(ending(&report), "cancelled (cancelled!) by caller: the run was cancelled");
    let after = seen.at("AfterToolUse");
    assert_eq!(after.len(), 1);
    assert_eq!(after[0].event["result"]["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_is_tried_again_as_often_as_it_asks() {
    let log = Log::default();
    let tried = log.clone();
    let hook = move |b: &mut AgentBuilder| {
        b.on(BeforeToolUse.max_retries(3).timeout(secs(1)), async move |_| {
            tried.add("try");
            match tried.count("try") {
                1 => Err(HookError::new("first")),
                2 => panic!("second"),
                3 => std::future::pending().await,
                _ => proceed(),
            }
        });
    };
    check(hook, "ls: files", 1, &[]).await;
    assert_eq!(log.count("try"), 4);
}
