//! Laws 1 and 2 for what leaves a run: no answer leaves one unless every guard at `Output` accepted exactly this text, in the
//! report, in the stream and for a parent. And every answer says once how it ended.

use std::collections::HashMap;

use proptest::{collection::vec, prelude::*};
use vertebra::{RunStatus, What};

use super::{
    cases,
    plan::{Leave, Plan, interrupting, leaving, plan},
    resumed::survived,
    world::{Event, Trace, lets_out, play},
};

/// Everything that left a run as its answer: the run, how deep it is, and the text.
fn left(trace: &Trace) -> Vec<(String, u32, String)> {
    let mut depths: HashMap<String, u32> = HashMap::new();
    for line in trace.lines() {
        if let What::RunBegan { depth, .. } = line.what {
            depths.insert(line.run_id.to_string(), depth);
        }
    }
    let reported = trace.lines().into_iter().filter_map(|line| match line.what {
        What::RunEnded { report, .. } => Some((line.run_id.to_string(), report.text)),
        _ => None,
    });
    let shown = trace.events().into_iter().filter_map(|event| match event {
        Event::Shown { run, text } => Some((run, text)),
        _ => None,
    });
    let left = reported.chain(shown).filter(|(_, text)| !text.is_empty());
    left.map(|(run, text)| (run.clone(), depths.get(&run).copied().unwrap_or_default(), text)).collect()
}

fn check(trace: &Trace) -> Result<(), TestCaseError> {
    let events = trace.events();
    for (run, depth, text) in left(trace) {
        prop_assert!(lets_out(&text), "{text:?} left {run}, which the guard refuses: {events:#?}");
        // A child inherits its parent's guards, and the grandchild those of both.
        let guards = if depth == 0 { &["top"][..] } else { &["top", "child"][..] };
        for guard in guards {
            let accepted = |event: &Event| {
                matches!(event, Event::Judged { by, run: of, text: judged, passed: true }
                    if by == guard && *of == run && *judged == text)
            };
            prop_assert!(
                events.iter().any(accepted),
                "the {guard} guard never accepted {text:?} of {run}: {events:#?}"
            );
        }
    }
    Ok(())
}

/// Random agents whose arounds do the same in every process.
fn steady() -> impl Strategy<Value = Plan> {
    plan(Just(Leave::Never)).prop_map(Plan::steady)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn no_answer_leaves_a_run_that_a_guard_did_not_accept(plan in plan(leaving())) {
        check(&play(&plan))?;
    }

    #[test]
    fn no_answer_leaves_a_run_of_many_processes_that_a_guard_did_not_accept(
        plan in steady(),
        crashes in vec(interrupting(), 1..4),
    ) {
        check(&survived(&plan, &crashes).0)?;
    }

    #[test]
    fn output_is_decided_at_most_once_for_each_run_and_whoever_denied_it_is_in_the_report(plan in plan(leaving())) {
        let trace = play(&plan);
        let mut judged: HashMap<String, Vec<bool>> = HashMap::new();
        for event in trace.events() {
            if let Event::Judged { by: "top", run, passed, .. } = event {
                judged.entry(run).or_default().push(passed);
            }
        }
        prop_assert!(judged.values().all(|times| times.len() == 1), "{judged:?}");
        for line in trace.lines() {
            let What::RunEnded { report, .. } = &line.what else { continue };
            let denied = judged.get(&*line.run_id).is_some_and(|passed| passed == &[false]);
            if denied && !matches!(report.status, RunStatus::Failed | RunStatus::Cancelled) {
                prop_assert_eq!((&*report.text, report.status), ("", RunStatus::Stopped));
            }
        }
    }

    #[test]
    fn every_answer_says_once_that_it_is_whole(plan in plan(leaving())) {
        let mut ends: HashMap<String, usize> = HashMap::new();
        for event in play(&plan).events() {
            match event {
                Event::Piece { run, whole } => *ends.entry(run).or_default() += usize::from(whole),
                Event::Answer { run } => {
                    let ends = ends.insert(run.clone(), 0);
                    prop_assert_eq!(ends, Some(1), "an answer of {}", run);
                }
                _ => {}
            }
        }
    }
}
