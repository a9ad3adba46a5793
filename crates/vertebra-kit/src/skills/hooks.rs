//! What holds while a skill is active.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vertebra::{Inference, Purpose, prelude::*};

use super::{Skill, Skills, load};
use crate::tool_list::ToolList;

/// The skill that the model loaded last in this run.
const ACTIVE: &str = "skills/active";
/// The skills that were active in the agents above when this one was spawned, for as long as it lives.
const ABOVE: &str = "skills/above";

/// A skill that holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Active {
    name: Arc<str>,
    allowed_tools: Option<Vec<String>>,
    model: Option<Arc<str>>,
}

impl Active {
    pub(super) fn of(skill: &Skill) -> Self {
        Self {
            name: skill.name.clone(),
            allowed_tools: skill.allowed_tools.clone(),
            model: skill.model.as_deref().map(Into::into),
        }
    }

    fn now(state: &AgentState) -> Result<Option<Self>, serde_json::Error> {
        state.metadata().read(ACTIVE)
    }

    /// All whose tools hold here: those of the agents above, then the agent's own.
    fn all(state: &AgentState) -> Result<Vec<Self>, serde_json::Error> {
        let mut all: Vec<Self> = state.metadata().read(ABOVE)?.unwrap_or_default();
        all.extend(Self::now(state)?);
        Ok(all)
    }
}

pub(super) fn attach(kit: &mut Kit, skills: &Skills) {
    let list: Arc<str> = format!("Skills that `{}` can load:\n{}", load::NAME, skills.list()).into();
    // Into the request, which is made anew for each step, so that it stands there once; also in children that may load.
    kit.on(BeforeInference.named("skills/list"), async move |cx| {
        // A tool need not be in the context to be called: see `ToolRegistry`.
        if cx.purpose == Purpose::Step && cx.scope().tool_spec(load::NAME).is_some() {
            let parts = [&*cx.system_prompt, &*list];
            cx.system_prompt =
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n").into();
        }
        proceed()
    });
    // At the beginning and not at the end: whatever became of the last run, the next one starts free.
    kit.on(ExecutionStart.named("skills/release"), async |cx| {
        if cx.state().metadata().get(ACTIVE).is_some() {
            cx.state_mut().metadata_mut().remove(ACTIVE);
        }
        proceed()
    });
    kit.on(AfterToolUse.tool(load::NAME).named("skills/track"), async |cx| {
        if let Some(skill) = cx.result.data.get("skill").filter(|_| cx.result.success).cloned() {
            cx.state_mut().metadata_mut().set(ACTIVE, skill);
        }
        proceed()
    });
    kit.on(SubagentStart.named("skills/hand-down"), async |cx| {
        let mut all = Active::all(cx.state())?;
        all.retain(|skill| skill.allowed_tools.is_some());
        if !all.is_empty() {
            cx.metadata.set(ABOVE, serde_json::to_value(all)?);
        }
        proceed()
    });
    kit.guard(BeforeToolUse.named("skills/allowed-tools"), async |cx| {
        let recalls = cx.scope().tool_spec(&cx.tool).is_some_and(|spec| spec.recalls);
        if &*cx.tool == load::NAME || recalls {
            return proceed();
        }
        for Active { name, allowed_tools, .. } in Active::all(cx.state())? {
            let Some(allowed) = allowed_tools else { continue };
            let allowed = ToolList::new(&allowed).map_err(HookError::new)?;
            if !allowed.covers(cx) {
                return deny(format!("skill `{name}` allows only: {allowed}"));
            }
        }
        proceed()
    });
    // Around everything else, so that a fallback from this model to others finds the others in its place.
    kit.around(Inference.named("skills/model").priority(50), async |cx, next| {
        if cx.purpose == Purpose::Step
            && let Some(Active { model: Some(model), .. }) = Active::now(cx.state())?
        {
            cx.request.model.name = model;
        }
        next.run(cx).await
    });
}
