//! The laws, tried on random policies at all levels: hooks that deny, ask, allow, rewrite, skip and fail, in random roles
//! and orders, over parallel calls, streamed or not.

use proptest::prelude::*;
use serde_json::json;
use vertebra::testing::{FixedApprover, RecordingTool, Script};
use vertebra_bridge::settings::Level;

use super::{agent, policy};

/// How many policies are tried for each law, unless `PROPTEST_CASES` says otherwise.
fn cases(usual: u32) -> ProptestConfig {
    let asked_for = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked_for.unwrap_or(usual), failure_persistence: None, ..ProptestConfig::default() }
}

const LEVELS: [Level; 4] = [Level::Managed, Level::User, Level::Project, Level::Local];

/// A hook in a file, about calls whose `n` is this.
#[derive(Debug, Clone)]
struct Rule {
    level: Level,
    priority: i64,
    n: u64,
    says: Says,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    GuardDenies,
    HookDenies,
    Asks,
    Allows,
    /// Puts this in place of `n`.
    Sets(u64),
    /// A program that ends the hook phase.
    Skips,
    /// A program that answers with a change, and fails.
    Fails,
}

fn rule() -> impl Strategy<Value = Rule> {
    let says = prop_oneof![
        3 => Just(Says::GuardDenies),
        3 => Just(Says::HookDenies),
        2 => Just(Says::Asks),
        3 => Just(Says::Allows),
        2 => (0..4u64).prop_map(Says::Sets),
        1 => Just(Says::Skips),
        1 => Just(Says::Fails),
    ];
    (0..LEVELS.len(), -200..200i64, 0..4u64, says).prop_map(|(level, priority, n, says)| Rule {
        // Whoever manages a machine and rewrites calls means the rewritten form.
        level: if matches!(says, Says::Sets(_)) && level == 0 { Level::User } else { LEVELS[level] },
        priority,
        n,
        says,
    })
}

impl Rule {
    fn text(&self) -> String {
        let Self { priority, n, says, .. } = self;
        let answer = match says {
            Says::GuardDenies => "role = \"guard\"\ndeny = \"no\"".to_owned(),
            Says::HookDenies => "role = \"hook\"\ndeny = \"no\"".to_owned(),
            Says::Asks => "ask = \"sure?\"".to_owned(),
            Says::Allows => "allow = true".to_owned(),
            Says::Sets(other) => format!("set = {{ n = {other} }}"),
            Says::Skips => "run = { command = [\"printf\", '{\"verdict\": \"skip\"}'] }".to_owned(),
            Says::Fails => {
                "on_failure = \"open\"\nrun = { command = \"printf '%s' '{\\\"set\\\": {\\\"trace\\\": true}, \\\"context\\\": \\\"a trace\\\"}'; exit 7\" }"
                    .to_owned()
            }
        };
        format!(
            "[[hook]]\npoint = \"BeforeToolUse\"\npriority = {priority}\nmatch = {{ args = {{ \"/n\" = {n} }} }}\n{answer}\n"
        )
    }
}

/// A call that ran: what the model wanted, and what it was in the end.
#[derive(Debug)]
struct Ran {
    wanted: u64,
    n: u64,
    trace: bool,
}

fn play(rules: &[Rule], streams: bool) -> (Vec<Ran>, bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let texts = LEVELS.map(|level| {
            let of_level = rules.iter().filter(|rule| rule.level == level);
            (level, of_level.map(Rule::text).collect::<String>())
        });
        let levels: Vec<(Level, &str)> = texts.iter().map(|(level, text)| (*level, text.as_str())).collect();
        let tool = RecordingTool::new("work");
        let calls = [0, 1, 2, 3].map(|n| format!("{{\"n\": {n}, \"wanted\": {n}}}"));
        let model = Script::new().calls(calls.iter().map(|args| ("work", args.as_str()))).say("done").may_end_early();
        let mut builder = agent(model.clone(), &tool, &policy(&levels));
        let agent = builder.approver(FixedApprover::yes()).build().expect("an agent");
        if streams {
            agent.stream("go").finish().await.expect("a run");
        } else {
            agent.run("go").await.expect("a run");
        }
        let number = |args: &vertebra::Args, key: &str| args.get(key).and_then(serde_json::Value::as_u64).expect("n");
        let ran = tool.calls().into_iter().map(|args| Ran {
            wanted: number(&args, "wanted"),
            n: number(&args, "n"),
            trace: args.get("trace") == Some(&json!(true)),
        });
        let requests = model.requests();
        let messages = requests.iter().flat_map(|request| request.messages.iter());
        let traced = messages.into_iter().any(|message| message.text().contains("a trace"));
        (ran.collect(), traced)
    })
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn no_call_runs_in_a_form_that_a_guard_of_any_level_denies(
        rules in proptest::collection::vec(rule(), 1..10),
        streams: bool,
    ) {
        let (ran, _) = play(&rules, streams);
        for call in &ran {
            let denied = rules.iter().find(|rule| rule.says == Says::GuardDenies && rule.n == call.n);
            prop_assert!(denied.is_none(), "{call:?} ran against {denied:?}");
        }
    }

    #[test]
    fn nothing_another_level_says_keeps_a_managed_hook_from_denying(
        rules in proptest::collection::vec(rule(), 1..10),
        managed in 0..4u64,
        priority in -200..200i64,
        streams: bool,
    ) {
        let fence = Rule { level: Level::Managed, priority, n: managed, says: Says::HookDenies };
        // What the managed level itself ends is its own business.
        let others = rules.into_iter().filter(|rule| rule.level != Level::Managed || rule.says != Says::Skips);
        let rules: Vec<Rule> = others.chain([fence]).collect();
        let (ran, _) = play(&rules, streams);
        prop_assert!(ran.iter().all(|call| call.wanted != managed), "{ran:?} against {rules:#?}");
    }

    #[test]
    fn what_fails_leaves_no_trace(rules in proptest::collection::vec(rule(), 1..6), n in 0..4u64) {
        let fails = LEVELS.map(|level| Rule { level, priority: 0, n, says: Says::Fails });
        let rules: Vec<Rule> = rules.into_iter().chain(fails).collect();
        let (ran, traced) = play(&rules, false);
        prop_assert!(!traced && ran.iter().all(|call| !call.trace), "{ran:?}");
    }
}
