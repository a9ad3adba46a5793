//! Agents from folders.

use std::{fs, path::Path};

use vertebra::testing::Script;
use vertebra_kit::{
    skills::Skills,
    subagents::{Subagent, Subagents},
};

use super::{last_results, lead, offered, task, tools, with_tools};
use crate::support::{built, run};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
    fs::write(path, text).expect("written");
}

/// As other agents write them.
const REVIEWER: &str = "---
name: code-reviewer
description: \"Reviews code. Examples: <example>user: 'look'</example>\"
tools: Read, Grep, Bash
disallowedTools: Write
model: inherit
color: red
permissionMode: bypassPermissions
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: touch canary}]
---

You are a senior reviewer.
";

#[tokio::test]
async fn a_folder_of_another_agent_is_read_and_nothing_in_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "reviewer.md", REVIEWER);
    write(folder.path(), "README.txt", "not an agent");
    let agents = Subagents::new().folder(folder.path());
    assert_eq!(agents.problems(), []);

    let model = Script::new()
        .call("spawn_subagent", &task("code-reviewer", "go"))
        .call("bash", r#"{"command": "ls"}"#)
        .say("Fine.")
        .say("Done.");
    let mut builder = lead(&model);
    builder.working_directory(folder.path().to_str().expect("text"));
    with_tools(&mut builder, &tools());
    run(&built(builder.with(agents)), "go").await;
    let child = &model.requests()[1];
    assert_eq!((&*child.system_prompt, offered(child)), ("You are a senior reviewer.", vec!["read_file", "bash"]));
    assert_eq!(&*child.model.name, "script-1");
    assert!(!folder.path().join("canary").exists());
}

#[test]
fn what_is_broken_is_told_with_file_and_line_and_the_good_ones_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = |name: &str| format!("---\nname: {name}\ndescription: Works\n---\nWork.\n");
    write(folder.path(), "a.md", &good("first"));
    write(folder.path(), "b.md", "Just text.\n");
    write(folder.path(), "c.yaml", "name: c\ndescription: d\nprompt: e\ntools: {a: 1}\n");
    write(folder.path(), "d.json", "{\n  \"name\": 7\n}\n");
    write(folder.path(), "e.md", &good("../up"));
    write(folder.path(), "f.md", &good("first"));
    write(folder.path(), "g.md", &format!("{}{}", good("long"), "x".repeat(100_000)));
    write(folder.path(), "h.md", &good("last"));
    let agents = Subagents::new().folder(folder.path()).folder(folder.path().join("missing"));

    let names: Vec<&str> = agents.iter().map(Subagent::name).collect();
    assert_eq!(names, ["first", "last"]);
    let told: Vec<String> = agents
        .problems()
        .iter()
        .map(|problem| format!("{}:{}", problem.path.file_name().expect("a file").to_string_lossy(), problem.line))
        .collect();
    assert_eq!(told, ["b.md:1", "c.yaml:4", "d.json:2", "e.md:2", "f.md:1", "g.md:1"]);
    assert!(
        agents.problems()[4].to_string().ends_with("f.md:1: an earlier agent is called `first` too; that one is used")
    );
}

#[test]
fn an_agent_in_code_is_checked_as_one_in_a_file() {
    let refused = |agent: Subagent| match Subagents::new().agent(agent) {
        Ok(_) => panic!("this agent is no good"),
        Err(error) => error.to_string(),
    };
    assert!(refused(Subagent::new("No Name", "x")).starts_with("subagent `No Name`: `No Name` is not a name"));
    assert!(refused(Subagent::new("x", "")).ends_with("it has no description; say what it is for"));
    assert!(refused(Subagent::new("x", "y").tools(["Bash(git"])).contains("the closing `)` is missing"));
    let twice = Subagents::new().agent(Subagent::new("x", "y")).expect("the first");
    assert!(twice.agent(Subagent::new("x", "y")).is_err());
}

#[test]
fn no_agents_bring_no_tool() {
    assert_eq!(built(lead(&Script::new()).with(Subagents::new())).tools().count(), 0);
}

#[tokio::test]
async fn an_agent_knows_the_skills_it_names_from_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "style/SKILL.md", "---\ndescription: House style\n---\nNo tabs.\n");
    let skills = Skills::new().folder(folder.path());
    let worker = Subagent::new("worker", "Works").prompt("Work.").skill("style");
    let agents = super::agents([worker, Subagent::new("other", "Works").skill("missing")]).skills(&skills);
    let model = Script::new()
        .call("spawn_subagent", &task("worker", "go"))
        .say("ok")
        .call("spawn_subagent", &task("other", "go"))
        .say("Done.");
    run(&built(lead(&model).with(agents)), "go").await;
    assert_eq!(&*model.requests()[1].system_prompt, "Work.\n\n<skill name=\"style\">\nNo tabs.\n</skill>");
    assert_eq!(last_results(&model)[1], "failed: unknown skill `missing`. Known: style");
}

#[tokio::test]
async fn hundreds_of_agents_do_not_fill_the_prompt() {
    let many = (0..200).map(|number| Subagent::new(format!("agent-{number:03}"), "x".repeat(900)));
    let model = Script::new().say("Done.");
    run(&built(lead(&model).with(super::agents(many))), "go").await;
    let description = model.requests()[0].tools[0].description.clone();
    assert!(description.len() < 20_000 && description.contains("agent-199"), "{} bytes", description.len());
}
