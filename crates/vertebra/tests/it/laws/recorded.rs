//! Every recording is replayed as it was, and a hook that was not there is found where it first makes a difference.

use proptest::prelude::*;
use vertebra::What;

use super::{
    cases,
    plan::{crashing, leaving, plan},
    world::{Event, play, replay},
};

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn a_recording_of_any_run_is_replayed_as_it_was(plan in plan(prop_oneof![3 => leaving(), 1 => crashing()])) {
        let plan = plan.in_any_time();
        let trace = play(&plan);
        if trace.lines().is_empty() {
            return Ok(());
        }
        let divergence = replay(&plan, &trace);
        prop_assert_eq!(divergence, None, "{}", trace.story());
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_guard_that_was_not_there_is_where_a_replay_first_differs(plan in plan(leaving())) {
        let plan = plan.in_any_time();
        let trace = play(&plan);
        let asked = |event: &Event| matches!(event, Event::Before { .. });
        let intended = trace.lines().iter().position(|line| matches!(line.what, What::ToolIntended { .. }));
        let divergence = replay(&plan.stricter(), &trace);
        match divergence {
            Some(divergence) => prop_assert_eq!(divergence.place, "BeforeToolUse"),
            // No tool was used, so nothing could differ; or the caller had left by then.
            None => prop_assert!(intended.is_none() || trace.count(asked) == 0, "{}", trace.story()),
        }
    }
}
