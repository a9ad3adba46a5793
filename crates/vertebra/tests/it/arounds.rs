//! Middleware around tool use, inference, step and execution: outermost first, again, not at all, never past a guard.

use vertebra::{
    Execution, Inference, InferenceReport, Response, RunReport, RunStatus, Step, StepKind, StepReport, Stop,
    StopReason, ToolUse, Usage, prelude::*, testing::Script,
};

use super::support::*;

fn one_call() -> Script {
    Script::new().call("ls", "{}").say("done")
}

#[tokio::test]
async fn arounds_nest_outermost_first_around_every_operation() {
    let log = Log::default();
    let told = log.clone();
    story(&one_call(), move |b| {
        macro_rules! wrap {
            ($($operation:ident)*) => {$(
                for (name, priority) in [("inner", 20), ("outer", 10)] {
                    let log = told.clone();
                    b.around($operation.named(name).priority(priority), async move |cx, next| {
                        log.add(format!("{name} {} (", stringify!($operation)));
                        let output = next.run(cx).await;
                        log.add(format!("{name} {} )", stringify!($operation)));
                        output
                    });
                }
            )*};
        }
        wrap!(Execution Step Inference ToolUse);
        let log = told.clone();
        b.on(BeforeToolUse, async move |_| {
            log.add("hook");
            proceed()
        });
    })
    .await;
    log.check(&[
        "outer Execution (",
        "inner Execution (",
        "outer Step (",
        "inner Step (",
        "outer Inference (",
        "inner Inference (",
        "inner Inference )",
        "outer Inference )",
        "outer ToolUse (",
        "inner ToolUse (",
        "hook",
        "inner ToolUse )",
        "outer ToolUse )",
        "inner Step )",
        "outer Step )",
        "outer Step (",
        "inner Step (",
        "outer Inference (",
        "inner Inference (",
        "inner Inference )",
        "outer Inference )",
        "inner Step )",
        "outer Step )",
        "inner Execution )",
        "outer Execution )",
    ]);
}

