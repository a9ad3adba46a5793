//! Capabilities that meet in one agent.

use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::ModelError;
use vertebra::ModelId;
use vertebra::prelude::*;
use vertebra::testing::Script;
use vertebra_kit::metadata::MetadataTools;
use vertebra_kit::registry::ToolRegistry;
use vertebra_kit::resilience::ModelFallback;
use vertebra_kit::resilience::Router;
use vertebra_kit::structured::Schema;
use vertebra_kit::structured::StructuredOutput;
use vertebra_kit::subagents::Subagent;

use crate::skills::Library;
use crate::skills::load;
use crate::subagents::agents;
use crate::subagents::lead;
use crate::subagents::results;
use crate::subagents::task;
use crate::support::built;
use crate::support::run;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Sum {
    total: u32,
}

fn failing() -> ModelError {
    ModelError::Network { message: "no route".to_owned() }
}

fn asked(model: &Script) -> Vec<String> {
    model.requests().iter().map(|request| request.model.name.to_string()).collect()
}

#[tokio::test]
async fn when_the_model_of_a_skill_fails_others_are_asked_in_its_place() {
    let library = Library::new().skill("fast", "description: Fast\nmodel: small", "Be fast.");
    let here = Script::of(ModelId::new("here", "large")).call("load_skill", &load("fast", "")).fail(failing());
    let there = Script::of(ModelId::new("there", "spare")).call("load_skill", &load("fast", "")).say("done");
    let mut builder = Agent::builder(Router::new(here.clone()).with(there.clone()));
    builder.with(library.skills()).with(ModelFallback::to([ModelId::new("there", "spare")]));
    assert_eq!(run(&built(&mut builder), "go").await.text, "done");
    assert_eq!((asked(&here), asked(&there)), (vec!["large".into(), "small".into()], vec!["spare".into(); 2]));
}

#[tokio::test]
async fn a_model_knows_its_skills_whether_or_not_the_tool_for_them_is_in_the_context() {
    let library = Library::new().skill("fast", "description: Fast", "Be fast.");
    for skills_first in [true, false] {
        let model = Script::new().call("load_skill", &load("fast", "")).say("done");
        let mut builder = Agent::builder(model.clone());
        if skills_first {
            builder.with(library.skills()).with(ToolRegistry::default());
        } else {
            builder.with(ToolRegistry::default()).with(library.skills());
        }
        run(&built(&mut builder), "go").await;
        let requests = model.requests();
        assert!(requests[0].system_prompt.contains("- fast: Fast"), "skills first: {skills_first}");
        assert!(results(&requests[1])[0].contains("Be fast."), "skills first: {skills_first}");
    }
}

#[tokio::test]
async fn a_child_that_was_given_a_tool_has_the_hook_that_belongs_to_it() {
    let model = Script::new()
        .call("spawn_subagent", &task("clerk", "Read the bill."))
        .call("structured_output", r#"{"input": "seven", "schema": "sum", "store_as": "bill"}"#)
        .say(r#"{"total": 7}"#)
        .call("read_metadata", r#"{"key": "bill"}"#)
        .say("seven")
        .say("done");
    let schema = Schema::of::<Sum>().expect("a schema").named("sum");
    let mut builder = lead(&model);
    builder.with(MetadataTools::default()).with(StructuredOutput::new([schema]));
    builder.with(agents([Subagent::new("clerk", "Reads bills")]));
    run(&built(&mut builder), "go").await;
    assert_eq!(results(&model.requests()[4])[1], r#"done: {"total":7}"#);
}
