//! The parent's hooks, guards and places hold inside its children, and can only be added to.

use std::sync::{Arc, Mutex};

use vertebra::{prelude::*, testing::Script};
use vertebra_kit::subagents::Subagent;

use super::{agents, last_results, lead, results, task, tools, with_tools};
use crate::support::{built, run};

#[tokio::test]
async fn a_guard_of_the_parent_denies_a_tool_in_a_grandchild() {
    let model = Script::new()
        .call("spawn_subagent", &task("worker", "a"))
        .call("spawn_subagent", &task("worker", "b"))
        .call("bash", r#"{"command": "cd /tmp && rm -rf x"}"#)
        .say("I was not allowed to.")
        .say("He was not.")
        .say("Done.");
    let all = tools();
    let mut builder = lead(&model);
    with_tools(&mut builder, &all);
    builder.with(agents([Subagent::new("worker", "Works")]));
    builder.guard(BeforeToolUse.command(r"^rm\b").named("no-rm"), async |_cx| deny("deletions are for humans"));
    run(&built(&mut builder), "go").await;
    assert_eq!(results(&model.requests()[3]), ["blocked: blocked by no-rm: deletions are for humans"]);
    assert!(all[2].calls().is_empty());
}

#[tokio::test]
async fn a_childs_own_hooks_are_added_for_it_alone() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (everywhere, inside) = (seen.clone(), seen.clone());
    let worker = Subagent::new("worker", "Works").setup(move |builder| {
        let inside = inside.clone();
        builder.watch(BeforeToolUse, async move |cx| {
            inside.lock().expect("no panic").push(format!("own hook of worker sees {}", cx.tool));
            Ok(())
        });
    });
    let model = Script::new()
        .call("spawn_subagent", &task("worker", "a"))
        .call("read_file", "{}")
        .say("read")
        .call("bash", "{}")
        .say("Done.");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    builder.with(agents([worker]));
    builder.watch(BeforeToolUse, async move |cx| {
        everywhere.lock().expect("no panic").push(format!("hook of lead sees {} in {}", cx.tool, cx.at.run.agent));
        Ok(())
    });
    run(&built(&mut builder), "go").await;
    assert_eq!(
        *seen.lock().expect("no panic"),
        [
            "hook of lead sees spawn_subagent in lead",
            "hook of lead sees read_file in worker",
            "own hook of worker sees read_file",
            "hook of lead sees bash in lead",
        ]
    );
}

#[tokio::test]
async fn commands_that_a_list_names_bind_the_agent_and_whomever_it_spawns() {
    let model = Script::new()
        .call("spawn_subagent", &task("committer", "a"))
        .call("bash", r#"{"command": "git status && rm x"}"#)
        .call("bash", r#"{"command": "git push --force"}"#)
        .call("bash", r#"{"command": "git status"}"#)
        .call("spawn_subagent", &task("worker", "b"))
        .call("bash", r#"{"command": "rm x"}"#)
        .say("No.")
        .say("Not quite.")
        .call("bash", r#"{"command": "ls"}"#)
        .say("Done.");
    let all = tools();
    let mut builder = lead(&model);
    with_tools(&mut builder, &all);
    let committer = Subagent::new("committer", "Commits");
    let committer = committer.tools(["Bash(git *)", "Task"]).tools_deny(["Bash(git push *)"]);
    builder.with(agents([committer, Subagent::new("worker", "Works")]));
    run(&built(&mut builder), "go").await;

    let requests = model.requests();
    let refused = "blocked: blocked by subagents/tools: `committer` may use no more than Bash(git *), Task";
    let child = results(&requests[7]);
    assert_eq!(
        child[..3],
        [refused, "blocked: blocked by subagents/tools: `committer` may not use Bash(git push *)", "done: ok"]
    );
    assert_eq!(results(&requests[6]), [refused], "in the grandchild");
    assert_eq!(last_results(&model)[1], "done: ok", "the parent is bound by none of it");
    let ran: Vec<_> = all[2].calls().iter().filter_map(|args| args.text("command").map(str::to_owned)).collect();
    assert_eq!(ran, ["git status", "ls"]);
}

#[tokio::test]
async fn a_child_works_where_its_parent_works() {
    let model =
        Script::new().call("spawn_subagent", &task("worker", "a")).call("read_file", "{}").say("ok").say("Done.");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    builder.with(agents([Subagent::new("worker", "Works")]));
    builder.guard(BeforeToolUse.tool("read_file"), async |cx| {
        let run = &cx.at.run;
        deny(format!("{} at depth {} in {}", run.agent, run.depth, run.working_directory))
    });
    run(&built(&mut builder), "go").await;
    assert!(results(&model.requests()[2]).concat().ends_with("worker at depth 1 in /repo"));
}
