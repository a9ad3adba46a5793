//! A model that judges, in a whole agent.

use vertebra::testing::{RecordingTool, Script};

use super::*;

fn judge(prompt: &str) -> RunSettings {
    RunSettings::Prompt { prompt: prompt.to_owned(), model: None }
}

/// What the tool was told in a run where a model judges its call.
async fn judged(answer: &str) -> (Script, RecordingTool) {
    let model = Script::new().call("bash", r#"{"command": "ls"}"#).say(answer).say("done");
    let tool = RecordingTool::new("bash");
    let handler = Project::new().build(&judge("Only harmless commands."));
    let mut builder = Agent::builder(model.clone());
    builder.tool(tool.clone()).add_guard(BeforeToolUse.named("judge"), External::new(handler, LONG).at(BeforeToolUse));
    builder.build().expect("an agent").run("go").await.expect("a run");
    (model, tool)
}

fn told(model: &Script) -> String {
    format!("{:?}", model.requests().last().expect("a request").messages)
}

#[tokio::test]
async fn a_model_that_refuses_denies_with_its_reason() {
    let (model, tool) = judged(r#"Well. {"ok": false, "reason": "lists too much"}"#).await;
    assert!(told(&model).contains("lists too much"), "{}", told(&model));
    assert_eq!(tool.calls().len(), 0);
    let asked = &model.requests()[1];
    let shown = format!("{:?}", asked.messages);
    assert!(shown.contains("Only harmless commands.") && shown.contains("BeforeToolUse"), "{shown}");
    assert!(asked.tools.is_empty() && asked.system_prompt.contains("JSON schema"), "{}", asked.system_prompt);
}

#[tokio::test]
async fn a_model_that_agrees_has_no_further_opinion() {
    let (_, tool) = judged("```json\n{\"ok\": true, \"reason\": null}\n```").await;
    assert_eq!(tool.calls().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_none_is_a_failure_and_fails_closed() {
    for answer in ["Sure, go on!", r#"{"ok": "yes"}"#, r#"{"ok": true} or {"ok": false}"#] {
        let (model, tool) = judged(answer).await;
        assert_eq!(tool.calls().len(), 0, "{answer}");
        assert!(told(&model).contains("the model's answer: "), "{}", told(&model));
    }
}

#[tokio::test]
async fn a_judge_is_asked_between_the_hooks_of_the_run_under_its_own_purpose() {
    let model = Script::new().call("bash", "{}").say(r#"{"ok": true}"#).say("done");
    let purposes = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = purposes.clone();
    let handler = Project::new().build(&judge("Anything goes: $EVENT"));
    let mut builder = Agent::builder(model);
    builder
        .tool(RecordingTool::new("bash"))
        .add_guard(BeforeToolUse, External::new(handler, LONG).answering_for("judge").at(BeforeToolUse));
    builder.watch(BeforeInference, async move |cx| {
        seen.lock().expect("seen").push(serde_json::to_value(&cx.purpose)?);
        Ok(())
    });
    builder.build().expect("an agent").run("go").await.expect("a run");
    assert_eq!(*purposes.lock().expect("seen"), [json!("step"), json!({ "capability": "hook:judge" }), json!("step")]);
}

#[test]
fn a_model_cannot_judge_whether_a_model_is_asked() {
    let handler = Project::new().build(&judge("no"));
    for point in ["BeforeInference", "InferenceDelta", "AfterInference"] {
        let problem = handler.fits(point).expect_err(point).to_string();
        assert!(problem.contains(&format!("cannot stand at {point}, where a model is asked")), "{problem}");
    }
    assert_eq!(handler.fits("BeforeToolUse"), Ok(()));
}
