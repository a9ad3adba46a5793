//! How often something may happen.

use vertebra::{
    AgentTool, Response,
    testing::{FakeClock, RecordingTool, Script},
};

use super::*;
use crate::support::{built, restored, run};

const FINISHED: &str = "completed (Finished) by model: finished";

fn searches(times: usize) -> Script {
    (0..times).fold(Script::new(), |model, _| model.call("search", "{}"))
}

/// Runs a model that searches under a limit: how often the tool ran, what the model read last, how the run ended.
async fn check(model: Script, limit: ToolCallLimit, ran: usize, read: &str, end: &str) {
    let search = RecordingTool::new("search");
    let mut builder = agent(&model, &FakeClock::new());
    builder.tool(search.clone()).tool(RecordingTool::new("other")).with(limit);
    let report = run(&built(&mut builder), "go").await;
    assert_eq!((search.calls().len(), ending(&report).as_str()), (ran, end));
    assert_eq!(read_by_model(&model).last().map_or("", |last| last), read);
}

#[tokio::test]
async fn the_model_reads_that_a_tool_is_used_up_and_goes_on() {
    let used_up = "blocked: blocked by tool-call-limit/search: the calls of `search` are used up: 2 in this run";
    check(searches(3).say("done"), ToolCallLimit::per_run(2).tool("search"), 2, used_up, FINISHED).await;
    check(
        searches(2).call("other", "{}").say("done"),
        ToolCallLimit::per_run(2).tool("search"),
        2,
        "done: ok",
        FINISHED,
    )
    .await;
}

#[tokio::test]
async fn a_limit_may_end_the_run_or_fail_it_and_no_hook_makes_it_go_on() {
    let limit = |ending| ToolCallLimit::per_run(1).at_limit(AtLimit::End(ending));
    let stopped = "stopped (Requested) by tool-call-limit/*: the calls of `search` are used up: 1 in this run";
    check(searches(2), limit(Ending::Stop), 1, "done: ok", stopped).await;
    check(searches(2), limit(Ending::Fail), 1, "done: ok", &stopped.replace("stopped (Requested", "failed (Error!"))
        .await;

    let model = searches(2);
    let mut builder = agent(&model, &FakeClock::new());
    builder.tool(RecordingTool::new("search")).with(limit(Ending::Stop));
    builder.on(ShouldContinue, async |_cx| go_on("more"));
    assert_eq!(ending(&run(&built(&mut builder), "go").await), stopped);
}

#[tokio::test]
async fn a_session_counts_all_of_its_runs_and_each_run_anew() {
    let model = searches(2).say("one").call("search", "{}").say("two");
    let search = RecordingTool::new("search");
    let mut builder = agent(&model, &FakeClock::new());
    builder.tool(search.clone()).with(ToolCallLimit::per_run(1).and_per_session(2));
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(search.calls().len(), 1);
    session.prompt("again").await.expect("a run");
    assert_eq!(search.calls().len(), 2);
    session.close().await;
}

#[tokio::test]
async fn a_session_that_is_restored_goes_on_counting() {
    let search = RecordingTool::new("search");
    let limited = |model: &Script| {
        let mut builder = agent(model, &FakeClock::new());
        builder.tool(search.clone()).with(ToolCallLimit::per_session(2));
        builder.with(ModelCallLimit { per_run: None, per_session: Some(5), at_limit: Ending::Stop });
        builder
    };
    let first = built(&mut limited(&searches(1).say("one")));
    let mut session = first.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let state = session.state().await;
    session.close().await;

    let model = searches(2).say("two").say("never asked for");
    let second = built(restored(&mut limited(&model), &state));
    let mut session = second.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(search.calls().len(), 2);
    let report = session.prompt("again").await.expect("a run");
    assert_eq!(
        ending(&report),
        "stopped (Requested) by model-call-limit/count: the model calls are used up: 5 in this session"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn children_that_run_at_the_same_time_never_overspend_their_parents_limit() {
    let search = RecordingTool::new("search");
    let children: Vec<String> = (0..4).map(|child| format!("child-{child}")).collect();
    let calls: Vec<(&str, &str)> = children.iter().map(|child| (child.as_str(), r#"{"prompt": "go"}"#)).collect();
    let model = Script::new().calls(calls).say("done");
    let mut builder = agent(&model, &FakeClock::new());
    builder.with(ToolCallLimit::per_run(5).tool("search"));
    for child in &children {
        let mut below = agent(&searches(3).say("done"), &FakeClock::new());
        below.tool(search.clone()).with(ToolCallLimit::per_run(3).tool("search").at_limit(AtLimit::End(Ending::Fail)));
        builder.tool(AgentTool::new(child.as_str(), "A child", built(&mut below)));
    }
    let report = run(&built(&mut builder), "go").await;
    assert_eq!((search.calls().len(), ending(&report).as_str()), (5, FINISHED));
}

#[tokio::test]
async fn models_are_asked_so_often_and_no_more() {
    let model = searches(3);
    let mut builder = agent(&model, &FakeClock::new());
    builder.tool(RecordingTool::new("search")).with(ModelCallLimit { per_run: Some(3), ..ModelCallLimit::default() });
    let report = run(&built(&mut builder), "go").await;
    let used_up = "by model-call-limit/count: the model calls are used up: 3 in this run";
    assert_eq!(ending(&report), format!("stopped (Requested) {used_up}"));

    let childs = searches(1);
    let mut below = agent(&childs, &FakeClock::new());
    below.tool(RecordingTool::new("search"));
    let model = Script::new().call("child", r#"{"prompt": "go"}"#);
    let mut builder = agent(&model, &FakeClock::new());
    builder.tool(AgentTool::new("child", "A child", built(&mut below)));
    builder.with(ModelCallLimit { per_run: Some(2), at_limit: Ending::Fail, ..ModelCallLimit::default() });
    let report = run(&built(&mut builder), "go").await;
    assert_eq!(ending(&report), format!("failed (Error!) {}", used_up.replace('3', "2")));
}

#[tokio::test]
async fn an_answer_that_ended_for_a_bad_reason_ends_the_run_before_its_tools() {
    let search = RecordingTool::new("search");
    let filtered = Response { finish: "CONTENT_FILTER".into(), ..Response::text("I would rather") };
    let calls = vec![vertebra::ToolCall::from_text("call-1", "search", "{}")];
    let model = Script::new().turn(Response { calls, ..filtered });
    let mut builder = agent(&model, &FakeClock::new());
    builder.tool(search.clone()).with(FinishGuard::default());
    let report = run(&built(&mut builder), "go").await;
    assert_eq!(
        ending(&report),
        "stopped (Requested) by finish-guard/word: the model ended its answer with `content_filter`"
    );
    assert!(search.calls().is_empty());
}
