//! A task list: what is in it, what it may look like, how a model reads it.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::TaskPlanning;

/// How long the words of one task may be.
const MAX_WORDS: usize = 500;

/// How far a task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// By hand, because a derived schema hides the names in a `oneOf`, and a wrong one would not be answered with them.
impl JsonSchema for Status {
    fn schema_name() -> Cow<'static, str> {
        "Status".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": [Self::Pending, Self::InProgress, Self::Completed] })
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Task {
    /// What is to be done: "Run the tests".
    pub content: String,
    /// How far it is; pending unless told otherwise.
    #[serde(default)]
    pub status: Status,
    /// The same while it is being done: "Running the tests". The content unless told otherwise.
    #[serde(default, rename = "activeForm")]
    pub active_form: String,
}

/// A list that keeps the policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskList(Vec<Task>);

impl TaskList {
    /// The list as the policy wants it, or what is wrong with it.
    pub(super) fn new(tasks: &[Task], policy: &TaskPlanning) -> Result<Self, String> {
        if tasks.len() > policy.max_items {
            return Err(format!(
                "{} tasks are too many: a list has at most {}; put small ones together",
                tasks.len(),
                policy.max_items
            ));
        }
        let tasks = tasks.iter().enumerate().map(|(index, task)| tidy(index + 1, task));
        let list = Self(tasks.collect::<Result<_, _>>()?);
        let in_progress = list.count(Status::InProgress);
        if in_progress > policy.max_in_progress {
            return Err(format!(
                "{in_progress} tasks are in progress: at most {} may be; finish one before you begin another",
                policy.max_in_progress
            ));
        }
        Ok(list)
    }

    /// The tasks, in order.
    pub fn tasks(&self) -> &[Task] {
        &self.0
    }

    /// Whether something is left to do.
    pub fn is_open(&self) -> bool {
        self.count(Status::Completed) < self.0.len()
    }

    fn count(&self, status: Status) -> usize {
        self.0.iter().filter(|task| task.status == status).count()
    }
}

/// One line and no more for each text, so that a list looks like what it is.
fn tidy(number: usize, task: &Task) -> Result<Task, String> {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (content, active_form) = (one_line(&task.content), one_line(&task.active_form));
    if content.is_empty() {
        return Err(format!("task {number} has no content: say what is to be done"));
    }
    if content.len().max(active_form.len()) > MAX_WORDS {
        return Err(format!("task {number} is too long: at most {MAX_WORDS} bytes"));
    }
    let active_form = if active_form.is_empty() { content.clone() } else { active_form };
    Ok(Task { content, active_form, status: task.status })
}

/// The list and a summary, for the model.
impl fmt::Display for TaskList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("The task list is empty.");
        }
        for task in &self.0 {
            match task.status {
                Status::Pending => writeln!(f, "[ ] {}", task.content)?,
                Status::InProgress => writeln!(f, "[>] {}", task.active_form)?,
                Status::Completed => writeln!(f, "[x] {}", task.content)?,
            }
        }
        let (done, doing) = (self.count(Status::Completed), self.count(Status::InProgress));
        write!(f, "{done} of {} done, {doing} in progress", self.0.len())
    }
}
