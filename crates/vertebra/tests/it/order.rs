//! Calls that change something: one after another, in call order. Each starts as soon as it may, and its time is its own.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;
use vertebra::{
    AgentBuilder, AgentTool, Approval, Approver, Args, CancellationToken, Clock, Decision, Invocation, MemoryJournal,
    RunStatus, Tool, ToolError, ToolOutput, ToolSpec, What,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};

use super::support::*;

/// Writes down when a tool begins and ends; it lets others go first in between.
fn slow(name: &'static str, log: &Log) -> impl Tool {
    let log = log.clone();
    tool(name, "takes its time", async move |_: Value, _| {
        log.add(format!("{name} begins"));
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        log.add(format!("{name} ends"));
        Ok("ok")
    })
}

fn log_hooks(b: &mut AgentBuilder, log: &Log) {
    let (before, after) = (log.clone(), log.clone());
    b.on(BeforeToolUse, async move |cx| {
        before.add(format!("before {}", cx.tool));
        proceed()
    });
    b.on(AfterToolUse, async move |cx| {
        after.add(format!("after {}", cx.tool));
        proceed()
    });
}

#[tokio::test]
async fn calls_that_change_something_run_one_after_another_in_call_order() {
    let log = Log::default();
    story(&Script::new().calls([("write", "{}"), ("test", "{}")]).say("done"), |b| {
        b.tool(slow("write", &log)).tool(slow("test", &log));
        log_hooks(b, &log);
    })
    .await;
    log.check(&[
        "before write",
        "write begins",
        "write ends",
        "after write",
        "before test",
        "test begins",
        "test ends",
        "after test",
    ]);
}

#[tokio::test]
async fn a_reader_sees_what_the_calls_before_it_changed_and_not_what_the_calls_after_it_do() {
    let file = Log::default();
    let (written, before, after) = (file.clone(), file.clone(), file.clone());
    let look = |name: &'static str, file: Log| {
        tool(name, "looks", async move |_: Value, _| {
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            Ok(file.lines().join(" "))
        })
        .with(ToolSpec::read_only)
    };
    let told = story(&Script::new().calls([("before", "{}"), ("write", "{}"), ("after", "{}")]).say("done"), |b| {
        b.tool(look("before", before)).tool(look("after", after));
        b.tool(tool("write", "writes", async move |_: Value, _| {
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            written.add("new");
            Ok("ok")
        }));
    })
    .await;
    assert_eq!(told[2..5], ["before: ", "write: ok", "after: new"]);
}

