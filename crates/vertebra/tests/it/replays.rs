//! What a replay needs to know that no line says outright: what came too late, and what nobody waited for.

use std::{future::pending, sync::Arc};

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::sync::Notify;
use vertebra::{AgentTool, Likeness, MemoryJournal, StopReason, ToolUse, What, prelude::*, testing::Script};

use super::support::*;

/// What the same agent does otherwise when it does once more what the journal says.
async fn divergence(agent: &Agent, journal: &MemoryJournal) -> Option<vertebra::Divergence> {
    agent.replay(journal.entries(), Likeness::Hooks).await.expect("a recording from its beginning").divergence
}

#[tokio::test(start_paused = true)]
async fn an_around_goes_on_without_its_tool_in_the_replay_too() {
    let (journal, model) = (MemoryJournal::default(), Script::new().call("wait", "{}").say("done"));
    let mut builder = agent(&model);
    builder.tool(tool("wait", "waits", async |_: Value, _| pending::<Result<String, ToolError>>().await));
    builder.around(ToolUse.named("impatient").timeout(secs(1)), async |cx, next| next.run(cx).await);
    let agent = builder.journal(journal.clone()).build().expect("an agent");
    assert_eq!(agent.run("go").await.expect("a run").text, "done");
    assert_eq!(read_by_model(&model), ["failed: `impatient` gave no answer within 1000 ms"]);
    assert_eq!(divergence(&agent, &journal).await, None);
}

#[tokio::test(start_paused = true)]
async fn an_around_goes_on_without_its_child_in_the_replay_too() {
    let (journal, model) =
        (MemoryJournal::default(), Script::new().call("helper", r#"{"prompt": "look"}"#).say("done"));
    let wait = tool("wait", "waits", async |_: Value, _| pending::<Result<String, ToolError>>().await);
    let child = agent(&Script::new().call("wait", "{}")).name("child").tool(wait).build().expect("a child");
    let mut builder = agent(&model);
    builder.tool(AgentTool::new("helper", "helps", child));
    builder.around(ToolUse.named("impatient").timeout(secs(1)).own_agent_only(), async |cx, next| next.run(cx).await);
    let agent = builder.journal(journal.clone()).build().expect("an agent");
    assert_eq!(agent.run("go").await.expect("a run").text, "done");
    assert_eq!(divergence(&agent, &journal).await, None);
}

#[tokio::test]
async fn whoever_came_too_late_for_the_last_step_does_so_in_the_replay_too() {
    let (journal, taken) = (MemoryJournal::default(), Arc::new(Notify::new()));
    let late = taken.clone();
    let wait = tool("wait", "waits", async move |_: Value, _| {
        late.notified().await;
        Ok("at last")
    });
    let slow = agent(&Script::new().call("wait", "{}")).name("slow").tool(wait).build();
    let mut quick = agent(&Script::new().call("nothing", "{}").say("in time"));
    quick.name("quick").on(BeforeStep, async move |cx| {
        if cx.at.step == 2 {
            taken.notify_one();
        }
        proceed()
    });
    let task = r#"{"prompt": "look"}"#;
    let mut builder = agent(&Script::new().calls([("slow", task), ("quick", task)]));
    builder.tool(AgentTool::new("slow", "is slow", slow.expect("a child")));
    builder.tool(AgentTool::new("quick", "is quick", quick.build().expect("a child")));
    let agent = builder.max_steps(4).journal(journal.clone()).build().expect("an agent");
    assert_eq!(agent.run("go").await.expect("a run").stop.reason, StopReason::Steps);
    let ends = journal.entries().into_iter().filter_map(|line| match line.what {
        What::RunEnded { report, .. } => Some(report.text),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), ["in time", "", ""], "the quick one took the last step");
    assert_eq!(divergence(&agent, &journal).await, None);
}

#[tokio::test]
async fn a_session_whose_caller_left_while_it_began_is_replayed_as_far_as_it_came() {
    let (journal, ended) = (MemoryJournal::default(), Arc::new(Notify::new()));
    let mut builder = agent(&Script::new());
    builder.on(SessionStart, async |_| pending().await);
    let told = ended.clone();
    builder.on(SessionEnd, async move |_| {
        told.notify_one();
        proceed()
    });
    let agent = builder.journal(journal.clone()).build().expect("an agent");
    assert!(agent.session().now_or_never().is_none(), "it is still beginning");
    ended.notified().await;
    while !journal.entries().iter().any(|line| matches!(line.what, What::SessionEnded)) {
        tokio::task::yield_now().await;
    }
    assert_eq!(divergence(&agent, &journal).await, None);
}
