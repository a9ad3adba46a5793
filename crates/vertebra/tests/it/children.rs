//! Children: what they are given, and how a parent reads their end.

use std::sync::Arc;

use serde_json::json;
use vertebra::{
    AgentTool, Args, ToolOutput, ToolSpec,
    prelude::*,
    testing::{RecordingTool, Script},
};

use crate::support::{agent, read_by_model, rejected, run};

fn delegation() -> Script {
    Script::new().call("helper", r#"{"prompt": "look"}"#).say("done")
}

/// What the parent reads of a child that plays this script.
async fn read_of(child: &Script) -> String {
    let child = agent(child).name("child").tool(RecordingTool::new("ls")).max_steps(1).build().expect("a child");
    let model = delegation();
    run(agent(&model).tool(AgentTool::new("helper", "helps", child))).await;
    read_by_model(&model).concat()
}

#[tokio::test]
async fn a_parent_reads_how_a_child_ended() {
    assert_eq!(read_of(&Script::new().say("3 files")).await, "done: 3 files");
    assert_eq!(read_of(&Script::new().say(" ")).await, "done: [`child` said nothing]");
    assert_eq!(
        read_of(&Script::new().call("ls", "{}").saying("let me see")).await,
        "done: [stopped: used 1 of 1 steps (limits of child)]\nlet me see"
    );
    assert_eq!(
        read_of(&Script::new().fail(rejected())).await,
        "failed: `child` failed: the model rejected the request: too rude (model)\n[`child` said nothing]"
    );
}

#[tokio::test]
async fn a_child_knows_from_the_start_what_a_hook_hands_down_and_nothing_else() {
    let child = agent(&Script::new().call("ls", "{}").say("seen")).name("child").tool(RecordingTool::new("ls")).build();
    let model = delegation();
    let mut builder = agent(&model);
    builder.tool(AgentTool::new("helper", "helps", child.expect("a child")));
    builder.on(PromptSubmit, async |cx| {
        if cx.at.run.depth == 0 {
            cx.state_mut().metadata_mut().set("house/secret", "of the parent");
        }
        proceed()
    });
    builder.on(SubagentStart, async |cx| {
        cx.metadata.set("house/rule", "no shouting");
        proceed()
    });
    builder.guard(BeforeToolUse.tool("ls"), async |cx| {
        let known: Vec<_> = cx.state().metadata().iter().collect();
        assert_eq!(known, [("house/rule", &json!("no shouting"))]);
        deny("quiet")
    });
    assert_eq!(run(&mut builder).await.text, "done");
    assert_eq!(read_by_model(&model), ["done: seen"]);
}

/// Builds its agent when it is called, out of what the calling agent has, and gives it a hook of its own.
struct Twin(Arc<()>);

impl Tool for Twin {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("twin", "asks an agent like this one")
    }

    async fn call(&self, _args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let mut builder = invocation.run().child();
        for tool in invocation.run().tools().filter(|tool| &*tool.spec().name != "twin") {
            builder.tool(tool);
        }
        let held = self.0.clone();
        builder.name("twin").watch(BeforeToolUse, async move |_| {
            let _ = &held;
            Ok(())
        });
        invocation.delegate(&builder.build()?, "look").await?.into_output("twin")
    }
}

#[tokio::test]
async fn a_child_can_be_built_out_of_what_its_parent_has_and_is_let_go_when_it_has_ended() {
    let model = Script::new().call("twin", "{}").call("ls", "{}").say("3 files").say("done");
    let (ls, held) = (RecordingTool::new("ls"), Arc::new(()));
    let mut builder = agent(&model);
    let agent = builder.tool(Twin(held.clone())).tool(ls.clone()).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    assert_eq!(session.prompt("go").await.expect("a run").text, "done");
    assert_eq!(Arc::strong_count(&held), 2, "this test and the tool; the session goes on without the child");
    let requests = model.requests();
    let offered: Vec<_> = requests[1].tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!((offered, &*requests[1].system_prompt, ls.calls().len()), (vec!["ls"], "", 1));
}

/// Hooks of which the last runs between the first two.
fn between(to: &mut impl Attach) {
    to.on(BeforeToolUse.named("a"), async |_| proceed());
    to.on(BeforeToolUse.named("b"), async |_| proceed());
    to.on(BeforeToolUse.named("c").after("a").before("b"), async |_| proceed());
}

/// Hooks that have to run the other way round.
fn reversed(to: &mut impl Attach) {
    to.on(BeforeToolUse.named("a"), async |_| proceed());
    to.on(BeforeToolUse.named("b").before("a"), async |_| proceed());
}

const CIRCLE: &str = "the hooks at BeforeToolUse cannot be ordered, because each has to run before the next: a → c → b → a; \
                      remove one of these constraints";

#[tokio::test]
async fn a_child_whose_constraints_cannot_be_met_does_not_start_and_the_model_reads_why() {
    let answers = Script::new();
    let mut child = agent(&answers);
    between(child.name("child"));
    let model = delegation();
    let mut builder = agent(&model);
    reversed(builder.tool(AgentTool::new("helper", "helps", child.build().expect("a child"))));
    assert_eq!(run(&mut builder).await.text, "done");
    let why = format!("failed: the hooks of `child` do not fit under those of its parent: {CIRCLE}");
    assert_eq!((read_by_model(&model), answers.requests().len()), (vec![why], 0));
}

#[tokio::test]
async fn a_prompt_whose_hooks_cannot_be_ordered_beside_the_agents_fails_and_says_why() {
    let model = Script::new();
    let mut builder = agent(&model);
    reversed(&mut builder);
    let mut more = HookSet::new();
    between(&mut more);
    let more = Hooks::new(more).expect("possible alone");
    let mut session = builder.build().expect("an agent").session().await.expect("a session");
    let failed = session.prompt_with("go", &more).await.expect_err("no order");
    let why = format!("the hooks of this prompt do not fit beside those of the agent: {CIRCLE}");
    assert_eq!((failed.0.stop.message, model.requests().len()), (why, 0));
}
