//! The laws, tried on random agents: random hooks that decide, fail, panic and hang; random scripts with parallel calls and
//! children; people who edit; callers who leave at any moment.

mod budget;
mod effects;
mod ended;
mod final_form;
mod order;
mod output;
mod paired;
mod plan;
mod puppet;
mod recorded;
mod resumed;
mod world;

use proptest::prelude::*;

/// How many agents are tried for each law, unless `PROPTEST_CASES` says otherwise.
fn cases(usual: u32) -> ProptestConfig {
    let asked_for = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked_for.unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default() }
}
