//! Limits: their defaults, each of them, their removal, and that children, critics and retries spend from them.

use jiff::Timestamp;
use vertebra::{
    AgentBuilder, AgentTool, InferenceReport, Limits, Usage,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};

use super::support::*;

/// A model that asks for `ls` so many times, at this price.
fn calls(times: usize, tokens: u64, cost_micros: u64) -> Script {
    let usage = Usage { cost_micros, ..Usage::tokens(tokens, 0) };
    (0..times).fold(Script::new(), |model, _| model.call("ls", "{}").using(usage))
}

async fn check(model: Script, set: impl FnOnce(&mut AgentBuilder), expected: &str) {
    let told = story(&model, set).await;
    assert_eq!(told.last().map(String::as_str), Some(expected));
}

#[tokio::test]
async fn a_run_takes_twenty_steps_unless_told_otherwise() {
    check(calls(20, 0, 0), |_| {}, "= stopped (steps!) by limits of tester: used 20 of 20 steps").await;
    check(
        calls(25, 0, 0).say("done"),
        |b| {
            b.limits(Limits { steps: None, ..Limits::default() });
        },
        FINISHED,
    )
    .await;
    check(calls(19, 0, 0).say("done"), |_| {}, FINISHED).await;
}

#[tokio::test]
async fn a_run_uses_32_768_tokens_unless_told_otherwise() {
    let thousand = "= stopped (tokens!) by limits of tester: used 40000 of 32768 tokens";
    check(calls(4, 10_000, 0), |_| {}, thousand).await;
    check(
        calls(4, 10_000, 0).say("done"),
        |b| {
            b.limits(Limits { tokens: None, ..Limits::default() });
        },
        FINISHED,
    )
    .await;
}

#[tokio::test]
async fn the_tokens_left_bound_what_the_model_may_write() {
    let model = Script::new().say("short");
    check(
        model.clone(),
        |b| {
            b.max_tokens(100);
        },
        FINISHED,
    )
    .await;
    assert!(model.requests()[0].max_output_tokens.is_some_and(|most| most < 100));
}

#[tokio::test]
async fn a_run_works_five_minutes_unless_told_otherwise() {
    let clock = FakeClock::new();
    let model = || calls(2, 0, 0).taking(secs(300), &clock);
    let told = story_on(&model(), &clock, |_| {}).await;
    assert_eq!(
        told.last().map(String::as_str),
        Some("= stopped (time!) by limits of tester: reached the time limit of 300s")
    );
    let told = story_on(&model().say("done"), &clock, |b| {
        b.limits(Limits { time: None, ..Limits::default() });
    })
    .await;
    assert_eq!(told.last().map(String::as_str), Some(FINISHED));
}

#[tokio::test]
async fn cost_and_deadline_are_kept() {
    check(
        calls(2, 0, 600),
        |b| {
            b.max_cost_micros(1000);
        },
        "= stopped (cost!) by limits of tester: used 1200 of 1000 millionths of a dollar",
    )
    .await;
    let clock = FakeClock::new();
    let model = calls(1, 0, 0).taking(secs(61), &clock);
    let told = story_on(&model, &clock, |b| {
        b.deadline(Timestamp::from_second(60).expect("a minute past the epoch"));
    })
    .await;
    assert_eq!(
        told.last().map(String::as_str),
        Some("= stopped (deadline!) by limits of tester: the deadline 1970-01-01T00:01:00Z has passed")
    );
}

#[tokio::test]
async fn a_limit_passed_before_the_first_step_is_enough() {
    let clock = FakeClock::new();
    clock.advance(secs(100));
    let told = story_on(&Script::new(), &clock, |b| {
        b.deadline(Timestamp::from_second(60).expect("a minute past the epoch"));
    })
    .await;
    assert_eq!(told.len(), 2, "{told:?}");
}

#[tokio::test]
async fn a_limit_that_hooks_of_a_step_use_up_stops_it_before_the_model() {
    let clock = FakeClock::new();
    let moved = clock.clone();
    let told = story_on(&Script::new(), &clock, |b| {
        b.on(BeforeStep, async move |_| {
            moved.advance(secs(400));
            proceed()
        });
    })
    .await;
    assert_eq!(told, ["user: go", "= stopped (time!) by limits of tester: reached the time limit of 300s"]);
}

#[tokio::test]
async fn a_run_that_ends_by_itself_is_not_blamed_on_a_limit() {
    check(
        calls(1, 0, 0).say("done"),
        |b| {
            b.max_steps(2);
        },
        FINISHED,
    )
    .await;
}

#[tokio::test]
async fn each_run_of_a_session_has_its_own_budget() {
    let model = calls(1, 0, 0).say("one").call("ls", "{}").say("two");
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("ls")).max_steps(2);
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    assert_eq!(report(session.prompt("a").await).text, "one");
    assert_eq!(report(session.prompt("b").await).text, "two");
}

fn helper(model: &Script, limits: Limits) -> AgentTool {
    let child = agent(model).name("child").tool(RecordingTool::new("ls")).limits(limits).build().expect("a child");
    AgentTool::new("helper", "helps", child)
}

