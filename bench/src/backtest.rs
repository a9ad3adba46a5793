//! One event of the past, judged by a policy of a hundred hooks: what a backtest takes for each.

use bench_harness::Suite;
use serde_json::json;
use tokio::runtime::Builder;
use vertebra::{AgentState, BeforeToolUse, testing::call};
use vertebra_bridge::{
    handler::Services,
    policy::{Policy, Trial},
    settings::{Level, parse},
    wire::Happened,
};

/// How many hooks the policy has.
const HOOKS: usize = 100;

pub(crate) fn cases(suite: Suite) -> Suite {
    suite.plain_case("backtest_journal", typed).plain_case("backtest_wire", on_the_wire)
}

/// A hundred hooks at one point: patterns over tools, commands and paths, two of which match, and a rule.
fn policy() -> Policy {
    let hook = |number: usize| {
        let matcher = match number % 4 {
            0 => format!("{{ tool = \"bash\", command = 'forbidden-{number}\\b' }}"),
            1 => format!("{{ tool = \"tool_{number}\" }}"),
            2 => format!("{{ path = \"secret-{number}/**\" }}"),
            _ => format!("{{ command = '^deploy-{number}\\s' }}"),
        };
        let matcher = if number < 2 { "{ tool = \"bash\" }".to_owned() } else { matcher };
        let does = if number < 2 { "add_context = \"be quick\"" } else { "deny = \"no\"" };
        format!("[[hook]]\nname = \"hook-{number}\"\npoint = \"BeforeToolUse\"\nmatch = {matcher}\n{does}\n")
    };
    let tools: Vec<String> = (0..HOOKS).map(|number| format!("tool_{number}")).collect();
    let rest = format!("[tools]\nknown = {tools:?}\n[permissions]\ndeny = [\"Bash(shutdown *)\"]\n");
    let text = (0..HOOKS).map(hook).collect::<String>() + &rest;
    let settings = parse(&text, Level::User, "bench.toml").expect("a policy").settings;
    Policy::new(&settings, &Services::default()).expect("hooks that can stand together")
}

/// As it comes from a journal.
fn typed() -> impl FnMut() -> Trial {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (policy, event) = (policy(), call("bash", json!({ "command": "cd sub && git push origin main" })));
    move || {
        let run = (*event.at.run).clone();
        runtime.block_on(policy.fire_at(BeforeToolUse, run, event.clone(), AgentState::default()))
    }
}

/// As it comes from a log or a transcript.
fn on_the_wire() -> impl FnMut() -> Trial {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let args = json!({ "command": "cd sub && git push origin main" });
    let event = json!({ "point": "BeforeToolUse", "tool": "bash", "args": args });
    let (policy, happened) = (policy(), Happened::read(&event).expect("an event"));
    move || runtime.block_on(policy.fire(&happened))
}
