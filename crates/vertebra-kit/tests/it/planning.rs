//! Task lists that a model keeps, and is reminded of.

use serde_json::json;
use vertebra::{
    AgentBuilder, AgentTool,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::planning::{TASKS, TaskPlanning};

use crate::{
    sheet::Sheet,
    support::{built, instructions, read_by_model, restored},
};

pub(crate) fn sheet() -> Sheet {
    let policy = TaskPlanning::default();
    Sheet {
        name: "TaskPlanning",
        purpose: "Gives a model a task list, shows the list at intervals, and reminds the model to update it.",
        install: |builder| {
            builder.with(TaskPlanning::default());
        },
        knobs: vec![
            ("max_items", policy.max_items.to_string()),
            ("max_in_progress", policy.max_in_progress.to_string()),
            ("render_every_steps", policy.render_every_steps.to_string()),
            ("remind_every_steps", policy.remind_every_steps.to_string()),
        ],
    }
}

const NOTE: &str = "planning/remind: You have no task list. If this takes more than a few steps, write one with \
                    `todo_write` first.";
const LIST: &str = "planning/render: Your task list:\n[>] a\n0 of 1 done, 1 in progress";

fn nag(steps: u32) -> String {
    format!(
        "planning/remind: You have not touched your task list for {steps} steps, and it has open tasks. Update it with \
         `todo_write`, or go on if it is still true."
    )
}

/// A model that asks for `ls` so many times.
fn working(model: Script, steps: usize) -> Script {
    (0..steps).fold(model, |model, _| model.call("ls", "{}"))
}

fn planner(model: &Script, policy: TaskPlanning) -> AgentBuilder {
    let mut builder = Agent::builder(model.clone());
    builder.limits(vertebra::Limits::none()).tool(RecordingTool::new("ls")).with(policy);
    builder
}

async fn run(model: &Script, policy: TaskPlanning) {
    built(&mut planner(model, policy)).run("go").await.expect("a run");
}

/// What the model reads of one call of `todo_write`.
async fn answer(args: &str) -> String {
    let model = Script::new().call("todo_write", args).say("done");
    run(&model, TaskPlanning::default()).await;
    read_by_model(&model).remove(0)
}

const ONE_TASK: &str = r#"{"todos": [{"content": "a", "status": "in_progress"}]}"#;

#[tokio::test]
async fn a_list_is_trimmed_completed_shown_and_summed_up() {
    let told = answer(
        r#"{"todos": [
            {"content": "  Read\n the code ", "status": "completed"},
            {"content": "Write tests", "status": "in_progress", "activeForm": " Writing tests "},
            {"content": "Run them", "activeForm": ""}
        ]}"#,
    )
    .await;
    assert_eq!(told, "done: [x] Read the code\n[>] Writing tests\n[ ] Run them\n1 of 3 done, 1 in progress");
}