#[tokio::test]
async fn a_child_spends_from_its_parent_and_is_stopped_by_its_limits() {
    let delegate = || Script::new().call("helper", r#"{"prompt": "look"}"#);
    // Of five steps the parent takes one, so that the child has four.
    check(
        delegate(),
        |b| {
            b.max_steps(5).tool(helper(&calls(4, 0, 0), Limits::none()));
        },
        "= stopped (steps!) by limits of tester: used 5 of 5 steps",
    )
    .await;
    check(
        delegate(),
        |b| {
            b.max_tokens(5000).tool(helper(&calls(2, 2500, 0), Limits::none()));
        },
        "= stopped (tokens!) by limits of tester: used 5000 of 5000 tokens",
    )
    .await;
    check(
        delegate(),
        |b| {
            b.max_cost_micros(10).tool(helper(&calls(1, 0, 11), Limits::none()));
        },
        "= stopped (cost!) by limits of tester: used 11 of 10 millionths of a dollar",
    )
    .await;
}

#[tokio::test]
async fn parallel_children_share_one_budget() {
    let child = calls(20, 0, 0).may_end_early();
    let task = r#"{"prompt": "look"}"#;
    let model = Script::new().calls([("helper", task), ("helper", task), ("helper", task)]);
    let told = story(&model, |b| {
        b.max_steps(8).tool(helper(&child, Limits::none()));
    })
    .await;
    assert_eq!(told.last().map(String::as_str), Some("= stopped (steps!) by limits of tester: used 8 of 8 steps"));
    assert_eq!(child.requests().len(), 7);
}

#[tokio::test]
async fn a_model_call_of_a_capability_passes_the_points_and_pays() {
    let model = Script::new().say("draft").costing(100, 0).say("fine").costing(50, 0);
    let mut builder = agent(&model);
    let seen = watch_all(&mut builder);
    builder.on(ShouldContinue, async |cx| {
        let run = cx.scope().clone();
        let mut request = run.request();
        request.messages.push(Message::user("is this good?"));
        let verdict = run.infer(cx.state_mut(), "critic", request).await;
        assert!(matches!(verdict, InferenceReport::Answered(answer) if answer.text == "fine"));
        proceed()
    });
    let report = run(&mut builder).await;
    assert_eq!((&*report.text, report.usage.total_tokens()), ("draft", 150));
    let purposes: Vec<_> = seen.at("AfterInference").iter().map(|one| one.event["purpose"].clone()).collect();
    assert_eq!(purposes, [serde_json::json!("step"), serde_json::json!({"capability": "critic"})]);
}

#[tokio::test]
async fn what_a_hook_waits_for_is_dropped_when_the_runs_clock_says_so() {
    let mut builder = agent(&Script::new());
    builder.clock(FakeClock::new()).on(ExecutionStart, async |cx| {
        let run = cx.scope();
        let late = run.within(Some(secs(70_000)), std::future::pending::<()>()).await;
        let in_time = run.within(Some(secs(1)), async { 7 }).await;
        stop(format!("{late:?}, {in_time:?}"))
    });
    let ending = ending(&run(&mut builder).await);
    assert!(ending.ends_with(": None, Some(7)"), "{ending}");
}

#[tokio::test]
async fn a_tool_that_takes_longer_than_a_hook_lets_it_is_dropped_and_has_failed() {
    struct Dropped(Log);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.add("dropped");
        }
    }
    let log = Log::default();
    let (told, heard) = (log.clone(), log.clone());
    let hanging = tool("hang", "Hangs", async move |_: serde_json::Value, _| {
        let _dropped = Dropped(told.clone());
        std::future::pending::<Result<String, ToolError>>().await
    });
    let journal = vertebra::MemoryJournal::default();
    let model = Script::new().call("hang", "{}").call("ls", r#"{"n": "many"}"#).say("done");
    let mut builder = agent(&model);
    builder.journal(journal.clone()).tool(hanging);
    builder.tool(
        RecordingTool::new("ls")
            .with(|spec| spec.schema(serde_json::json!({"type": "object", "properties": {"n": {"type": "number"}}}))),
    );
    builder.on(BeforeToolUse, async |cx| {
        cx.time_limit = Some(secs(7));
        proceed()
    });
    builder.watch(ToolUseFailed, async move |cx| {
        heard.add(format!("{} reached: {}", cx.tool, cx.reached));
        Ok(())
    });
    assert_eq!(ending(&run(&mut builder).await), &FINISHED[2..]);
    assert_eq!(read_by_model(&model)[0], "failed: tool `hang` was stopped: it may take 7s");
    log.check(&["dropped", "hang reached: true", "ls reached: false"]);
    let ended = |entry: &vertebra::Entry| matches!(entry.what, vertebra::What::ToolEnded { .. });
    assert_eq!(journal.entries().iter().filter(|entry| ended(entry)).count(), 1);
}

#[tokio::test]
async fn a_stop_that_a_hook_hands_to_the_run_ends_it_after_the_step_and_may_be_hard() {
    let model = Script::new().call("ls", "{}");
    let told = story(&model, |b| {
        b.watch(AfterToolUse, async |cx| {
            cx.scope().stop(vertebra::Stop::hard(vertebra::StopReason::Cost, "purse", "empty"));
            Ok(())
        });
        b.on(ShouldContinue, async |_cx| go_on("more"));
    })
    .await;
    assert_eq!(told.last().map(String::as_str), Some("= stopped (cost!) by purse: empty"));
}
