//! Skills that run as children.

use vertebra::{Limits, prelude::*, testing::Script};
use vertebra_kit::subagents::Subagent;

use super::{Library, load};
use crate::{
    subagents::{agents, last_results, lead, offered, results, tools, with_tools},
    support::{built, run},
};

fn research(fields: &str) -> Library {
    Library::new().skill(
        "research",
        &format!("description: Researches\ncontext: fork\n{fields}"),
        "Look into $ARGUMENTS.",
    )
}

#[tokio::test]
async fn a_forked_skill_runs_as_a_child_with_its_tools_and_model_and_answers() {
    let model = Script::new()
        .call("load_skill", &load("research", "hooks"))
        .call("bash", r#"{"command": "git log"}"#)
        .call("bash", r#"{"command": "ls"}"#)
        .say("Hooks are fine.")
        .call("write_file", "{}")
        .say("Done.");
    let all = tools();
    let mut builder = lead(&model);
    with_tools(&mut builder, &all);
    let library = research("allowed-tools: Read Bash(git *)\nmodel: small");
    run(&built(builder.with(library.skills())), "a secret").await;

    let requests = model.requests();
    let child = &requests[1];
    assert_eq!(offered(child), ["read_file", "bash"]);
    assert_eq!((&*child.model.name, &*child.system_prompt), ("small", ""));
    let said: Vec<&str> = child.messages.iter().map(Message::text).collect();
    assert_eq!(said, ["<skill name=\"research\">\nLook into hooks.\n</skill>"]);
    let inside = results(&requests[3]);
    assert_eq!(
        inside,
        ["done: ok", "blocked: blocked by subagents/tools: `research` may use no more than Read, Bash(git *)"]
    );
    assert_eq!(last_results(&model), ["done: Hooks are fine.", "done: ok"], "the parent is bound by none of it");
    assert_eq!(&*requests[4].model.name, "script-1");
}

#[tokio::test]
async fn guards_of_the_parent_and_the_active_skill_hold_in_a_fork() {
    let library = research("").skill("careful", "description: Careful\nallowed-tools: Read, Bash", "Be careful.");
    let model = Script::new()
        .call("load_skill", &load("careful", ""))
        .call("load_skill", &load("research", "x"))
        .calls([("write_file", "{}"), ("bash", r#"{"command": "rm x"}"#), ("read_file", "{}")])
        .say("Looked.")
        .say("Done.");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    builder.with(library.skills());
    builder.guard(BeforeToolUse.command(r"^rm\b").named("no-rm"), async |_cx| deny("deletions are for humans"));
    run(&built(&mut builder), "go").await;
    assert_eq!(
        results(&model.requests()[3]),
        [
            "blocked: blocked by skills/allowed-tools: skill `careful` allows only: Read, Bash",
            "blocked: blocked by no-rm: deletions are for humans",
            "done: ok",
        ]
    );
}

#[tokio::test]
async fn a_fork_has_limits_of_its_own_and_gives_what_it_has() {
    let mut model = Script::new().call("load_skill", &load("research", "x"));
    for _ in 0..10 {
        model = model.call("read_file", "{}").saying("reading");
    }
    let model = model.say("Done.");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    run(&built(builder.with(research("").skills())), "go").await;
    assert_eq!(last_results(&model), ["done: [stopped: used 10 of 10 steps (limits of research)]\nreading"]);

    let model = Script::new().call("load_skill", &load("research", "x")).call("read_file", "{}").say("Done.");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    let limits = Limits { steps: Some(1), ..Limits::none() };
    run(&built(builder.with(research("").skills().fork_limits(limits))), "go").await;
    assert!(last_results(&model)[0].starts_with("done: [stopped: used 1 of 1 steps (limits of research)]"));
}

#[tokio::test]
async fn a_fork_runs_as_the_agent_it_names() {
    let scout = Subagent::new("scout", "Scouts").prompt("You scout.").tools(["Read", "Bash"]).model("tiny");
    let library = research("agent: scout\nallowed-tools: Bash Write").skill(
        "lost",
        "description: Lost\ncontext: fork\nagent: nobody",
        "x",
    );
    let model = Script::new()
        .call("load_skill", &load("research", "x"))
        .say("Scouted.")
        .call("load_skill", &load("lost", ""))
        .say("Done.");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    run(&built(builder.with(library.skills().agents(&agents([scout])))), "go").await;
    let child = &model.requests()[1];
    assert_eq!((&*child.system_prompt, &*child.model.name, offered(child)), ("You scout.", "tiny", vec!["bash"]));
    assert_eq!(last_results(&model), ["done: Scouted.", "failed: unknown agent `nobody`. Known: scout"]);
}

#[tokio::test]
async fn a_fork_that_needs_an_agent_says_so_where_there_are_none() {
    let model = Script::new().call("load_skill", &load("research", "x")).say("Done.");
    run(&built(lead(&model).with(research("agent: scout").skills())), "go").await;
    assert_eq!(last_results(&model), ["failed: skill `research` needs the agent `scout`"]);
}
