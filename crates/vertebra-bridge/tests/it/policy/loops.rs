//! Hooks of files at work in a loop.

use serde_json::json;
use vertebra::{
    AgentTool, Attach as _, ToolStatus,
    testing::{FixedApprover, RecordingTool, Script},
};
use vertebra_bridge::settings::Level;

use super::{agent, policy, ran};

#[tokio::test]
async fn answers_without_code_rewrite_ask_and_tell_the_model() {
    let text = r#"
[[hook]]
name = "limit"
point = "BeforeToolUse"
match = { tool = "work" }
set = { limit = 5, options = { deep = true } }

[[hook]]
name = "sure"
point = "BeforeToolUse"
match = { args = { "/n" = 2 } }
ask = "two is a lot"

[[hook]]
name = "remember"
point = "AfterToolUse"
match = { tool = "work" }
add_context = "the tests are run with `just test`"

[[hook]]
name = "go-on"
point = "ShouldContinue"
match = { step = "final_response", not = { metadata = { "told/once" = { exists = true } } } }
stop = "that is all"
"#;
    let model = Script::new().call("work", r#"{"n": 1, "limit": 9}"#).call("work", r#"{"n": 2}"#).say("done");
    let (tool, approver) = (RecordingTool::new("work"), FixedApprover::no("no, one is enough"));
    let mut builder = agent(model.clone(), &tool, &policy(&[(Level::User, text)]));
    let report = builder.approver(approver.clone()).build().expect("an agent").run("go").await.expect("a run");
    assert_eq!(report.text, "done");
    assert_eq!(ran(&tool, "n"), [json!(1)], "the person said no to the other");
    assert_eq!(ran(&tool, "limit"), [json!(5)]);
    assert_eq!(ran(&tool, "options"), [json!({ "deep": true })]);
    assert_eq!(approver.asked()[0].reason, "two is a lot");
    let last = model.requests().pop().expect("a request");
    let told = last.messages.iter().filter(|message| message.text().contains("just test")).count();
    assert_eq!(told, 2, "once for each call, and not again with every step");
}

#[tokio::test]
async fn a_child_is_under_the_hooks_of_its_parents_file() {
    let deny = "[[hook]]\npoint = \"BeforeToolUse\"\nmatch = { tool = \"work\" }\ndeny = \"not even for a child\"\n";
    let tool = RecordingTool::new("work");
    let helper = Script::new().call("work", r#"{"n": 1}"#).say("I could not.");
    let mut child = vertebra::Agent::builder(helper.clone());
    let child = child.name("helper").tool(tool.clone()).build().expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "do it"}"#).say("Neither could I.");
    let mut builder = vertebra::Agent::builder(model);
    builder.tool(AgentTool::new("helper", "Helps", child)).hooks(policy(&[(Level::Project, deny)]).hook_set());
    builder.build().expect("an agent").run("go").await.expect("a run");
    assert!(tool.calls().is_empty());
    let heard = helper.requests().pop().expect("a request");
    assert!(heard.messages.iter().any(|message| message.text().contains("not even for a child")));
}

#[tokio::test]
async fn a_shadow_is_in_the_record_with_its_file_and_line_and_decides_nothing() {
    let text = "[[hook]]\nname = \"later\"\npoint = \"BeforeToolUse\"\nshadow = true\ndeny = \"some day\"\n";
    let tool = RecordingTool::new("work");
    let model = Script::new().call("work", "{}").say("done");
    let records = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = records.clone();
    let mut builder = agent(model, &tool, &policy(&[(Level::User, text)]));
    builder.watch(vertebra::BeforeToolUse, async move |cx| {
        seen.lock().expect("nobody panics").extend(cx.record().to_record().hooks);
        Ok(())
    });
    let report = builder.build().expect("an agent").run("go").await.expect("a run");
    assert_eq!((tool.calls().len(), report.tool_calls), (1, 1));
    let records = records.lock().expect("nobody panics");
    let later = records.iter().find(|trace| &*trace.hook == "policy/later").expect("it is in the record");
    assert!(later.shadow);
    assert_eq!(later.account.as_deref(), Some(&json!({ "origin": "user.toml:1" })));
}

#[tokio::test]
async fn a_refusal_by_a_file_is_what_the_model_reads() {
    let text = "[[hook]]\nname = \"no\"\npoint = \"BeforeToolUse\"\ndeny = \"deletions are for humans\"\n";
    let tool = RecordingTool::new("work");
    let model = Script::new().call("work", "{}").say("done");
    let agent = agent(model, &tool, &policy(&[(Level::User, text)])).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    let mut stream = session.stream("go");
    let mut ended = None;
    while let Some(event) = stream.next().await {
        if let vertebra::News::ToolEnded { result, .. } = event.news {
            ended = Some(result);
        }
    }
    let ended = ended.expect("the call has an end");
    assert_eq!(ended.status, ToolStatus::Blocked);
    assert!(ended.output.contains("deletions are for humans"), "{}", ended.output);
}

#[tokio::test]
async fn a_program_rewrites_and_halts_what_is_streamed_piece_by_piece() {
    let text = r#"
[[hook]]
name = "hush"
point = "InferenceDelta"

[hook.run]
command = '''
case $(cat) in
  *'"text":"loud"'*) echo '{"set": {"text": "quiet"}}' ;;
  *SE?RET*) echo 'a leak' >&2; exit 2 ;;
esac
'''
"#;
    let model = Script::new().stream(["loud", " and ", "SECRET", "more"]);
    let agent = agent(model, &RecordingTool::new("work"), &policy(&[(Level::User, text)])).build().expect("an agent");
    let (mut stream, mut everything) = (agent.stream("go"), Vec::new());
    while let Some(event) = stream.next().await {
        everything.push(format!("{:?}", event.news));
    }
    let report = stream.finish().await.expect("a run");
    assert_eq!(report.text, "quiet and ");
    assert_eq!((&*report.stop.source, &*report.stop.message), ("policy/hush", "a leak"));
    let is_shown = |word: &str| everything.iter().any(|news| news.contains(word));
    assert!(is_shown("quiet") && !is_shown("SECRET") && !is_shown("more"), "{everything:?}");
}
