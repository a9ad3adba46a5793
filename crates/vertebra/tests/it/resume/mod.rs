//! Resume, replay and fork: whatever line of the journal was the last, nothing is lost and nothing is done twice.

mod suspended;
mod world;

use std::time::Duration;

use serde_json::json;
use vertebra::{
    Decision, Divergence, Entry, JournalFault, Likeness, MemoryJournal, Message, Reconciled, RunStatus, SessionError,
    Tool, ToolOutput, ToolSpec, ToolStatus, What, prelude::*,
};

use self::world::{After, Mortal, World, die_after, whole};
use super::support::*;

/// What the conversation says of each call: its tool, how it ended and what the model read.
fn told(messages: &vertebra::Messages) -> Vec<(String, ToolStatus, String)> {
    let results = messages.iter().filter_map(|message| match message {
        Message::Tool { tool, result, .. } => Some((tool.to_string(), result.status, result.output.clone())),
        _ => None,
    });
    results.collect()
}

#[test]
fn whichever_line_was_the_last_every_effect_happens_once_or_is_told_as_unknown() {
    let undisturbed = whole(&World::default());
    assert!(undisturbed.lines.len() > 60, "the run is long enough to be cut anywhere: {}", undisturbed.lines.len());
    let ended = |line: &Entry| matches!(line.what, What::RunEnded { .. });
    let end = undisturbed.lines.iter().rposition(ended).expect("it ended");
    for last in 1..=end {
        let world = World::default();
        let journal = die_after(&world, last);
        let after = world.resumed(&journal);
        let unknown =
            told(after.state.messages()).iter().filter(|(_, status, _)| *status == ToolStatus::Unknown).count();
        for (effect, times) in world.effects() {
            assert_eq!(times, 1, "`{effect}` after line {last}, {:?}", undisturbed.lines.get(last));
        }
        // The agent's own tools; those of its child are told to the child.
        assert!(unknown <= 2, "after line {last}: {:?}", told(after.state.messages()));
        if unknown == 0 && !after.child_unknown {
            assert_eq!(told(after.state.messages()), told(undisturbed.state.messages()), "after line {last}");
            assert_eq!(after.text, undisturbed.text, "after line {last}");
            let effects = |after: &After| after.state.metadata().get("effects").cloned();
            assert_eq!(effects(&after), effects(&undisturbed), "after line {last}");
        }
        assert_eq!(after.steps, undisturbed.steps, "after line {last}");
        let ends = |lines: &[Entry]| lines.iter().filter(|line| matches!(line.what, What::RunEnded { .. })).count();
        assert_eq!(ends(&after.lines), 2, "after line {last}");
    }
}

#[test]
fn a_recording_is_replayed_as_it_was_also_if_it_was_cut_and_resumed() {
    let world = World::default();
    let undisturbed = whole(&world);
    let replay = world.replay(undisturbed.lines.clone(), Likeness::Hooks);
    assert_eq!((replay.runs, replay.divergence), (1, None));
    assert!(replay.lines > 30, "{}", replay.lines);
    // Nobody listens to what becomes of the helper.
    for denies in [None, Some("helper")] {
        let undisturbed = whole(&World { denies, ..World::default() });
        for last in (1..undisturbed.lines.len() - 1).step_by(3) {
            let world = World { denies, ..World::default() };
            let after = world.resumed(&die_after(&world, last));
            let before = world.effects();
            assert_eq!(world.replay(after.lines, Likeness::Hooks).divergence, None, "cut after line {last}");
            assert_eq!(world.effects(), before, "a replay has no effects");
        }
    }
}

#[test]
fn other_hooks_show_where_they_would_have_led_elsewhere() {
    let recorded = whole(&World::default());
    let stricter = World { denies: Some("write"), ..World::default() };
    let Some(Divergence { step, place, recorded: then, replayed: now, .. }) =
        stricter.replay(recorded.lines, Likeness::Effects).divergence
    else {
        panic!("the stricter guard changes nothing")
    };
    assert_eq!((step, &*place), (1, "BeforeToolUse"));
    let verdict = |side: Option<serde_json::Value>| side.map(|side| side["verdict"].clone());
    assert_eq!((verdict(then), verdict(now)), (Some(json!("proceed")), Some(json!("deny"))));
    assert!(stricter.effects().is_empty());
}

