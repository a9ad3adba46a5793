//! Every verdict of every point is honoured.

use vertebra::{
    AgentBuilder, AgentTool, StepKind,
    prelude::*,
    testing::{RecordingTool, Script},
};

use super::support::*;

async fn check(model: Script, hooks: impl FnOnce(&mut AgentBuilder), expected: &[&str]) {
    assert_eq!(story(&model, hooks).await, expected);
}

fn one_call() -> Script {
    Script::new().call("ls", "{}").say("done")
}

#[tokio::test]
async fn a_prompt_can_be_refused_rewritten_and_given_context() {
    check(
        Script::new(),
        |b| {
            b.guard(PromptSubmit.named("manners"), async |_| deny("rude"));
        },
        &["= stopped (requested) by manners: the prompt was denied: rude"],
    )
    .await;
    check(
        Script::new().say("done"),
        |b| {
            b.on(PromptSubmit, async |cx| {
                cx.prompt = "please go".to_owned();
                cx.add_context("it is late");
                proceed()
            });
        },
        &["user: please go", "PromptSubmit instructs: it is late", "model: done", FINISHED],
    )
    .await;
}

#[tokio::test]
async fn a_run_can_be_stopped_before_it_starts_and_before_each_step() {
    check(
        Script::new(),
        |b| {
            b.on(ExecutionStart.named("calendar"), async |_| stop("not today"));
        },
        &["user: go", "= stopped (requested) by calendar: not today"],
    )
    .await;
    check(
        Script::new().call("ls", "{}"),
        |b| {
            b.on(BeforeStep.named("lazy"), async |cx| if cx.at.step == 2 { stop("one is enough") } else { proceed() });
        },
        &["user: go", "model: <ls>", "ls: files", "ran ls {}", "= stopped (requested) by lazy: one is enough"],
    )
    .await;
}

#[tokio::test]
async fn a_model_call_can_be_refused_replaced_stopped_and_edited() {
    check(
        Script::new(),
        |b| {
            b.guard(BeforeInference.named("offline"), async |_| deny("no models here"));
        },
        &["user: go", "= stopped (requested) by offline: no models here"],
    )
    .await;
    check(
        Script::new(),
        |b| {
            b.on(BeforeInference.named("tired"), async |_| stop("enough"));
        },
        &["user: go", "= stopped (requested) by tired: enough"],
    )
    .await;
    check(
        Script::new(),
        |b| {
            b.on(BeforeInference, async |_| replace("from the cache"));
        },
        &["user: go", "model: from the cache", FINISHED],
    )
    .await;
    let model = Script::new().say("hm");
    check(
        model.clone(),
        |b| {
            b.on(BeforeInference, async |cx| {
                cx.temperature = Some(0.5);
                cx.messages.push(Message::instruction("think", "coach"));
                cx.model.name = "script-2".into();
                proceed()
            });
        },
        &["user: go", "model: hm", FINISHED],
    )
    .await;
    let sent = &model.requests()[0];
    assert_eq!((sent.temperature, sent.messages.len(), &*sent.model.name), (Some(0.5), 2, "script-2"));
}

#[tokio::test]
async fn a_model_call_can_wait_and_be_asked_again() {
    let clock = vertebra::testing::FakeClock::new();
    let tries = Log::default();
    let (before, after) = (tries.clone(), tries.clone());
    let model = Script::new().say("first").say("second");
    let story = story_on(&model, &clock, |b| {
        b.on(BeforeInference, async move |_| {
            before.add("before");
            if before.count("before") == 1 { retry(secs(5)) } else { proceed() }
        });
        b.on(AfterInference, async move |cx| {
            after.add(format!("after {}", cx.response.text));
            if cx.response.text == "first" { retry(secs(7)) } else { proceed() }
        });
    })
    .await;
    assert_eq!(story, ["user: go", "model: second", FINISHED]);
    tries.check(&["before", "before", "after first", "before", "after second"]);
    assert_eq!(clock.sleeps(), [secs(5), secs(7)]);
}

#[tokio::test]
async fn an_answer_can_be_edited_and_can_stop_the_run() {
    check(
        Script::new().say("the password is 1234"),
        |b| {
            b.on(AfterInference.named("censor"), async |cx| {
                cx.text = "the password is ****".to_owned();
                stop("leak")
            });
        },
        &["user: go", "model: the password is ****", "= stopped (requested) by censor: leak"],
    )
    .await;
}

