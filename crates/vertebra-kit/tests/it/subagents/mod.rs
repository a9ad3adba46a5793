//! Agents that a model can hand work to.

mod definitions;
mod inside;
mod limits;
pub(crate) mod planner;

use std::sync::Arc;

use vertebra::{
    AgentBuilder, Args, Limits, Message, Request, ToolOutput, ToolSpec,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script, SequentialIds},
};
use vertebra_kit::subagents::{Subagent, Subagents};

use crate::{
    sheet::Sheet,
    support::{built, run},
};

pub(crate) fn sheet() -> Sheet {
    Sheet {
        name: "Subagents",
        purpose: "Agents that a model can delegate work to, with their own context, tools, model and limits, under the parent's \
            hooks and from its budget.",
        install: |builder| {
            builder.with(agents([Subagent::new("reviewer", "Reviews a change")]));
        },
        knobs: vec![("agent", "none".to_owned()), ("folder", "none".to_owned()), ("skills", "none".to_owned())],
    }
}

/// An agent to test: sequential identifiers, a clock that sleepers move, the folder `/repo`.
pub(crate) fn lead(model: &Script) -> AgentBuilder {
    lead_on(model, &FakeClock::new())
}

pub(crate) fn lead_on(model: &Script, clock: &FakeClock) -> AgentBuilder {
    let mut builder = Agent::builder(model.clone());
    builder.name("lead").system_prompt("You lead.").working_directory("/repo");
    builder.clock(clock.clone()).ids(SequentialIds::default());
    builder
}

/// The tools of a coding agent, which remember their calls.
pub(crate) fn tools() -> [RecordingTool; 3] {
    [
        RecordingTool::new("read_file").with(|spec| spec.alias("Read").read_only()),
        RecordingTool::new("write_file").with(|spec| spec.alias("Write")),
        RecordingTool::new("bash").with(|spec| spec.alias("Bash")),
    ]
}

pub(crate) fn with_tools(builder: &mut AgentBuilder, tools: &[RecordingTool]) {
    for tool in tools {
        builder.tool(tool.clone());
    }
}

pub(crate) fn agents(list: impl IntoIterator<Item = Subagent>) -> Subagents {
    list.into_iter().fold(Subagents::new(), |all, one| all.agent(one).expect("an agent that fits"))
}

/// What a model is asked to spawn.
pub(crate) fn task(agent: &str, prompt: &str) -> String {
    serde_json::json!({ "agent": agent, "prompt": prompt }).to_string()
}

/// The tool results in a request: `done: 3 files`.
pub(crate) fn results(request: &Request) -> Vec<String> {
    let result = |message: &Message| match message {
        Message::Tool { result, .. } => Some(format!("{}: {}", result.status, result.output)),
        Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
    };
    request.messages.iter().filter_map(result).collect()
}

/// What the model read of its tools at its latest request.
pub(crate) fn last_results(model: &Script) -> Vec<String> {
    model.requests().last().map(results).unwrap_or_default()
}

pub(crate) fn offered(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|offer| &*offer.name).collect()
}

#[tokio::test]
async fn a_child_starts_afresh_with_its_own_prompt_tools_and_model() {
    let model = Script::new()
        .call("spawn_subagent", &task("reviewer", "Review main.rs."))
        .call("read_file", "{}")
        .say("All is well.")
        .say("Done.");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    let reviewer = Subagent::new("reviewer", "Reviews").prompt("You review.").tools(["Read"]).model("small");
    let report = run(&built(builder.with(agents([reviewer]))), "Check my secret plan.").await;

    assert_eq!((&*report.text, report.status.to_string()), ("Done.", "completed".to_owned()));
    let requests = model.requests();
    let child = &requests[1];
    assert_eq!((&*child.system_prompt, offered(child)), ("You review.", vec!["read_file"]));
    assert_eq!(child.messages.iter().collect::<Vec<_>>(), [&Message::user("Review main.rs.")]);
    assert!(!format!("{:?}", requests[2]).contains("secret plan"), "nothing of the parent's talk reaches the child");
    let models: Vec<_> = requests.iter().map(|request| (&*request.model.provider, &*request.model.name)).collect();
    assert_eq!(models, [("script", "script-1"), ("script", "small"), ("script", "small"), ("script", "script-1")]);
    assert_eq!(results(&requests[3]), ["done: All is well."]);
}

