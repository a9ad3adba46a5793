//! Law 8: the end is always told, once.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{
    cases,
    plan::{leaving, plan},
    world::{Event, play},
};

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn every_run_and_every_session_that_begins_ends_once(plan in plan(leaving())) {
        let trace = play(&plan);
        let events = trace.events();
        let began = trace.count(|event| matches!(event, Event::SessionStart));
        let ended = trace.count(|event| matches!(event, Event::SessionEnd { .. }));
        prop_assert_eq!((began, ended), (1, 1), "{:?}", events);
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
    fn nothing_happens_after_the_end(plan in plan(leaving())) {
        let events = play(&plan).events();
        let depth_of_end = |event: &Event| match event {
            Event::RunEnd { depth, .. } => Some(*depth),
            _ => None,
        };
        // After the end of the top run there is no tool, no hook of a tool, and no end of a child.
        if let Some(end) = events.iter().position(|event| depth_of_end(event) == Some(0)) {
            let late = events[end + 1..].iter().filter(|event| {
                !matches!(event, Event::Line(_) | Event::SessionEnd { .. })
            });
            prop_assert_eq!(late.count(), 0, "{:?}", &events[end..]);
        }
    }
}
