//! Law 10: effects once. Whatever line of the journal is the last, it says what happened and what may have happened.

use std::collections::HashMap;

use proptest::prelude::*;
use vertebra::What;

use super::{
    cases,
    plan::{crashing, leaving, plan},
    world::{Event, play},
};

/// What the journal and the world know of one attempt.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Attempt {
    intended: u32,
    ran: u32,
    ended: u32,
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn every_effect_was_intended_first_and_no_key_runs_twice(plan in plan(prop_oneof![3 => crashing(), 1 => leaving()])) {
        let events = play(&plan).events();
        let mut attempts: HashMap<String, Attempt> = HashMap::new();
        for event in &events {
            let (key, before, after) = match event {
                Event::Line(What::ToolIntended { key, .. }) => {
                    let attempt = attempts.entry(key.clone()).or_default();
                    let before = *attempt;
                    attempt.intended += 1;
                    (key, before, Attempt::default())
                }
                Event::Ran { key, .. } => {
                    let attempt = attempts.entry(key.clone()).or_default();
                    let before = *attempt;
                    attempt.ran += 1;
                    (key, before, Attempt { intended: 1, ran: 0, ended: 0 })
                }
                Event::Line(What::ToolEnded { key, .. }) => {
                    let attempt = attempts.entry(key.clone()).or_default();
                    let mut before = *attempt;
                    attempt.ended += 1;
                    // A child is an effect that the recording tool does not see; so is one cancelled before it began.
                    before.ran = 0;
                    (key, before, Attempt { intended: 1, ran: 0, ended: 0 })
                }
                _ => continue,
            };
            prop_assert_eq!(before, after, "{}: {:?}", key, events);
        }
        // What ran and has no end is visible as such: its intent is there, alone.
        let unknown = attempts.values().filter(|attempt| attempt.ran == 1 && attempt.ended == 0);
        prop_assert!(unknown.clone().all(|attempt| attempt.intended == 1));
    }
}
