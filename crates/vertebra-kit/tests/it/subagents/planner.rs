//! The planner.

use vertebra::testing::{RecordingTool, Script};
use vertebra_kit::subagents::{Planner, Subagent};

use super::{agents, last_results, lead, offered, results, tools, with_tools};
use crate::{
    sheet::Sheet,
    support::{built, run},
};

pub(crate) fn sheet() -> Sheet {
    Sheet {
        name: "Planner",
        purpose: "A subagent that reads, changes nothing, and returns a plan.",
        install: |builder| {
            builder.with(Planner::default());
        },
        knobs: vec![("agent", Planner::default().agent.to_string().replace("- ", ""))],
    }
}

#[tokio::test]
async fn a_planner_has_tools_that_change_nothing_and_the_parent_is_told_once() {
    let model = Script::new()
        .call("plan_with_subagent", r#"{"specification": "Add a flag."}"#)
        .call("read_file", "{}")
        .say("1. main.rs")
        .call("plan_with_subagent", r#"{"specification": "  "}"#)
        .say("Done.");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    builder.with(agents([Subagent::new("worker", "Works")])).with(Planner::default());
    run(&built(&mut builder), "go").await;

    let requests = model.requests();
    for parent in [0, 3, 4] {
        assert_eq!(requests[parent].system_prompt.matches("plan_with_subagent").count(), 1, "request {parent}");
    }
    assert_eq!(offered(&requests[1]), ["read_file"]);
    assert!(!requests[1].system_prompt.contains("plan_with_subagent"));
    assert_eq!(results(&requests[3]), ["done: 1. main.rs"]);
    assert_eq!(last_results(&model)[1], "failed: the specification is empty; say what is to be done");
}

#[tokio::test]
async fn whatever_a_planner_is_given_it_spawns_nobody() {
    let model = Script::new().call("plan_with_subagent", r#"{"specification": "x"}"#).say("a plan").say("Done.");
    let agent = Subagent::new("architect", "Plans").prompt("Plan.").tools(["*"]).model("large").setup(|builder| {
        builder.tool(RecordingTool::new("ask_expert"));
    });
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    builder.with(agents([Subagent::new("worker", "Works")])).with(Planner { agent });
    run(&built(&mut builder), "go").await;
    let planner = &model.requests()[1];
    assert_eq!(offered(planner), ["read_file", "write_file", "bash", "ask_expert"]);
    assert_eq!((&*planner.system_prompt, &*planner.model.name), ("Plan.", "large"));
}