#[tokio::test]
async fn what_is_wrong_with_a_list_is_said_in_words_the_model_can_use() {
    let many = |count: usize, status: &str| {
        let tasks: Vec<_> = (0..count).map(|n| json!({"content": format!("t{n}"), "status": status})).collect();
        json!({ "todos": tasks }).to_string()
    };
    let long = json!({"todos": [{"content": "x".repeat(501)}]}).to_string();
    let cases: [(&str, &str); 8] = [
        (&many(21, "pending"), "failed: 21 tasks are too many: a list has at most 20; put small ones together"),
        (
            &many(2, "in_progress"),
            "failed: 2 tasks are in progress: at most 1 may be; finish one before you begin another",
        ),
        (
            r#"{"todos": [{"content": "a"}, {"content": " \n "}]}"#,
            "failed: task 2 has no content: say what is to be done",
        ),
        (&long, "failed: task 1 is too long: at most 500 bytes"),
        (
            r#"{"todos": [{"content": "a", "status": "doing"}]}"#,
            "failed: the arguments of `todo_write` do not fit: /todos/0/status: \"doing\" is not one of",
        ),
        (
            r#"{"todos": [{"status": "pending"}]}"#,
            "failed: the arguments of `todo_write` do not fit: /todos/0: \"content\" is",
        ),
        ("{}", "failed: the arguments of `todo_write` do not fit: \"todos\" is a required property"),
        (r#"{"todos": []}"#, "done: The task list is empty."),
    ];
    for (args, expected) in cases {
        let told = answer(args).await;
        assert!(told.starts_with(expected), "{args:.80}:\n{told}");
    }
    assert!(answer(&many(20, "pending")).await.starts_with("done: [ ] t0\n"));
}

#[tokio::test]
async fn the_list_is_replaced_and_kept_and_a_refused_one_changes_nothing() {
    let model = Script::new()
        .call("todo_write", r#"{"todos": [{"content": "old"}]}"#)
        .calls([
            ("todo_write", r#"{"todos": [{"content": "new", "status": "completed", "activeForm": "doing"}]}"#),
            ("todo_write", r#"{"todos": [{"content": ""}]}"#),
        ])
        .say("done");
    let mut session = built(&mut planner(&model, TaskPlanning::default())).session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let kept = session.state().await.metadata().get(TASKS).cloned();
    assert_eq!(kept, Some(json!([{"content": "new", "status": "completed", "activeForm": "doing"}])));
}

#[tokio::test]
async fn policies_written_for_another_name_hold() {
    let model = Script::new().call("todo_write", ONE_TASK).say("done");
    let mut builder = planner(&model, TaskPlanning::default());
    builder.guard(BeforeToolUse.tool("TodoWrite").named("no-lists"), async |_| deny("no lists"));
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(read_by_model(&model), ["blocked: blocked by no-lists: no lists"]);
}

#[tokio::test]
async fn a_run_without_a_list_begins_with_a_note_and_one_with_a_list_does_not() {
    let model = Script::new().call("ls", "{}").say("one").call("todo_write", ONE_TASK).say("two").say("three");
    let agent = built(&mut planner(&model, TaskPlanning::default()));
    let mut session = agent.session().await.expect("a session");
    for prompt in ["a", "b", "c"] {
        session.prompt(prompt).await.expect("a run");
    }
    // The note is a message of its run and stays in the conversation; the second run begins with another.
    let notes: Vec<usize> = (0..5).map(|request| instructions(&model, request).len()).collect();
    assert_eq!(notes, [1, 1, 2, 2, 2]);
    assert_eq!(instructions(&model, 4), [NOTE, NOTE]);
}

#[tokio::test]
async fn a_list_whose_tasks_are_all_done_counts_as_none() {
    let done = r#"{"todos": [{"content": "a", "status": "completed"}]}"#;
    let model = Script::new().call("todo_write", done).say("one").say("two");
    let agent = built(&mut planner(&model, TaskPlanning::default()));
    let mut session = agent.session().await.expect("a session");
    session.prompt("a").await.expect("a run");
    session.prompt("b").await.expect("a run");
    assert_eq!(instructions(&model, 2), [NOTE, NOTE]);
}

#[tokio::test]
async fn after_ten_idle_steps_the_model_reads_a_reminder_and_its_list_and_again_after_ten_more() {
    let model = working(Script::new().call("todo_write", ONE_TASK), 21).say("done");
    run(&model, TaskPlanning::default()).await;
    let told: Vec<Vec<String>> = (0..23).map(|request| instructions(&model, request)).collect();
    assert_eq!(told[9], [NOTE]);
    // Written in step 1; step 11 is the tenth after it.
    assert_eq!(told[10], [NOTE, &nag(10), LIST]);
    assert_eq!(told[19], told[10]);
    assert_eq!(told[20], [NOTE, &nag(10), LIST, &nag(20), LIST]);
    assert_eq!(told[22], told[20]);
}

#[tokio::test]
async fn a_list_written_in_between_puts_the_reminder_off() {
    let model = working(Script::new().call("todo_write", ONE_TASK), 8).call("todo_write", ONE_TASK);
    let model = working(model, 9).say("done");
    run(&model, TaskPlanning::default()).await;
    assert_eq!(instructions(&model, 18), [NOTE]);
}

#[tokio::test]
async fn nobody_is_reminded_of_a_list_that_is_done() {
    let done = r#"{"todos": [{"content": "a", "status": "completed"}]}"#;
    let model = working(Script::new().call("todo_write", done), 24).say("done");
    run(&model, TaskPlanning::default()).await;
    assert_eq!(instructions(&model, 25), [NOTE]);
}

#[tokio::test]
async fn each_knob_turns_what_it_says() {
    let often = TaskPlanning { render_every_steps: 2, remind_every_steps: 3, ..TaskPlanning::default() };
    let model = working(Script::new().call("todo_write", ONE_TASK), 4).say("done");
    run(&model, often).await;
    // Step 3 shows the list, step 4 reminds, step 5 shows the list.
    assert_eq!(instructions(&model, 5), [NOTE, LIST, &nag(3), LIST]);

    let never = TaskPlanning { render_every_steps: 0, remind_every_steps: 0, ..TaskPlanning::default() };
    let model = working(Script::new().call("todo_write", ONE_TASK), 30).say("done");
    run(&model, never).await;
    assert!(instructions(&model, 31).is_empty());

    let tight = TaskPlanning { max_items: 3, max_in_progress: 2, ..TaskPlanning::default() };
    let two = r#"{"todos": [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}]}"#;
    let four = r#"{"todos": [{"content": "a"}, {"content": "b"}, {"content": "c"}, {"content": "d"}]}"#;
    let model = Script::new().call("todo_write", two).call("todo_write", four).say("done");
    run(&model, tight).await;
    let told = read_by_model(&model);
    assert_eq!(told[0], "done: [>] a\n[>] b\n0 of 2 done, 2 in progress");
    assert!(told[1].starts_with("failed: 4 tasks are too many: a list has at most 3"), "{}", told[1]);
}

#[tokio::test]
async fn a_list_that_the_model_has_just_read_is_not_shown_again() {
    let often = TaskPlanning { render_every_steps: 1, remind_every_steps: 0, ..TaskPlanning::default() };
    let model = Script::new().call("todo_write", ONE_TASK).call("ls", "{}").call("ls", "{}").say("done");
    let mut builder = planner(&model, often);
    // Whatever tells the model its list: here a tool that happens to.
    builder.on(AfterToolUse.tool("ls").when(|used| used.at.step == 2), async |cx| {
        cx.result.output = "[>] a\n0 of 1 done, 1 in progress".to_owned();
        proceed()
    });
    built(&mut builder).run("go").await.expect("a run");
    assert!(instructions(&model, 1).is_empty(), "the result of todo_write shows it");
    assert!(instructions(&model, 2).is_empty(), "the result of ls shows it");
    assert_eq!(instructions(&model, 3), [LIST]);
}

#[tokio::test]
async fn a_restored_session_goes_on_with_its_list() {
    let model = working(Script::new().call("todo_write", ONE_TASK), 5).say("one");
    let mut session = built(&mut planner(&model, TaskPlanning::default())).session().await.expect("a session");
    session.prompt("a").await.expect("a run");
    let state = session.state().await;

    let model = working(Script::new(), 4).say("two");
    let mut builder = planner(&model, TaskPlanning::default());
    built(restored(&mut builder, &state)).run("b").await.expect("a run");
    assert_eq!(instructions(&model, 0), [NOTE], "no second note: there is a list");
    // Seven steps before the restart, four after it.
    assert_eq!(instructions(&model, 3), [NOTE, &nag(10), LIST]);
}

#[tokio::test]
async fn two_runs_at_the_same_time_have_two_lists() {
    let model = |task: &str| working(Script::new().call("todo_write", &ONE_TASK.replace("\"a\"", task)), 2).say("done");
    let (a, b) = (model("\"a\""), model("\"b\""));
    let (one, two) =
        (built(&mut planner(&a, TaskPlanning::default())), built(&mut planner(&b, TaskPlanning::default())));
    let (mut one, mut two) = (one.session().await.expect("a session"), two.session().await.expect("a session"));
    let (first, second) = tokio::join!(one.prompt("a"), two.prompt("b"));
    first.and(second).expect("both runs");
    let content = |state: AgentState| state.metadata().get(TASKS).expect("a list")[0]["content"].clone();
    assert_eq!((content(one.state().await), content(two.state().await)), (json!("a"), json!("b")));
}

#[tokio::test]
async fn a_child_is_reminded_of_its_own_list_once_and_one_without_the_tool_never() {
    let with = Script::new().call("todo_write", ONE_TASK).say("planned");
    let without = Script::new().say("did it");
    let planner_child = built(&mut planner(&with, TaskPlanning::default()));
    let plain_child = built(&mut Agent::builder(without.clone()));
    let model = Script::new().call("planner", r#"{"prompt": "plan"}"#).call("plain", r#"{"prompt": "do"}"#).say("done");
    let mut builder = planner(&model, TaskPlanning::default());
    builder.tool(AgentTool::new("planner", "Plans", planner_child)).tool(AgentTool::new("plain", "Does", plain_child));
    let mut session = built(&mut builder).session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(instructions(&with, 1), [NOTE]);
    assert!(instructions(&without, 0).is_empty());
    assert_eq!(session.state().await.metadata().get(TASKS), None, "the child's list is the child's");
}
