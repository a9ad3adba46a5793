//! Every verdict of the points of a tool call is honoured.

use serde_json::json;
use vertebra::{
    AgentBuilder, Response,
    prelude::*,
    testing::{FixedApprover, Script},
};

use super::support::*;

async fn check(model: Script, hooks: impl FnOnce(&mut AgentBuilder), expected: &[&str]) {
    assert_eq!(story(&model, hooks).await, expected);
}

fn one_call() -> Script {
    Script::new().call("ls", "{}").say("done")
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
            b.on(BeforeToolUse.named("privacy"), async |_| deny("private"));
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
            b.on(BeforeToolUse.named("holiday"), async |_| stop("no tools today"));
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
            b.on(BeforeToolUse.priority(1), async |_| skip());
            b.on(BeforeToolUse.priority(2), async |_| replace("never"));
            b.guard(BeforeToolUse.named("guard"), async |_| deny("seen"));
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
            b.on(PermissionRequest.named("policy"), async move |_| if yes { allow() } else { deny("never") });
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
            b.on(AfterToolUse.named("bored"), async |_| stop("seen enough"));
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
    let log = Log::default();
    let told = log.clone();
    check(
        failing(),
        |b| {
            b.on(ToolUseFailed, async move |cx| {
                told.add(format!("attempt {}: {}", cx.attempts, cx.error));
                if cx.attempts < 3 { retry(secs(1)) } else { proceed() }
            });
        },
        &["user: go", "model: <bad>", "bad: no luck", "model: done", FINISHED],
    )
    .await;
    log.check(&["attempt 1: no luck", "attempt 2: no luck", "attempt 3: no luck"]);
    check(
        Script::new().call("bad", "{}"),
        |b| {
            b.on(ToolUseFailed.named("quitter"), async |_| stop("give up"));
        },
        &["user: go", "model: <bad>", "bad: no luck", "= stopped (requested) by quitter: give up"],
    )
    .await;
}

#[tokio::test]
async fn a_replacing_answer_may_ask_for_tools_and_they_pass_their_points() {
    let model = Script::new().say("done");
    let story = story(&model, |b| {
        b.on(BeforeInference.when(|asked| asked.request.messages.len() == 1), async |_| {
            let call = vertebra::ToolCall::from_text("c", "ls", &json!({"deep": 1}).to_string());
            replace(Response { calls: vec![call], ..Response::default() })
        });
        b.guard(BeforeToolUse.named("guard"), async |_| deny("seen"));
    })
    .await;
    assert_eq!(story, ["user: go", "model: <ls>", "ls: blocked by guard: seen", "model: done", FINISHED]);
}