#[tokio::test]
async fn the_model_is_told_which_agents_there_are_and_cannot_name_another() {
    let model = Script::new().call("spawn_subagent", &task("nobody", "go")).say("Pity.");
    let list = agents([
        Subagent::new("reviewer", "Reviews\n code").tools(["Read", "Bash(git *)"]).tools_deny(["Write"]),
        Subagent::new("thinker", "Thinks").tools([""; 0]),
        Subagent::new("worker", "Works"),
    ]);
    run(&built(lead(&model).with(list)), "go").await;

    let spawn = &model.requests()[0].tools[0];
    let lines: Vec<&str> = spawn.description.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "- reviewer: Reviews code (tools: Read, Bash(git *), but not Write)",
            "- thinker: Thinks (tools: none)",
            "- worker: Works (tools: all of yours)",
        ]
    );
    assert_eq!(spawn.schema["properties"]["agent"]["enum"], serde_json::json!(["reviewer", "thinker", "worker"]));
    let told = last_results(&model).concat();
    assert!(told.starts_with("failed: ") && ["reviewer", "thinker", "worker"].iter().all(|name| told.contains(name)));
}

#[tokio::test]
async fn tools_are_the_parents_by_the_allow_list_then_the_deny_list() {
    let all = || Subagent::new("worker", "Works");
    let cases: [(Subagent, &[&str]); 8] = [
        (all(), &["read_file", "write_file", "bash", "spawn_subagent"]),
        (all().tools([""; 0]), &[]),
        (all().tools(["Read", "bash", "WebSearch"]), &["read_file", "bash"]),
        (all().tools_deny(["Write", "Task"]), &["read_file", "bash"]),
        (all().tools(["Read", "Write"]).tools_deny(["Write"]), &["read_file"]),
        (all().tools(["*_file"]).tools(["Read", "Bash"]), &["read_file"]),
        (all().tools(["Bash(git *)"]), &["bash"]),
        (all().read_only(), &["read_file"]),
    ];
    for (agent, expected) in cases {
        let model = Script::new().call("spawn_subagent", &task("worker", "go")).say("Here I am.").say("Done.");
        let mut builder = lead(&model);
        with_tools(&mut builder, &tools());
        let line = agent.to_string();
        run(&built(builder.with(agents([agent]))), "go").await;
        assert_eq!(offered(&model.requests()[1]), expected, "{line}");
    }
}

#[tokio::test]
async fn an_agent_none_of_whose_tools_are_there_says_so() {
    let model = Script::new().call("spawn_subagent", &task("surfer", "go")).say("Pity.");
    let surfer = Subagent::new("surfer", "Surfs").tools(["WebSearch", "WebFetch"]);
    run(&built(lead(&model).with(agents([surfer]))), "go").await;
    assert_eq!(last_results(&model), ["failed: `surfer` needs tools that are not at hand: WebSearch, WebFetch"]);
}

#[tokio::test]
async fn children_of_one_answer_work_at_the_same_time() {
    let meeting = Arc::new(tokio::sync::Barrier::new(2));
    let model = Script::new()
        .calls([("spawn_subagent", &*task("worker", "a")), ("spawn_subagent", &*task("worker", "b"))])
        .call("meet", "{}")
        .call("meet", "{}")
        .say("met")
        .say("met")
        .say("Done.");
    let mut builder = lead(&model);
    builder.tool(Meet(meeting)).with(agents([Subagent::new("worker", "Works")]));
    // Neither child could end before the other has begun.
    assert_eq!(run(&built(&mut builder), "go").await.text, "Done.");
    assert_eq!(last_results(&model), ["done: met", "done: met"]);
}

/// A tool that waits for somebody else to use it.
struct Meet(Arc<tokio::sync::Barrier>);

