//! One resolver: who ended the run, what can be overridden, and what errors come to.

use vertebra::{
    AgentBuilder, ErrorClass, ErrorPolicy, InferenceReport, ModelError, OnFailure, Purpose,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};

use super::support::*;

/// How the run ends.
async fn check(model: Script, hooks: impl FnOnce(&mut AgentBuilder), expected: &str) {
    let told = story(&model, hooks).await;
    assert_eq!(told.last().map(String::as_str), Some(expected), "{told:?}");
}

#[tokio::test]
async fn continue_consumes_every_soft_stop() {
    let model = Script::new().say("one").say("two");
    check(
        model,
        |b| {
            b.on(AfterStep.named("tired"), async |cx| if cx.at.step == 1 { stop("tired") } else { proceed() });
            b.on(ShouldContinue, async |cx| {
                let sources: Vec<&str> = cx.stops.iter().map(|stop| &*stop.source).collect();
                assert_eq!(sources, if cx.at.step == 1 { &["model", "tired"][..] } else { &["model"][..] });
                if cx.at.step == 1 { go_on("once more") } else { proceed() }
            });
        },
        FINISHED,
    )
    .await;
}

#[tokio::test]
async fn continue_never_consumes_a_hard_stop() {
    let keen = |b: &mut AgentBuilder| {
        b.max_steps(2).on(ShouldContinue, async |_| go_on("more"));
    };
    check(Script::new().say("one").say("two"), keen, "= stopped (steps!) by limits of tester: used 2 of 2 steps").await;
    let keen = |b: &mut AgentBuilder| {
        b.max_tokens(10).on(ShouldContinue, async |_| go_on("more"));
    };
    let model = Script::new().say("one").costing(10, 0);
    check(model, keen, "= stopped (tokens!) by limits of tester: used 10 of 10 tokens").await;
}

#[tokio::test]
async fn a_continue_beats_a_stop_of_the_same_dispatch() {
    check(
        Script::new().say("one").say("two"),
        |b| {
            b.on(ShouldContinue.priority(1), async |cx| if cx.at.step == 1 { go_on("more") } else { proceed() });
            b.on(ShouldContinue.priority(2), async |cx| if cx.at.step == 1 { stop("no") } else { proceed() });
        },
        FINISHED,
    )
    .await;
}

#[tokio::test]
async fn the_strongest_reason_is_shown_with_its_source() {
    // Finished and asked to stop: the request wins.
    check(
        Script::new().say("done"),
        |b| {
            b.on(AfterStep.named("boss"), async |_| stop("that will do"));
            b.on(ShouldContinue.named("deputy"), async |_| stop("me too"));
        },
        "= stopped (requested) by boss: that will do",
    )
    .await;
    // Steps, time and cost used up at once: steps win; without steps, time.
    let spent = |steps: u64| {
        move |b: &mut AgentBuilder| {
            b.max_steps(steps).max_time(secs(1)).max_cost_micros(1);
        }
    };
    for (steps, expected) in [
        (1, "= stopped (steps!) by limits of tester: used 1 of 1 steps"),
        (9, "= stopped (time!) by limits of tester: reached the time limit of 1s"),
    ] {
        let clock = FakeClock::new();
        let cost = vertebra::Usage { cost_micros: 5, ..vertebra::Usage::default() };
        let model = Script::new().call("ls", "{}").using(cost).taking(secs(2), &clock);
        let told = story_on(&model, &clock, spent(steps)).await;
        assert_eq!(told.last().map(String::as_str), Some(expected));
    }
}

#[tokio::test]
async fn an_endless_continuation_ends_and_says_so() {
    let mut model = Script::new();
    for _ in 0..26 {
        model = model.say("again");
    }
    check(
        model,
        |b| {
            b.limits(vertebra::Limits::none()).on(ShouldContinue, async |_| go_on("more"));
        },
        "= stopped (retries!) by continuation limit: hooks continued the run 25 times, which is the limit",
    )
    .await;
    check(
        Script::new().say("1").say("2").say("3"),
        |b| {
            b.continuation_limit(2).on(AfterStep, async |_| go_on("more"));
        },
        "= stopped (retries!) by continuation limit: hooks continued the run 2 times, which is the limit",
    )
    .await;
}

#[tokio::test]
async fn an_endless_recovery_ends_too() {
    let failing = |n: usize| (0..n).fold(Script::new(), |model, _| model.fail(rejected()));
    let limit = "= stopped (retries!) by continuation limit: hooks continued the run 25 times, which is the limit";
    check(
        failing(26),
        |b| {
            b.limits(vertebra::Limits::none()).on(OnError, async |_| recover("again"));
        },
        limit,
    )
    .await;
    check(
        failing(26),
        |b| {
            let ignore = ErrorPolicy::default().on(ErrorClass::ModelRejected, OnFailure::Ignore);
            b.limits(vertebra::Limits::none()).error_policy(ignore);
        },
        limit,
    )
    .await;
}

