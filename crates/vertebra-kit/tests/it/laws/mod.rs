//! The laws, tried on agents with many capabilities at once: random subsets of all there are, random hooks that decide,
//! fail, panic and hang, and a model that answers at random whoever asks it: agents, their children, forked skills,
//! critics, summaries. Folders, processes and the MCP server are real.

mod law;
mod plan;
mod puppet;
mod world;

use proptest::prelude::*;

/// How many agents are tried, unless `PROPTEST_CASES` says otherwise.
fn cases(usual: u32) -> ProptestConfig {
    let asked_for = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked_for.unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn every_law_holds_whatever_is_installed(plan in plan::plan(Just(None))) {
        prop_assert_eq!(law::broken(&plan, &world::play(&plan)), Vec::<String>::new());
    }

    #[test]
    fn every_law_holds_for_runs_that_are_cancelled(plan in plan::plan((0..60usize).prop_map(Some))) {
        prop_assert_eq!(law::broken(&plan, &world::play(&plan)), Vec::<String>::new());
    }
}
