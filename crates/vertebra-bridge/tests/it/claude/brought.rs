//! Hooks that skills and agents bring in their front matter.

use serde_json::Value;
use vertebra::{
    AgentTool,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_bridge::claude::{ClaudeHooks, Level};
use vertebra_kit::skills::Skills;

use super::world::{World, bash};

/// Front matter with one handler.
fn front_matter(name: &str, event: &str, handler: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: d\nhooks:\n  {event}:\n    - hooks:\n        - {handler}\n---\nWork well.\n"
    )
}

/// A handler that writes a line each time.
fn counts(name: &str, more: &str) -> String {
    format!("{{type: command, command: 'echo >> \"$CLAUDE_PROJECT_DIR/{name}\"'{more}}}")
}

fn hooks(world: &World, files: &[(&str, String)]) -> ClaudeHooks {
    let mut settings = world.read();
    for (name, text) in files {
        let path = world.write(&format!("project/{name}"), text);
        settings.add_front_matter(text, &path, Level::CommandLine);
    }
    assert_eq!(settings.warnings, Vec::<String>::new());
    ClaudeHooks::new(settings, world.session.clone(), world.path("transcripts"))
}

const LOAD: (&str, &str) = ("load_skill", r#"{"skill_name":"tidy"}"#);

fn times(world: &World, name: &str) -> usize {
    world.text(&format!("project/{name}")).lines().count()
}

#[tokio::test]
async fn hooks_of_a_skill_run_from_when_it_is_loaded_to_the_end_of_the_session_in_children_too() {
    let world = World::new();
    let skill = front_matter("tidy", "PreToolUse", &counts("calls", ""));
    let brought = hooks(&world, &[("skills/tidy/SKILL.md", skill)]);
    let child_model = Script::new().call("bash", "{}").say("found");
    let child = Agent::builder(child_model).name("child").tool(RecordingTool::new("bash")).build().expect("a child");
    let model = Script::new().call("bash", "{}").call(LOAD.0, LOAD.1).call("bash", "{}").say("one");
    let model = model.call("helper", r#"{"prompt":"look"}"#).say("two");
    let agent = Agent::builder(model)
        .with(Skills::new().folder(world.path("project/skills")))
        .with(brought)
        .tool(RecordingTool::new("bash"))
        .tool(AgentTool::new("helper", "helps", child))
        .build()
        .expect("an agent");
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(times(&world, "calls"), 1, "not before it is loaded");
    session.prompt("go on").await.expect("a run");
    session.close().await;
    assert_eq!(times(&world, "calls"), 3, "the helper, and the child's own call");
    assert_eq!(
        agent.session().await.expect("a session").prompt("go").await.err().map(|_| ()),
        Some(()),
        "the script is at its end"
    );
    assert_eq!(times(&world, "calls"), 3, "another session has loaded nothing");
}

#[tokio::test]
async fn a_handler_of_a_skill_that_is_for_once_runs_until_it_succeeds_once() {
    let world = World::new();
    let fails_first = "{type: command, once: true, command: 'cd \"$CLAUDE_PROJECT_DIR\"; echo >> calls; test -e second || { touch second; exit 1; }'}";
    let brought = hooks(&world, &[("skills/tidy/SKILL.md", front_matter("tidy", "PreToolUse", fails_first))]);
    let model = (0..4).fold(Script::new().call(LOAD.0, LOAD.1), |model, _| model.call("bash", "{}")).say("done");
    Agent::builder(model)
        .with(Skills::new().folder(world.path("project/skills")))
        .with(brought)
        .tool(RecordingTool::new("bash"))
        .build()
        .expect("an agent")
        .run("go")
        .await
        .expect("a run");
    assert_eq!(times(&world, "calls"), 2);
}

#[tokio::test]
async fn once_means_nothing_in_settings() {
    let world = World::new();
    let handler =
        serde_json::json!({ "type": "command", "once": true, "command": "echo >> \"$CLAUDE_PROJECT_DIR/calls\"" });
    world.settings("project", &serde_json::json!({ "hooks": { "PreToolUse": [{ "hooks": [handler] }] } }));
    let model = Script::new().call("bash", "{}").call("bash", "{}").say("done");
    let (brought, bash) = (hooks(&world, &[]), RecordingTool::new("bash"));
    Agent::builder(model).with(brought).tool(bash).build().expect("an agent").run("go").await.expect("a run");
    assert_eq!(times(&world, "calls"), 2);
}

#[tokio::test]
async fn hooks_of_an_agent_run_while_it_works_and_its_stop_is_a_childs() {
    let world = World::new();
    let reviewer = front_matter("reviewer", "Stop", &counts("stops", ""));
    let calls = front_matter("reviewer2", "PreToolUse", &counts("calls", ""));
    let brought = hooks(&world, &[("agents/reviewer.md", reviewer), ("agents/other.md", calls)]);
    let child = |name: &str| {
        let model = Script::new().call("bash", "{}").say("found");
        Agent::builder(model).name(name).tool(RecordingTool::new("bash")).build().expect("a child")
    };
    let model = Script::new().call("one", r#"{"prompt":"look"}"#).call("two", r#"{"prompt":"look"}"#).say("done");
    Agent::builder(model)
        .with(brought)
        .tool(AgentTool::new("one", "helps", child("reviewer")))
        .tool(AgentTool::new("two", "helps", child("reviewer2")))
        .build()
        .expect("an agent")
        .run("go")
        .await
        .expect("a run");
    assert_eq!((times(&world, "stops"), times(&world, "calls")), (1, 1));
}

#[tokio::test]
async fn a_skill_that_is_named_is_tried_as_if_it_were_at_work() {
    let world = World::new();
    let deny = "{type: command, command: 'echo no >&2; exit 2'}";
    let path = world.write("project/.claude/skills/tidy/SKILL.md", &front_matter("tidy", "PreToolUse", deny));
    let trial = vertebra_bridge::claude::Trial::new(&[path], world.project(), None, world.session.variables.clone());
    let judged: Value = serde_json::to_value(trial.fire(&bash("PreToolUse", "ls")).await).expect("JSON");
    assert_eq!((judged["decision"].as_str(), judged["reason"].as_str()), (Some("deny"), Some("no")), "{judged:#}");
}
