//! A static tower stack: layers composed by types, each awaiting its decision, nothing boxed.

use std::process::ExitCode;

use bench_harness::Suite;
use lower_bounds::middleware::{Tool, awaiting, call};
use tower::ServiceBuilder;

fn main() -> ExitCode {
    Suite::of("tower")
        .case("no_hook", || call(Tool))
        .case("one_hook", || call(ServiceBuilder::new().layer(awaiting()).service(Tool)))
        .case("ten_hooks", || {
            let five = ServiceBuilder::new()
                .layer(awaiting())
                .layer(awaiting())
                .layer(awaiting())
                .layer(awaiting())
                .layer(awaiting());
            call(ServiceBuilder::new().layer(five.clone()).layer(five).service(Tool))
        })
        .main()
}
