//! The laws, tried on agents with many capabilities at once: random subsets of all there are, random hooks that decide,
//! fail, panic and hang, and a model that answers at random whoever asks it: agents, their children, forked skills,
//! critics, summaries. Folders, processes and the MCP server are real.

mod law;
mod plan;
mod puppet;
mod world;

use std::collections::{BTreeSet, HashMap};

use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use vertebra::What;

/// How many agents are tried, unless `PROPTEST_CASES` says otherwise.
fn cases(usual: u32) -> ProptestConfig {
    let asked_for = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked_for.unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn every_law_holds_whatever_is_installed(plan in plan::plan(Just(None))) {
        prop_assert_eq!(law::broken(&plan, &world::play(&plan)), Vec::<String>::new());
    }

    #[test]
    fn every_law_holds_for_runs_that_are_cancelled(plan in plan::plan((0..60usize).prop_map(Some))) {
        prop_assert_eq!(law::broken(&plan, &world::play(&plan)), Vec::<String>::new());
    }
}

/// Laws about what never happens would hold as well.
#[test]
fn the_agents_that_are_tried_do_what_the_laws_are_about() {
    let (mut runner, mut seen) = (TestRunner::deterministic(), BTreeSet::new());
    for _ in 0..90 {
        let plan = plan::plan(Just(None)).new_tree(&mut runner).expect("a plan").current();
        let mut tools = HashMap::new();
        for event in world::play(&plan).events {
            let entry = match event {
                world::Event::Line(entry) => entry,
                world::Event::Compacted => {
                    seen.insert("a summary".to_owned());
                    continue;
                }
                _ => continue,
            };
            match entry.what {
                What::RunBegan { depth, .. } => drop(seen.insert(format!("a run at depth {depth}"))),
                What::ToolIntended { key, tool, .. } => drop(tools.insert(key, tool)),
                What::ToolEnded { key, result, .. } => drop(seen.insert(format!("{} {}", tools[&key], result.status))),
                What::ToolLeftOut { result, .. } => drop(seen.insert(result.status.to_string())),
                _ => {}
            }
        }
    }
    let usual = ["bash", "write_file", "read_file", "load_skill", "spawn_subagent", "tools"];
    #[cfg(feature = "mcp")]
    assert!(seen.contains("mcp__s__note done"), "{seen:?}");
    for what in
        usual.map(|tool| format!("{tool} done")).into_iter().chain(["a run at depth 1", "a summary"].map(str::to_owned))
    {
        assert!(seen.contains(&what), "no {what}, only {seen:?}");
    }
}
