//! Keeps the list in the state and before the model's eyes.

use std::sync::Arc;

use vertebra::{AgentState, Lasting, Message, ToolStatus, prelude::*};

use super::{TASKS, TaskList, TaskPlanning};
use crate::own::has_tool;

/// The step at which the list was written.
const WRITTEN: &str = "planning/written";
/// The step at which the list was shown.
const RENDERED: &str = "planning/rendered";

const BEGIN: &str = "You have no task list. If this takes more than a few steps, write one with `todo_write` first.";

pub(super) fn attach(kit: &mut Kit, tool: &Arc<str>, policy: &Arc<TaskPlanning>) {
    let own = tool.clone();
    kit.on(AfterToolUse.tool(&**tool).named("planning/persist"), async move |cx| {
        if cx.result.status == ToolStatus::Done && !cx.result.data.is_null() && has_tool(cx.scope(), &own) {
            let (list, step) = (cx.result.data.clone(), cx.at.step);
            let metadata = cx.state_mut().metadata_mut();
            metadata.set(TASKS, list);
            metadata.set(WRITTEN, step);
        }
        proceed()
    });

    let (own, every) = (tool.clone(), policy.remind_every_steps);
    kit.on(BeforeStep.named("planning/remind").fail_open(), async move |cx| {
        if every == 0 || !has_tool(cx.scope(), &own) {
            return proceed();
        }
        let list = list(cx.state())?;
        // The step of the latest reminder in this run; none before its first step.
        let reminded: Option<u32> = cx.note_of("planning/remind")?;
        let since = since(cx.state(), WRITTEN, cx.at.step);
        let idle = since.min(cx.at.step.saturating_sub(reminded.unwrap_or_default()));
        let text = match reminded {
            None if !list.is_open() => Some(BEGIN.to_owned()),
            _ if list.is_open() && idle >= every => Some(format!(
                "You have not touched your task list for {since} steps, and it has open tasks. Update it with \
                 `todo_write`, or go on if it is still true."
            )),
            None | Some(_) => None,
        };
        let step = cx.at.step;
        if reminded.is_none() || text.is_some() {
            cx.note(Lasting::Run, if text.is_some() { step } else { 0 })?;
        }
        if let Some(text) = text {
            cx.state_mut().push(Message::instruction(text, "planning/remind"));
        }
        proceed()
    });

    let (own, every) = (tool.clone(), policy.render_every_steps);
    kit.on(BeforeStep.named("planning/render").fail_open(), async move |cx| {
        let (state, step) = (cx.state(), cx.at.step);
        let due = every > 0 && since(state, WRITTEN, step).min(since(state, RENDERED, step)) >= every;
        if !due || !has_tool(cx.scope(), &own) {
            return proceed();
        }
        let list = list(state)?;
        let text = format!("Your task list:\n{list}");
        if list.is_open() && !just_read(state, &list.to_string()) {
            let state = cx.state_mut();
            state.metadata_mut().set(RENDERED, step);
            state.push(Message::instruction(text, "planning/render"));
        }
        proceed()
    });
}

fn list(state: &AgentState) -> Result<TaskList, serde_json::Error> {
    Ok(state.metadata().read(TASKS)?.unwrap_or_default())
}

/// How many steps ago something happened; as many as there were, if it never did.
fn since(state: &AgentState, what: &str, step: u32) -> u32 {
    let at = state.metadata().get(what).and_then(serde_json::Value::as_u64).unwrap_or_default();
    step.saturating_sub(u32::try_from(at).unwrap_or(u32::MAX))
}

/// Whether the model reads the list in the next request anyway, among what came after its latest answer.
fn just_read(state: &AgentState, list: &str) -> bool {
    let unread = state.messages().iter().rev().take_while(|message| !matches!(message, Message::Assistant { .. }));
    unread.into_iter().any(|message| message.text().contains(list))
}
