//! Ten traps that runtimes of this kind have fallen into.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Notify, watch};
use vertebra::{
    AgentTool, ToolUse,
    prelude::*,
    testing::{FakeClock, FixedApprover, RecordingTool, Script},
};

use super::support::*;

#[tokio::test]
async fn what_a_tool_hook_writes_into_the_state_is_there_for_every_later_hook() {
    let log = Log::default();
    let (after, asked) = (log.clone(), log.clone());
    let told = story(&Script::new().call("ls", "{}").say("done"), move |b| {
        b.on(BeforeToolUse, async |cx| {
            cx.state_mut().metadata_mut().set("seen", 1);
            proceed()
        });
        b.on(AfterToolUse, async move |cx| {
            after.add(format!("after {:?}", cx.state().metadata().get("seen")));
            cx.state_mut().metadata_mut().set("seen", 2);
            proceed()
        });
        b.on(BeforeInference, async move |cx| {
            asked.add(format!("step {} {:?}", cx.at.step, cx.state().metadata().get("seen")));
            proceed()
        });
    })
    .await;
    assert_eq!(told.last().map(String::as_str), Some(FINISHED));
    log.check(&["step 1 None", "after Some(Number(1))", "step 2 Some(Number(2))"]);
}

#[tokio::test]
async fn a_run_that_recovered_is_completed_and_so_is_a_child() {
    let child_model = Script::new().calls([("bad", "{}"), ("ls", "{}")]).say("found another way");
    let mut child = agent(&child_model);
    child.name("child").tool(RecordingTool::new("bad").failing("no luck")).tool(RecordingTool::new("ls"));
    let child = child.guard(BeforeToolUse.tool("ls"), async |_| deny("no")).build().expect("a child");
    let told = story(&Script::new().call("helper", r#"{"prompt": "look"}"#).fail(busy()).say("done"), |b| {
        b.tool(AgentTool::new("helper", "helps", child));
    })
    .await;
    assert_eq!(told[2..], ["helper: found another way", "model: done", FINISHED]);
}

#[tokio::test]
async fn a_blocked_call_is_as_visible_as_an_executed_one() {
    let model = Script::new().call("ls", "{}").say("done");
    let mut builder = agent(&model);
    let ls = RecordingTool::new("ls");
    builder.tool(ls.clone()).guard(BeforeToolUse.named("privacy"), async |_| deny("private"));
    let seen = watch_all(&mut builder);
    run(&mut builder).await;
    let (before, after) = (&seen.at("BeforeToolUse")[0], &seen.at("AfterToolUse")[0]);
    assert_eq!(before.event["call_id"], after.event["call_id"]);
    assert_eq!(before.verdict, vertebra::Kind::Deny);
    assert_eq!((&after.event["result"]["status"], &after.event["blocked_by"]), (&"blocked".into(), &"privacy".into()));
    assert_eq!(read_by_model(&model), ["blocked: blocked by privacy: private"]);
    assert_eq!(ls.calls(), []);
}

#[tokio::test]
async fn a_continue_beats_a_stop_and_the_stop_does_not_come_back() {
    let model = Script::new().call("ls", "{}").call("ls", "{}").say("done");
    let told = story(&model, |b| {
        b.on(AfterToolUse, async |cx| if cx.at.step == 1 { stop("early") } else { proceed() });
        b.on(ShouldContinue.named("keen"), async |cx| if cx.at.step == 1 { go_on("no, go on") } else { proceed() });
    })
    .await;
    assert_eq!(
        told,
        [
            "user: go",
            "model: <ls>",
            "ls: files",
            "keen instructs: no, go on",
            "model: <ls>",
            "ls: files",
            "model: done",
            "ran ls {}",
            "ran ls {}",
            FINISHED
        ]
    );
}

/// Panics wherever it stands.
#[derive(Clone)]
struct Breaks;

impl<P: Point> Hook<P> for Breaks {
    async fn run(&self, _: &mut Cx<'_, P>) -> Answer<P> {
        panic!("broken")
    }
}

impl<P: Point> Watch<P> for Breaks {
    async fn see(&self, _: &Cx<'_, P>) -> Seen {
        panic!("broken")
    }
}

