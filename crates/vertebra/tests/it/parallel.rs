//! Calls that only read: hooks one call at a time, in call order; tools at the same time.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Barrier, Notify};
use vertebra::{ToolSpec, prelude::*, testing::Script};

use super::support::*;

/// Three calls at once, each to a tool of its own.
fn three() -> Script {
    Script::new().calls([("a", "{}"), ("b", "{}"), ("c", "{}")]).say("done")
}

/// Writes down every hook before and after a call.
fn log_hooks(b: &mut vertebra::AgentBuilder, log: &Log) {
    let (before, after) = (log.clone(), log.clone());
    b.on(BeforeToolUse, async move |cx| {
        before.add(format!("before {}", cx.tool));
        proceed()
    });
    b.on(AfterToolUse, async move |cx| {
        after.add(format!("after {} {}", cx.tool, status(cx.result.status)));
        proceed()
    });
}

#[tokio::test]
async fn tools_run_at_the_same_time_between_hooks_that_do_not() {
    let (log, meeting) = (Log::default(), Arc::new(Barrier::new(3)));
    let told = story(&three(), |b| {
        log_hooks(b, &log);
        for name in ["a", "b", "c"] {
            let meeting = meeting.clone();
            b.tool(
                tool(name, "meets the others", async move |_: Value, _| {
                    meeting.wait().await;
                    Ok("met")
                })
                .with(ToolSpec::read_only),
            );
        }
    })
    .await;
    assert_eq!(told[2..5], ["a: met", "b: met", "c: met"]);
    log.check(&["before a", "before b", "before c", "after a done", "after b done", "after c done"]);
}

#[tokio::test]
async fn results_and_hooks_after_come_in_call_order_even_if_a_later_tool_is_quicker() {
    let (log, slow) = (Log::default(), Arc::new(Notify::new()));
    let told = story(&Script::new().calls([("slow", "{}"), ("quick", "{}")]).say("done"), |b| {
        log_hooks(b, &log);
        let (told, wait) = (log.clone(), slow.clone());
        b.tool(
            tool("slow", "waits for the other", async move |_: Value, _| {
                wait.notified().await;
                told.add("slow ran");
                Ok("late")
            })
            .with(ToolSpec::read_only),
        );
        let told = log.clone();
        b.tool(
            tool("quick", "is done first", async move |_: Value, _| {
                told.add("quick ran");
                slow.notify_one();
                Ok("soon")
            })
            .with(ToolSpec::read_only),
        );
    })
    .await;
    assert_eq!(told[2..4], ["slow: late", "quick: soon"]);
    log.check(&["before slow", "before quick", "quick ran", "slow ran", "after slow done", "after quick done"]);
}

#[tokio::test]
async fn a_hook_after_a_call_runs_as_soon_as_those_of_earlier_calls_are_done() {
    let (log, last) = (Log::default(), Arc::new(Notify::new()));
    let go = last.clone();
    story(&Script::new().calls([("ls", "{}"), ("last", "{}")]).say("done"), |b| {
        b.tool(
            tool("last", "ends when the first call has ended for its hooks", async move |_: Value, _| {
                go.notified().await;
                Ok("ok")
            })
            .with(ToolSpec::read_only),
        );
        b.on(AfterToolUse.tool("ls"), async move |_| {
            last.notify_one();
            proceed()
        });
        log_hooks(b, &log);
    })
    .await;
    log.check(&["before ls", "before last", "after ls done", "after last done"]);
}

#[tokio::test]
async fn a_deny_of_one_call_does_not_touch_the_others() {
    let log = Log::default();
    let told = story(&Script::new().calls([("ls", "{}"), ("cat", "{}"), ("ls", "{}")]).say("done"), |b| {
        b.guard(BeforeToolUse.tool("cat").named("dog"), async |_| deny("no cats"));
        log_hooks(b, &log);
    })
    .await;
    assert_eq!(told[2..5], ["ls: files", "cat: blocked by dog: no cats", "ls: files"]);
    log.check(&["before ls", "before cat", "before ls", "after ls done", "after cat blocked", "after ls done"]);
}

#[tokio::test]
async fn a_stop_lets_what_has_begun_finish_and_starts_nothing_more() {
    let log = Log::default();
    let told = story(&Script::new().calls([("ls", "{}"), ("cat", "{}"), ("ls", "{}")]), |b| {
        b.guard(BeforeToolUse.tool("cat").named("dog"), async |_| stop("enough"));
        log_hooks(b, &log);
    })
    .await;
    assert_eq!(
        told,
        [
            "user: go",
            "model: <ls><cat><ls>",
            "ls: files",
            "cat: not run: enough",
            "ls: not run: the run is ending",
            "ran ls {}",
            "= stopped (requested) by dog: enough"
        ]
    );
    log.check(&["before ls", "before cat", "after ls done", "after cat notrun"]);
}

#[tokio::test]
async fn a_stop_counts_even_if_another_hook_denies_the_call() {
    let told = story(&Script::new().calls([("cat", "{}"), ("ls", "{}")]), |b| {
        b.on(BeforeToolUse.tool("cat").named("dog").priority(1), async |_| stop("enough"));
        b.on(BeforeToolUse.tool("cat").named("mouse").priority(2), async |_| deny("no cats"));
    })
    .await;
    assert_eq!(
        told[2..],
        ["cat: blocked by mouse: no cats", "ls: not run: the run is ending", "= stopped (requested) by dog: enough"]
    );
}

#[tokio::test]
async fn a_stop_after_one_call_keeps_another_from_being_done_again() {
    let told = story(&Script::new().calls([("ls", "{}"), ("cat", "{}")]), |b| {
        b.on(AfterToolUse.tool("ls").named("dog"), async |_| stop("enough"));
        b.on(AfterToolUse.tool("cat"), async |_| retry(secs(1)));
    })
    .await;
    assert_eq!(
        told[2..],
        ["ls: files", "cat: meow", "ran ls {}", "ran cat {}", "= stopped (requested) by dog: enough"]
    );
}

#[tokio::test]
async fn state_changes_of_parallel_calls_are_ordered_and_none_is_lost() {
    let model = Script::new().calls([("ls", r#"{"n": 1}"#), ("cat", r#"{"n": 2}"#), ("ls", r#"{"n": 3}"#)]).say("done");
    let mut builder = agent(&model);
    let ran = Log::default();
    builder.tool(logged("ls", "files", &ran)).tool(logged("cat", "meow", &ran));
    builder.on(BeforeToolUse, async |cx| {
        let so_far = cx.state().metadata().get("seen").and_then(Value::as_str).unwrap_or_default().to_owned();
        let seen = format!("{so_far}{}", cx.args.get("n").cloned().unwrap_or_default());
        tokio::task::yield_now().await;
        cx.state_mut().metadata_mut().set("seen", seen);
        proceed()
    });
    builder.on(AfterToolUse, async |cx| {
        let so_far = cx.state().metadata().get("done").and_then(Value::as_str).unwrap_or_default().to_owned();
        let done = format!("{so_far}{}", cx.args.get("n").cloned().unwrap_or_default());
        tokio::task::yield_now().await;
        cx.state_mut().metadata_mut().set("done", done);
        proceed()
    });
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    report(session.prompt("go").await);
    let state = session.state().await;
    assert_eq!(state.metadata().get("seen"), Some(&"123".into()));
    assert_eq!(state.metadata().get("done"), Some(&"123".into()));
    assert_eq!(state.tool_calls(), 3);
}
