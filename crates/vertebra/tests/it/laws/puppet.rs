//! A hook that does at any point what a plan says.

use std::{
    future::pending,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::{Value, json};
use vertebra::{Next, OpCx, Operation, ToolUse, prelude::*};

use super::plan::{Does, HookPlan, Place};
use crate::support::secs;

#[derive(Clone)]
pub(crate) struct Puppet {
    does: Does,
    every: u32,
    calls: Arc<AtomicU32>,
}

impl Puppet {
    fn now(&self) -> Does {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if call.is_multiple_of(self.every) { self.does } else { Does::Proceed }
    }

    /// The answer, as it would come over a wire; a point that cannot honour it does not read it.
    async fn answer<P: Point>(does: Does) -> Answer<P> {
        let verdict = match does {
            Does::Proceed | Does::Rewrite(_) => return proceed(),
            Does::Skip => return skip(),
            Does::Allow => json!({"verdict": "allow"}),
            Does::Ask => json!({"verdict": "ask", "reason": "puppet"}),
            Does::Deny => json!({"verdict": "deny", "reason": "puppet"}),
            Does::Replace => replacement::<P>(),
            Does::Retry => json!({"verdict": "retry", "after_ms": 1000}),
            Does::Stop => json!({"verdict": "stop", "reason": "puppet"}),
            Does::GoOn => json!({"verdict": "go_on", "instruction": "puppet"}),
            Does::Error => return Err(HookError::new("puppet")),
            Does::Panic => resume_unwind(Box::new("puppet")),
            Does::Hang => return pending().await,
            Does::Yield => {
                tokio::task::yield_now().await;
                return proceed();
            }
        };
        Ok(serde_json::from_value(verdict).unwrap_or_else(|_| P::Verdict::proceed()))
    }
}

fn replacement<P: Point>() -> Value {
    let result = json!({"status": "done", "success": true, "output": "puppet", "duration_ms": 0});
    match P::NAME {
        "BeforeToolUse" => json!({"verdict": "replace", "with": result}),
        "ToolUseFailed" => json!({"verdict": "recover", "with": result}),
        "BeforeInference" => json!({"verdict": "replace", "with": {"text": "puppet"}}),
        _ => json!({"verdict": "recover", "with": "puppet"}),
    }
}

impl<P: Point> Hook<P> for Puppet {
    async fn run(&self, cx: &mut Cx<'_, P>) -> Answer<P> {
        let does = self.now();
        if let Does::Rewrite(n) = does {
            let mut event = serde_json::to_value(&**cx)?;
            if let Some(args) = event.get_mut("args") {
                args["n"] = n.into();
                **cx = serde_json::from_value(event)?;
            } else if P::NAME == "Output" {
                event["text"] = format!("rewritten {n}").into();
                **cx = serde_json::from_value(event)?;
            }
        }
        Self::answer::<P>(does).await
    }
}

impl<P: Point> Guard<P> for Puppet {
    async fn check(&self, _: &Cx<'_, P>) -> Answer<P> {
        Self::answer::<P>(self.now()).await
    }
}

/// What a puppet does around an operation: not at all (as an error), twice, or with other arguments.
impl Puppet {
    async fn around<O: Operation>(
        &self,
        cx: &mut OpCx<'_, O>,
        next: Next<'_, O>,
        rewrite: fn(&mut OpCx<'_, O>, u8),
    ) -> Result<O::Output, HookError> {
        match self.now() {
            Does::Rewrite(n) => rewrite(cx, n),
            Does::Retry | Does::Ask => {
                next.run(cx).await?;
            }
            Does::Deny | Does::Error => return Err(HookError::new("puppet")),
            Does::Panic => resume_unwind(Box::new("puppet")),
            Does::Hang => return pending().await,
            Does::Yield => tokio::task::yield_now().await,
            Does::Stop => {
                let output = next.run(cx).await?;
                drop(output);
                return Err(HookError::new("puppet, afterwards"));
            }
            Does::Proceed | Does::Skip | Does::Allow | Does::Replace | Does::GoOn => {}
        }
        next.run(cx).await
    }
}

impl Around<ToolUse> for Puppet {
    async fn wrap(&self, cx: &mut OpCx<'_, ToolUse>, next: Next<'_, ToolUse>) -> Result<ToolResult, HookError> {
        self.around(cx, next, |cx, n| drop(cx.args_mut().set("n", n).remove("_"))).await
    }
}

macro_rules! plain_around {
    ($($operation:ident)*) => {$(
        impl Around<vertebra::$operation> for Puppet {
            async fn wrap(
                &self,
                cx: &mut OpCx<'_, vertebra::$operation>,
                next: Next<'_, vertebra::$operation>,
            ) -> Result<<vertebra::$operation as Operation>::Output, HookError> {
                self.around(cx, next, |_, _| {}).await
            }
        }
    )*};
}
plain_around!(Inference Step);

/// Attaches a hook as planned. Each has a second to answer; arounds have more, and unless the plan is `timed`, so much more
/// that only those that hang themselves run out of it.
pub(crate) fn attach(builder: &mut vertebra::AgentBuilder, plan: &HookPlan, timed: bool) {
    let puppet = Puppet { does: plan.does, every: plan.every, calls: Arc::default() };
    // What is inside may well take longer than a second.
    let around_limit = match plan.does {
        _ if timed => 50,
        Does::Hang => 10_000,
        _ => 1_000_000,
    };
    macro_rules! at {
        (around $operation:expr) => {
            builder.add_around($operation.priority(plan.priority).timeout(secs(around_limit)), puppet)
        };
        (@site $point:expr) => { $point.priority(plan.priority).timeout(secs(1)) };
        (decides $point:expr) => {
            if plan.guard { builder.add_guard(at!(@site $point), puppet) } else { at!($point) }
        };
        ($point:expr) => {
            if plan.fail_open {
                builder.add_hook(at!(@site $point).fail_open(), puppet)
            } else {
                builder.add_hook(at!(@site $point), puppet)
            }
        };
    }
    match plan.place {
        Place::SessionStart => at!(decides SessionStart),
        Place::PromptSubmit => at!(decides PromptSubmit),
        Place::BeforeStep => at!(decides BeforeStep),
        Place::BeforeInference => at!(decides BeforeInference),
        Place::AfterInference => at!(decides AfterInference),
        Place::BeforeToolUse => at!(decides BeforeToolUse),
        Place::PermissionRequest => at!(decides PermissionRequest),
        Place::AfterToolUse => at!(decides AfterToolUse),
        Place::ToolUseFailed => at!(decides ToolUseFailed),
        Place::AfterStep => at!(decides AfterStep),
        Place::ShouldContinue => at!(decides ShouldContinue),
        Place::Output => at!(decides Output),
        Place::OnError => at!(decides OnError),
        Place::SubagentStart => at!(decides SubagentStart),
        Place::ExecutionEnd => at!(ExecutionEnd),
        Place::AroundTool => at!(around ToolUse),
        Place::AroundModel => at!(around vertebra::Inference),
        Place::AroundStep => at!(around vertebra::Step),
    };
}
