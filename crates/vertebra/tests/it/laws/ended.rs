//! Law 8: the end is always told, once.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{
    cases,
    plan::{HookPlan, Leave, Place, Plan, leaving, plan},
    world::{Event, play},
};

/// Agents with a guard that denies every session.
fn refusing() -> impl Strategy<Value = Plan> {
    plan(Just(Leave::Never)).prop_map(|plan| plan.with(HookPlan::denying(Place::SessionStart)))
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn every_run_and_every_session_that_opens_ends_once(plan in plan(leaving())) {
        let trace = play(&plan);
        let events = trace.events();
        let began = trace.count(|event| matches!(event, Event::SessionStart));
        let ended = trace.count(|event| matches!(event, Event::SessionEnd { .. }));
        prop_assert_eq!((began, ended), (1, usize::from(!trace.is_refused())), "{:?}", events);
        let mut runs: HashMap<&str, (usize, usize)> = HashMap::new();
        for event in &events {
            match event {
                Event::RunBegan { run } => runs.entry(run).or_default().0 += 1,
                Event::RunEnd { run, .. } => runs.entry(run).or_default().1 += 1,
                _ => {}
            }
        }
        prop_assert!(runs.values().all(|(began, ended)| began == ended), "{runs:?} in {events:?}");
    }

    #[test]
    fn nothing_happens_in_a_session_that_is_refused(plan in refusing()) {
        let trace = play(&plan);
        let events = trace.events();
        prop_assert!(trace.is_refused(), "{events:?}");
        let did = |event: &&Event| !matches!(event, Event::SessionStart | Event::Refused | Event::Line(_));
        prop_assert_eq!(events.iter().filter(did).count(), 0, "{:?}", events);
        let lines: Vec<_> = trace.lines().iter().map(|line| line.what.kind()).collect();
        prop_assert_eq!(lines, ["session_began", "dispatched", "session_ended"]);
    }

    #[test]
    fn nothing_happens_after_the_end(plan in plan(leaving())) {
        let events = play(&plan).events();
        let depth_of_end = |event: &Event| match event {
            Event::RunEnd { depth, .. } => Some(*depth),
            _ => None,
        };
        // After the end of the top run there is no tool, no hook of a tool, and no end of a child.
        if let Some(end) = events.iter().position(|event| depth_of_end(event) == Some(0)) {
            let late = events[end + 1..].iter().filter(|event| {
                // A front end reads events when it likes.
                !matches!(event, Event::Line(_) | Event::Shown { .. } | Event::SessionEnd { .. })
            });
            prop_assert_eq!(late.count(), 0, "{:?}", &events[end..]);
        }
    }
}
