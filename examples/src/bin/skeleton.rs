//! Hooks as the skeleton: planning and self-critique are capabilities made of hooks and tools, the loop knows neither.
//!
//! Run it with `cargo run -p vertebra-examples --bin skeleton`.

use std::{error::Error, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vertebra::{InferenceReport, Limits, Messages, Test, prelude::*, testing::Script};

/// Lets the model keep a list of tasks, and reminds it of those that are open.
struct TaskPlanning;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tasks {
    open: Vec<String>,
}

const TASKS: &str = "planning/tasks";

impl Capability for TaskPlanning {
    fn install(self, kit: &mut Kit) {
        kit.instruct("Keep your tasks with todo_write.")
            .tool(tool("todo_write", "Replaces the list of open tasks", async |tasks: Tasks, _| Ok(json!(tasks))))
            .on(AfterToolUse.tool("todo_write").when(|used| used.result.success).named("keep-tasks"), async |cx| {
                let tasks = cx.result.data.clone();
                cx.state_mut().metadata_mut().set(TASKS, tasks);
                proceed()
            })
            .on(BeforeStep.metadata(TASKS, Test::Exists).named("remind"), async |cx| {
                let Tasks { open } = Deserialize::deserialize(cx.state().metadata().get(TASKS).unwrap_or_default())?;
                if !open.is_empty() {
                    let reminder = format!("Still open: {}", open.join(", "));
                    cx.state_mut().push(Message::instruction(reminder, "planning"));
                }
                proceed()
            });
    }
}

/// Has a second opinion on each final answer, and sends the model back at most so often in one run.
struct SelfCritique {
    max_iterations: u32,
}

/// What the critic thinks of the latest answer: a note that lasts for the run and is gone in the next.
#[derive(Serialize, Deserialize)]
struct Opinion {
    iteration: u32,
    feedback: Option<String>,
}

impl Capability for SelfCritique {
    fn install(self, kit: &mut Kit) {
        let max = self.max_iterations;
        kit.on(AfterStep.step("final_response").named("critic").timeout(Duration::from_mins(2)), async |cx| {
            let (run, mut request) = (cx.scope().clone(), cx.scope().request());
            request.messages = Messages::from_iter([Message::user(format!("Is this good? {}", cx.text))]);
            // The critic passes the same points and spends from the same budget as everybody else.
            let feedback = match run.infer(cx.state_mut(), "critique", request).await {
                InferenceReport::Answered(answer) => Some(answer.text).filter(|text| text != "good"),
                report => return Err(HookError::new(format!("no critique: {report:?}"))),
            };
            let iteration = cx.note_of::<Opinion>("critic")?.map_or(1, |before| before.iteration + 1);
            cx.note(Lasting::Run, Opinion { iteration, feedback })?;
            proceed()
        })
        .on(ShouldContinue.step("final_response").named("critic"), async move |cx| {
            match cx.note_of::<Opinion>("critic")? {
                None => proceed(),
                Some(Opinion { feedback: None, .. }) => stop("the critic approved"),
                Some(Opinion { iteration, .. }) if iteration > max => stop(format!("{max} revisions are enough")),
                Some(Opinion { feedback: Some(feedback), .. }) => go_on(format!("Revise: {feedback}")),
            }
        });
    }
}

/// Logs every decision. It needs nothing of the event, so it listens at any point.
struct Log;

impl<P: Point> Watch<P> for Log {
    async fn see(&self, cx: &Cx<'_, P>) -> Seen {
        println!("  {}: {}", P::NAME, cx.record());
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new().call("todo_write", r#"{"open": ["write a poem"]}"#);
    let model =
        model.say("Roses.").say("too short").say("Roses are.").say("no rhyme").say("Roses are red.").say("dull");
    let model = model.call("todo_write", r#"{"open": []}"#).say("All done.").say("good");
    let agent = Agent::builder(model)
        .with(TaskPlanning)
        .with(SelfCritique { max_iterations: 2 })
        .add_watch(ShouldContinue, Log)
        .watch(AfterInference, async |cx| {
            let heard = cx.request.messages.last().map_or("", |message| message.text());
            let said = cx.response.calls.first().map_or(&*cx.response.text, |call| &*call.tool);
            println!("{heard:?} -> {said:?}");
            Ok(())
        })
        .build()?;

    println!("{:?}", Limits::default());
    let mut session = agent.session().await?;
    for prompt in ["Write a poem.", "Are you done?"] {
        let run = session.prompt(prompt).await?;
        println!("= {} ({})", run.text, run.stop);
    }
    println!("kept: {}", session.state().await.metadata().get(TASKS).unwrap_or_default());
    session.close().await;
    Ok(())
}
