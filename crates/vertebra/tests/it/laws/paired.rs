//! Law 7: everything leaves a record. What began for its hooks ends for them, and every call has its result.

use std::collections::HashMap;

use proptest::prelude::*;
use vertebra::{Message, Messages, ToolStatus};

use super::{
    cases,
    plan::{leaving, plan},
    world::{Event, play},
};

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn every_call_that_begins_for_its_hooks_ends_for_them(plan in plan(leaving())) {
        let events = play(&plan).events();
        let mut calls: HashMap<&str, Vec<&Event>> = HashMap::new();
        for event in &events {
            if let Event::Before { call } | Event::After { call, .. } | Event::Ran { call, .. } = event {
                calls.entry(call).or_default().push(event);
            }
        }
        for (call, events) in calls {
            prop_assert!(matches!(events.first(), Some(Event::Before { .. })), "{call}: {events:?}");
            prop_assert!(matches!(events.last(), Some(Event::After { .. })), "{call}: {events:?}");
            for pair in events.windows(2) {
                match pair {
                    // A failure that is tried again has not ended yet.
                    [Event::After { .. } | Event::Ran { .. }, Event::Before { .. }] | [Event::Before { .. }, _] => {}
                    [Event::Ran { .. }, Event::After { status, .. }] => {
                        let not_run = matches!(status, ToolStatus::Blocked | ToolStatus::NotRun);
                        prop_assert!(!not_run, "{call} ran and is told as {status:?}: {events:?}");
                    }
                    pair => prop_assert!(false, "{call}: {pair:?} in {events:?}"),
                }
            }
        }
    }

    #[test]
    fn every_call_passes_its_stages_in_order(plan in plan(leaving())) {
        let story = play(&plan).story();
        prop_assert!(!story.contains("a tool call cannot go from"), "{story}");
    }

    #[test]
    fn every_call_in_a_conversation_has_its_result(plan in plan(leaving())) {
        for event in play(&plan).events() {
            if let Event::SessionEnd { messages, .. } = event {
                prop_assert_eq!(unanswered(&messages), Vec::<String>::new(), "{:?}", messages);
            }
        }
    }
}

/// The calls without a result, and the results without a call.
pub(super) fn unanswered(messages: &Messages) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut strays = Vec::new();
    for message in messages.iter() {
        match message {
            Message::Assistant { calls, .. } => open.extend(calls.iter().map(|call| call.id.to_string())),
            Message::Tool { call_id, .. } => match open.iter().position(|id| **id == **call_id) {
                Some(place) => drop(open.remove(place)),
                None => strays.push(format!("stray {call_id}")),
            },
            Message::User { .. } | Message::Instruction { .. } => {}
        }
    }
    open.extend(strays);
    open
}
