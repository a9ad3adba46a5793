//! Models that fail.

use vertebra::{CancellationToken, ErrorClass, ModelId, News, testing::RecordingTool};

use super::*;
use crate::support::{built, run};

fn retrying() -> ModelRetry {
    ModelRetry { backoff: even(), ..ModelRetry::default() }
}

/// Runs under a retry: how often the model was asked, which waits there were, how the run ended.
async fn check(model: Script, retry: ModelRetry, asked: usize, waits: &[u64], end: &str) {
    let clock = FakeClock::new();
    let report = run(&built(agent(&model, &clock).with(retry)), "go").await;
    let waits: Vec<Duration> = waits.iter().map(|wait| secs(*wait)).collect();
    assert_eq!((model.requests().len(), clock.sleeps()), (asked, waits));
    assert_eq!(ending(&report), end);
}

const FINISHED: &str = "completed (Finished) by model: finished";

#[tokio::test]
async fn a_model_that_fails_in_passing_is_asked_again_after_growing_waits() {
    check(Script::new().fail(network()).fail(busy(None)).say("hello"), retrying(), 3, &[1, 2], FINISHED).await;
}

#[tokio::test]
async fn the_wait_that_a_provider_asks_for_is_kept() {
    check(Script::new().fail(busy(Some(secs(90)))).say("hello"), retrying(), 2, &[90], FINISHED).await;
}

#[tokio::test]
async fn what_is_given_up_on_is_not_retried_by_the_error_policy_on_top() {
    let given_up = "by model-retry/enough: the provider was not reached: no route: it is not asked again";
    let failing = Script::new().fail(network()).fail(network()).fail(network());
    check(failing, retrying(), 3, &[1, 2], &format!("failed (Error!) {given_up}")).await;
    let rejected = Script::new().fail(ModelError::Rejected { message: "no".to_owned() });
    check(rejected, retrying(), 1, &[], "failed (Error!) by model: the model rejected the request: no").await;
}

#[tokio::test]
async fn a_hook_may_still_make_good_what_is_given_up_on() {
    let model = Script::new().fail(network()).say("hello");
    let mut builder = agent(&model, &FakeClock::new());
    builder.with(ModelRetry { retries: 0, ..retrying() });
    builder.on(OnError, async |_cx| recover("the network is back"));
    assert_eq!(ending(&run(&built(&mut builder), "go").await), FINISHED);
}

#[tokio::test]
async fn nothing_is_asked_again_after_the_first_piece_was_shown_unless_that_is_allowed() {
    let broken = || ModelError::Broken { message: "reset".to_owned() };
    let half = || Script::new().stream(["he"]).breaking_off(broken());
    let given_up = "failed (Error!) by model-retry/enough: the answer broke off: reset: it is not asked again";
    check(half(), retrying(), 1, &[], given_up).await;
    check(half().say("hello"), ModelRetry { replay: Replay::Allowed, ..retrying() }, 2, &[1], FINISHED).await;

    // What a hook has kept back was not shown.
    let model = half().say("hello");
    let mut builder = agent(&model, &FakeClock::new());
    builder.with(retrying()).on(InferenceDelta, async |cx| if cx.text == "he" { hold() } else { proceed() });
    assert_eq!(run(&built(&mut builder), "go").await.text, "hello");
}

#[tokio::test]
async fn a_retry_is_told_to_people_and_can_be_cancelled() {
    let clock = FakeClock::by_hand();
    let mut builder = Agent::builder(Script::new().fail(network()));
    builder.clock(clock.clone()).with(retrying());
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    builder.watch(Notification, async move |cx| {
        assert_eq!(cx.message, "the provider was not reached: no route; retry 1 of 2 in 1000 ms");
        token.cancel();
        Ok(())
    });
    let agent = built(&mut builder);
    let report = agent.session().await.prompt_until("go", &cancel).await.expect("a cancelled run has not failed");
    assert_eq!(ending(&report), "cancelled (Cancelled!) by caller: the run was cancelled");

    let mut stream =
        built(super::agent(&Script::new().fail(network()).say("hi"), &FakeClock::new()).with(retrying())).stream("go");
    let mut notices = Vec::new();
    while let Some(event) = stream.next().await {
        if let News::Notice { kind, .. } = event.news {
            notices.push(kind);
        }
    }
    assert_eq!(notices, ["model-retry"]);
}

