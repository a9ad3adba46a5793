//! The hook engine of `a3s-code-core`: what `HookEngine::fire` costs.
//!
//! Handlers, timeouts and priorities are its defaults.

mod engine;

use std::process::ExitCode;

use a3s_code_core::hooks::HookMatcher;
use bench_harness::{Suite, work};

use crate::engine::{about_to_run, about_to_use, engine, fire, hook};

fn main() -> ExitCode {
    Suite::of("a3s")
        .case("no_hook", || fire(engine([]), about_to_run(work::COMMAND), 0))
        .case("one_hook", || fire(engine([hook(0)]), about_to_run(work::COMMAND), 1))
        .case("ten_hooks", || fire(engine((0..10).map(hook)), about_to_run(work::COMMAND), 10))
        .case("tools_1000", || {
            let for_tool = |index| hook(index).with_matcher(HookMatcher::tool(work::tool(index)));
            fire(engine((0..work::MANY).map(for_tool)), about_to_use(&work::tool(work::CHOSEN)), 1)
        })
        .case("regex_1000", || {
            let for_command = |index| hook(index).with_matcher(HookMatcher::command(work::pattern(index)));
            fire(engine((0..work::MANY).map(for_command)), about_to_run(&work::dangerous_command()), 1)
        })
        .main()
}
