//! Task lists that a model keeps, and is reminded of.
//!
//! ```
//! use vertebra::{Agent, testing::Script};
//! use vertebra_kit::planning::TaskPlanning;
//!
//! let planning = TaskPlanning { max_items: 10, ..TaskPlanning::default() };
//! let agent = Agent::builder(Script::new()).with(planning).build()?;
//! # Ok::<(), vertebra::BuildError>(())
//! ```

mod hooks;
mod list;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{ToolOutput, prelude::*};

pub use list::{Status, Task, TaskList};

/// The metadata key that the task list is kept under, as a list of [`Task`].
pub const TASKS: &str = "planning/tasks";

/// Gives a model a task list, shows it the list now and then, and reminds it to keep it.
///
/// The list lives in the state, so it is there in the next run and after a restart.
#[derive(Debug, Clone)]
pub struct TaskPlanning {
    /// How many tasks a list may have.
    pub max_items: usize,
    /// How many of them may be in progress at once.
    pub max_in_progress: usize,
    /// After so many steps with open tasks the model is shown its list again; 0 means never.
    pub render_every_steps: u32,
    /// After so many steps with open tasks and no change to the list the model is reminded of it; 0 means never, and
    /// then no run begins with a reminder either.
    pub remind_every_steps: u32,
}

impl Default for TaskPlanning {
    fn default() -> Self {
        Self { max_items: 20, max_in_progress: 1, render_every_steps: 10, remind_every_steps: 10 }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Todos {
    /// The whole list: it replaces the one before. Empty to drop the list.
    todos: Vec<Task>,
}

impl Capability for TaskPlanning {
    fn install(self, kit: &mut Kit) {
        let policy = Arc::new(self);
        let description = format!(
            "Writes your task list, for work of several steps: at most {} tasks, {} of them in progress. Keep it true: \
             mark a task in progress before you begin it and completed as soon as it is.",
            policy.max_items, policy.max_in_progress
        );
        let judge = policy.clone();
        let tool = tool("todo_write", description, async move |input: Todos, _| {
            let list = TaskList::new(&input.todos, &judge).map_err(ToolError::new)?;
            Ok(ToolOutput { text: list.to_string(), exit_code: None, data: serde_json::to_value(&list)? })
        })
        // It changes the list, and nothing outside.
        .with(|spec| spec.alias("TodoWrite").read_only());
        let name = tool.spec().name;
        kit.tool(tool);
        hooks::attach(kit, &name, &policy);
    }
}
