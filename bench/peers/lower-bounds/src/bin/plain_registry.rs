//! The registry one writes on the first day: see [`lower_bounds::registry`].

use std::hint::black_box;
use std::process::ExitCode;

use bench_harness::{Suite, work};
use lower_bounds::registry::HookEvent::PreToolUse;
use lower_bounds::registry::{HookContext, HookRegistry, HookResult};
use regex::Regex;
use serde_json::json;

fn main() -> ExitCode {
    Suite::of("plain-registry")
        .case("no_hook", || run(HookRegistry::default(), about_to_run(work::COMMAND)))
        .case("one_hook", || run(passing(1), about_to_run(work::COMMAND)))
        .case("ten_hooks", || run(passing(10), about_to_run(work::COMMAND)))
        .case("tools_1000", || run(one_per_tool(), about_to_use(&work::tool(work::CHOSEN))))
        .case("regex_1000", || run(one_per_command(), about_to_run(&work::dangerous_command())))
        .main()
}

/// The routine to measure.
fn run(registry: HookRegistry, mut context: HookContext) -> impl AsyncFnMut() -> HookResult {
    async move || registry.run(black_box(&mut context)).await
}

fn passing(hooks: usize) -> HookRegistry {
    let mut registry = HookRegistry::default();
    for _ in 0..hooks {
        registry.add(PreToolUse, |_| Box::pin(async { HookResult::None }));
    }
    registry
}

fn one_per_tool() -> HookRegistry {
    let mut registry = HookRegistry::default();
    for index in 0..work::MANY {
        let name = format!("^{}$", work::tool(index));
        registry
            .add_with_pattern(PreToolUse, &name, |_| Box::pin(async { HookResult::Allow }))
            .expect("a tool's name is a regex");
    }
    registry
}

/// The registry knows patterns of tool names only, so every hook looks at the command itself.
fn one_per_command() -> HookRegistry {
    let mut registry = HookRegistry::default();
    for index in 0..work::MANY {
        let pattern = Regex::new(&work::pattern(index)).expect("the patterns are regexes");
        registry
            .add_with_pattern(PreToolUse, "^bash$", move |context| {
                let command = context.tool_input["command"].as_str().unwrap_or_default();
                let dangerous = pattern.is_match(command);
                Box::pin(async move { if dangerous { HookResult::Allow } else { HookResult::None } })
            })
            .expect("a tool's name is a regex");
    }
    registry
}

fn about_to_run(command: &str) -> HookContext {
    HookContext { event: PreToolUse, tool_name: work::BASH.to_owned(), tool_input: json!({ "command": command }) }
}

fn about_to_use(tool: &str) -> HookContext {
    HookContext { tool_name: tool.to_owned(), ..about_to_run(work::COMMAND) }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn check(registry: &HookRegistry, mut context: HookContext, expected: HookResult) {
        let run = pin!(registry.run(&mut context));
        assert_eq!(run.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(expected));
    }

    #[test]
    fn the_chosen_tool_is_found_among_many() {
        check(&one_per_tool(), about_to_use(&work::tool(work::CHOSEN)), HookResult::Allow);
        check(&one_per_tool(), about_to_use(&work::tool(work::MANY)), HookResult::None);
    }

    #[test]
    fn the_chosen_command_is_found_among_many() {
        check(&one_per_command(), about_to_run(&work::dangerous_command()), HookResult::Allow);
        check(&one_per_command(), about_to_run(work::COMMAND), HookResult::None);
    }
}