#[tokio::test]
async fn nobody_resumes_what_somebody_runs_and_a_fenced_run_does_nothing_more() {
    let journal = MemoryJournal::default();
    let mut builder = agent(&vertebra::testing::Script::new().say("hello"));
    let agent = builder.journal(journal.clone()).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    session.prompt("hi").await.expect("a run");
    let id = session.id().to_owned();
    let elsewhere = |journal: MemoryJournal| {
        let model = vertebra::testing::Script::new().say("again").may_end_early();
        super::support::agent(&model).journal(journal).build().expect("an agent")
    };
    let fault = |opened: Result<vertebra::Session, SessionError>| match opened {
        Err(SessionError::Journal(error)) => Some(error.kind),
        Ok(_) | Err(_) => None,
    };
    let busy = elsewhere(journal.another()).resume(&id).await;
    assert_eq!(fault(busy), Some(JournalFault::Busy), "two run one session");
    assert_eq!(fault(agent.resume("session-99").await), Some(JournalFault::Unknown), "it was never there");
    session.close().await;
    let mut resumed = elsewhere(journal.another()).resume(&id).await.expect("it is free now");
    assert_eq!(resumed.unfinished(), None);
    assert!(resumed.go_on().await.is_none());
    resumed.prompt("more").await.expect("it goes on");
    assert_eq!(resumed.state().await.messages().len(), 4);
    assert_eq!(resumed.close().await.runs, 2);
}

/// A tool that can find out what came of a use.
struct Ledger(Reconciled, Log);

impl Tool for Ledger {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("pay", "pays")
    }

    async fn call(&self, _args: Args, invocation: vertebra::Invocation) -> Result<ToolOutput, ToolError> {
        self.1.add(invocation.key());
        Ok("paid".into())
    }

    async fn reconcile(&self, _args: Args, invocation: vertebra::Invocation) -> Result<Reconciled, ToolError> {
        self.1.add(format!("asked about {}", invocation.key()));
        Ok(self.0.clone())
    }
}

#[test]
fn a_tool_that_can_find_out_decides_what_came_of_a_use_that_was_cut_short() {
    let cases = [
        (Reconciled::Done("it was paid".into()), ToolStatus::Done, "it was paid", 1),
        (Reconciled::NotDone, ToolStatus::Done, "paid", 2),
        (Reconciled::Unknown, ToolStatus::Unknown, "unknown: the process ended while `pay` was at work", 1),
    ];
    for (reconciled, status, words, times) in cases {
        let log = Log::default();
        let build = |journal: Mortal, log: Log| {
            let mut builder = Agent::builder(world::Plan::new(&[("pay", "{}")], "done"));
            builder.journal(journal).tool(Ledger(reconciled.clone(), log)).build().expect("an agent")
        };
        let (mortal, journal) = Mortal::until(|what| matches!(what, What::ToolEnded { .. }));
        world::live(mortal.clone(), build(mortal, log.clone()));
        let after = world::resume(&journal, &build(Mortal::immortal(&journal), log.clone()));
        let told = told(after.state.messages());
        assert_eq!(told[0].1, status);
        assert!(told[0].2.starts_with(words), "{told:?}");
        let key = &log.lines()[0];
        assert_eq!(log.count(key), times, "the same key for the same attempt: {:?}", log.lines());
        assert_eq!(log.count(&format!("asked about {key}")), 1);
    }
}

#[test]
fn a_run_waits_for_a_person_across_processes_and_the_answer_is_for_what_was_shown() {
    for (decision, status) in
        [(None, ToolStatus::Done), (Some("other arguments"), ToolStatus::Blocked), (Some("no"), ToolStatus::Blocked)]
    {
        let world = World { later: true, ..World::default() };
        let (mortal, journal) = Mortal::forever();
        let report = world::live(mortal.clone(), world.agent(mortal)).expect("the run ended by itself");
        assert_eq!(report.status, RunStatus::Suspended);
        assert!(report.stop.message.contains("sure?"), "{}", report.stop.message);
        let lines = journal.entries();
        assert!(matches!(lines.last().map(|line| &line.what), Some(What::Suspended { .. })));
        let ended = |line: &Entry| line.run_id == report.run_id && matches!(line.what, What::RunEnded { .. });
        assert!(!lines.iter().any(|line| ended(line) || matches!(line.what, What::SessionEnded)));
        assert_eq!(world.effects().get("risky"), None);

        let answer = match decision {
            None => None,
            Some("no") => Some(Decision::Deny { reason: "no".to_owned() }),
            Some(_) => Some(Decision::Approve { digest: "of something else".to_owned(), grants: Vec::new() }),
        };
        let world = World { later: false, answer, ..world };
        let after = world.resumed(&journal);
        let risky = told(after.state.messages()).into_iter().find(|(tool, ..)| tool == "risky").expect("it was called");
        assert_eq!(risky.1, status, "{risky:?}");
        let asked = after.lines.iter().filter(|line| matches!(line.what, What::Asked { .. })).count();
        assert_eq!(asked, 1, "one question, put once");
    }
}

