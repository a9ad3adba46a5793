//! What is read from lines is what hooks were told when it happened.

use std::sync::{Mutex, PoisonError};

use vertebra::{
    AgentTool, Kind, MemoryJournal, Stop, ToolSpec, What,
    prelude::*,
    testing::{FakeClock, FixedApprover, RecordingTool, Script, SequentialIds},
};

use super::*;

/// Every event at these points, before any other hook has touched it.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Event>>>);

impl Seen {
    fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

macro_rules! see_all {
    ($set:ident, $seen:ident: $($point:ident)*) => {$(
        let seen = $seen.clone();
        $set.on($point.named(concat!("see-", stringify!($point))).priority(-1000), async move |cx| {
            seen.0.lock().unwrap_or_else(PoisonError::into_inner).push(Event::$point((**cx).clone()));
            proceed()
        });
    )*};
}

/// What no line says is not compared; the numbers of events are only known where hooks ran.
fn comparable(mut event: Event) -> Event {
    match &mut event {
        Event::BeforeInference(event) => without(&mut event.request),
        Event::AfterInference(event) => without(&mut event.request),
        Event::ShouldContinue(event) => event.stops.retain(|stop: &Stop| stop.source != "model"),
        _ => {}
    }
    event
}

fn without(request: &mut vertebra::Request) {
    request.system_prompt = "".into();
    request.tools = Arc::default();
}

/// A run with several of everything: a rewrite, a refusal, a question, a failure, a child, two calls at once, two prompts.
async fn lived(watch: bool) -> (MemoryJournal, Vec<Event>) {
    let (journal, seen, clock) = (MemoryJournal::default(), Seen::default(), FakeClock::new());
    let mut set = HookSet::new();
    if watch {
        see_all!(set, seen: PromptSubmit BeforeStep BeforeInference AfterInference BeforeToolUse ToolUseFailed
            AfterToolUse AfterStep ShouldContinue);
    }
    set.on(BeforeToolUse.tool("bash").named("policy/timeout"), async |cx| {
        cx.args_mut().set("timeout", 5);
        proceed()
    });
    set.guard(BeforeToolUse.command(r"\brm\b").named("policy/no-rm"), async |_| deny("deletions are for humans"));
    set.guard(BeforeToolUse.tool("write").named("policy/ask"), async |_| ask("really?"));
    let child = Agent::builder(Script::new().call("bash", r#"{"command": "date"}"#).say("noon"))
        .name("clock")
        .tool(RecordingTool::new("bash").with(|spec: ToolSpec| spec.alias("Bash")))
        .build()
        .expect("a child");
    let script = Script::new()
        .calls([("bash", r#"{"command": "ls"}"#), ("bash", r#"{"command": "rm x"}"#), ("write", r#"{"path": "a"}"#)])
        .call("broken", "{}")
        .call("ask_clock", r#"{"prompt": "what time is it?"}"#)
        .say("done")
        .say("you are welcome");
    let agent = Agent::builder(script)
        .name("main")
        .clock(clock)
        .ids(SequentialIds::default())
        .working_directory("/project")
        .tool(RecordingTool::new("bash").replying("a b").with(|spec: ToolSpec| spec.alias("Bash")))
        .tool(RecordingTool::new("write"))
        .tool(RecordingTool::new("broken").failing("it broke"))
        .tool(AgentTool::new("ask_clock", "knows the time", child))
        .approver(FixedApprover::yes())
        .journal(journal.clone())
        .hooks(set)
        .build()
        .expect("an agent");
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    session.prompt("thanks").await.expect("another run");
    session.close().await;
    let seen = seen.events().into_iter().map(comparable).collect();
    (journal, seen)
}

fn past() -> Past {
    Past::default().aliases(|tool| if tool == "bash" { Arc::new(["Bash".into()]) } else { Arc::default() })
}

/// Events in an order that does not depend on when lines tell of them.
fn sorted(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let mut events: Vec<Event> = events.into_iter().collect();
    events.sort_by_key(|event| (event.at().run.run_id.clone(), event.at().number));
    events
}

#[tokio::test]
async fn what_is_read_is_what_hooks_were_told() {
    let (journal, told) = lived(true).await;
    let read: Vec<Event> = moments(journal.entries(), past()).map(|moment| comparable(moment.event)).collect();
    // Of a call that was refused no line says what the hooks after it read.
    let refused = |event: &Event| matches!(event, Event::AfterToolUse(event) if event.blocked_by.is_some());
    assert_eq!(told.iter().filter(|event| refused(event)).count(), 1);
    let told = sorted(told.into_iter().filter(|event| !refused(event)));
    for (read, told) in sorted(read.clone()).iter().zip(&told) {
        assert_eq!(read, told);
    }
    assert_eq!(read.len(), told.len());
}

#[tokio::test]
async fn where_no_hook_ran_the_events_are_there_all_the_same() {
    let points = |moments: Vec<Moment>| {
        let mut points: Vec<_> = moments.iter().map(|moment| moment.event.point()).collect();
        points.sort_unstable();
        points
    };
    let (watched, _) = lived(true).await;
    let (alone, _) = lived(false).await;
    let read = |journal: MemoryJournal| points(moments(journal.entries(), past()).collect());
    assert_eq!(read(alone), read(watched));
}

#[tokio::test]
async fn every_moment_has_what_hooks_made_of_it_and_what_the_agent_knew() {
    let (journal, _) = lived(false).await;
    let all: Vec<Moment> = moments(journal.entries(), past()).collect();
    let calls: Vec<String> = all
        .iter()
        .filter_map(|moment| match &moment.event {
            Event::BeforeToolUse(event) => {
                let said = moment.then.as_ref().map_or("nothing".to_owned(), ToString::to_string);
                let recent = event.recent_tools.join(",");
                let (at, command) = (&event.at, event.command().unwrap_or("-"));
                Some(format!(
                    "{} {} {} {} {command} [{recent}]: {said}",
                    at.run.agent, at.run.depth, at.step, event.tool
                ))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            "main 0 1 bash ls []: proceeded",
            "main 0 1 bash rm x [bash]: denied by policy/no-rm: deletions are for humans",
            "main 0 1 write - [bash,bash]: asked by policy/ask: really?",
            "main 0 2 broken - [bash,bash,write]: nothing",
            "main 0 3 ask_clock - [bash,bash,write,broken]: nothing",
            "clock 1 1 bash date []: proceeded",
        ]
    );
    let asked = all.iter().filter_map(|moment| match &moment.event {
        Event::BeforeInference(event) => Some((event.at.run.depth, event.request.messages.len())),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), [(0, 1), (0, 5), (0, 7), (1, 1), (1, 3), (0, 9), (0, 11)]);
    let denied = all.iter().find(|moment| moment.then.as_ref().is_some_and(|then| then.verdict == Kind::Deny));
    assert_eq!(denied.map(|moment| moment.state.messages().len()), Some(2), "the prompt and the answer");
}

#[tokio::test]
async fn what_lines_do_not_say_is_counted_and_broken_sessions_are_left_out() {
    let (journal, _) = lived(true).await;
    let mut read = moments(journal.entries(), past());
    assert!(read.by_ref().count() > 0);
    let unknown = read.unknown();
    assert_eq!(unknown.values().sum::<u64>(), 8, "{unknown:?}");
    assert!(unknown.keys().any(|what| what.contains("system prompt")), "{unknown:?}");
    let headless = journal.entries().into_iter().filter(|entry| !matches!(entry.what, What::SessionBegan { .. }));
    let mut read = moments(headless, past());
    assert_eq!(read.by_ref().count(), 0);
    assert!(read.unknown().keys().any(|what| what.contains("beginning is missing")));
}

#[tokio::test]
async fn a_run_that_was_cut_short_tells_what_it_came_to() {
    let (journal, _) = lived(true).await;
    let entries = journal.entries();
    let whole = moments(entries.clone(), past()).count();
    for length in 0..entries.len() {
        let cut = moments(entries[..length].to_vec(), past()).count();
        assert!(cut <= whole, "{length} lines tell of {cut} events");
    }
}
