//! One dispatch at `BeforeToolUse`: a tool is about to be used.

use bench_harness::work;
use serde_json::json;
use vertebra::{
    AgentState, BeforeToolUse, Frame, Notification, Outcome, Retries,
    events::ToolAsked,
    prelude::*,
    testing::{call, scope},
};

/// Hooks and the event they are measured on.
pub(crate) struct Case {
    hooks: Hooks,
    event: ToolAsked,
}

impl Case {
    fn new(set: HookSet, event: ToolAsked) -> Self {
        Self { hooks: Hooks::new(set).expect("the hooks of a benchmark fit together"), event }
    }
}

/// Fires the point over the same event, again and again.
pub(crate) fn routine(case: Case) -> impl AsyncFnMut() -> Outcome<BeforeToolUse> {
    let Case { hooks, mut event } = case;
    let mut state = AgentState::default();
    let run = scope(&hooks);
    async move || {
        let frame = Frame { event: &mut event, state: &mut state, scope: &run, retries: Retries::Allowed };
        hooks.dispatch(BeforeToolUse, frame).await
    }
}

/// Notifies people in a run, again and again: a dispatch with all that a run does around it.
pub(crate) fn in_a_run(count: usize) -> impl AsyncFnMut() {
    let mut set = HookSet::new();
    for _ in 0..count {
        set.on(Notification, async |_cx| proceed());
    }
    let run = scope(&Hooks::new(set).expect("the hooks of a benchmark fit together"));
    let mut state = AgentState::default();
    async move || run.notify(&mut state, "bench", "said").await.expect("nothing here fails")
}

pub(crate) fn nobody() -> Case {
    Case::new(HookSet::new(), push())
}

pub(crate) fn hooks(count: usize) -> Case {
    let mut set = HookSet::new();
    for _ in 0..count {
        set.on(BeforeToolUse, async |_cx| proceed());
    }
    Case::new(set, push())
}

/// The same in the registry of a child, so many layers below the one that has the hooks.
pub(crate) fn layered(count: usize, layers: usize) -> Case {
    let Case { hooks, event } = hooks(count);
    Case { hooks: (0..layers).fold(hooks, |hooks, _| hooks.child()), event }
}

pub(crate) fn guards(count: usize) -> Case {
    let mut set = HookSet::new();
    for _ in 0..count {
        set.guard(BeforeToolUse, async |_cx| proceed());
    }
    Case::new(set, push())
}

/// A hook that writes the arguments, with the diff that the record keeps of it.
pub(crate) fn changing() -> Case {
    let mut set = HookSet::new();
    set.on(BeforeToolUse, async |cx| {
        cx.args_mut().set("timeout", 30_000);
        proceed()
    });
    Case::new(set, push())
}

/// So many hooks, each for one tool; the event is about one of them.
pub(crate) fn tools(count: usize) -> Case {
    let mut set = HookSet::new();
    for index in 0..count {
        set.on(BeforeToolUse.tool(work::tool(index)), async |_cx| proceed());
    }
    let chosen = work::CHOSEN.min(count - 1);
    Case::new(set, call(&work::tool(chosen), json!({ "command": work::COMMAND })))
}

/// Registers so many hooks, each for one tool, again and again.
pub(crate) fn registering(count: usize) -> impl FnMut() -> Hooks {
    move || tools(count).hooks
}

/// A thousand hooks, each for a command; the event is about one of them.
pub(crate) fn regexes() -> Case {
    let mut set = HookSet::new();
    for index in 0..work::MANY {
        set.on(BeforeToolUse.command(work::pattern(index)), async |_cx| proceed());
    }
    Case::new(set, call(work::BASH, json!({ "command": work::dangerous_command() })))
}

fn push() -> ToolAsked {
    call(work::BASH, json!({ "command": work::COMMAND }))
}
