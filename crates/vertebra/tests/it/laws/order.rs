//! The order of calls: one that changes something runs alone, in call order, and nobody waits for a question that comes
//! later.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use vertebra::{Entry, What};

use super::{
    cases,
    plan::{crashing, leaving, plan},
    world::play,
};

/// Calls whose tools are at work, by run: the key of the attempt and its tool.
type AtWork<'a> = HashMap<&'a str, BTreeMap<&'a str, &'a str>>;

fn changes(tool: &str) -> bool {
    matches!(tool, "act" | "fail")
}

/// What is wrong with the order of these lines, if anything is.
fn disorder(lines: &[Entry]) -> Option<String> {
    let mut tools: HashMap<&str, &str> = HashMap::new();
    let mut at_work = AtWork::new();
    for line in lines {
        let open = at_work.entry(&line.run_id).or_default();
        match &line.what {
            What::ToolIntended { key, tool, .. } => drop(tools.insert(key, tool)),
            What::ToolStarted { key, .. } => {
                let tool = tools.get(&**key).copied().unwrap_or_default();
                if open.values().any(|other| changes(tool) || changes(other)) {
                    return Some(format!("{tool} {key} began beside {open:?}"));
                }
                open.insert(key, tool);
            }
            What::ToolEnded { key, .. } => drop(open.remove(&**key)),
            What::Asked { approval, .. } if open.values().any(|other| changes(other)) => {
                return Some(format!("somebody was asked about {} beside {open:?}", approval.call.id));
            }
            // A process that is gone left its calls as they were.
            What::SessionResumed { .. } => at_work.clear(),
            _ => {}
        }
    }
    None
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn a_call_that_changes_something_runs_alone(plan in plan(prop_oneof![1 => crashing(), 2 => leaving()])) {
        let trace = play(&plan);
        prop_assert_eq!(disorder(&trace.lines()), None, "{}", trace.story());
    }
}

#[test]
fn the_law_of_order_notices_two_changes_at_the_same_time() {
    use vertebra::Args;
    let line = |what| Entry {
        session_id: "s".into(),
        run_id: "r".into(),
        within: None,
        timestamp: jiff::Timestamp::UNIX_EPOCH,
        what,
    };
    let begins = |key: &str, tool: &str| {
        let (call_id, key) = (key.into(), key.to_owned());
        let (args, digest) = (Args::default(), String::new());
        let intended = What::ToolIntended { call_id, key: key.clone(), tool: tool.into(), args, digest };
        [line(intended), line(What::ToolStarted { call_id: (&*key).into(), key })]
    };
    let both = |one, other| disorder(&[begins("1", one), begins("2", other)].concat());
    assert_eq!(both("look", "look"), None);
    assert!(both("look", "act").is_some() && both("act", "look").is_some() && both("act", "act").is_some());
}