#[tokio::test]
async fn errors_that_pass_are_retried_with_doubling_waits_and_then_end_the_run() {
    let clock = FakeClock::new();
    let model = Script::new().fail(busy()).fail(busy()).fail(busy()).say("at last");
    let told = story_on(&model, &clock, |_| {}).await;
    assert_eq!(told, ["user: go", "model: at last", FINISHED]);
    assert_eq!(clock.sleeps(), [secs(1), secs(2), secs(4)]);

    let network = || ModelError::Network { message: "unplugged".to_owned() };
    let model = Script::new().fail(network()).fail(network()).fail(network()).fail(network());
    check(model, |_| {}, "= failed (error!) by model: the provider was not reached: unplugged").await;
}

#[tokio::test]
async fn a_wait_that_the_provider_names_is_kept() {
    let clock = FakeClock::new();
    let model = Script::new().fail(ModelError::Busy { message: "later".to_owned(), wait: Some(secs(17)) }).say("done");
    story_on(&model, &clock, |_| {}).await;
    assert_eq!(clock.sleeps(), [secs(17)]);
}

#[tokio::test]
async fn the_error_policy_is_per_class() {
    check(
        Script::new().fail(busy()),
        |b| {
            b.error_policy(ErrorPolicy::stop());
        },
        "= failed (error!) by model: the model is busy: try later",
    )
    .await;
    let clock = FakeClock::new();
    let model = Script::new().fail(rejected()).say("done");
    let told = story_on(&model, &clock, |b| {
        let retry = OnFailure::Retry { times: 1, wait: secs(9) };
        b.error_policy(ErrorPolicy::stop().on(ErrorClass::ModelRejected, retry));
    })
    .await;
    assert_eq!((told.last().map(String::as_str), clock.sleeps()), (Some(FINISHED), vec![secs(9)]));
    let told = story(&Script::new().fail(rejected()).say("done"), |b| {
        b.error_policy(ErrorPolicy::stop().on(ErrorClass::ModelRejected, OnFailure::Ignore));
    })
    .await;
    assert_eq!(
        told,
        [
            "user: go",
            "OnError instructs: The last step failed: the model rejected the request: too rude",
            "model: done",
            FINISHED
        ]
    );
}

#[tokio::test]
async fn a_run_that_recovered_from_a_tool_error_and_a_block_has_not_failed() {
    let model = Script::new().calls([("bad", "{}"), ("ls", "{}")]).say("sorry");
    check(
        model,
        |b| {
            b.guard(BeforeToolUse.tool("ls"), async |_| deny("no"));
        },
        FINISHED,
    )
    .await;
}

#[tokio::test]
async fn a_retried_step_spends_from_the_same_budget() {
    let model = Script::new().fail(busy()).fail(busy());
    check(
        model,
        |b| {
            b.max_steps(2);
        },
        "= stopped (steps!) by limits of tester: used 2 of 2 steps",
    )
    .await;
}

#[tokio::test]
async fn a_child_that_is_stopped_gives_what_it_has_and_says_so() {
    let child = agent(&Script::new().call("ls", "{}").saying("looking"))
        .name("child")
        .tool(RecordingTool::new("ls"))
        .max_steps(1)
        .build()
        .expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "look"}"#).say("done");
    let told = story(&model, |b| {
        b.tool(vertebra::AgentTool::new("helper", "helps", child));
    })
    .await;
    assert_eq!(told[2], "helper: [stopped: used 1 of 1 steps (limits of child)]\nlooking");
}

#[tokio::test]
async fn a_stop_that_a_hook_asks_for_while_another_asks_a_model_at_the_end_still_ends_the_run() {
    let model = Script::new().call("ls", "{}");
    let story = story(&model, |b| {
        b.on(BeforeInference.when(|asked| asked.purpose != Purpose::Step).named("thrift"), async |_cx| {
            stop("no second opinions")
        });
        b.on(ShouldContinue, async |cx| {
            let (run, request) = (cx.scope().clone(), cx.scope().request());
            run.infer(cx.state_mut(), "critique", request).await;
            proceed()
        });
    })
    .await;
    assert_eq!(story.last().map(String::as_str), Some("= stopped (requested) by thrift: no second opinions"));
}

#[tokio::test]
async fn a_tool_may_ask_a_model_between_the_same_hooks_and_out_of_the_same_budget() {
    let model = Script::new().call("think", "{}").say("a thought").costing(40, 2).say("done");
    let (purposes, seen) = (Log::default(), Log::default());
    let (told, state) = (purposes.clone(), seen.clone());
    let mut builder = agent(&model);
    builder.tool(tool("think", "Thinks", async |_: serde_json::Value, invocation: Invocation| {
        match invocation.infer("thinking", invocation.run().request()).await {
            InferenceReport::Answered(answer) => Ok(answer.text),
            other => Err(ToolError::new(format!("{other:?}"))),
        }
    }));
    builder.on(AfterInference, async move |cx| {
        told.add(format!("{:?}", cx.purpose));
        if cx.purpose != Purpose::Step {
            cx.state_mut().metadata_mut().set("thoughts", 1);
        }
        proceed()
    });
    builder.watch(ExecutionEnd, async move |cx| {
        state.add(format!("{:?}", cx.state().metadata().get("thoughts")));
        Ok(())
    });
    let report = run(&mut builder).await;
    purposes.check(&["Step", r#"Capability("thinking")"#, "Step"]);
    seen.check(&["Some(Number(1))"]);
    assert_eq!((read_by_model(&model), report.usage.total_tokens()), (vec!["done: a thought".to_owned()], 42));
}