#[tokio::test]
async fn a_tool_use_may_be_done_again_and_passes_its_hooks_each_time() {
    let log = Log::default();
    let hook = log.clone();
    let told = story(&one_call(), move |b| {
        b.around(ToolUse, async |cx, next| {
            next.run(cx).await?;
            cx.args_mut().set("again", true);
            next.run(cx).await
        });
        b.guard(BeforeToolUse, async move |cx| {
            hook.add(cx.args.to_value().to_string());
            proceed()
        });
    })
    .await;
    assert_eq!(
        told,
        ["user: go", "model: <ls>", "ls: files", "model: done", "ran ls {}", r#"ran ls {"again":true}"#, FINISHED]
    );
    log.check(&["{}", r#"{"again":true}"#]);
}

#[tokio::test]
async fn no_change_of_an_around_escapes_a_guard() {
    let told = story(&one_call(), |b| {
        b.around(ToolUse, async |cx, next| {
            cx.args_mut().set("path", "/etc/passwd");
            next.run(cx).await
        });
        b.guard(BeforeToolUse.path("/etc/*").named("guard"), async |_| deny("hands off"));
        b.around(Inference, async |cx, next| {
            cx.system_prompt = "be evil".into();
            next.run(cx).await
        });
        b.guard(BeforeInference, async |cx| {
            assert_eq!(&*cx.system_prompt, "be evil");
            proceed()
        });
    })
    .await;
    assert_eq!(told, ["user: go", "model: <ls>", "ls: blocked by guard: hands off", "model: done", FINISHED]);
}

#[tokio::test]
async fn an_operation_may_not_happen_at_all() {
    let told = story(&one_call(), |b| {
        b.around(ToolUse, async |_, _| Ok("from a cache".into()));
    })
    .await;
    assert_eq!(told, ["user: go", "model: <ls>", "ls: from a cache", "model: done", FINISHED]);

    let told = story(&Script::new(), |b| {
        b.around(Inference, async |_, _| Ok(InferenceReport::Answered(Response::text("remembered"))));
    })
    .await;
    assert_eq!(told, ["user: go", "model: remembered", FINISHED]);

    let told = story(&Script::new(), |b| {
        b.around(Step, async |_, _| {
            Ok(Ok(StepReport { kind: StepKind::NoResponse, text: String::new(), tools: Vec::new() }))
        });
        b.on(ShouldContinue.named("idle"), async |_| stop("nothing to do"));
    })
    .await;
    assert_eq!(told, ["user: go", "= stopped (requested) by idle: nothing to do"]);

    let told = story(&Script::new(), |b| {
        b.around(Execution, async |cx, _| {
            let stop = Stop::soft(StopReason::Finished, "rehearsal", "as if");
            Ok(RunReport {
                session_id: cx.at.run.session_id.clone(),
                run_id: cx.at.run.run_id.clone(),
                status: RunStatus::Completed,
                stop,
                text: "as if".to_owned(),
                steps: 0,
                tool_calls: 0,
                usage: Usage::default(),
                duration_ms: 0,
            })
        });
    })
    .await;
    assert_eq!(told, ["user: go", "= completed (finished) by rehearsal: as if"]);
}

#[tokio::test]
async fn a_model_a_step_and_an_execution_may_be_asked_again() {
    let told = story(&Script::new().say("one").say("two"), |b| {
        b.around(Inference, async |cx, next| {
            next.run(cx).await?;
            next.run(cx).await
        });
    })
    .await;
    assert_eq!(told, ["user: go", "model: two", FINISHED]);

    let told = story(&Script::new().say("one").say("two"), |b| {
        b.around(Step, async |cx, next| {
            let _ = next.run(cx).await?;
            next.run(cx).await
        });
    })
    .await;
    assert_eq!(told, ["user: go", "model: one", "model: two", FINISHED]);

    let told = story(&Script::new().say("one").say("two"), |b| {
        b.around(Execution, async |cx, next| {
            next.run(cx).await?;
            next.run(cx).await
        });
    })
    .await;
    assert_eq!(told, ["user: go", "model: one", "model: two", FINISHED]);
}

#[tokio::test]
async fn events_have_identifiers_of_their_own_however_often_an_operation_is_done() {
    let mut builder = agent(&Script::new().call("ls", "{}").call("ls", "{}").say("one").say("two").may_end_early());
    builder.tool(vertebra::testing::RecordingTool::new("ls"));
    macro_rules! twice {
        ($($operation:ident)*) => {$(
            builder.around($operation, async |cx, next| {
                if cx.at.step < 2 {
                    let _ = next.run(cx).await?;
                }
                next.run(cx).await
            });
        )*};
    }
    twice!(Step Inference ToolUse);
    builder.on(AfterToolUse, async |cx| if cx.at.number < 20 { retry(secs(1)) } else { proceed() });
    let seen = watch_all(&mut builder);
    run(&mut builder).await;
    let mut ids: Vec<String> = seen.seen().iter().map(|one| one.text("event_id").to_owned()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{:?}", seen.lines());
    assert!(seen.count("BeforeToolUse") > 3, "{:?}", seen.lines());
}

#[tokio::test(start_paused = true)]
async fn an_around_that_fails_panics_or_hangs_fails_its_operation_and_nothing_else() {
    let told = story(&one_call(), |b| {
        b.around(ToolUse.named("broken"), async |_, _| Err(HookError::new("out of order")));
    })
    .await;
    assert_eq!(told, ["user: go", "model: <ls>", "ls: `broken` failed: out of order", "model: done", FINISHED]);

    let told = story(&one_call(), |b| {
        b.around(ToolUse.named("broken"), async |_, _| panic!("oh"));
    })
    .await;
    assert_eq!(told[2], "ls: `broken` panicked: oh");

    let told = story(&Script::new().may_end_early().say("never"), |b| {
        b.around(Inference.named("broken"), async |_, _| panic!("oh"));
    })
    .await;
    assert_eq!(told, ["user: go", "= failed (error!) by runtime: `broken` panicked: oh"]);

    let told = story(&Script::new().may_end_early().say("never"), |b| {
        b.around(Execution.named("broken"), async |_, _| Err(HookError::new("no")));
    })
    .await;
    assert_eq!(told, ["user: go", "= failed (error!) by runtime: `broken` failed: no"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_cut_short_by_its_around_keeps_the_conversation_whole() {
    let log = Log::default();
    let (before, after) = (log.clone(), log.clone());
    let model = Script::new().call("hang", "{}").say("done");
    let told = story(&model, move |b| {
        b.tool(tool("hang", "hangs", async |_: serde_json::Value, _| {
            std::future::pending::<Result<String, _>>().await
        }));
        b.around(Step.named("impatient").timeout(secs(60)), async |cx, next| next.run(cx).await);
        b.on(OnError.named("coach"), async |_| recover("try something else"));
        b.on(BeforeToolUse, async move |_| {
            before.add("before");
            proceed()
        });
        b.on(AfterToolUse, async move |_| {
            after.add("after");
            proceed()
        });
    })
    .await;
    assert_eq!(
        told,
        [
            "user: go",
            "model: <hang>",
            "hang: `impatient` gave no answer within 60000 ms",
            "coach instructs: try something else",
            "model: done",
            FINISHED
        ]
    );
    log.check(&["before", "after"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_cut_short_by_its_around_still_ends_for_its_hooks() {
    let log = Log::default();
    let (before, after) = (log.clone(), log.clone());
    let model = Script::new().calls([("hang", "{}"), ("ls", "{}")]).say("done");
    let told = story(&model, move |b| {
        b.tool(tool("hang", "hangs", async |_: serde_json::Value, _| {
            std::future::pending::<Result<String, _>>().await
        }));
        b.around(ToolUse.named("impatient").timeout(secs(60)), async |cx, next| next.run(cx).await);
        b.on(BeforeToolUse, async move |cx| {
            before.add(format!("before {}", cx.tool));
            proceed()
        });
        b.on(AfterToolUse, async move |cx| {
            after.add(format!("after {}: {}", cx.tool, status(cx.result.status)));
            proceed()
        });
    })
    .await;
    assert_eq!(told[2..4], ["hang: `impatient` gave no answer within 60000 ms", "ls: files"]);
    log.check(&["before hang", "after hang: failed", "before ls", "after ls: done"]);
}