#[tokio::test]
async fn a_call_that_a_hook_turns_into_a_change_runs_alone() {
    let log = Log::default();
    story(&Script::new().calls([("look", "{}"), ("look", r#"{"n": 1}"#), ("look", "{}")]).say("done"), |b| {
        b.tool(Look(log.clone()));
        b.on(BeforeToolUse.tool("look"), async |cx| {
            if cx.args.get("n").is_some() {
                cx.args_mut().set("write", true);
            }
            proceed()
        });
    })
    .await;
    let lines = log.lines();
    let at = |line: &str| lines.iter().position(|one| one == line);
    assert!(at("writes") < at("wrote") && at("wrote") == at("writes").map(|at| at + 1), "{lines:?}");
    assert_eq!((lines.first().map(String::as_str), lines.len()), (Some("looks"), 6), "{lines:?}");
}

/// Looks, unless its arguments say that it writes.
struct Look(Log);

impl Tool for Look {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("look", "looks or writes")
    }

    fn only_reads(&self, args: &Args) -> bool {
        args.get("write").is_none()
    }

    async fn call(&self, args: Args, _invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let (began, ended) = if self.only_reads(&args) { ("looks", "looked") } else { ("writes", "wrote") };
        self.0.add(began);
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        self.0.add(ended);
        Ok("ok".into())
    }
}

/// Says yes to the first question, and to the second once the tool of the first has begun.
struct Patient {
    log: Log,
    began: Arc<Notify>,
}

impl Approver for Patient {
    async fn decide(&self, approval: &Approval) -> Decision {
        let first = self.log.lines().is_empty();
        self.log.add(format!("asked about {}", approval.call.args.to_value()));
        if !first {
            self.began.notified().await;
        }
        approval.approve()
    }
}

#[tokio::test]
async fn an_approved_call_starts_before_the_next_question_is_answered() {
    for reads in [true, false] {
        let (log, began) = (Log::default(), Arc::new(Notify::new()));
        let script = Script::new().calls([("work", r#"{"n": 1}"#), ("work", r#"{"n": 2}"#)]).say("done");
        let told = story(&script, |b| {
            let (told, begins) = (log.clone(), began.clone());
            let work = tool("work", "looks at what the agent knows", async move |input: Value, run: Invocation| {
                let _known = run.state().messages().len();
                told.add(format!("{input} begins"));
                begins.notify_one();
                Ok("ok")
            });
            b.tool(if reads { work.with(ToolSpec::read_only) } else { work });
            b.approver(Patient { log: log.clone(), began: began.clone() });
            b.on(BeforeToolUse, async |_| ask("is it wise?"));
        });
        // Without the first tool at work, the second question would never be answered.
        let told = tokio::time::timeout(secs(20), told).await.expect("both were answered");
        assert_eq!(told.last().map(String::as_str), Some(FINISHED));
        log.check(&[r#"asked about {"n":1}"#, r#"{"n":1} begins"#, r#"asked about {"n":2}"#, r#"{"n":2} begins"#][..]);
    }
}

/// Says yes to the second question once the tool of the first call has been heard.
struct Listening {
    log: Log,
    asked: Arc<Notify>,
    heard: Arc<Notify>,
}

impl Approver for Listening {
    async fn decide(&self, approval: &Approval) -> Decision {
        if approval.call.args.get("n") == Some(&2.into()) {
            self.asked.notify_one();
            self.heard.notified().await;
            self.log.add("yes, after the tool was heard");
        }
        approval.approve()
    }
}

#[tokio::test]
async fn a_tool_at_work_reaches_hooks_while_a_person_is_asked_about_the_next_call() {
    let (log, asked, heard) = (Log::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let script = Script::new().calls([("look", r#"{"n": 1}"#), ("look", r#"{"n": 2}"#)]).say("done");
    let told = story(&script, |b| {
        let question = asked.clone();
        let look = tool("look", "tells of its progress", async move |input: Value, run: Invocation| {
            if input["n"] == 1 {
                question.notified().await;
                run.notify("progress", "half way").await?;
            }
            Ok("ok")
        });
        b.tool(look.with(ToolSpec::read_only));
        b.approver(Listening { log: log.clone(), asked: asked.clone(), heard: heard.clone() });
        b.on(BeforeToolUse, async |_| ask("is it wise?"));
        let told_of = heard.clone();
        b.on(Notification, async move |cx| {
            if cx.kind == "progress" {
                told_of.notify_one();
            }
            proceed()
        });
    });
    // If the question held the state, the tool would wait for the answer, and the answer for the tool.
    let told = tokio::time::timeout(secs(20), told).await.expect("the tool was heard");
    assert_eq!(told.last().map(String::as_str), Some(FINISHED));
    log.check(&["yes, after the tool was heard"]);
}

#[tokio::test]
async fn the_time_of_a_call_has_neither_other_calls_nor_people_in_it() {
    let clock = FakeClock::new();
    let (waits, times) = (clock.clone(), Log::default());
    let told = times.clone();
    let takes = |name, seconds| RecordingTool::new(name).taking(secs(seconds), &clock);
    story_on(&Script::new().calls([("slow", "{}"), ("quick", "{}"), ("quick", "{}")]).say("done"), &clock, |b| {
        b.tool(takes("slow", 100)).tool(takes("quick", 2));
        b.approver(Sleepy(waits));
        b.on(BeforeToolUse.tool("quick"), async |_| ask("is it wise?"));
        b.on(AfterToolUse, async move |cx| {
            told.add(format!("{} {}", cx.tool, cx.result.duration_ms));
            proceed()
        });
    })
    .await;
    times.check(&["slow 100000", "quick 2000", "quick 2000"]);
}

#[tokio::test]
async fn the_time_of_a_call_that_delegates_has_no_people_in_it_either() {
    let clock = FakeClock::new();
    let mut child = agent_on(&Script::new().call("quick", "{}").say("done"), &clock);
    child.tool(RecordingTool::new("quick").taking(secs(2), &clock));
    child.on(BeforeToolUse.tool("quick"), async |_| ask("is it wise?"));
    let child = child.build().expect("a child");
    let times = Log::default();
    let (told, waits) = (times.clone(), clock.clone());
    story_on(&Script::new().call("helper", r#"{"prompt": "go"}"#).say("done"), &clock, |b| {
        b.tool(AgentTool::new("helper", "helps", child));
        b.approver(Sleepy(waits));
        b.on(AfterToolUse, async move |cx| {
            told.add(format!("{} {}", cx.tool, cx.result.duration_ms));
            proceed()
        });
    })
    .await;
    times.check(&["quick 2000", "helper 2000"]);
}

/// Says yes after a minute.
struct Sleepy(FakeClock);

impl Approver for Sleepy {
    async fn decide(&self, approval: &Approval) -> Decision {
        Clock::sleep(&self.0, secs(60)).await;
        approval.approve()
    }
}

#[tokio::test]
async fn what_a_tool_has_found_so_far_is_read_when_it_is_cut_short() {
    let began = Arc::new(Notify::new());
    let begins = began.clone();
    let mut builder = agent(&Script::new().call("search", "{}").say("never"));
    builder.tool(tool("search", "never ends", async move |_: Value, run: Invocation| {
        run.if_cut_short(|| "two hits".into());
        begins.notify_one();
        std::future::pending::<Result<String, ToolError>>().await
    }));
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    let stop = CancellationToken::new();
    let stopping = async {
        began.notified().await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(session.prompt_until("go", &stop), stopping);
    assert_eq!(report(ended).status, RunStatus::Cancelled);
    assert_eq!(results_in(session.state().await.messages()), ["cancelled: cancelled\ntwo hits"]);

    let script = Script::new().call("search", "{}").say("done");
    let told = story(&script, |b| {
        b.tool(tool("search", "never ends", async |_: Value, run: Invocation| {
            run.if_cut_short(|| "two hits".into());
            std::future::pending::<Result<String, ToolError>>().await
        }));
        b.on(BeforeToolUse, async |cx| {
            cx.time_limit = Some(secs(5));
            proceed()
        });
    })
    .await;
    assert_eq!(told[2], "search: tool `search` was stopped: it may take 5s\ntwo hits");
}

#[tokio::test]
async fn a_call_behind_one_that_runs_is_not_begun_in_the_journal() {
    let journal = MemoryJournal::default();
    let mut builder = agent(&Script::new().calls([("act", r#"{"n": 1}"#), ("act", r#"{"n": 2}"#)]).say("done"));
    let seen = journal.clone();
    builder.tool(tool("act", "looks at the journal", async move |_: Value, _| {
        let lines = seen.entries();
        let began = lines.iter().filter(|line| matches!(line.what, What::ToolStarted { .. })).count();
        let ended = lines.iter().filter(|line| matches!(line.what, What::ToolEnded { .. })).count();
        Ok(format!("{began} began, {ended} ended"))
    }));
    let agent = builder.journal(journal).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    report(session.prompt("go").await);
    let results = results_in(session.state().await.messages());
    assert_eq!(results, ["done: 1 began, 0 ended", "done: 2 began, 1 ended"]);
}
