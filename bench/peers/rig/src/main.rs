//! The hooks of rig: what `HookStack::on_dispatch`, its question before a tool call, costs.
//!
//! Rig has no timeout, no isolation of panics and no matcher: a hook looks at the tool's name and arguments itself. So
//! there is nothing here to compare with `tools_1000` and `regex_1000`.

mod run;

use std::process::ExitCode;

use bench_harness::Suite;

use crate::run::{inside_of_a_run, stack};

fn main() -> ExitCode {
    Suite::of("rig")
        .inside_case("no_hook", || inside_of_a_run(stack(0)))
        .inside_case("one_hook", || inside_of_a_run(stack(1)))
        .inside_case("ten_hooks", || inside_of_a_run(stack(10)))
        .main()
}
