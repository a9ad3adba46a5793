//! A hook that does at any point what a plan says, and a model that answers from a tape.

use std::{
    collections::VecDeque,
    future::pending,
    panic::resume_unwind,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use vertebra::{
    Deltas, Messages, ModelError, ModelId, Next, OpCx, Request, Response, ToolCall, ToolUse, Usage, prelude::*,
};

use super::plan::{Does, HookPlan, Place, Turn};

const VALUE: &str = r#"{"from": "hijack", "approved": true, "summary": "good"}"#;

/// What panics say that are meant.
pub(crate) const ON_PURPOSE: &str = "puppet";

#[derive(Clone)]
struct Puppet {
    does: Does,
    every: u32,
    calls: Arc<AtomicU32>,
}

impl Puppet {
    fn now(&self) -> Option<Does> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        call.is_multiple_of(self.every).then_some(self.does)
    }

    /// The answer, as it would come over a wire; a point that cannot honour it does not read it.
    async fn answer<P: Point>(does: Option<Does>) -> Answer<P> {
        let verdict = match does {
            None | Some(Does::Rewrite) => return proceed(),
            Some(Does::Skip) => return skip(),
            Some(Does::Allow) => json!({"verdict": "allow"}),
            Some(Does::Ask) => json!({"verdict": "ask", "reason": "puppet"}),
            Some(Does::Deny) => json!({"verdict": "deny", "reason": "puppet"}),
            Some(Does::Replace) => replacement::<P>(),
            Some(Does::Retry) => json!({"verdict": "retry", "after_ms": 100}),
            Some(Does::Stop) => json!({"verdict": "stop", "reason": "puppet"}),
            Some(Does::GoOn) => json!({"verdict": "go_on", "instruction": "puppet"}),
            Some(Does::Error) => return Err(HookError::new("puppet")),
            Some(Does::Panic) => resume_unwind(Box::new(ON_PURPOSE)),
            Some(Does::Hang) => return pending().await,
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

/// Whatever the call is about, it is about a canary now.
fn aimed(args: &mut Value) {
    for (name, value) in [("command", "touch canary"), ("path", "canary"), ("text", "canary")] {
        if args.get(name).is_some() {
            args[name] = value.into();
        }
    }
}

impl<P: Point> Hook<P> for Puppet {
    async fn run(&self, cx: &mut Cx<'_, P>) -> Answer<P> {
        let does = self.now();
        if does == Some(Does::Rewrite) {
            let mut event = serde_json::to_value(&**cx)?;
            if let Some(args) = event.get_mut("args") {
                aimed(args);
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

/// Around a tool: not at all (as an error), twice, or with other arguments.
impl Around<ToolUse> for Puppet {
    async fn wrap(&self, cx: &mut OpCx<'_, ToolUse>, next: Next<'_, ToolUse>) -> Result<ToolResult, HookError> {
        match self.now() {
            Some(Does::Rewrite) => {
                let mut args = cx.args_mut().to_value();
                aimed(&mut args);
                *cx.args_mut() = Args::try_from(args).unwrap_or_default();
            }
            Some(Does::Retry | Does::Ask) => drop(next.run(cx).await?),
            Some(Does::Deny | Does::Error) => return Err(HookError::new("puppet")),
            Some(Does::Panic) => resume_unwind(Box::new(ON_PURPOSE)),
            Some(Does::Hang) => return pending().await,
            None | Some(Does::Stop | Does::Skip | Does::Allow | Does::Replace | Does::GoOn) => {}
        }
        next.run(cx).await
    }
}

/// Attaches a hook as planned.
pub(crate) fn attach(to: &mut impl Attach, plan: &HookPlan, number: usize) {
    let puppet = Puppet { does: plan.does, every: plan.every, calls: Arc::default() };
    let name = format!("puppet-{number}");
    macro_rules! at {
        ($point:expr) => {{
            let site = $point.named(name).priority(plan.priority).timeout(Duration::from_millis(20));
            match (plan.guard, plan.fail_open) {
                (true, _) => to.add_guard(site, puppet),
                (false, true) => to.add_hook(site.fail_open(), puppet),
                (false, false) => to.add_hook(site, puppet),
            }
        }};
    }
    match plan.place {
        Place::PromptSubmit => at!(PromptSubmit),
        Place::BeforeStep => at!(BeforeStep),
        Place::BeforeInference => at!(BeforeInference),
        Place::AfterInference => at!(AfterInference),
        Place::BeforeToolUse => at!(BeforeToolUse),
        Place::PermissionRequest => at!(PermissionRequest),
        Place::AfterToolUse => at!(AfterToolUse),
        Place::ToolUseFailed => at!(ToolUseFailed),
        Place::ShouldContinue => at!(ShouldContinue),
        Place::OnError => at!(OnError),
        Place::SubagentStart => at!(SubagentStart),
        // What is inside an around takes longer. The time is real: whoever times out, the laws hold.
        Place::AroundTool => {
            let site = ToolUse.named(name).priority(plan.priority).timeout(Duration::from_millis(300));
            to.add_around(site, puppet)
        }
    };
}

/// A model that answers whoever asks with what comes next on its tape, and is done when there is no more.
#[derive(Clone)]
pub(crate) struct Tape(Arc<Mutex<Played>>);

struct Played {
    left: VecDeque<Turn>,
    requests: Vec<Request>,
    tokens: u64,
}

impl Tape {
    pub(crate) fn new(turns: &[Turn]) -> Self {
        Self(Arc::new(Mutex::new(Played { left: turns.iter().cloned().collect(), requests: Vec::new(), tokens: 0 })))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Played) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything it was asked.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.with(|played| played.requests.clone())
    }

    /// What all of its answers took.
    pub(crate) fn tokens(&self) -> u64 {
        self.with(|played| played.tokens)
    }

    fn next(&self, request: &Request) -> Result<Response, ModelError> {
        self.with(|played| {
            let number = played.requests.len();
            played.requests.push(request.clone());
            // Who offers no tools wants a value: a bill, or a review.
            let value = request.tools.is_empty() && matches!(played.left.front(), Some(Turn::Calls(_)));
            let next = if value { Some(Turn::Say(VALUE)) } else { played.left.pop_front() };
            let mut response = match next {
                Some(Turn::Fail) => return Err(ModelError::Network { message: "no route".to_owned() }),
                None => Response::text("done"),
                Some(Turn::Say(text)) => Response::text(text),
                Some(Turn::Calls(calls)) => {
                    let call = |(place, (tool, args)): (usize, &(&str, &str))| {
                        ToolCall::from_text(format!("call-{number}-{place}"), *tool, args)
                    };
                    Response { calls: calls.iter().enumerate().map(call).collect(), ..Response::default() }
                }
            };
            // Never more than was set aside for it.
            let written = request.max_output_tokens.map_or(200, |most| most.min(200));
            response.usage = Usage::tokens(request.messages.estimated_tokens(), written);
            played.tokens += response.usage.total_tokens();
            Ok(response)
        })
    }
}

impl Model for Tape {
    fn id(&self) -> ModelId {
        ModelId::new("tape", "tape-1")
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        tokio::task::yield_now().await;
        let response = self.next(request)?;
        // What is halted ends the stream; the answer is the same.
        let _halted = out.text(&response.text).await;
        Ok(response)
    }
}

/// The calls without a result right behind them, and the results without a call.
pub(crate) fn unpaired(messages: &Messages) -> Vec<String> {
    let (mut open, mut wrong): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for message in messages.iter() {
        match message {
            Message::Assistant { calls, .. } => {
                wrong.append(&mut open);
                open.extend(calls.iter().map(|call| call.id.to_string()));
            }
            Message::Tool { call_id, .. } => match open.iter().position(|id| **id == **call_id) {
                Some(place) => drop(open.remove(place)),
                None => wrong.push(format!("stray {call_id}")),
            },
            Message::User { .. } | Message::Instruction { .. } => {}
        }
    }
    wrong.append(&mut open);
    wrong
}
