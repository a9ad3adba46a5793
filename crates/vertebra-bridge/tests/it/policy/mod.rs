//! Policies of files in whole agents, with a scripted model.

mod laws;
mod loops;
mod reload;
mod schema;

use serde_json::Value;
use vertebra::{
    Agent, AgentBuilder, Args,
    testing::{RecordingTool, Script},
};
use vertebra_bridge::{
    handler::Services,
    policy::Policy,
    settings::{Level, Settings, merge, parse},
};

/// The settings of several levels, each with its text.
fn settings(levels: &[(Level, &str)]) -> Settings {
    let read = |(level, text): &(Level, &str)| {
        let place = format!("{level}.toml");
        // The tests have tools of their own.
        let text = format!("{text}\n[tools]\nknown = [\"work\"]\n");
        parse(&text, *level, &place).unwrap_or_else(|error| panic!("{error}\n{text}")).settings
    };
    let managed = levels.iter().find(|(level, _)| *level == Level::Managed).map(read).unwrap_or_default();
    let mut others: Vec<&(Level, &str)> = levels.iter().filter(|(level, _)| *level != Level::Managed).collect();
    others.sort_by_key(|(level, _)| *level);
    merge(managed, others.into_iter().map(read)).0
}

fn policy(levels: &[(Level, &str)]) -> Policy {
    let services = Services { folder: std::env::temp_dir(), ..Services::default() };
    Policy::new(&settings(levels), &services).unwrap_or_else(|error| panic!("{error}"))
}

/// An agent with the tool `work` under a policy.
fn agent(model: Script, tool: &RecordingTool, policy: &Policy) -> AgentBuilder {
    let mut builder = Agent::builder(model);
    builder.tool(tool.clone()).hooks(policy.hook_set());
    builder
}

/// What the calls that ran had under this name.
fn ran(tool: &RecordingTool, name: &str) -> Vec<Value> {
    tool.calls().iter().map(|args: &Args| args.get(name).cloned().unwrap_or_default()).collect()
}
