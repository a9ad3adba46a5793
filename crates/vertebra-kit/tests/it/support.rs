//! What several tests need.

use vertebra::{Agent, AgentBuilder, RunReport};

/// Builds the agent.
#[track_caller]
pub(crate) fn built(builder: &mut AgentBuilder) -> Agent {
    builder.build().expect("an agent")
}

/// Runs one prompt to its end, whatever the end.
pub(crate) async fn run(agent: &Agent, prompt: &str) -> RunReport {
    match agent.run(prompt).await {
        Ok(report) => report,
        Err(failed) => *failed.0,
    }
}
