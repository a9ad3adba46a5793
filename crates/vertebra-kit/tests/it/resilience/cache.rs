//! The same request, the same answer.

use vertebra::{Usage, testing::RecordingTool};

use super::*;
use crate::support::{built, run};

fn sharing() -> CachePolicy {
    CachePolicy { scope: CacheScope::Shared, ..CachePolicy::default() }
}

fn shared() -> ResponseCache {
    ResponseCache::new(sharing())
}

#[tokio::test]
async fn the_same_request_gets_the_same_answer_for_nothing() {
    let model = Script::new().say("hello").costing(100, 20).say("something else");
    let mut builder = agent(&model, &FakeClock::new());
    builder.with(shared()).on(AfterInference, async |cx| {
        cx.response.text.push('!');
        proceed()
    });
    let agent = built(&mut builder);
    let (first, second) = (run(&agent, "go").await, run(&agent, "go").await);
    assert_eq!((first.text.as_str(), second.text.as_str()), ("hello!", "hello!"), "hooks see each answer, once");
    assert_eq!((first.usage, second.usage), (Usage::tokens(100, 20), Usage::default()));
    assert_eq!(run(&agent, "go on").await.text, "something else!");
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn sessions_share_no_answers_unless_told_and_forget_them_in_time() {
    let asked = |cache: ResponseCache, between: Duration| async move {
        let model = Script::new().say("one").say("two").may_end_early();
        let clock = FakeClock::new();
        let agent = built(agent(&model, &clock).with(cache));
        run(&agent, "go").await;
        clock.advance(between);
        run(&agent, "go").await;
        model.requests().len()
    };
    assert_eq!(asked(ResponseCache::default(), Duration::ZERO).await, 2);
    assert_eq!(asked(shared(), secs(299)).await, 1);
    assert_eq!(asked(shared(), secs(300)).await, 2);
    assert_eq!(asked(ResponseCache::new(CachePolicy { max_bytes: 10, ..sharing() }), Duration::ZERO).await, 2);
}

#[tokio::test]
async fn answers_that_ask_for_tools_are_not_kept_unless_told() {
    for (tool_calls, asked) in [(ToolCalls::NotKept, 4), (ToolCalls::Kept, 2)] {
        let cache = ResponseCache::new(CachePolicy { tool_calls, ..sharing() });
        let turn = |model: Script| model.call("ls", "{}").say("done");
        let model = turn(turn(Script::new())).may_end_early();
        let mut builder = agent(&model, &FakeClock::new());
        builder.tool(RecordingTool::new("ls")).with(cache);
        let agent = built(&mut builder);
        run(&agent, "go").await;
        run(&agent, "go").await;
        assert_eq!(model.requests().len(), asked, "{tool_calls:?}");
    }
}

#[tokio::test]
async fn a_cleared_cache_answers_nothing() {
    let (cache, model) = (shared(), Script::new().say("one").say("two"));
    let agent = built(agent(&model, &FakeClock::new()).with(cache.clone()));
    run(&agent, "go").await;
    cache.clear();
    assert_eq!(run(&agent, "go").await.text, "two");
}

#[tokio::test]
async fn a_run_that_wants_fresh_answers_gets_them_and_leaves_them_for_others() {
    let model = Script::new().say("old").say("new");
    let mut builder = agent(&model, &FakeClock::new());
    builder.with(shared()).on(ExecutionStart.when(|started| started.at.run.run_id.ends_with("-2")), async |cx| {
        cx.state_mut().metadata_mut().set(ResponseCache::BUST, true);
        proceed()
    });
    builder.ids(vertebra::testing::SequentialIds::default());
    let agent = built(&mut builder);
    let mut texts = Vec::new();
    for _ in 0..3 {
        texts.push(run(&agent, "go").await.text);
    }
    assert_eq!(texts, ["old", "new", "new"]);
}

#[tokio::test]
async fn an_answer_that_a_hook_asks_again_about_is_forgotten() {
    let model = Script::new().say("bad").say("bad").say("good");
    let mut builder = agent(&model, &FakeClock::new());
    builder
        .with(shared())
        .on(AfterInference.when(|inferred| inferred.response.text == "bad"), async |_cx| retry(Duration::ZERO));
    let agent = built(&mut builder);
    assert_eq!((run(&agent, "go").await.text, run(&agent, "go").await.text), ("good".into(), "good".into()));
}
