//! Suspended from outside: what has begun ends, nothing more begins, and the rest is done once when the run is resumed.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{Notify, Semaphore};
use vertebra::{
    AgentBuilder, AgentTool, Approval, Approver, CancellationToken, Decision, Deltas, Entry, Invocation, MemoryJournal,
    Model, ModelError, ModelId, News, NoJournal, Request, Response, RunReport, RunStatus, RunStream, StopReason, Tool,
    ToolOutput, ToolSpec, What, prelude::*, testing::FakeClock,
};

use super::{
    told,
    world::{Mortal, Plan, World, whole},
};
use crate::support::{Log, busy, secs};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// A process whose run is suspended as it writes a line.
fn suspended_at(world: &World, line: usize) -> (MemoryJournal, RunReport) {
    let (token, lines) = (Arc::new(OnceLock::<CancellationToken>::new()), AtomicUsize::new(0));
    let suspends = token.clone();
    let (mortal, journal) = Mortal::until(move |_| {
        if lines.fetch_add(1, Ordering::AcqRel) == line
            && let Some(token) = suspends.get()
        {
            token.cancel();
        }
        false
    });
    let agent = world.agent(mortal);
    let report = runtime().block_on(async {
        let mut session = agent.session().await.expect("a session");
        let stream = session.stream("go");
        token.set(stream.suspend_token()).expect("the only run");
        let report = stream.finish().await.expect("a run that does not fail");
        session.close().await;
        report
    });
    (journal, report)
}

