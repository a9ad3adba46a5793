//! Laws 1 and 2: nothing runs that a guard did not accept in exactly this form, on any path.

use proptest::prelude::*;

use super::{
    cases,
    plan::{leaving, plan},
    world::{Event, child_fence, play, top_fence},
};

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn no_tool_runs_with_arguments_that_a_guard_did_not_accept(plan in plan(leaving())) {
        let events = play(&plan).events();
        for (at, event) in events.iter().enumerate() {
            let Event::Ran { depth, n, digest, .. } = event else { continue };
            prop_assert!(top_fence(*n), "{n} ran {depth} deep, which the fence refuses: {events:#?}");
            // A child inherits its parent's guards, and the grandchild those of both.
            prop_assert!(*depth == 0 || child_fence(*n), "{n} ran {depth} deep, which the child's fence refuses");
            let fences = if *depth == 0 { &["top"][..] } else { &["top", "child"][..] };
            for fence in fences {
                let accepted = |event: &Event| matches!(event, Event::Accepted { by, digest: of } if by == fence && of == digest);
                prop_assert!(events[..at].iter().any(accepted), "the {fence} fence never saw what ran: {events:#?}");
            }
        }
    }
}