#[test]
fn a_run_that_is_resumed_before_its_answer_is_there_waits_on() {
    let world = World { later: true, ..World::default() };
    let (mortal, journal) = Mortal::forever();
    world::live(mortal.clone(), world.agent(mortal));
    for _ in 0..2 {
        let after = world.resumed(&journal);
        assert!(matches!(after.lines.last().map(|line| &line.what), Some(What::Suspended { .. })));
    }
    let after = World { later: false, ..world }.resumed(&journal);
    assert_eq!(after.text, "all done.");
}

#[test]
fn a_question_that_nobody_answered_in_time_is_a_no() {
    let clock = vertebra::testing::FakeClock::default();
    let world = World { later: true, clock: Some(clock.clone()), ..World::default() };
    let (mortal, journal) = Mortal::forever();
    world::live(mortal.clone(), world.agent(mortal));
    clock.advance(Duration::from_hours(8 * 24));
    let world = World { later: false, ..world };
    let after = world.resumed(&journal);
    let risky = told(after.state.messages()).into_iter().find(|(tool, ..)| tool == "risky").expect("it was called");
    assert_eq!((risky.1, &*risky.2), (ToolStatus::Blocked, "denied: no one answered in time"));
    assert_eq!(world.effects().get("risky"), None);
}

#[test]
fn what_had_not_begun_passes_the_guards_of_today() {
    let world = World::default();
    // The hooks of the first call have let it through, and its tool has not begun.
    let (mortal, journal) = Mortal::until(|what| matches!(what, What::ToolIntended { .. }));
    world::live(mortal.clone(), world.agent(mortal));
    let stricter = World { denies: Some("write"), ..world };
    let after = stricter.resumed(&journal);
    assert_eq!(told(after.state.messages())[0].1, ToolStatus::Blocked);
    assert_eq!(stricter.effects().get("write a"), None);
}

#[tokio::test]
async fn a_session_forks_between_any_two_steps_and_the_first_stays_as_it_was() {
    let journal = MemoryJournal::default();
    let plan = world::Plan::new(&[("ls", "{}"), ("ls", "{}")], "done");
    let build = |plan: &world::Plan| {
        let tool = vertebra::testing::RecordingTool::new("ls");
        Agent::builder(plan.clone()).journal(journal.clone()).tool(tool).build().expect("an agent")
    };
    let mut session = build(&plan).session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let before = session.state().await.messages().clone();
    session.close().await;
    let lines = journal.entries();
    let other = world::Plan::new(&[("ls", "{}")], "another end");
    let mut fork = build(&other).fork(lines.clone(), Some(1)).await.expect("it was between step 1 and 2");
    assert_eq!(fork.state().await.messages().len(), 3);
    assert_eq!(fork.prompt("and now?").await.expect("a run").text, "another end");
    let id = fork.id().to_owned();
    fork.close().await;
    assert!(build(&other).fork(lines, Some(9)).await.is_err());
    let resumed = build(&other).resume(&id).await.expect("a fork is a session");
    assert_eq!(resumed.state().await.messages().len(), 7);
    let first: Vec<Entry> = journal.entries().into_iter().filter(|line| *line.session_id != id).collect();
    assert_eq!(build(&plan).fork(first, None).await.expect("all of it").state().await.messages(), &before);
}

#[tokio::test]
async fn whoever_watches_a_run_hears_that_it_waits() {
    let world = World { later: true, ..World::default() };
    let (mortal, journal) = Mortal::forever();
    let mut stream = world.agent(mortal).stream("go");
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event);
    }
    let ended = last.map(|event| (event.depth, event.news));
    let Some((0, vertebra::News::Ended { report })) = ended else { panic!("the last word is its end: {ended:?}") };
    assert_eq!(report.status, RunStatus::Suspended);
    assert!(journal.entries().iter().any(|line| matches!(line.what, What::Suspended { .. })));
}
