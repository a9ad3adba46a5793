//! Ways around a guard that do not lead around it.

use std::{fmt::Write as _, time::Duration};

use serde_json::json;
use vertebra::{
    AgentTool, ToolStatus,
    prelude::*,
    testing::{FakeClock, FixedApprover, RecordingTool, Script},
};

use crate::support::{agent, run, watch_all};

/// What the tool `bash` ran under a guard against `rm`, and what the model read instead.
async fn under_guard(args: &str) -> (usize, String) {
    let tool = RecordingTool::new("bash");
    let model = Script::new().call("bash", args).say("done");
    let mut builder = agent(&model);
    builder.tool(tool.clone());
    builder.guard(BeforeToolUse.command(r"^rm\b").named("no-rm"), async |_| deny("deletions are for humans"));
    let built = builder.build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let state = session.state().await;
    let read = state.messages().iter().find_map(|message| match message {
        Message::Tool { result, .. } => Some(result.output.clone()),
        Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
    });
    (tool.calls().len(), read.expect("a result"))
}

#[tokio::test]
async fn a_command_hidden_behind_a_thousand_others_does_not_run() {
    let mut line = String::new();
    for number in 0..1200 {
        write!(line, "echo {number}; ").expect("text");
    }
    line.push_str("rm -rf /");
    let (ran, read) = under_guard(&json!({ "command": line }).to_string()).await;
    assert_eq!(
        (ran, read.as_str()),
        (0, "blocked: the command is too complex to judge; split it into simpler commands")
    );
}

#[tokio::test]
async fn a_command_given_as_a_list_of_words_is_judged_too() {
    for args in [
        r#"{"command": ["rm", "-rf", "/"]}"#,
        r#"{"command": ["bash", "-lc", "cd /tmp && rm -rf /"]}"#,
        r#"{"command": "ls", "cmd": "rm -rf /"}"#,
    ] {
        let (ran, read) = under_guard(args).await;
        assert_eq!((ran, read.as_str()), (0, "blocked by no-rm: deletions are for humans"), "{args}");
    }
    assert_eq!(under_guard(r#"{"command": ["ls", "-l"]}"#).await.0, 1);
}

#[tokio::test]
async fn a_hook_cannot_turn_a_call_into_another() {
    let write = RecordingTool::new("write_file").with(|spec| spec.alias("Write"));
    let read = RecordingTool::new("read_file");
    let model = Script::new().call("read_file", "{}").say("done");
    let mut builder = agent(&model);
    builder.tool(write.clone()).tool(read.clone());
    builder.on(BeforeToolUse, async |cx| {
        cx.tool = "write_file".into();
        proceed()
    });
    builder.guard(BeforeToolUse.tool("Write"), async |_| deny("read only"));
    builder.watch(AfterToolUse, async |cx| {
        assert_eq!(cx.result.status, ToolStatus::Blocked);
        assert_eq!(cx.result.output, "blocked: a hook changed which call this is");
        Ok(())
    });
    builder.build().expect("an agent").run("go").await.expect("a run");
    assert!(write.calls().is_empty() && read.calls().is_empty());
}

#[tokio::test]
async fn an_around_cannot_turn_a_call_into_another() {
    let (write, read) = (RecordingTool::new("write_file"), RecordingTool::new("read_file"));
    let model = Script::new().call("read_file", "{}").say("done");
    let mut builder = agent(&model);
    builder.tool(write.clone()).tool(read.clone());
    builder.around(ToolUse, async |cx, next| {
        cx.tool = "write_file".into();
        cx.args_mut().set("seen", true);
        next.run(cx).await
    });
    builder.build().expect("an agent").run("go").await.expect("a run");
    assert!(write.calls().is_empty());
    assert_eq!(read.calls().first().map(Args::to_value), Some(json!({"seen": true})));
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_has_to_wait() {
    let clock = FakeClock::new();
    let approver = FixedApprover::yes();
    let model = Script::new().call("bash", "{}").say("done");
    let mut builder = agent(&model);
    builder.clock(clock.clone()).approver(approver.clone()).tool(RecordingTool::new("bash"));
    let limited = clock.clone();
    builder.on(BeforeToolUse, async move |_| {
        if vertebra::Clock::elapsed(&limited) < Duration::from_secs(5) {
            return retry(Duration::from_secs(5));
        }
        proceed()
    });
    builder.guard(BeforeToolUse, async |_| ask("sure?"));
    builder.build().expect("an agent").run("go").await.expect("a run");
    assert_eq!(approver.asked().len(), 1, "asked once, after the wait");
    assert_eq!(clock.sleeps().first(), Some(&Duration::from_secs(5)));
}

/// Tells the agent where it works.
struct Works(&'static str);

impl Capability for Works {
    fn install(self, kit: &mut Kit) {
        kit.working_directory(self.0);
    }
}

#[tokio::test]
async fn a_path_means_the_same_to_a_guard_in_a_child_that_names_no_folder() {
    let read = RecordingTool::new("read");
    let model = Script::new().call("read", r#"{"path": "secrets/key"}"#).say("refused");
    let child = Agent::builder(model).tool(read.clone()).build().expect("a child");
    let parent = Agent::builder(Script::new().call("helper", r#"{"prompt": "look"}"#).say("done"))
        .with(Works("/repo"))
        .tool(AgentTool::new("helper", "helps", child))
        .guard(BeforeToolUse.path("/repo/secrets/**"), async |_| deny("private"))
        .build()
        .expect("a parent");
    parent.run("go").await.expect("a run");
    assert!(read.calls().is_empty());
}

#[tokio::test]
async fn the_builder_has_the_last_word_on_where_an_agent_works() {
    for named_first in [true, false] {
        let mut builder = Agent::builder(Script::new().say("done"));
        if named_first {
            builder.working_directory("/here").with(Works("/there"));
        } else {
            builder.with(Works("/there")).working_directory("/here");
        }
        let seen = watch_all(&mut builder);
        run(&mut builder).await;
        assert_eq!(seen.seen()[0].text("working_directory"), "/here");
    }
}
