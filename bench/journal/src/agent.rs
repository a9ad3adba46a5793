//! The agent of these rows: one call a turn, ten hooks that look on, as in the row `turn`.

use std::{sync::Arc, time::Instant};

use vertebra::{
    Deltas, Journal, Limits, Message, Model, ModelError, ModelId, Request, Response, ToolCall, prelude::*,
    testing::RecordingTool,
};

/// Asks for a tool so often, then is done. Its answers depend on nothing but how far the conversation has come.
struct Turns(u64);

impl Model for Turns {
    fn id(&self) -> ModelId {
        ModelId::new("bench", "turns")
    }

    async fn infer(&self, request: &Request, _out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let answers = request.messages.len() as u64 / 2;
        let done = matches!(request.messages.last(), Some(Message::Tool { .. })) && answers >= self.0;
        if done {
            return Ok(Response::text("done"));
        }
        let call = ToolCall::new(format!("call-{answers}"), "noop", Args::default());
        Ok(Response { calls: vec![call], ..Response::default() })
    }
}

/// An agent that tells of each use of its tool.
pub(crate) fn agent(turns: u64, journal: impl Journal, told: impl Fn(Instant) + Send + Sync + 'static) -> Agent {
    let told = Arc::new(told);
    let tool = RecordingTool::new("noop").by(move |_| {
        told(Instant::now());
        Ok("done".into())
    });
    let mut builder = Agent::builder(Turns(turns));
    builder.tool(tool).journal(journal).limits(Limits::none());
    for _ in 0..5 {
        builder.on(BeforeToolUse, async |_cx| proceed()).on(AfterToolUse, async |_cx| proceed());
    }
    builder.build().expect("the agent of a benchmark fits together")
}
