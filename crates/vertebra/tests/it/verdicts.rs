//! Every verdict of every point is honoured.

use serde_json::json;
use vertebra::{
    AgentBuilder, AgentTool, Response, StepKind,
    prelude::*,
    testing::{FixedApprover, RecordingTool, Script},
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
            b.guard(PromptSubmit, async |_| deny("rude")).named("manners");
        },
        &["= stopped (requested) by manners: the prompt was refused: rude"],
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
            b.on(ExecutionStart, async |_| stop("not today")).named("calendar");
        },
        &["user: go", "= stopped (requested) by calendar: not today"],
    )
    .await;
    check(
        Script::new().call("ls", "{}"),
        |b| {
            b.on(BeforeStep, async |cx| if cx.at.step == 2 { stop("one is enough") } else { proceed() }).named("lazy");
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
            b.guard(BeforeInference, async |_| deny("no models here")).named("offline");
        },
        &["user: go", "= stopped (requested) by offline: no models here"],
    )
    .await;
    check(
        Script::new(),
        |b| {
            b.on(BeforeInference, async |_| stop("enough")).named("tired");
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
            b.on(AfterInference, async |cx| {
                cx.text = "the password is ****".to_owned();
                stop("leak")
            })
            .named("censor");
        },
        &["user: go", "model: the password is ****", "= stopped (requested) by censor: leak"],
    )
    .await;
}

