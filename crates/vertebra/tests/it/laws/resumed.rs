//! The laws hold whichever process a run is in: whatever line of the journal was the last, and however often; and whether
//! its process died or it was suspended.

use std::collections::HashMap;

use proptest::{collection::vec, prelude::*};
use vertebra::{Entry, Message, ToolStatus, What};

use super::{
    cases,
    paired::unanswered,
    plan::{Leave, Plan, interrupting, plan, suspending},
    world::{Event, Trace, child_fence, live, replay, top_fence},
};

/// Lets a plan crash so often, then plays it to its end. Answers with where in its events the last process began.
pub(super) fn survived(plan: &Plan, crashes: &[Leave]) -> (Trace, usize) {
    let trace = Trace::default();
    for crash in crashes {
        live(plan, *crash, &trace);
    }
    let last = trace.events().len();
    live(plan, Leave::Never, &trace);
    (trace, last)
}

/// Random agents whose arounds do the same in every process.
fn steady() -> impl Strategy<Value = Plan> {
    plan(Just(Leave::Never)).prop_map(Plan::steady)
}

/// What tools did: how deep, and with what.
fn effects(trace: &Trace) -> Vec<(u32, u64)> {
    let ran = trace.events().into_iter().filter_map(|event| match event {
        Event::Ran { depth, n, .. } => Some((depth, n)),
        _ => None,
    });
    let mut ran: Vec<_> = ran.collect();
    ran.sort_unstable();
    ran
}

/// What the model was told of its calls, in the end.
fn told(trace: &Trace) -> Option<Vec<(ToolStatus, String)>> {
    let messages = trace.events().into_iter().rev().find_map(|event| match event {
        Event::SessionEnd { messages, .. } => Some(messages),
        _ => None,
    })?;
    let results = messages.iter().filter_map(|message| match message {
        Message::Tool { result, .. } => Some((result.status, result.output.clone())),
        _ => None,
    });
    Some(results.collect())
}

fn counted<'a>(lines: &'a [Entry], pick: impl Fn(&'a Entry) -> Option<&'a str>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::new();
    for name in lines.iter().filter_map(pick) {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn what_had_not_begun_passes_the_guards_of_the_process_that_does_it(
        plan in steady(),
        crashes in vec(interrupting(), 1..4),
    ) {
        let (trace, last) = survived(&plan, &crashes);
        let events = trace.events();
        for (at, event) in events.iter().enumerate().skip(last) {
            let Event::Ran { depth, n, digest, .. } = event else { continue };
            prop_assert!(top_fence(*n) && (*depth == 0 || child_fence(*n)), "{n} ran {depth} deep: {events:#?}");
            let fences = if *depth == 0 { &["top"][..] } else { &["top", "child"][..] };
            for fence in fences {
                let accepted = |event: &Event| matches!(event, Event::Accepted { by, digest: of } if by == fence && of == digest);
                prop_assert!(events[last..at].iter().any(accepted), "the {fence} fence never saw what ran: {events:#?}");
            }
        }
    }

    #[test]
    fn a_crash_gives_no_step_back(plan in steady(), crashes in vec(interrupting(), 1..4)) {
        let (trace, _) = survived(&plan, &crashes);
        let steps = trace.lines().iter().filter(|line| matches!(line.what, What::StepBegan { .. })).count();
        prop_assert!(steps as u64 <= plan.max_steps, "{steps} steps of {}: {}", plan.max_steps, trace.story());
    }

    #[test]
    fn what_a_model_was_paid_is_counted_once(plan in steady(), crashes in vec(interrupting(), 1..4)) {
        let (trace, _) = survived(&plan, &crashes);
        let paid = trace.lines().iter().map(|line| match &line.what {
            What::ModelAnswered { usage, .. } => usage.total_tokens(),
            _ => 0,
        }).sum::<u64>();
        let told = trace.events().into_iter().rev().find_map(|event| match event {
            Event::SessionEnd { tokens, .. } => Some(tokens),
            _ => None,
        });
        prop_assert_eq!(told, (!trace.is_refused()).then_some(paid), "{}", trace.story());
    }

    #[test]
    fn every_run_ends_once_and_every_call_has_its_result(
        plan in steady(),
        crashes in vec(interrupting(), 1..4),
    ) {
        let (trace, _) = survived(&plan, &crashes);
        let lines = trace.lines();
        let began = counted(&lines, |line| matches!(line.what, What::RunBegan { .. }).then_some(&*line.run_id));
        let ended = counted(&lines, |line| matches!(line.what, What::RunEnded { .. }).then_some(&*line.run_id));
        prop_assert_eq!(&began, &ended, "{}", trace.story());
        prop_assert!(began.values().all(|times| *times == 1), "{}", trace.story());
        let messages = trace.events().into_iter().rev().find_map(|event| match event {
            Event::SessionEnd { messages, .. } => Some(messages),
            _ => None,
        });
        prop_assert_eq!(messages.map(|messages| unanswered(&messages)), (!trace.is_refused()).then(Vec::new));
    }

    #[test]
    fn no_attempt_runs_twice_and_what_ran_has_an_end(
        plan in steady(),
        crashes in vec(interrupting(), 1..4),
    ) {
        let (trace, _) = survived(&plan, &crashes);
        let (lines, events) = (trace.lines(), trace.events());
        let mut ran: HashMap<&str, usize> = HashMap::new();
        for event in &events {
            if let Event::Ran { key, .. } = event {
                *ran.entry(key).or_default() += 1;
            }
        }
        let ended = counted(&lines, |line| match &line.what {
            What::ToolEnded { key, .. } => Some(&**key),
            _ => None,
        });
        for (key, times) in ran {
            prop_assert_eq!((times, ended.get(key)), (1, Some(&1)), "{}: {}", key, trace.story());
        }
        // What is not known is a matter of processes that died: it had begun in another than the one that says so.
        let mut begun: HashMap<&str, bool> = HashMap::new();
        for line in &lines {
            match &line.what {
                What::ToolStarted { key, .. } => drop(begun.insert(key, false)),
                What::SessionResumed { .. } => begun.values_mut().for_each(|elsewhere| *elsewhere = true),
                What::ToolEnded { key, result, .. } if result.status == ToolStatus::Unknown => {
                    prop_assert_eq!(begun.get(&**key), Some(&true), "{}: {}", key, trace.story());
                }
                _ => {}
            }
        }
    }

    #[test]
    fn suspended_however_often_a_run_ends_as_if_it_never_had_been(
        plan in steady(),
        suspensions in vec(suspending(), 1..4),
    ) {
        let plan = plan.in_any_order();
        let (undisturbed, _) = survived(&plan, &[]);
        let (trace, _) = survived(&plan, &suspensions);
        prop_assert_eq!(effects(&trace), effects(&undisturbed), "{}", trace.story());
        prop_assert_eq!(told(&trace), told(&undisturbed), "{}", trace.story());
    }

    #[test]
    fn a_session_of_many_processes_is_replayed_as_it_was(
        plan in steady(),
        crashes in vec(interrupting(), 1..4),
    ) {
        let plan = plan.in_any_time();
        let (trace, _) = survived(&plan, &crashes);
        prop_assert_eq!(replay(&plan, &trace), None, "{}", trace.story());
    }
}
