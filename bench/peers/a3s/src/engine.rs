//! Builds the engine, its hooks and its events as a user of `a3s-code-core` would.

use std::hint::black_box;
use std::sync::Arc;

use a3s_code_core::hooks::{
    Hook, HookEngine, HookEvent, HookEventType, HookHandler, HookResponse, HookResult, PreToolUseEvent,
};
use bench_harness::work;
use serde_json::{Value, json};

/// A handler that lets everything pass.
struct Pass;

impl HookHandler for Pass {
    fn handle(&self, _event: &HookEvent) -> HookResponse {
        HookResponse::continue_()
    }
}

/// The hook number `index`, for every tool.
pub(crate) fn hook(index: usize) -> Hook {
    Hook::new(format!("hook_{index}"), HookEventType::PreToolUse)
}

/// An engine with these hooks, each with a handler.
pub(crate) fn engine(hooks: impl IntoIterator<Item = Hook>) -> HookEngine {
    let engine = HookEngine::new();
    for hook in hooks {
        engine.register_handler(&hook.id, Arc::new(Pass));
        engine.register(hook);
    }
    engine
}

/// `bash` is about to run a command.
pub(crate) fn about_to_run(command: &str) -> HookEvent {
    event(work::BASH, json!({ "command": command }))
}

/// A tool other than `bash` is about to be used.
pub(crate) fn about_to_use(tool: &str) -> HookEvent {
    event(tool, json!({ "command": work::COMMAND }))
}

fn event(tool: &str, args: Value) -> HookEvent {
    HookEvent::PreToolUse(PreToolUseEvent {
        session_id: "session".to_owned(),
        tool: tool.to_owned(),
        args,
        working_directory: "/project".to_owned(),
        recent_tools: Vec::new(),
    })
}

/// The routine to measure. Refuses to measure an engine in which another number of hooks than `matching` would run.
pub(crate) fn fire(engine: HookEngine, event: HookEvent, matching: usize) -> impl AsyncFnMut() -> HookResult {
    assert_eq!(engine.matching_hooks(&event).len(), matching, "hooks that match the event");
    async move || engine.fire(black_box(&event)).await
}