impl Tool for Meet {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("meet", "waits for another")
    }

    async fn call(&self, _args: Args, _invocation: Invocation) -> Result<ToolOutput, ToolError> {
        self.0.wait().await;
        Ok("met".into())
    }
}

#[tokio::test]
async fn children_spawn_children_three_deep_and_no_deeper() {
    let deeper = task("worker", "go deeper");
    let model = Script::new()
        .call("spawn_subagent", &deeper)
        .call("spawn_subagent", &deeper)
        .call("spawn_subagent", &deeper)
        .call("spawn_subagent", &deeper)
        .say("I am at the bottom.")
        .say("He is at the bottom.")
        .say("They are at the bottom.")
        .say("Done.");
    let mut builder = lead(&model);
    builder.with(agents([Subagent::new("worker", "Works")]));
    assert_eq!(run(&built(&mut builder), "go").await.text, "Done.");
    assert_eq!(results(&model.requests()[4]), ["failed: agents may be nested 3 deep, no deeper"]);
    assert_eq!(results(&model.requests()[7]), ["done: They are at the bottom."]);
}

#[tokio::test]
async fn hooks_are_told_who_begins_and_how_it_ended() {
    let model = Script::new()
        .call("spawn_subagent", &task("worker", "count"))
        .call("read_file", "{}")
        .costing(70, 0)
        .say("three")
        .costing(30, 5)
        .say("Done.");
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (start, end) = (told.clone(), told.clone());
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    let limits = Limits { steps: Some(4), ..Limits::none() };
    builder.with(agents([Subagent::new("worker", "Works").limits(limits)]));
    builder.watch(SubagentStart, async move |cx| {
        let line = format!("{} asks {} to {}, {:?} steps", cx.at.run.agent, cx.subagent, cx.prompt, cx.limits.steps);
        start.lock().expect("no panic").push(line);
        Ok(())
    });
    builder.watch(SubagentStop, async move |cx| {
        let (who, tokens) = (&cx.subagent, cx.usage.total_tokens());
        let line = format!("{who} {} after {} steps and {tokens} tokens: {}", cx.status, cx.steps, cx.text);
        end.lock().expect("no panic").push(line);
        Ok(())
    });
    run(&built(&mut builder), "go").await;
    let told = told.lock().expect("no panic").clone();
    assert_eq!(
        told,
        ["lead asks worker to count, Some(4) steps", "worker completed after 2 steps and 105 tokens: three"]
    );
}

#[tokio::test]
async fn a_child_that_recovered_from_a_tool_error_is_no_failure() {
    let model = Script::new()
        .call("spawn_subagent", &task("worker", "go"))
        .call("broken", "{}")
        .say("It works without.")
        .say("Done.");
    let mut builder = lead(&model);
    builder.tool(RecordingTool::new("broken").failing("no luck"));
    builder.with(agents([Subagent::new("worker", "Works")]));
    let report = run(&built(&mut builder), "go").await;
    assert_eq!(report.status.to_string(), "completed");
    assert_eq!(results(&model.requests()[2]), ["failed: no luck"]);
    assert_eq!(last_results(&model), ["done: It works without."]);
}

#[tokio::test]
async fn a_child_that_failed_is_an_error_that_names_it_and_one_without_words_is_said_so() {
    let rejected = || vertebra::ModelError::Rejected { message: "too rude".to_owned() };
    let model = Script::new()
        .call("spawn_subagent", &task("worker", "go"))
        .fail(rejected())
        .call("spawn_subagent", &task("worker", "go"))
        .say("")
        .say("Done.");
    let mut builder = lead(&model);
    builder.with(agents([Subagent::new("worker", "Works")]));
    let report = run(&built(&mut builder), "go").await;
    assert_eq!((report.status.to_string(), &*report.text), ("completed".to_owned(), "Done."));
    let results = last_results(&model);
    assert!(results[0].starts_with("failed: `worker` failed: the model rejected the request: too rude"), "{results:?}");
    assert_eq!(results[1], "done: [`worker` said nothing]");
}
