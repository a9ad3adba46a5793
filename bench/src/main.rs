//! Measures Vertebra on the work that its peers are measured on, and what only it does.

#[cfg(feature = "outside")]
mod backtest;
mod dispatch;
#[cfg(feature = "outside")]
mod outside;
mod turn;

use std::process::ExitCode;

use bench_harness::Suite;

fn main() -> ExitCode {
    #[cfg(feature = "outside")]
    if std::env::args().nth(1).as_deref() == Some(outside::WORKER) {
        return if outside::answer_lines().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let suite = Suite::of("vertebra")
        .case("no_hook", || dispatch::routine(dispatch::nobody()))
        .case("one_hook", || dispatch::routine(dispatch::hooks(1)))
        .case("ten_hooks", || dispatch::routine(dispatch::hooks(10)))
        .case("child_no_hook", || dispatch::routine(dispatch::layered(0, 1)))
        .case("child_one_hook", || dispatch::routine(dispatch::layered(1, 1)))
        .case("child_ten_hooks", || dispatch::routine(dispatch::layered(10, 1)))
        .case("grandchild_no_hook", || dispatch::routine(dispatch::layered(0, 2)))
        .case("grandchild_one_hook", || dispatch::routine(dispatch::layered(1, 2)))
        .case("grandchild_ten_hooks", || dispatch::routine(dispatch::layered(10, 2)))
        .case("run_no_hook", || dispatch::in_a_run(0))
        .case("run_one_hook", || dispatch::in_a_run(1))
        .case("run_ten_hooks", || dispatch::in_a_run(10))
        .case("one_guard", || dispatch::routine(dispatch::guards(1)))
        .case("ten_guards", || dispatch::routine(dispatch::guards(10)))
        .case("one_changing_hook", || dispatch::routine(dispatch::changing()))
        .case("tools_1", || dispatch::routine(dispatch::tools(1)))
        .case("tools_1000", || dispatch::routine(dispatch::tools(bench_harness::work::MANY)))
        .case("regex_1000", || dispatch::routine(dispatch::regexes()))
        .plain_case("register_100", || dispatch::registering(100))
        .plain_case("register_1000", || dispatch::registering(1000));
    let suite = turn::cases(suite);
    #[cfg(feature = "outside")]
    let suite = backtest::cases(outside::cases(suite));
    suite.main()
}