#[tokio::test]
async fn a_tool_call_can_be_edited_refused_replaced_and_allowed() {
    check(
        one_call(),
        |b| {
            b.on(BeforeToolUse, async |cx| {
                cx.args_mut().set("all", true);
                proceed()
            });
            b.on(BeforeToolUse, async |_| allow());
        },
        &["user: go", "model: <ls>", "ls: files", "model: done", r#"ran ls {"all":true}"#, FINISHED],
    )
    .await;
    check(
        one_call(),
        |b| {
            b.on(BeforeToolUse, async |_| deny("private")).named("privacy");
        },
        &["user: go", "model: <ls>", "ls: blocked by privacy: private", "model: done", FINISHED],
    )
    .await;
    check(
        one_call(),
        |b| {
            b.on(BeforeToolUse, async |_| replace("remembered"));
        },
        &["user: go", "model: <ls>", "ls: remembered", "model: done", FINISHED],
    )
    .await;
    check(
        Script::new().calls([("ls", "{}"), ("cat", "{}")]),
        |b| {
            b.on(BeforeToolUse, async |_| stop("no tools today")).named("holiday");
        },
        &[
            "user: go",
            "model: <ls><cat>",
            "ls: not run: no tools today",
            "cat: not run: the run is ending",
            "= stopped (requested) by holiday: no tools today",
        ],
    )
    .await;
}

#[tokio::test]
async fn skip_ends_the_hook_phase_and_not_the_guards() {
    check(
        one_call(),
        |b| {
            b.on(BeforeToolUse, async |_| skip()).priority(1);
            b.on(BeforeToolUse, async |_| replace("never")).priority(2);
            b.guard(BeforeToolUse, async |_| deny("seen")).named("guard");
        },
        &["user: go", "model: <ls>", "ls: blocked by guard: seen", "model: done", FINISHED],
    )
    .await;
}

#[tokio::test]
async fn a_question_can_be_answered_by_a_hook() {
    let nobody = FixedApprover::no("the person should not have been asked");
    for (yes, result) in [(true, "ls: files"), (false, "ls: blocked by policy: never")] {
        let story = story(&one_call(), |b| {
            b.approver(nobody.clone()).on(BeforeToolUse, async |_| ask("sure?"));
            b.on(PermissionRequest, async move |_| if yes { allow() } else { deny("never") }).named("policy");
        })
        .await;
        assert_eq!(story[2], result);
    }
    assert!(nobody.asked().is_empty());
}

#[tokio::test]
async fn a_result_can_be_edited_repeated_and_can_stop_the_run() {
    check(
        one_call(),
        |b| {
            b.on(AfterToolUse, async |cx| {
                cx.result.output.push_str(", censored");
                proceed()
            });
        },
        &["user: go", "model: <ls>", "ls: files, censored", "model: done", "ran ls {}", FINISHED],
    )
    .await;
    let tries = Log::default();
    check(
        one_call(),
        |b| {
            b.on(AfterToolUse, async move |_| {
                tries.add("try");
                if tries.count("try") < 3 { retry(secs(1)) } else { proceed() }
            });
        },
        &["user: go", "model: <ls>", "ls: files", "model: done", "ran ls {}", "ran ls {}", "ran ls {}", FINISHED],
    )
    .await;
    check(
        Script::new().call("ls", "{}"),
        |b| {
            b.on(AfterToolUse, async |_| stop("seen enough")).named("bored");
        },
        &["user: go", "model: <ls>", "ls: files", "ran ls {}", "= stopped (requested) by bored: seen enough"],
    )
    .await;
}

#[tokio::test]
async fn a_failure_of_a_tool_can_be_made_good_repeated_and_can_stop_the_run() {
    let failing = || Script::new().call("bad", "{}").say("done");
    check(
        failing(),
        |b| {
            b.on(ToolUseFailed, async |_| recover("better"));
        },
        &["user: go", "model: <bad>", "bad: better", "model: done", FINISHED],
    )
    .await;
    let tries = Log::default();
    let tried = tries.clone();
    check(
        failing(),
        |b| {
            b.on(ToolUseFailed, async move |cx| {
                tried.add(format!("attempt {}: {}", cx.attempts, cx.error));
                if cx.attempts < 3 { retry(secs(1)) } else { proceed() }
            });
        },
        &["user: go", "model: <bad>", "bad: no luck", "model: done", FINISHED],
    )
    .await;
    tries.check(&["attempt 1: no luck", "attempt 2: no luck", "attempt 3: no luck"]);
    check(
        Script::new().call("bad", "{}"),
        |b| {
            b.on(ToolUseFailed, async |_| stop("give up")).named("quitter");
        },
        &["user: go", "model: <bad>", "bad: no luck", "= stopped (requested) by quitter: give up"],
    )
    .await;
}

#[tokio::test]
async fn a_finished_run_can_be_made_to_go_on_at_either_point() {
    let told = ["user: go", "model: one", "critic instructs: better", "model: two", FINISHED];
    check(
        Script::new().say("one").say("two"),
        |b| {
            b.on(
                AfterStep.step("final_response"),
                async |cx| {
                    if cx.text == "one" { go_on("better") } else { proceed() }
                },
            )
            .named("critic");
        },
        &told,
    )
    .await;
    check(
        Script::new().say("one").say("two"),
        |b| {
            b.on(ShouldContinue, async |cx| {
                assert_eq!(cx.kind, StepKind::FinalResponse);
                if cx.text == "one" { go_on("better") } else { proceed() }
            })
            .named("critic");
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
            b.on(AfterStep, async |_| stop("it is five o'clock")).named("clock");
        },
        &stopped,
    )
    .await;
    check(
        Script::new().call("ls", "{}"),
        |b| {
            b.guard(ShouldContinue, async |_| stop("it is five o'clock")).named("clock");
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
            b.on(OnError, async |_| recover("be polite")).named("coach");
        },
        &["user: go", "coach instructs: be polite", "model: sorry", FINISHED],
    )
    .await;
    check(
        Script::new().fail(busy()),
        |b| {
            b.on(OnError, async |_| stop("no patience")).named("hasty");
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
            b.guard(SubagentStart, async |_| deny("work yourself")).named("boss");
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
    assert_eq!(story[2], "helper: [stopped: used 1 of 1 steps (limits of child)]\n");
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

#[tokio::test]
async fn the_system_prompt_edited_at_the_start_is_what_the_model_gets() {
    let model = Script::new().call("ls", "{}").say("done");
    story(&model, |b| {
        b.on(SessionStart, async |cx| {
            cx.system_prompt = "be kind".into();
            proceed()
        });
    })
    .await;
    assert!(model.requests().iter().all(|request| &*request.system_prompt == "be kind"));
}

#[tokio::test]
async fn a_replacing_answer_may_ask_for_tools_and_they_pass_their_points() {
    let model = Script::new().say("done");
    let story = story(&model, |b| {
        b.on(BeforeInference.when(|asked| asked.request.messages.len() == 1), async |_| {
            let call = vertebra::ToolCall::from_text("c", "ls", &json!({"deep": 1}).to_string());
            replace(Response { calls: vec![call], ..Response::default() })
        });
        b.guard(BeforeToolUse, async |_| deny("seen")).named("guard");
    })
    .await;
    assert_eq!(story, ["user: go", "model: <ls>", "ls: blocked by guard: seen", "model: done", FINISHED]);
}
