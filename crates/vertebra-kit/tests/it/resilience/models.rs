//! Models that fail.

use vertebra::{
    AgentTool, CancellationToken, ErrorClass, Likeness, Limits, MemoryJournal, ModelId, News, RunStatus, What,
    testing::RecordingTool,
};

use super::*;
use crate::support::{built, run};

/// Retries with waits of 1, 2, 4 … seconds, for at most three seconds.
fn retrying() -> ModelRetry {
    ModelRetry { patience: secs(3), backoff: even(), ..ModelRetry::default() }
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

fn broken() -> ModelError {
    ModelError::Broken { message: "reset".to_owned() }
}

/// A model that fails so often.
fn failing(times: usize, error: &ModelError) -> Script {
    (0..times).fold(Script::new(), |script, _| script.fail(error.clone()))
}

#[tokio::test]
async fn a_model_that_fails_in_passing_is_asked_again_after_growing_waits() {
    check(Script::new().fail(network()).fail(busy(None)).say("hello"), retrying(), 3, &[1, 2], FINISHED).await;
}

#[tokio::test]
async fn the_wait_that_a_provider_asks_for_is_kept_unless_it_is_longer_than_the_patience() {
    let patient = ModelRetry { patience: secs(90), ..retrying() };
    check(Script::new().fail(busy(Some(secs(90)))).say("hello"), patient, 2, &[90], FINISHED).await;
    let too_long = "failed (Error!) by model-retry/enough: the model is busy: try later: gave up retrying";
    check(Script::new().fail(busy(Some(secs(91)))), patient, 1, &[], too_long).await;
}

#[tokio::test]
async fn a_provider_that_is_away_is_waited_for_longer_than_the_time_limit_of_the_run() {
    let model = failing(40, &network()).may_end_early();
    let clock = FakeClock::new();
    let mut builder = agent(&model, &clock);
    builder.limits(Limits { time: Some(secs(300)), ..Limits::default() });
    let report = run(&built(builder.with(ModelRetry { backoff: even(), ..ModelRetry::default() })), "go").await;
    assert!(clock.sleeps().iter().sum::<Duration>() > secs(500), "{:?}", clock.sleeps());
    // The patience ends it, and not the limit.
    assert!(ending(&report).contains("gave up retrying"), "{}", ending(&report));
    let model = failing(12, &network()).say("hello");
    let mut builder = agent(&model, &clock);
    builder.limits(Limits { time: Some(secs(100)), ..Limits::default() });
    let report = run(&built(builder.with(ModelRetry { backoff: even(), ..ModelRetry::default() })), "go").await;
    assert_eq!(ending(&report), FINISHED);
}

#[tokio::test]
async fn the_last_step_that_a_run_may_take_is_retried_too() {
    let model = failing(2, &network()).say("hello");
    let mut builder = agent(&model, &FakeClock::new());
    builder.limits(Limits { steps: Some(1), ..Limits::default() });
    assert_eq!(ending(&run(&built(builder.with(retrying())), "go").await), FINISHED);
}

#[tokio::test]
async fn the_time_of_attempts_that_reach_nobody_is_not_active_time() {
    let clock = FakeClock::new();
    let (model, passing) = (failing(4, &network()).say("hello"), clock.clone());
    let mut builder = agent(&model, &clock);
    builder.limits(Limits { time: Some(secs(100)), ..Limits::default() });
    // Each attempt takes a minute until it fails.
    builder.on(BeforeInference, async move |_cx| {
        passing.advance(secs(60));
        proceed()
    });
    let retry = ModelRetry { patience: secs(60), backoff: even(), ..ModelRetry::default() };
    assert_eq!(ending(&run(&built(builder.with(retry)), "go").await), FINISHED);
}

#[tokio::test]
async fn what_is_given_up_on_is_not_retried_by_the_error_policy_on_top() {
    let given_up = "by model-retry/enough: the provider was not reached: no route: gave up retrying";
    check(failing(3, &network()), retrying(), 3, &[1, 2], &format!("failed (Error!) {given_up}")).await;
    let rejected = Script::new().fail(ModelError::Rejected { message: "no".to_owned() });
    check(rejected, retrying(), 1, &[], "failed (Error!) by model: the model rejected the request: no").await;
}

#[tokio::test]
async fn a_hook_may_still_make_good_what_is_given_up_on() {
    let model = Script::new().fail(network()).say("hello");
    let mut builder = agent(&model, &FakeClock::new());
    builder.with(ModelRetry { patience: Duration::ZERO, ..retrying() });
    builder.on(OnError, async |_cx| recover("the network is back"));
    assert_eq!(ending(&run(&built(&mut builder), "go").await), FINISHED);
}

#[tokio::test]
async fn a_recorded_run_is_suspended_when_the_patience_is_over_and_finished_when_it_is_resumed() {
    let journal = MemoryJournal::default();
    let tool = RecordingTool::new("count");
    let model = Script::new().call("count", "{}").fail(network()).fail(network()).fail(network());
    let mut builder = agent(&model, &FakeClock::new());
    let agent_ = built(builder.journal(journal.clone()).tool(tool.clone()).with(retrying()));
    let mut session = agent_.session().await.expect("a session");
    let id = session.id().to_owned();
    let report = session.prompt("go").await.expect("a suspended run has not failed");
    session.close().await;
    let expected = "suspended (Suspended!) by model-retry: the provider was not reached: no route; gave up retrying";
    assert_eq!(ending(&report), expected);

    let model = Script::new().say("hello");
    let mut builder = agent(&model, &FakeClock::new());
    let agent_ = built(builder.journal(journal.clone()).tool(tool.clone()).with(retrying()));
    let mut session = agent_.resume(&id).await.expect("it can be resumed");
    let report = session.go_on().await.expect("a run is left").expect("it does not fail");
    assert_eq!((ending(&report).as_str(), report.text.as_str()), (FINISHED, "hello"));
    assert_eq!(tool.calls().len(), 1, "nothing is done twice");
    session.close().await;
    let lines: Vec<_> = journal.entries().into_iter().filter(|line| *line.session_id == id).collect();
    let replay = agent_.replay(lines, Likeness::Hooks).await.expect("a replay");
    assert_eq!(replay.divergence, None);
}

#[tokio::test]
async fn a_session_that_is_suspended_is_replayed_as_far_as_it_came() {
    let journal = MemoryJournal::default();
    let mut builder = agent(&failing(3, &network()), &FakeClock::new());
    let agent = built(builder.journal(journal.clone()).with(retrying()));
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a suspended run has not failed");
    session.close().await;
    let replay = agent.replay(journal.entries(), Likeness::Hooks).await.expect("a replay");
    assert_eq!(replay.divergence, None);
}

#[tokio::test]
async fn a_subagent_that_loses_its_provider_suspends_the_whole_run_and_goes_on_where_it_was() {
    let journal = MemoryJournal::default();
    let (outer, inner) = (RecordingTool::new("outer"), RecordingTool::new("inner"));
    let agent_on = |model: &Script| {
        let mut child = Agent::builder(model.clone());
        child.name("helper").tool(inner.clone());
        let mut builder = agent(model, &FakeClock::new());
        builder.journal(journal.clone()).with(retrying()).tool(outer.clone());
        builder.tool(AgentTool::new("helper", "helps", built(&mut child)));
        built(&mut builder)
    };
    let model = Script::new().calls([("outer", "{}"), ("helper", r#"{"prompt": "help"}"#)]).call("inner", "{}");
    let model = model.fail(network()).fail(network()).fail(network());
    let agent = agent_on(&model);
    let mut session = agent.session().await.expect("a session");
    let id = session.id().to_owned();
    let report = session.prompt("go").await.expect("a suspended run has not failed");
    assert_eq!(report.status, RunStatus::Suspended, "{report:?}");
    session.close().await;
    let agent = agent_on(&Script::new().say("helped").say("done"));
    let mut session = agent.resume(&id).await.expect("it can be resumed");
    let report = session.go_on().await.expect("a run is left").expect("it does not fail");
    assert_eq!((report.status, report.text.as_str()), (RunStatus::Completed, "done"));
    assert_eq!((outer.calls().len(), inner.calls().len()), (1, 1), "nothing is done twice");
}

#[tokio::test]
async fn an_answer_that_breaks_off_begins_again_and_nothing_of_it_is_executed() {
    let tool = RecordingTool::new("count");
    let model = Script::new().stream(["he"]).breaking_off(broken()).call("count", "{}").say("hello");
    let journal = MemoryJournal::default();
    let mut builder = agent(&model, &FakeClock::new());
    let mut stream = built(builder.journal(journal.clone()).tool(tool.clone()).with(retrying())).stream("go");
    let mut seen = Vec::new();
    while let Some(event) = stream.next().await {
        match event.news {
            News::Delta { text, .. } => seen.push(text),
            News::Retry { retry, cut_off, .. } => seen.push(format!("retry {retry}, cut off: {cut_off}")),
            _ => {}
        }
    }
    assert_eq!(seen, ["he", "retry 1, cut off: true", "hello"]);
    assert_eq!(tool.calls().len(), 1);
    // The record has the failed call as one, and none of its text.
    let answers: Vec<bool> = journal
        .entries()
        .iter()
        .filter_map(|line| match &line.what {
            What::ModelAnswered { response, error, .. } => Some(response.is_some() && error.is_none()),
            _ => None,
        })
        .collect();
    assert_eq!(answers, [false, true, true]);
    assert!(!serde_json::to_string(&journal.entries()).expect("JSON").contains("\"text\":\"he\""));
}

#[tokio::test]
async fn answers_that_break_off_again_and_again_are_given_up_on() {
    let half = (0..3).fold(Script::new(), |script, _| script.stream(["he"]).breaking_off(broken()));
    let given_up = "failed (Error!) by model-retry/enough: the answer broke off: reset: gave up retrying";
    check(half, ModelRetry { patience: secs(600), broken: 2, ..retrying() }, 3, &[1, 2], given_up).await;
}

#[tokio::test]
async fn a_retry_is_told_to_people_and_can_be_cancelled_or_suspended() {
    let clock = FakeClock::by_hand();
    let mut builder = Agent::builder(Script::new().fail(network()));
    builder.clock(clock.clone()).with(retrying());
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    builder.watch(Notification, async move |cx| {
        assert_eq!(cx.message, "the provider was not reached: no route");
        token.cancel();
        Ok(())
    });
    let agent = built(&mut builder);
    let report = agent
        .session()
        .await
        .expect("a session")
        .prompt_until("go", &cancel)
        .await
        .expect("a cancelled run has not failed");
    assert_eq!(ending(&report), "cancelled (Cancelled!) by caller: the run was cancelled");

    // Suspended while it waits, it does not wait to the end.
    let mut builder = Agent::builder(Script::new().fail(network()));
    builder.clock(FakeClock::by_hand()).journal(MemoryJournal::default()).with(retrying());
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    let mut stream = session.stream("go");
    let mut waits = None;
    while let Some(event) = stream.next().await {
        if let News::Retry { wait_ms, .. } = event.news {
            waits = Some(wait_ms);
            stream.suspend();
        }
    }
    assert_eq!(waits, Some(1000));
    assert_eq!(stream.finish().await.expect("it has not failed").status, RunStatus::Suspended);
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
    builder.with(ModelFallback::to([spare("b")])).with(ModelRetry { patience: secs(1), ..retrying() });
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
