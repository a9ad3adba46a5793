//! What several tests need.

use vertebra::{AgentBuilder, Messages, RunReport, prelude::*, testing::Script};

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

/// The tool results that the model read last, oldest first: `blocked: no`.
pub(crate) fn read_by_model(model: &Script) -> Vec<String> {
    model.requests().last().map(|request| results_in(&request.messages)).unwrap_or_default()
}

/// The tool results of a conversation, oldest first.
pub(crate) fn results_in(messages: &Messages) -> Vec<String> {
    let result = |message: &Message| match message {
        Message::Tool { result, .. } => Some(format!("{}: {}", result.status, result.output)),
        Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
    };
    messages.iter().filter_map(result).collect()
}

/// What hooks told the model, in the request of this number.
pub(crate) fn instructions(model: &Script, request: usize) -> Vec<String> {
    let instruction = |message: &Message| match message {
        Message::Instruction { text, from } => Some(format!("{from}: {text}")),
        Message::User { .. } | Message::Tool { .. } | Message::Assistant { .. } => None,
    };
    model.requests().get(request).expect("a request").messages.iter().filter_map(instruction).collect()
}

/// Begins sessions in this state, after a trip through a file.
pub(crate) fn restored<'b>(builder: &'b mut AgentBuilder, state: &AgentState) -> &'b mut AgentBuilder {
    let kept = serde_json::to_string(state).expect("a state can be written");
    builder.on(SessionStart, async move |cx| {
        *cx.state_mut() = serde_json::from_str(&kept)?;
        proceed()
    })
}
