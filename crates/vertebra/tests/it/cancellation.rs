//! Cancelling reaches everything that waits, and the end is told once on every path.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use vertebra::{
    AgentBuilder, Approval, Approver, Decision, Deltas, Model, ModelError, ModelId, Request, Response, ToolUse,
    prelude::*,
    testing::{FakeClock, Script},
};

use super::support::*;

/// Never answers.
struct Mute(Arc<Notify>);

impl Model for Mute {
    fn id(&self) -> ModelId {
        ModelId::new("mute", "mute-1")
    }

    async fn infer(&self, _: &Request, _: &mut Deltas<'_>) -> Result<Response, ModelError> {
        self.0.notify_one();
        pending().await
    }
}

impl Approver for Mute {
    async fn decide(&self, _: &Approval) -> Decision {
        self.0.notify_one();
        pending().await
    }
}

/// What hangs in a run, and an agent in which it does. The notification comes when it hangs.
type Hanging = (&'static str, fn(Arc<Notify>) -> AgentBuilder);

const HANGING: &[Hanging] = &[
    ("model", |here| Agent::builder(Mute(here))),
    ("tool", |here| {
        let mut builder = agent(&Script::new().call("hang", "{}"));
        builder.tool(hang(here));
        builder
    }),
    ("hook", |here| {
        let mut builder = agent(&Script::new());
        builder.on(BeforeInference, async move |_| {
            here.notify_one();
            pending().await
        });
        builder
    }),
    ("guard", |here| {
        let mut builder = agent(&Script::new().call("hang", "{}"));
        builder.tool(hang(here.clone())).guard(BeforeToolUse, async move |_| {
            here.notify_one();
            pending().await
        });
        builder
    }),
    ("watch", |here| {
        let mut builder = agent(&Script::new());
        builder.watch(BeforeStep, async move |_| {
            here.notify_one();
            pending::<()>().await;
        });
        builder
    }),
    ("around", |here| {
        let mut builder = agent(&Script::new().call("hang", "{}"));
        builder.tool(hang(here));
        builder.around(ToolUse, async |cx, next| next.run(cx).await);
        builder
    }),
    ("retry of a model", |here| {
        let mut builder = agent_on(&Script::new(), &FakeClock::by_hand());
        builder.on(BeforeInference, async move |_| {
            here.notify_one();
            retry(secs(60))
        });
        builder
    }),
    ("retry of a tool", |here| {
        let mut builder = agent_on(&Script::new().call("ls", "{}"), &FakeClock::by_hand());
        builder.tool(logged("ls", "files", &Log::default())).on(AfterToolUse, async move |_| {
            here.notify_one();
            retry(secs(60))
        });
        builder
    }),
    ("wait of the error policy", |here| {
        let mut builder = agent_on(&Script::new().fail(busy()), &FakeClock::by_hand());
        builder.watch(OnError, async move |_| {
            here.notify_one();
            Ok(())
        });
        builder
    }),
    ("person", |here| {
        let mut builder = agent_on(&Script::new().call("ls", "{}"), &FakeClock::by_hand());
        builder.tool(logged("ls", "files", &Log::default())).approver(Mute(here));
        builder.on(BeforeToolUse, async |_| ask("sure?"));
        builder
    }),
    ("child", |here| {
        let child = Agent::builder(Mute(here)).name("child").build().expect("a child");
        let mut builder = agent(&Script::new().call("helper", r#"{"prompt": "look"}"#));
        builder.tool(vertebra::AgentTool::new("helper", "helps", child));
        builder
    }),
];

fn hang(here: Arc<Notify>) -> impl Tool {
    tool("hang", "hangs", async move |_: Value, _| {
        here.notify_one();
        pending::<Result<String, ToolError>>().await
    })
}

/// The ends that are told from here on.
fn ends(builder: &mut AgentBuilder) -> mpsc::UnboundedReceiver<String> {
    let (tell, told) = mpsc::unbounded_channel();
    let (run, session) = (tell.clone(), tell);
    builder.watch(ExecutionEnd, async move |cx| Ok(run.send(format!("{} ended {}", cx.at.run.agent, cx.status))?));
    builder.watch(SessionEnd, async move |_| Ok(session.send("session ended".to_owned())?));
    told
}

/// Waits until the session has ended, and tells the ends.
async fn all(told: &mut mpsc::UnboundedReceiver<String>) -> Vec<String> {
    let mut ends = Vec::new();
    while let Some(end) = told.recv().await {
        ends.push(end);
        if ends.last().is_some_and(|end| end == "session ended") {
            break;
        }
    }
    while let Ok(end) = told.try_recv() {
        ends.push(end);
    }
    ends
}

fn expected(what: &str) -> Vec<&'static str> {
    match what {
        "child" => vec!["child ended cancelled", "tester ended cancelled", "session ended"],
        "model" => vec!["agent ended cancelled", "session ended"],
        _ => vec!["tester ended cancelled", "session ended"],
    }
}

#[tokio::test]
async fn a_cancelled_run_ends_whatever_it_waits_for() {
    for (what, build) in HANGING {
        let here = Arc::new(Notify::new());
        let mut builder = build(here.clone());
        let mut told = ends(&mut builder);
        let agent = builder.build().expect("an agent");
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let running = tokio::spawn(async move {
            let mut session = agent.session().await.expect("a session");
            let report = session.prompt_until("go", &token).await;
            session.close().await;
            report
        });
        here.notified().await;
        cancel.cancel();
        let report = report(running.await.expect("no panic"));
        assert_eq!(ending(&report), "cancelled (cancelled!) by caller: the run was cancelled", "{what}");
        assert_eq!(all(&mut told).await, expected(what), "{what}");
    }
}

#[tokio::test]
async fn dropping_the_run_cancels_it_and_the_ends_are_told_once() {
    for (what, build) in HANGING {
        let here = Arc::new(Notify::new());
        let mut builder = build(here.clone());
        let mut told = ends(&mut builder);
        let agent = builder.build().expect("an agent");
        let running = tokio::spawn(async move { agent.run("go").await });
        here.notified().await;
        running.abort();
        assert_eq!(all(&mut told).await, expected(what), "{what}");
    }
}

#[tokio::test]
async fn dropping_the_stream_cancels_the_run_and_the_ends_are_told_once() {
    for (what, build) in HANGING {
        let here = Arc::new(Notify::new());
        let mut builder = build(here.clone());
        let mut told = ends(&mut builder);
        let stream = builder.build().expect("an agent").stream("go");
        here.notified().await;
        drop(stream);
        assert_eq!(all(&mut told).await, expected(what), "{what}");
    }
}

#[tokio::test]
async fn a_stream_can_be_cancelled_and_read_to_its_end() {
    let here = Arc::new(Notify::new());
    let mut stream = Agent::builder(Mute(here.clone())).build().expect("an agent").stream("go");
    here.notified().await;
    stream.cancel();
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event.news);
    }
    assert!(
        matches!(last, Some(vertebra::News::Ended { report }) if report.stop.reason == vertebra::StopReason::Cancelled)
    );
}

