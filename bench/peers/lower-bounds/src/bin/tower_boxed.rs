//! The tower stack a program has to use that learns its layers at run time: every layer is boxed.
//!
//! `…_awaited` asks tower for the asynchronous decision that a hook is. A layer that awaits before it calls the service
//! behind it must own a clone of it, and to clone a boxed service is to allocate all services behind it again.

use std::process::ExitCode;

use bench_harness::Suite;
use lower_bounds::middleware::{Deciding, Request, Tool, awaiting, call};
use tower::util::{BoxCloneService, BoxService};
use tower::{BoxError, Layer};

fn main() -> ExitCode {
    Suite::of("tower-boxed")
        .case("no_hook", || call(decided(0)))
        .case("one_hook", || call(decided(1)))
        .case("ten_hooks", || call(decided(10)))
        .case("one_hook_awaited", || call(awaited(1)))
        .case("ten_hooks_awaited", || call(awaited(10)))
        .main()
}

fn decided(layers: usize) -> BoxService<Request, Request, BoxError> {
    (0..layers).fold(BoxService::new(Tool), |inner, _| BoxService::new(Deciding.layer(inner)))
}

fn awaited(layers: usize) -> BoxCloneService<Request, Request, BoxError> {
    (0..layers).fold(BoxCloneService::new(Tool), |inner, _| BoxCloneService::new(awaiting().layer(inner)))
}
