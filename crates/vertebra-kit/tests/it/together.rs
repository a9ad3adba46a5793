//! Capabilities that meet in one agent.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{Arc, Mutex},
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vertebra::{
    ModelError, ModelId,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::{
    critique::{Case, Critic, Review, SelfCritique},
    metadata::MetadataTools,
    redaction::Redaction,
    registry::ToolRegistry,
    resilience::{ModelFallback, Router},
    structured::{Extract as _, Schema, StructuredOutput},
    subagents::Subagent,
    summary::{Material, Offload, Summarisation, Summariser, Trigger},
};

use crate::{
    skills::{Library, load},
    subagents::{agents, lead, results, task},
    support::{built, restored, results_in, run},
};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Sum {
    total: u32,
}

/// A critic that remembers what it was shown, and accepts answers with this text in them.
fn critic(accepts: &'static str) -> (SelfCritique, Arc<Mutex<Vec<Case>>>) {
    let cases: Arc<Mutex<Vec<Case>>> = Arc::default();
    let seen = cases.clone();
    let critic = Critic::by(async move |case: Case| {
        let accepted = case.answer.contains(accepts);
        seen.lock().expect("no panic").push(case);
        Ok(if accepted { Review::approve("good") } else { Review::reject("wrong sum") })
    });
    (SelfCritique { critic, ..SelfCritique::default() }, cases)
}

/// Conversations of 2000 tokens become half as long.
fn short_memory() -> Summarisation {
    Summarisation {
        trigger: Trigger::Tokens(2000),
        summariser: Summariser::by(async |_material: Material| Ok("There were sums.".to_owned())),
        ..Summarisation::default()
    }
}

#[tokio::test]
async fn an_answer_is_typed_judged_and_sent_back_while_the_conversation_is_made_shorter() {
    let model = Script::new()
        .call("sums", r#"{"page": 1}"#)
        .call("sums", r#"{"page": 2}"#)
        .call("sums", r#"{"page": 3}"#)
        .say("About six.")
        .say(r#"{"total": 6}"#)
        .say(r#"{"total": 7}"#);
    let (critique, cases) = critic("7");
    let mut builder = Agent::builder(model.clone());
    let sums = RecordingTool::new("sums").by(|args| Ok(format!("{} {}", args.to_value(), "7 ".repeat(3000)).into()));
    builder.tool(sums).with(short_memory()).with(critique);
    let extracted = built(&mut builder).extract::<Sum>("Add it up.").await.expect("a sum");

    assert_eq!((extracted.value, extracted.report.steps), (Sum { total: 7 }, 6));
    let cases = cases.lock().expect("no panic").clone();
    let answers: Vec<_> = cases.iter().map(|case| (&*case.task, &*case.answer, case.attempt)).collect();
    assert_eq!(answers, [("Add it up.", r#"{"total": 6}"#, 1), ("Add it up.", r#"{"total": 7}"#, 2)]);
    assert!(cases[1].evidence.contains(r#"sums{"page":3}"#), "{}", cases[1].evidence);
    let last = model.requests().last().expect("a request").messages.clone();
    assert!(last.estimated_tokens() < 2500, "{} tokens", last.estimated_tokens());
    assert!(last.iter().any(|message| message.text().contains("There were sums.")));
}

#[tokio::test]
async fn a_critic_reads_nothing_of_earlier_runs_when_the_prompt_was_cut() {
    let model = Script::new().call("hum", "{}").say("ok").say("ok");
    let (critique, cases) = critic("ok");
    let mut builder = Agent::builder(model);
    builder.tool(RecordingTool::new("hum").replying("hmm")).with(short_memory()).with(critique);
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("sing").await.expect("a run");
    session.prompt("shout ".repeat(3000)).await.expect("a run");
    let evidence: Vec<_> = cases.lock().expect("no panic").iter().map(|case| case.evidence.clone()).collect();
    assert_eq!(evidence, ["hum{} (done): hmm", ""]);
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

const SECRET: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";

/// The texts of all files below a folder.
fn below(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| if path.is_dir() { below(&path) } else { vec![fs::read_to_string(path).expect("text")] })
        .collect()
}

fn keeping_in(folder: &Path) -> Summarisation {
    let offload = Offload { folder: Some(folder.to_owned()), ..Offload::default() };
    Summarisation { offload: Some(offload), ..Summarisation::default() }
}

#[tokio::test]
async fn what_a_redaction_hides_is_in_no_file_and_on_no_page_and_the_folder_is_private() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("kept");
    let model =
        Script::new().call("speak", "{}").call("read_offloaded", r#"{"id": "off-1", "offset": 11900}"#).say("done");
    let mut builder = Agent::builder(model.clone());
    let said = format!("{}{SECRET}{}", "word ".repeat(2400), " word".repeat(2400));
    builder.tool(RecordingTool::new("speak").by(move |_| Ok(said.clone().into())));
    builder.with(keeping_in(&root)).with(Redaction::default());
    run(&built(&mut builder), "go").await;

    let kept = below(&root);
    assert!(kept.len() == 1 && kept[0].contains("word [") && !kept[0].contains(SECRET));
    let read = results_in(&model.requests()[2].messages);
    assert!(read[1].starts_with("done: [bytes 11900") && !read[1].contains(SECRET), "{}", &read[1][..200]);
    let mode = fs::metadata(&root).expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_name_in_a_conversation_that_is_taken_up_again_never_means_another_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let speaking = |model: Script, text: &str| {
        let said = text.repeat(3000);
        let mut builder = Agent::builder(model);
        builder.tool(RecordingTool::new("speak").by(move |_| Ok(said.clone().into()))).with(keeping_in(folder.path()));
        builder
    };
    let agent = built(&mut speaking(Script::new().call("speak", "{}").say("done"), "first "));
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let state = session.state().await;
    session.close().await;

    let model = Script::new().call("speak", "{}").call("read_offloaded", r#"{"id": "off-1"}"#).say("done");
    run(&built(restored(&mut speaking(model.clone(), "second "), &state)), "go on").await;
    let read = results_in(&model.requests()[2].messages);
    assert!(read[1].contains("kept as `off-2`"), "{}", &read[1][..80]);
    assert_eq!(read[2], "failed: nothing is kept as `off-1`; there is: off-2");
    assert_eq!(state.metadata().get("summary/offloaded"), Some(&json!(1)));
}