#[tokio::test]
async fn a_session_dropped_without_close_still_ends() {
    let mut builder = agent(&Script::new().say("hi"));
    let mut told = ends(&mut builder);
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    report(session.prompt("go").await);
    drop(session);
    assert_eq!(all(&mut told).await, ["tester ended completed", "session ended"]);
}

#[tokio::test]
async fn a_caller_who_leaves_during_session_start_still_gets_a_session_end() {
    let here = Arc::new(Notify::new());
    let mut builder = agent(&Script::new());
    let mut told = ends(&mut builder);
    let arrived = here.clone();
    builder.on(SessionStart, async move |_| {
        arrived.notify_one();
        pending().await
    });
    let agent = builder.build().expect("an agent");
    let running = tokio::spawn(async move { agent.run("go").await });
    here.notified().await;
    running.abort();
    assert_eq!(all(&mut told).await, ["session ended"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_session_never_ends_before_its_run_even_if_the_caller_leaves_at_once() {
    for _ in 0..20 {
        let mut builder = agent(&Script::new().say("hi").may_end_early());
        let mut told = ends(&mut builder);
        let agent = builder.build().expect("an agent");
        let leaving = tokio::spawn(async move {
            let mut running = Box::pin(agent.run("go"));
            // One look, which starts the run, and gone.
            let _ = futures_util::poll!(&mut running);
        });
        leaving.await.expect("no panic");
        let told = all(&mut told).await;
        assert_eq!(told.last().map(String::as_str), Some("session ended"), "{told:?}");
        assert_eq!(told.len(), 2, "{told:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_child_is_told_to_hooks_that_take_their_time() {
    let here = Arc::new(Notify::new());
    let child = Agent::builder(Mute(here.clone())).name("child").build().expect("a child");
    let mut builder = agent(&Script::new().call("helper", r#"{"prompt": "look"}"#));
    builder.tool(vertebra::AgentTool::new("helper", "helps", child));
    builder.on(ExecutionEnd, async |_| {
        tokio::task::yield_now().await;
        proceed()
    });
    let mut told = ends(&mut builder);
    let agent = builder.build().expect("an agent");
    let running = tokio::spawn(async move { agent.run("go").await });
    here.notified().await;
    running.abort();
    assert_eq!(all(&mut told).await, expected("child"));
}

#[tokio::test]
async fn a_call_whose_turn_comes_after_the_cancellation_neither_begins_nor_ends_for_its_hooks() {
    let (cancel, told) = (CancellationToken::new(), Arc::new(Mutex::new(Vec::new())));
    let mut builder = agent(&Script::new().calls([("tell", "{}"), ("tell", "{}")]));
    builder.tool(tool("tell", "Tells people", async |_: Value, invocation| {
        invocation.notify("news", "hello").await?;
        Ok("told")
    }));
    let token = cancel.clone();
    // The hook has the state. The other call has come as far as it can without.
    builder.on(Notification, async move |_| {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        token.cancel();
        proceed()
    });
    let before = told.clone();
    builder.on(BeforeToolUse, async move |cx| {
        before.lock().expect("no panic").push(format!("before {}", cx.call.id));
        proceed()
    });
    let after = told.clone();
    builder.on(AfterToolUse, async move |cx| {
        after.lock().expect("no panic").push(format!("after {}", cx.call.id));
        proceed()
    });
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    let _ended = session.prompt_until("go", &cancel).await;
    let told = told.lock().expect("no panic").clone();
    let [before, after] = &*told else { panic!("one pair, not {told:?}") };
    assert_eq!(before.strip_prefix("before "), after.strip_prefix("after "));
}
