//! Veils: what they hide is in no journal, at no front end and in no report, of a run or of its children.

use serde_json::json;
use vertebra::{
    AgentTool, MemoryJournal, ModelError, RunReport, ToolCall,
    prelude::*,
    testing::{FixedApprover, Script},
};

use super::support::*;

const SECRET: &str = "hunter2";

struct Veiling;

impl Capability for Veiling {
    fn install(self, kit: &mut Kit) {
        kit.veil(|text| text.replace(SECRET, "***").into());
    }
}

/// Everything that left the run.
async fn left(agent: &Agent, journal: &MemoryJournal) -> (String, RunReport) {
    let mut stream = agent.stream(format!("the password is {SECRET}"));
    let mut everything = String::new();
    while let Some(event) = stream.next().await {
        everything.push_str(&serde_json::to_string(&event).expect("an event"));
    }
    let last = report(stream.finish().await);
    everything.push_str(&serde_json::to_string(&last).expect("a report"));
    everything.push_str(&serde_json::to_string(&journal.entries()).expect("entries"));
    (everything, last)
}

fn says_it() -> impl Tool {
    tool("tell", "Tells", async |_: serde_json::Value, invocation: Invocation| {
        invocation.say(SECRET);
        Ok(ToolOutput { text: SECRET.into(), exit_code: None, data: json!({ SECRET: [SECRET] }) })
    })
}

#[tokio::test]
async fn what_a_veil_hides_leaves_no_run_and_no_child() {
    let journal = MemoryJournal::default();
    let childs = Script::new().call("tell", "{}").say(SECRET);
    let child = agent(&childs).tool(says_it()).build().expect("a child");
    let malformed = ToolCall::from_text("call-9", "tell", SECRET);
    let model = Script::new()
        .call("tell", &json!({ "password": SECRET }).to_string())
        .turn(vertebra::Response { calls: vec![malformed], ..SECRET.into() })
        .call("child", &json!({ "prompt": SECRET }).to_string())
        .fail(ModelError::Rejected { message: format!("bad key {SECRET}") });
    let mut builder = agent(&model);
    builder.journal(journal.clone()).with(Veiling).tool(says_it()).tool(AgentTool::new("child", "A child", child));
    builder.approver(FixedApprover::yes());
    builder.on(BeforeToolUse.tool("tell"), async |cx| {
        cx.args_mut().set("more", SECRET);
        ask(format!("may it tell {SECRET}?"))
    });
    builder.on(AfterToolUse, async |_cx| Err(HookError::new(SECRET)));
    let agent = builder.build().expect("an agent");

    let (everything, report) = left(&agent, &journal).await;

    assert!(!everything.contains(SECRET), "{everything}");
    assert!(everything.contains("the password is ***") && everything.contains("may it tell ***?"));
    assert_eq!(ending(&report), "failed (error!) by model: the model rejected the request: bad key ***");
    assert!(read_by_model(&childs)[0].contains(SECRET), "the model of the child is part of the run");
}
