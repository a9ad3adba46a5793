//! What holds while a skill is active: its tools and its model, in later steps, in children, and not for longer.

use vertebra::{
    AgentBuilder,
    testing::{RecordingTool, Script},
};
use vertebra_kit::{
    subagents::Subagent,
    summary::{Offload, Summarisation},
};

use super::{Library, load};
use crate::{
    subagents::{agents, last_results, lead, results, task, tools, with_tools},
    support::{built, run},
};

const ONLY_READ: &str = "blocked: blocked by skills/allowed-tools: skill `careful` allows only: Read, Bash(git *)";

/// An agent with three tools and two skills, of which `careful` narrows the tools and `fast` the model.
fn skilled(model: &Script) -> (AgentBuilder, [RecordingTool; 3]) {
    let library = Library::new()
        .skill("careful", "description: Careful\nallowed-tools: Read, Bash(git *)", "Be careful.")
        .skill("fast", "description: Fast\nmodel: small", "Be fast.");
    let all = tools();
    let mut builder = lead(model);
    with_tools(&mut builder, &all);
    builder.with(library.skills());
    (builder, all)
}

#[tokio::test]
async fn allowed_tools_are_enforced_in_later_steps_and_loading_is_always_allowed() {
    let model = Script::new()
        .call("bash", r#"{"command": "ls"}"#)
        .call("load_skill", &load("careful", ""))
        .call("bash", r#"{"command": "ls"}"#)
        .call("bash", r#"{"command": "git status && rm x"}"#)
        .call("write_file", "{}")
        .calls([("read_file", "{}"), ("bash", r#"{"command": "git status"}"#)])
        .call("load_skill", &load("careful", "again"))
        .say("Done.");
    let (mut builder, all) = skilled(&model);
    let report = run(&built(&mut builder), "go").await;
    assert_eq!((report.status.to_string(), &*report.text), ("completed".to_owned(), "Done."));
    let results = last_results(&model);
    assert_eq!(results[0], "done: ok");
    assert_eq!(results[2..7], [ONLY_READ, ONLY_READ, ONLY_READ, "done: ok", "done: ok"]);
    assert!(results[7].starts_with("done: <skill"));
    assert_eq!(all.each_ref().map(|tool| tool.calls().len()), [1, 0, 2]);
}

#[tokio::test]
async fn a_skill_that_narrows_the_tools_does_not_take_away_what_was_put_aside() {
    let model = Script::new()
        .call("load_skill", &load("careful", ""))
        .call("read_file", "{}")
        .call("read_offloaded", r#"{"id": "off-1", "limit": 5}"#)
        .say("Done.");
    let (mut builder, _) = skilled(&model);
    builder.with(Summarisation {
        offload: Some(Offload { over_bytes: 1, ..Offload::default() }),
        ..Summarisation::default()
    });
    run(&built(&mut builder), "go").await;
    let results = last_results(&model);
    assert!(results[0].starts_with("done: [offloaded: "), "{results:?}");
    assert!(results[2].starts_with("done: [bytes 0 to "), "{results:?}");
}

#[tokio::test]
async fn a_skill_holds_until_another_is_loaded_or_the_run_ends() {
    let model = Script::new()
        .call("load_skill", &load("careful", ""))
        .call("write_file", "{}")
        .call("load_skill", &load("fast", ""))
        .call("write_file", "{}")
        .say("One.")
        .call("load_skill", &load("careful", ""))
        .say("Two.")
        .call("write_file", "{}")
        .say("Three.");
    let (mut builder, all) = skilled(&model);
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("one").await.expect("a run");
    let results = last_results(&model);
    assert_eq!((&*results[1], &*results[3]), (ONLY_READ, "done: ok"), "another skill, other tools");

    session.prompt("two").await.expect("a run");
    assert_eq!(session.state().await.metadata().get("skills/active").expect("it is told")["name"], "careful");
    session.prompt("three").await.expect("a run");
    assert_eq!(last_results(&model).last().map(String::as_str), Some("done: ok"), "another run, all tools");
    assert_eq!(session.state().await.metadata().get("skills/active"), None);
    assert_eq!(all[1].calls().len(), 2);
}

#[tokio::test]
async fn the_model_that_a_skill_names_is_the_one_that_is_asked() {
    let model = Script::new()
        .call("load_skill", &load("fast", ""))
        .call("read_file", "{}")
        .call("load_skill", &load("careful", ""))
        .say("One.")
        .say("Two.");
    let (mut builder, _) = skilled(&model);
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("one").await.expect("a run");
    session.prompt("two").await.expect("a run");
    let asked: Vec<_> = model.requests().iter().map(|request| request.model.name.to_string()).collect();
    assert_eq!(asked, ["script-1", "small", "small", "script-1", "script-1"]);
    assert!(model.requests().iter().all(|request| &*request.model.provider == "script"));
}

#[tokio::test]
async fn the_tools_of_a_skill_hold_in_children_and_loading_there_does_not_free_them() {
    let library = Library::new()
        .skill("careful", "description: Careful\nallowed-tools: Read, Task", "Be careful.")
        .skill("free", "description: Free", "Do as you like.");
    let model = Script::new()
        .call("load_skill", &load("careful", ""))
        .call("spawn_subagent", &task("worker", "a"))
        .call("load_skill", &load("free", ""))
        .call("spawn_subagent", &task("worker", "b"))
        .calls([("write_file", "{}"), ("read_file", "{}")])
        .say("bottom")
        .call("write_file", "{}")
        .say("middle")
        .say("Done.");
    let all = tools();
    let mut builder = lead(&model);
    with_tools(&mut builder, &all);
    builder.with(library.skills()).with(agents([Subagent::new("worker", "Works")]));
    run(&built(&mut builder), "go").await;

    let refused = "blocked: blocked by skills/allowed-tools: skill `careful` allows only: Read, Task";
    let requests = model.requests();
    assert_eq!(results(&requests[5]), [refused, "done: ok"], "in the grandchild");
    assert_eq!(results(&requests[7]).last().map(String::as_str), Some(refused), "in the child");
    assert!(requests[2].system_prompt.contains("- careful: Careful"), "a child that may load knows what");
    assert_eq!(all.each_ref().map(|tool| tool.calls().len()), [1, 0, 0]);
}

#[tokio::test]
async fn two_open_sessions_of_one_agent_have_skills_of_their_own() {
    let model = Script::new().call("load_skill", &load("careful", "")).say("One.").call("write_file", "{}").say("Two.");
    let (mut builder, all) = skilled(&model);
    let agent = built(&mut builder);
    let (mut first, mut second) =
        (agent.session().await.expect("a session"), agent.session().await.expect("a session"));
    first.prompt("one").await.expect("a run");
    second.prompt("two").await.expect("a run");
    assert_eq!(all[1].calls().len(), 1);
}