/// An agent whose life passes every point.
fn lively() -> vertebra::AgentBuilder {
    let child = agent(&Script::new().say("seen").may_end_early()).name("child").build().expect("a child");
    let model = Script::new()
        .calls([("helper", r#"{"prompt": "look"}"#), ("bad", "{}")])
        .fail(busy())
        .stream(["done"])
        .may_end_early();
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("bad").failing("no luck")).tool(AgentTool::new("helper", "helps", child));
    builder.approver(FixedApprover::yes()).compactor(KeepLast { over: 3 });
    builder.on(BeforeToolUse.tool("bad"), async |_| ask("sure?"));
    builder
}

#[tokio::test]
async fn a_hook_that_panics_at_any_point_escapes_from_none() {
    at_every_point!(point => {
        let mut builder = lively();
        builder.add_hook(point.named("breaks").priority(1), Breaks);
        survives(builder, "hook").await;
        let mut builder = lively();
        builder.add_watch(point.named("breaks").priority(1), Breaks);
        survives(builder, "watch").await;
    });
}

async fn survives(mut builder: vertebra::AgentBuilder, role: &str) {
    let seen = watch_all(&mut builder);
    let agent = builder.build().expect("an agent");
    let point = agent.hooks().get("breaks").map(|hook| hook.point).expect("it is there");
    let report = report(agent.run("go").await);
    let ends = seen.at("ExecutionEnd").into_iter().filter(|end| end.event["depth"] == 0).count();
    // A hook that fails keeps the session closed, and what never opened does not end.
    let told = if (role, point) == ("hook", "SessionStart") { (0, 0) } else { (1, 1) };
    assert_eq!((ends, seen.count("SessionEnd")), told, "{role} at {point}: {}", ending(&report));
    // A watch never matters, and where nothing can be refused or halted a hook fails open.
    if role == "watch" || ["AfterStep", "Notification", "ExecutionEnd"].contains(&point) {
        assert_eq!(format!("= {}", ending(&report)), FINISHED, "{role} at {point}");
    }
}

#[tokio::test]
async fn two_overlapping_runs_of_one_agent_have_clocks_of_their_own() {
    let clock = FakeClock::by_hand();
    let model = Script::new().call("ls", "{}").call("ls", "{}").say("early").say("late").may_end_early();
    let (began, release) = (Arc::new(Notify::new()), watch::Sender::new(false));
    let mut builder = agent_on(&model, &clock);
    let (arrived, gate) = (began.clone(), release.clone());
    builder.max_time(secs(10)).tool(tool("ls", "waits", async move |_: Value, _| {
        let mut gate = gate.subscribe();
        arrived.notify_one();
        gate.wait_for(|open| *open).await?;
        Ok("ok")
    }));
    let agent = builder.build().expect("an agent");
    let (one, two) = (agent.clone(), agent);
    let first = tokio::spawn(async move { one.run("a").await });
    began.notified().await;
    clock.advance(secs(9));
    let second = tokio::spawn(async move { two.run("b").await });
    began.notified().await;
    clock.advance(secs(2));
    release.send_replace(true);
    let (first, second) = (first.await.expect("no panic"), second.await.expect("no panic"));
    assert_eq!(reason(report(first).stop.reason), "time");
    assert_eq!(reason(report(second).stop.reason), "finished");
}

#[tokio::test]
async fn an_allow_does_not_silence_a_question() {
    for (asks, allows) in [(1, 2), (2, 1)] {
        let told = story(&Script::new().call("ls", "{}").say("done"), |b| {
            b.on(BeforeToolUse.priority(allows), async |_| allow());
            b.on(BeforeToolUse.named("careful").priority(asks), async |_| ask("sure?"));
        })
        .await;
        assert_eq!(told[2], "ls: denied: careful requires approval (sure?), and no approver is configured");
    }
}

#[tokio::test]
async fn a_pattern_means_the_whole_name() {
    let model = Script::new().calls([("ls", "{}"), ("cat", "{}")]).say("done");
    let told = story(&model, |b| {
        b.guard(BeforeToolUse.tool("l").optional(), async |_| deny("no"));
        b.guard(BeforeToolUse.tool("/a/"), async |_| deny("no"));
        b.guard(BeforeToolUse.tool("c*").named("glob"), async |_| deny("glob"));
    })
    .await;
    assert_eq!(told[2..4], ["ls: files", "cat: blocked by glob: glob"]);
}

#[tokio::test]
async fn nothing_changes_between_the_check_and_the_use() {
    let ls = RecordingTool::new("ls");
    let mut builder = agent(&Script::new().call("ls", r#"{"path": "safe"}"#).say("done"));
    builder.tool(ls.clone());
    // Approves what it sees, early; something later changes it; an around changes it once more on a second try.
    builder.on(
        BeforeToolUse.priority(1),
        async |cx| if cx.args.text("path") == Some("safe") { allow() } else { proceed() },
    );
    builder.on(BeforeToolUse.priority(1000), async |cx| {
        cx.args_mut().set("path", "/etc/shadow");
        skip()
    });
    builder.around(ToolUse, async |cx, next| {
        next.run(cx).await?;
        cx.args_mut().set("path", "/etc/passwd");
        next.run(cx).await
    });
    builder.guard(BeforeToolUse.path("/etc/**"), async |_| deny("hands off"));
    run(&mut builder).await;
    assert_eq!(ls.calls(), []);
}

#[tokio::test]
async fn rewrites_of_parallel_calls_do_not_mix_and_those_of_one_call_add_up() {
    let ran = Log::default();
    let model = Script::new().calls([("ls", r#"{"a": 1}"#), ("ls", r#"{"a": 2}"#), ("ls", r#"{"a": 3}"#)]).say("done");
    let mut builder = agent(&model);
    builder.tool(logged("ls", "files", &ran));
    builder.on(BeforeToolUse, async |cx| {
        let n = cx.args.get("a").and_then(Value::as_u64).unwrap_or_default();
        tokio::task::yield_now().await;
        cx.args_mut().set("b", 2 * n);
        proceed()
    });
    builder.on(BeforeToolUse, async |cx| {
        let double = cx.args.get("b").and_then(Value::as_u64).unwrap_or_default();
        tokio::task::yield_now().await;
        cx.args_mut().set("c", double / 2 * 3);
        proceed()
    });
    run(&mut builder).await;
    ran.check(&[r#"ls {"a":1,"b":2,"c":3}"#, r#"ls {"a":2,"b":4,"c":6}"#, r#"ls {"a":3,"b":6,"c":9}"#]);
}