fn spare(name: &str) -> ModelId {
    ModelId::new("script", name)
}

/// The models that were truly asked.
fn asked(model: &Script) -> Vec<String> {
    model.requests().iter().map(|request| request.model.name.to_string()).collect()
}

#[tokio::test]
async fn other_models_are_asked_in_order_and_the_run_stays_with_who_answered() {
    let script = || Script::new().fail(network()).fail(busy(None)).call("ls", "{}");
    let fallback = || ModelFallback::to([spare("b"), spare("c")]);
    let model = script().say("done").say("again");
    let mut builder = agent(&model, &FakeClock::new());
    builder.tool(RecordingTool::new("ls")).with(fallback());
    let agent_ = built(&mut builder);
    run(&agent_, "go").await;
    assert_eq!(asked(&model), ["script-1", "b", "c", "c"]);
    run(&agent_, "another run").await;
    assert_eq!(asked(&model)[4], "script-1");

    let model = script().say("done");
    let mut builder = agent(&model, &FakeClock::new());
    builder.tool(RecordingTool::new("ls")).with(fallback().stay(Stay::WithTheFirst));
    run(&built(&mut builder), "go").await;
    assert_eq!(asked(&model), ["script-1", "b", "c", "script-1"]);
}

#[tokio::test]
async fn each_model_of_a_fallback_gets_its_retries_and_guards_see_each_request() {
    let model = Script::new().fail(network()).fail(network()).fail(network()).say("hello");
    let mut builder = agent(&model, &FakeClock::new());
    builder.with(ModelFallback::to([spare("b")])).with(ModelRetry { retries: 1, ..retrying() });
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = seen.clone();
    builder.guard(BeforeInference, async move |cx| {
        told.lock().expect("a list").push(cx.request.model.name.to_string());
        proceed()
    });
    assert_eq!(run(&built(&mut builder), "go").await.text, "hello");
    assert_eq!(asked(&model), ["script-1", "script-1", "b", "b"]);
    assert_eq!(*seen.lock().expect("a list"), asked(&model));
}

#[tokio::test]
async fn a_fallback_holds_for_the_classes_it_is_told_and_never_after_something_was_shown() {
    let failing = |error: ModelError| Script::new().fail(error);
    let too_long = || ModelError::TooLong { message: "9000 tokens".to_owned() };
    for (model, on, expected) in [
        (failing(too_long()), None, vec!["script-1"]),
        (failing(too_long()).say("hi"), Some(ErrorClass::TooLong), vec!["script-1", "b"]),
        (Script::new().stream(["h"]).breaking_off(too_long()), Some(ErrorClass::TooLong), vec!["script-1"]),
    ] {
        let mut fallback = ModelFallback::to([spare("b")]);
        if let Some(class) = on {
            fallback = fallback.on([class]);
        }
        run(&built(agent(&model, &FakeClock::new()).with(fallback)), "go").await;
        assert_eq!(asked(&model), expected);
    }
}

#[tokio::test]
async fn a_router_takes_a_fallback_to_another_driver() {
    let here = Script::of(ModelId::new("here", "small")).fail(network());
    let there = Script::of(ModelId::new("there", "large")).say("hello from there");
    let mut builder = Agent::builder(Router::new(here.clone()).with(there.clone()));
    builder.clock(FakeClock::new()).with(ModelFallback::to([ModelId::new("there", "large")]));
    assert_eq!(run(&built(&mut builder), "go").await.text, "hello from there");
    assert_eq!((asked(&here), asked(&there)), (vec!["small".to_owned()], vec!["large".to_owned()]));

    let mut builder = Agent::builder(Router::new(here).with(there));
    builder.clock(FakeClock::new()).on(BeforeInference, async |cx| {
        cx.request.model = ModelId::new("elsewhere", "x");
        proceed()
    });
    let report = run(&built(&mut builder), "go").await;
    assert!(
        report.stop.message.ends_with("no driver for provider `elsewhere`; there are: here, there"),
        "{}",
        report.stop
    );
}
