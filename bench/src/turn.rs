//! One tool-call turn of the loop: the model asks for a tool, the tool runs, ten hooks look on, the journal is kept.

use bench_harness::{Lap, Suite};
use vertebra::{Limits, MemoryJournal, Message, prelude::*, testing::RecordingTool, testing::Script};

/// Turns by the length of the history they begin with, and sessions that do nothing.
pub(crate) fn cases(suite: Suite) -> Suite {
    suite
        .inside_case("turn", || turns(0))
        .inside_case("turn_at_10", || turns(10))
        .inside_case("turn_at_100", || turns(100))
        .inside_case("turn_at_1000", || turns(1_000))
        .inside_case("turn_at_10000", || turns(10_000))
        .case("idle_session", idle_session)
}

/// Runs of as many turns as the batch wants; what a run costs besides its turns is shared by all of them.
fn turns(history: usize) -> impl AsyncFnMut(Lap) {
    async move |lap: Lap| {
        let mut script = Script::new().may_end_early();
        for _ in 0..lap.iterations() {
            script = script.call("noop", "{}");
        }
        let agent = agent(script.say("done"), history);
        let mut session = agent.session().await.expect("a session");
        let timing = lap.start();
        let report = session.prompt("go").await.expect("the script plays to its end");
        timing.stop();
        assert_eq!(report.tool_calls, lap.iterations());
        session.close().await;
    }
}

fn agent(script: Script, history: usize) -> Agent {
    let mut builder = Agent::builder(script);
    builder.tool(RecordingTool::new("noop")).journal(MemoryJournal::default()).limits(Limits::none());
    for _ in 0..5 {
        builder.on(BeforeToolUse, async |_cx| proceed()).on(AfterToolUse, async |_cx| proceed());
    }
    builder.on(SessionStart, async move |cx| {
        for number in 0..history {
            cx.state_mut().push(Message::user(format!("message {number}")));
        }
        proceed()
    });
    builder.build().expect("the agent of a benchmark fits together")
}

/// Opens a session and keeps it: what it allocates is what an idle session holds.
fn idle_session() -> impl AsyncFnMut() -> usize {
    let agent = agent(Script::new().may_end_early(), 0);
    let mut kept = Vec::new();
    async move || {
        kept.push(agent.session().await.expect("a session"));
        kept.len()
    }
}
