//! Decides which tools a request offers.

use std::{collections::HashSet, sync::Arc};

use serde_json::json;
use vertebra::{AgentState, ToolStatus, prelude::*};

use super::{ACTIVE, ToolRegistry};
use crate::own::has_tool;

pub(super) fn attach(kit: &mut Kit, catalogue: &Arc<str>, registry: ToolRegistry) {
    let ToolRegistry { max_active, always } = registry.always(&**catalogue);
    // Compiled with the other matchers, so that a pattern that is none, or that no tool satisfies, is reported.
    let shown = Matcher::Any(always.iter().map(|pattern| Matcher::attribute("tool", pattern)).collect());

    let own = catalogue.clone();
    kit.on(AfterToolUse.tool(&**catalogue).named("registry/found"), async move |cx| {
        if cx.result.status == ToolStatus::Done && has_tool(cx.scope(), &own) {
            let found: Vec<String> = serde_json::from_value(cx.result.data["activate"].clone()).unwrap_or_default();
            activate(cx.state_mut(), found, max_active);
        }
        proceed()
    });

    let own = catalogue.clone();
    kit.on(AfterToolUse.matching(shown.negated()).named("registry/used"), async move |cx| {
        if cx.result.status == ToolStatus::Done && has_tool(cx.scope(), &own) {
            let used = cx.tool.to_string();
            activate(cx.state_mut(), vec![used], max_active);
        }
        proceed()
    });

    let own = catalogue.clone();
    kit.on(BeforeInference.named("registry/offer"), async move |cx| {
        if !has_tool(cx.scope(), &own) {
            return proceed();
        }
        let active = active(cx.state());
        let names = || cx.request.tools.iter().map(|offer| &*offer.name);
        let always = always.iter().filter_map(|pattern| Matcher::names_held(pattern, names())).flatten();
        let offered: HashSet<&str> = always.chain(active.iter().map(|name| &**name)).collect();
        let tools = cx.request.tools.iter().filter(|offer| offered.contains(&*offer.name)).cloned().collect();
        cx.request.tools = tools;
        proceed()
    });
}

/// The names kept in the state. What cannot be read there offers nothing.
fn active(state: &AgentState) -> Vec<String> {
    state.metadata().read(ACTIVE).ok().flatten().unwrap_or_default()
}

/// Puts these in front, in their order, and drops what was not used for the longest time.
fn activate(state: &mut AgentState, found: Vec<String>, max_active: usize) {
    let known = active(state);
    let mut names = found;
    names.extend(known.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    names.truncate(max_active);
    state.metadata_mut().set(ACTIVE, json!(names));
}