#[tokio::test]
async fn a_finished_run_can_be_made_to_go_on_at_either_point() {
    let told = ["user: go", "model: one", "critic instructs: better", "model: two", FINISHED];
    check(
        Script::new().say("one").say("two"),
        |b| {
            b.on(AfterStep.step("final_response").named("critic"), async |cx| {
                if cx.text == "one" { go_on("better") } else { proceed() }
            });
        },
        &told,
    )
    .await;
    check(
        Script::new().say("one").say("two"),
        |b| {
            b.on(ShouldContinue.named("critic"), async |cx| {
                assert_eq!(cx.kind, StepKind::FinalResponse);
                if cx.text == "one" { go_on("better") } else { proceed() }
            });
        },
        &told,
    )
    .await;
}

#[tokio::test]
async fn a_run_can_be_stopped_after_a_step_and_when_it_would_go_on() {
    let stopped =
        ["user: go", "model: <ls>", "ls: files", "ran ls {}", "= stopped (requested) by clock: it is five o'clock"];
    check(
        Script::new().call("ls", "{}"),
        |b| {
            b.on(AfterStep.named("clock"), async |_| stop("it is five o'clock"));
        },
        &stopped,
    )
    .await;
    check(
        Script::new().call("ls", "{}"),
        |b| {
            b.guard(ShouldContinue.named("clock"), async |_| stop("it is five o'clock"));
        },
        &stopped,
    )
    .await;
}

#[tokio::test]
async fn an_error_can_be_made_good_and_can_stop_the_run() {
    check(
        Script::new().fail(rejected()).say("sorry"),
        |b| {
            b.on(OnError.named("coach"), async |_| recover("be polite"));
        },
        &["user: go", "coach instructs: be polite", "model: sorry", FINISHED],
    )
    .await;
    check(
        Script::new().fail(busy()),
        |b| {
            b.on(OnError.named("hasty"), async |_| stop("no patience"));
        },
        &["user: go", "= failed (error!) by hasty: the model is busy: try later: no patience"],
    )
    .await;
}

fn with_child(b: &mut AgentBuilder, child: &Script) {
    let child = agent(child).name("child").tool(RecordingTool::new("ls")).build().expect("a child");
    b.tool(AgentTool::new("helper", "helps", child));
}

fn delegation() -> Script {
    Script::new().call("helper", r#"{"prompt": "look"}"#).say("done")
}

#[tokio::test]
async fn a_delegation_can_be_refused_and_its_prompt_and_budget_edited() {
    check(
        delegation(),
        |b| {
            with_child(b, &Script::new());
            b.guard(SubagentStart.named("boss"), async |_| deny("work yourself"));
        },
        &["user: go", "model: <helper>", "helper: blocked by boss: work yourself", "model: done", FINISHED],
    )
    .await;
    let child = Script::new().call("ls", "{}");
    let story = story(&delegation(), |b| {
        with_child(b, &child);
        b.on(SubagentStart, async |cx| {
            cx.prompt.push_str(" closely");
            cx.limits.steps = Some(1);
            proceed()
        });
    })
    .await;
    assert_eq!(story[2], "helper: [stopped: used 1 of 1 steps (limits of child)]\n[`child` said nothing]");
    assert_eq!(conversation(&child.requests()[0].messages), ["user: look closely"]);
}

#[tokio::test]
async fn a_child_can_be_made_to_go_on_and_its_result_edited() {
    check(
        delegation(),
        |b| {
            with_child(b, &Script::new().say("half").say("whole"));
            b.on(SubagentStop, async |cx| {
                if cx.text == "half" {
                    return go_on("the rest, please");
                }
                cx.text = format!("the {} truth", cx.text);
                proceed()
            });
        },
        &["user: go", "model: <helper>", "helper: the whole truth", "model: done", FINISHED],
    )
    .await;
}

#[tokio::test]
async fn a_compaction_can_be_blocked_and_instructed() {
    check(
        one_call(),
        |b| {
            b.compactor(KeepLast { over: 1 }).guard(BeforeCompact, async |_| deny("keep it all"));
        },
        &["user: go", "model: <ls>", "ls: files", "model: done", "ran ls {}", FINISHED],
    )
    .await;
    check(
        one_call(),
        |b| {
            b.compactor(KeepLast { over: 1 }).on(BeforeCompact, async |cx| {
                cx.instructions = "names matter".to_owned();
                proceed()
            });
        },
        &["compactor instructs: summary (names matter)", "ls: files", "model: done", "ran ls {}", FINISHED],
    )
    .await;
}