/// How often hooks ran at each point, and models were asked.
fn done(lines: &[Entry]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in lines {
        let name = match &line.what {
            What::Dispatched { record, .. } => &*record.point,
            What::ModelAsked { .. } => "a model",
            What::ToolStarted { .. } => "a tool",
            _ => continue,
        };
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn suspended_at_any_line_a_run_ends_as_if_it_never_had_been() {
    let undisturbed = whole(&World::default());
    let mut suspended = 0;
    for line in 1..undisturbed.lines.len() {
        let world = World::default();
        let (journal, report) = suspended_at(&world, line);
        if report.status == RunStatus::Completed {
            // Nothing was left to begin.
            assert_eq!(done(&journal.entries()), done(&undisturbed.lines), "at line {line}");
            continue;
        }
        suspended += 1;
        assert_eq!((report.status, report.stop.reason), (RunStatus::Suspended, StopReason::Suspended), "{line}");
        let lines = journal.entries();
        assert!(matches!(lines.last().map(|line| &line.what), Some(What::Suspended { .. })), "at line {line}");
        let after = world.resumed(&journal);
        assert_eq!(after.text, undisturbed.text, "at line {line}");
        assert_eq!(after.steps, undisturbed.steps, "at line {line}");
        assert_eq!(told(after.state.messages()), told(undisturbed.state.messages()), "at line {line}");
        assert!(!after.child_unknown, "at line {line}");
        assert!(world.effects().values().all(|times| *times == 1), "at line {line}: {:?}", world.effects());
        assert_eq!(world.effects().len(), 6, "at line {line}: {:?}", world.effects());
        assert_eq!(done(&after.lines), done(&undisturbed.lines), "at line {line}");
        let ended = after.lines.iter().filter(|line| matches!(line.what, What::SessionEnded)).count();
        assert_eq!(ended, 1, "at line {line}");
    }
    assert!(suspended > 40, "{suspended}");
}

/// A process that has to end as it writes a line: its run is abandoned.
fn abandoned_at(world: &World, line: usize) -> (MemoryJournal, RunReport) {
    let (has_to_end, lines) = (Arc::new(Notify::new()), AtomicUsize::new(0));
    let ends = has_to_end.clone();
    let (mortal, journal) = Mortal::until(move |_| {
        if lines.fetch_add(1, Ordering::AcqRel) == line {
            ends.notify_one();
        }
        false
    });
    let agent = world.agent(mortal);
    let report = runtime().block_on(async {
        let mut session = agent.session().await.expect("a session");
        let mut stream = session.stream("go");
        loop {
            tokio::select! {
                biased;
                () = has_to_end.notified() => stream.abandon(),
                event = stream.next() => if event.is_none() { break },
            }
        }
        let report = stream.finish().await.expect("a run that does not fail");
        session.close().await;
        report
    });
    (journal, report)
}

#[test]
fn abandoned_at_any_line_a_run_is_finished_later_and_nothing_happens_twice() {
    let undisturbed = whole(&World::default());
    let mut abandoned = 0;
    for line in 1..undisturbed.lines.len() {
        let world = World::default();
        let (journal, report) = abandoned_at(&world, line);
        if report.status == RunStatus::Completed {
            continue;
        }
        abandoned += 1;
        assert_eq!(report.status, RunStatus::Suspended, "at line {line}: {report:?}");
        let lines = journal.entries();
        assert!(matches!(lines.last().map(|line| &line.what), Some(What::Suspended { .. })), "at line {line}");
        let ends = |lines: &[Entry], kind: &str| lines.iter().filter(|line| line.what.kind() == kind).count();
        let fired = |lines: &[Entry]| done(lines).get(ExecutionEnd::NAME).copied().unwrap_or_default();
        // The child may have come to its end before.
        let run = &lines.last().expect("a line").run_id;
        let own = |line: &&Entry| line.run_id == *run;
        let own = fired(&lines.iter().filter(own).cloned().collect::<Vec<_>>());
        assert_eq!((ends(&lines, "session_ended"), own), (0, 0), "at line {line}");
        let after = world.resumed(&journal);
        assert_eq!(ends(&after.lines, "session_ended"), 1, "at line {line}");
        assert_eq!(fired(&after.lines), fired(&undisturbed.lines), "at line {line}");
        assert!(world.effects().values().all(|times| *times == 1), "at line {line}: {:?}", world.effects());
    }
    assert!(abandoned > 20, "{abandoned}");
}

/// A moment that a test waits for, and lets pass.
#[derive(Clone, Default)]
struct Moment {
    come: Arc<Notify>,
    open: Arc<OnceLock<()>>,
    opened: Arc<Notify>,
}

impl Moment {
    /// Somebody is there, and waits.
    async fn wait(&self) {
        self.come.notify_one();
        loop {
            let opened = self.opened.notified();
            if self.open.get().is_some() {
                return;
            }
            opened.await;
        }
    }

    /// Waits until somebody is there.
    async fn comes(&self) {
        self.come.notified().await;
    }

    fn pass(&self) {
        let _ = self.open.set(());
        self.opened.notify_waiters();
    }
}

/// A tool that takes its time, once.
fn slow(name: &'static str, moment: &Moment, log: &Log) -> impl Tool + use<> {
    let (moment, log) = (moment.clone(), log.clone());
    tool(name, "takes its time", async move |_: serde_json::Value, _| {
        moment.wait().await;
        log.add(name);
        Ok(format!("{name} is done"))
    })
    .with(vertebra::ToolSpec::read_only)
}

/// Suspends a run, lets a moment pass, and waits until the run has come to rest.
async fn rests(stream: RunStream, moment: &Moment) -> RunReport {
    moment.comes().await;
    stream.suspend();
    moment.pass();
    stream.finish().await.expect("a run that does not fail")
}

async fn resumed(builder: &mut AgentBuilder, journal: &MemoryJournal) -> RunReport {
    let id = journal.entries().first().expect("a session").session_id.clone();
    let agent = builder.journal(journal.another()).build().expect("an agent");
    let mut session = agent.resume(&id).await.expect("it was let go");
    let report = session.go_on().await.expect("something was left").expect("a run that ends well");
    session.close().await;
    report
}

#[tokio::test]
async fn tools_at_work_side_by_side_end_and_the_model_is_asked_in_the_next_process() {
    let (journal, log) = (MemoryJournal::default(), Log::default());
    let moments = [Moment::default(), Moment::default()];
    let build = || {
        let mut builder =
            Agent::builder(Plan::of(vec![vec![("one", "{}"), ("two", "{}")], vec![("three", "{}")]], "all done"));
        builder.tool(slow("one", &moments[0], &log)).tool(slow("two", &moments[1], &log));
        let later = log.clone();
        builder.tool(tool("three", "is later", async move |_: serde_json::Value, _| {
            later.add("three");
            Ok("three is done".to_owned())
        }));
        let told = log.clone();
        builder.watch(AfterToolUse, async move |cx| {
            told.add(format!("after {}", cx.tool));
            Ok(())
        });
        let told = log.clone();
        builder.watch(SessionEnd, async move |_| {
            told.add("the session has ended");
            Ok(())
        });
        builder
    };
    let agent = build().journal(journal.clone()).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    let stream = session.stream("go");
    moments[0].comes().await;
    moments[1].comes().await;
    stream.suspend();
    moments.iter().for_each(Moment::pass);
    let report = stream.finish().await.expect("a run that does not fail");
    assert_eq!((report.status, &*report.stop.source), (RunStatus::Suspended, "caller"));
    session.close().await;
    log.check(&["one", "after one", "two", "after two"]);
    assert_eq!(resumed(&mut build(), &journal).await.text, "all done");
    log.check(&["one", "after one", "two", "after two", "three", "after three", "the session has ended"]);
}

/// A model that stops in the middle of its words.
struct Slowly {
    moment: Moment,
    log: Log,
}

impl Model for Slowly {
    fn id(&self) -> ModelId {
        ModelId::new("slowly", "slowly")
    }

    async fn infer(&self, _request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        self.log.add("asked");
        let _ = out.text("all ").await;
        self.moment.wait().await;
        let _ = out.text("done").await;
        Ok(Response::text("all done"))
    }
}

#[tokio::test]
async fn a_model_in_the_middle_of_its_answer_is_heard_out_and_not_asked_again() {
    let (journal, log, moment) = (MemoryJournal::default(), Log::default(), Moment::default());
    // Whoever would go on after it: without that, the run would simply end.
    let build = || {
        let mut builder = Agent::builder(Slowly { moment: moment.clone(), log: log.clone() });
        builder
            .continuation_limit(1)
            .on(ShouldContinue, async |cx| if cx.continuations == 0 { go_on("once more") } else { proceed() });
        builder
    };
    let agent = build().journal(journal.clone()).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    let mut stream = session.stream("go");
    moment.comes().await;
    stream.suspend();
    moment.pass();
    let mut heard = String::new();
    let mut ended = None;
    while let Some(event) = stream.next().await {
        match event.news {
            News::Delta { text, .. } => heard.push_str(&text),
            News::Ended { report } => ended = Some(report.status),
            _ => {}
        }
    }
    assert_eq!((&*heard, ended), ("all done", Some(RunStatus::Suspended)));
    session.close().await;
    assert_eq!(log.count("asked"), 1);
    assert_eq!(resumed(&mut build(), &journal).await.text, "all done");
    assert_eq!(log.count("asked"), 2, "once for each step");
}

#[tokio::test]
async fn a_run_on_its_last_step_ends_and_is_not_suspended() {
    let (log, moment) = (Log::default(), Moment::default());
    let mut builder = Agent::builder(Slowly { moment: moment.clone(), log });
    let agent = builder.journal(MemoryJournal::default()).build().expect("an agent");
    let report = rests(agent.stream("go"), &moment).await;
    assert_eq!((report.status, &*report.text), (RunStatus::Completed, "all done"));
}

/// A person who thinks for ever.
struct Thinking(Moment);

impl Approver for Thinking {
    async fn decide(&self, approval: &Approval) -> Decision {
        self.0.wait().await;
        approval.approve()
    }
}

fn risky(log: &Log) -> AgentBuilder {
    let mut builder = Agent::builder(Plan::new(&[("risky", "{}")], "all done"));
    let log = log.clone();
    builder.tool(tool("risky", "has an effect", async move |_: serde_json::Value, _| {
        log.add("risky");
        Ok("it is done".to_owned())
    }));
    builder.on(BeforeToolUse.tool("risky"), async |_| ask("sure?"));
    builder
}

#[tokio::test]
async fn a_question_that_waits_for_a_person_waits_on_without_its_process() {
    let (journal, log, moment) = (MemoryJournal::default(), Log::default(), Moment::default());
    let agent = risky(&log).approver(Thinking(moment.clone())).journal(journal.clone()).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    let mut stream = session.stream("go");
    moment.comes().await;
    stream.suspend();
    let mut decided = None;
    while let Some(event) = stream.next().await {
        if let News::Decided { decision, .. } = event.news {
            decided = Some(decision);
        }
    }
    assert_eq!(decided, Some(Decision::Later));
    session.close().await;
    let report = stream.finish().await.expect("it waits");
    assert_eq!(report.status, RunStatus::Suspended);
    assert!(report.stop.message.contains("sure?"), "{}", report.stop.message);
    assert!(log.lines().is_empty());
    moment.pass();
    assert_eq!(resumed(risky(&log).approver(Thinking(moment)), &journal).await.text, "all done");
    log.check(&["risky"]);
    let asked = journal.entries().iter().filter(|line| matches!(line.what, What::Asked { .. })).count();
    assert_eq!(asked, 1, "one question, put once");
}

/// A tool that lets an agent work and does not say so: nobody can enter it again.
struct Quietly(Agent);

impl Tool for Quietly {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("helper", "helps")
    }

    async fn call(&self, _: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        invocation.delegate(&self.0, "dig").await?.into_output("child")
    }
}

#[tokio::test]
async fn a_child_rests_with_its_parent_unless_its_tool_cannot_be_entered_again() {
    for quietly in [false, true] {
        let (journal, log, moment) = (MemoryJournal::default(), Log::default(), Moment::default());
        let build = || {
            let digs = Plan::new(&[("dig", "{}"), ("deeper", "{}")], "dug");
            let mut child = Agent::builder(digs);
            let deeper = log.clone();
            child.name("child").tool(slow("dig", &moment, &log)).tool(tool(
                "deeper",
                "digs",
                async move |_: serde_json::Value, _| {
                    deeper.add("deeper");
                    Ok("dug".to_owned())
                },
            ));
            let child = child.build().expect("a child");
            let mut builder = Agent::builder(Plan::new(&[("helper", r#"{"prompt": "dig"}"#)], "all done"));
            if quietly {
                builder.tool(Quietly(child));
            } else {
                builder.tool(AgentTool::new("helper", "helps", child));
            }
            let told = log.clone();
            builder.watch(SubagentStop, async move |cx| {
                told.add(format!("the child is {}", cx.status));
                Ok(())
            });
            builder
        };
        let agent = build().journal(journal.clone()).build().expect("an agent");
        let mut session = agent.session().await.expect("a session");
        let report = rests(session.stream("go"), &moment).await;
        assert_eq!(report.status, RunStatus::Suspended);
        session.close().await;
        let all = ["dig", "deeper", "the child is completed"];
        log.check(if quietly { &all } else { &["dig"] });
        assert_eq!(resumed(&mut build(), &journal).await.text, "all done");
        log.check(&all);
    }
}

#[tokio::test]
async fn a_run_that_waits_to_ask_again_rests_at_once_and_asks_in_the_next_process() {
    let (journal, clock) = (MemoryJournal::default(), FakeClock::by_hand());
    let model = vertebra::testing::Script::new().fail(busy()).say("all done");
    let waits = Arc::new(Semaphore::new(0));
    let waiting = waits.clone();
    let mut builder = Agent::builder(model.clone());
    builder.clock(clock.clone()).journal(journal.clone()).on(OnError, async move |_| {
        waiting.add_permits(1);
        proceed()
    });
    let mut session = builder.build().expect("an agent").session().await.expect("a session");
    let stream = session.stream("go");
    waits.acquire().await.expect("it is open").forget();
    stream.suspend();
    // Nobody moves the clock: it would wait for ever.
    assert_eq!(stream.finish().await.expect("it waits").status, RunStatus::Suspended);
    session.close().await;
    assert_eq!(resumed(&mut Agent::builder(model.clone()), &journal).await.text, "all done");
    model.assert_played();
}

#[tokio::test]
async fn without_a_journal_to_rest_in_a_run_is_cancelled() {
    let (log, moment) = (Log::default(), Moment::default());
    let mut builder = Agent::builder(Plan::new(&[("one", "{}")], "all done"));
    let ended = log.clone();
    builder.journal(NoJournal).tool(slow("one", &moment, &log)).watch(SessionEnd, async move |_| {
        ended.add("the session has ended");
        Ok(())
    });
    let stream = builder.build().expect("an agent").stream("go");
    moment.comes().await;
    stream.suspend();
    let report = stream.finish().await.expect("a run that was cancelled");
    assert_eq!(report.status, RunStatus::Cancelled);
    log.check(&["the session has ended"]);
}

#[tokio::test]
async fn a_session_that_is_left_has_not_ended_and_goes_on_elsewhere() {
    let (journal, log) = (MemoryJournal::default(), Log::default());
    let build = |journal: MemoryJournal| {
        let ended = log.clone();
        let mut builder = Agent::builder(Plan::new(&[], "all done"));
        builder.journal(journal).watch(SessionEnd, async move |_| {
            ended.add("the session has ended");
            Ok(())
        });
        builder.build().expect("an agent")
    };
    let mut session = build(journal.clone()).session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let id = session.id().to_owned();
    session.leave().await;
    assert!(log.lines().is_empty());
    let mut session = build(journal.another()).resume(&id).await.expect("it was let go");
    assert_eq!(session.unfinished(), None);
    session.prompt("more").await.expect("it goes on");
    assert_eq!(session.close().await.runs, 2);
    log.check(&["the session has ended"]);
}

#[tokio::test]
async fn a_run_that_is_cancelled_and_suspended_is_cancelled() {
    let (log, moment) = (Log::default(), Moment::default());
    let mut builder = Agent::builder(Plan::new(&[("one", "{}")], "all done"));
    builder.journal(MemoryJournal::default()).tool(slow("one", &moment, &log));
    let mut session = builder.build().expect("an agent").session().await.expect("a session");
    let stream = session.stream("go");
    moment.comes().await;
    stream.suspend();
    stream.cancel();
    let report = tokio::time::timeout(secs(60), stream.finish()).await.expect("it ends");
    assert_eq!(report.expect("a run that was cancelled").status, RunStatus::Cancelled);
}
