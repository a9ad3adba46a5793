//! The tool phase: for each call hooks, permission, the tool, hooks.

use std::{
    ops::ControlFlow,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;
use vertebra_hooks::{Point, Retries};

use crate::{
    AfterToolUse, AgentState, Args, BeforeToolUse, FailureVerdict, Invocation, RepeatVerdict, Run, ToolCall,
    ToolResult, ToolStatus, ToolUse, ToolUseFailed,
    clock::millis,
    points::events::{ToolAsked, ToolFailed, ToolUsed},
    run::admission::admit,
    run::handle::{Interrupted, Leave, LoopState, locked},
    run::stage::{Company, Ended, Next, Open, Order, Turn, Work},
    session::again::begin,
    timeline::What,
    timeline::feed::News,
    tool::ErasedTool,
};

/// What the calls of one step share.
struct Floor<'c> {
    desk: Arc<Mutex<LoopState>>,
    order: Order,
    calls: &'c [ToolCall],
    /// Nothing more may begin.
    closing: AtomicBool,
    interrupted: Mutex<Option<Interrupted>>,
}

/// Uses the tools a model asked for. Results come in call order.
pub(crate) async fn use_tools(
    run: &Run,
    desk: &mut LoopState,
    calls: Vec<ToolCall>,
) -> (Vec<(ToolCall, ToolResult)>, Result<(), Interrupted>) {
    let floor = Floor {
        // A copy: if the step is dropped half way, the conversation is still there.
        desk: Arc::new(Mutex::new(desk.clone())),
        order: Order::new(match &*calls {
            // It has no neighbours, so there is nothing to find out: it runs alone.
            [_] => Vec::new(),
            calls => {
                calls.iter().map(|call| company(run, &run.core().tools.canonical(&call.tool), &call.args)).collect()
            }
        }),
        calls: &calls,
        closing: AtomicBool::new(false),
        interrupted: Mutex::default(),
    };
    let results = match &*calls {
        [call] => vec![use_tool(run, &floor, 0, call).await],
        // Each in a box, because taking a result out moves everything that is kept for it.
        calls => {
            join_all(calls.iter().enumerate().map(|(index, call)| Box::pin(use_tool(run, &floor, index, call)))).await
        }
    };
    desk.clone_from(&*locked(&floor.desk).await);
    let interrupted = floor.interrupted.into_inner().map_or(Ok(()), Err);
    (calls.into_iter().zip(results).collect(), interrupted)
}

/// How a call runs that has come so far: one that changes nothing has nothing to wait for, and neither has one that runs no
/// tool. What other agents do for one that only delegates is in order for each of them.
fn company(run: &Run, tool: &str, args: &Args) -> Company {
    let tools = &run.core().tools;
    match (tools.get(tool), tools.spec(tool)) {
        (Some(tool), Some(spec)) if !(spec.read_only || spec.delegates || only_reads(&**tool, args)) => Company::Alone,
        _ => Company::Together,
    }
}

/// A tool that panics does not know.
fn only_reads(tool: &dyn ErasedTool, args: &Args) -> bool {
    std::panic::catch_unwind(AssertUnwindSafe(|| tool.only_reads(args))).unwrap_or(false)
}

/// One call, inside the arounds of [`ToolUse`].
async fn use_tool(run: &Run, floor: &Floor<'_>, index: usize, call: &ToolCall) -> ToolResult {
    floor.order.before_tool(index).await;
    let before = locked(&floor.desk).await.state.clone();
    let tool = run.core().tools.canonical(&call.tool);
    let event = ToolAsked {
        at: run.at(BeforeToolUse::NAME),
        call: ToolCall {
            aliases: run.core().tools.aliases(&tool),
            folder: run.core().tools.folder(&tool, &before),
            tool,
            ..call.clone()
        },
        time_limit: None,
        recent_tools: before.recent_tools().clone(),
    };
    let turn = Turn::request(run.control(), &floor.order, index, event.at.number);
    let (attempts, original) = (AtomicU32::new(0), event.clone());
    let core = |mut event: ToolAsked| {
        // An around may change the arguments; which call it is, is not its to say.
        event.become_again(&original);
        hooked(run, floor, turn, &attempts, event)
    };
    let mut result = match run.hooks().wrap(ToolUse, event, &before, run, core).await {
        Ok(result) => result,
        Err(error) => ToolResult::ended(ToolStatus::Failed, error.to_string()),
    };
    if turn.is_unseen() {
        never_passed(run, floor, call, &result).await;
    }
    if !run.control().is_suspended() {
        turn.let_go().await;
    }
    if let Some(open) = turn.forget()
        && !run.control().is_suspended()
    {
        turn.cut_short().await;
        result = close(run, &mut *locked(&floor.desk).await, open, ToolResult::left(), result).await;
    }
    turn.done().await;
    result.capped(run.core().max_result_bytes)
}

/// An around answered in place of the call. It stands outside the hooks, so none of them fires; but it leaves a record.
async fn never_passed(run: &Run, floor: &Floor<'_>, call: &ToolCall, result: &ToolResult) {
    locked(&floor.desk).await.state.used_tool(&call.tool);
    run.run_budget().count_call();
    run.tell(|| News::ToolEnded { call: call.clone(), result: result.clone() });
    let written = run.write(What::ToolLeftOut { call_id: call.id.clone(), result: result.clone() }).await;
    if let Err(error) = written {
        floor.interrupt(error.into()).await;
    }
}

/// Lets calls end for their hooks that were dropped together with their step.
pub(crate) async fn close_open(run: &Run, desk: &mut LoopState, why: &str) {
    // They go on when the run does.
    if run.control().is_suspended() {
        return;
    }
    for open in run.control().forget_all() {
        if let Some(work) = &open.work {
            work.let_go().await;
        }
        let cut = ToolResult::ended(ToolStatus::Cancelled, why);
        close(run, desk, open, cut.clone(), cut).await;
    }
}

/// The second of a pair, for a call that was cut short between its hooks; `ended` is what came of its tool, if that was at
/// work.
async fn close(run: &Run, desk: &mut LoopState, open: Open, ended: ToolResult, result: ToolResult) -> ToolResult {
    let Open { asked, work } = open;
    if let Some(Work { key, .. }) = work {
        let call_id = asked.id.clone();
        // Whatever goes wrong here has gone wrong before, and ends the run already.
        let _ = run.write(What::ToolEnded { call_id, key: key.to_string(), result: ended }).await;
    }
    let mut used = ToolUsed { asked: asked.later(run.at(AfterToolUse::NAME)), result, blocked_by: None };
    // Whatever goes wrong here has gone wrong before, and ends the run already.
    if let Ok(outcome) = run.dispatch(AfterToolUse, &mut used, &mut desk.state, Retries::Exhausted, Leave::Never).await
    {
        desk.take_stops(&outcome);
    }
    run.tell(|| News::ToolEnded { call: asked.call.clone(), result: used.result.clone() });
    used.result
}

/// One call between its hooks, as often as they say.
async fn hooked(run: &Run, floor: &Floor<'_>, turn: Turn<'_>, attempts: &AtomicU32, original: ToolAsked) -> ToolResult {
    match try_hooked(run, floor, turn, attempts, Arc::new(original)).await {
        Ok(result) => result,
        Err(interrupt) => {
            let result = ToolResult::ended(ToolStatus::Cancelled, interrupt.to_string());
            floor.interrupt(interrupt).await;
            result
        }
    }
}

async fn try_hooked(
    run: &Run,
    floor: &Floor<'_>,
    turn: Turn<'_>,
    attempts: &AtomicU32,
    mut original: Arc<ToolAsked>,
) -> Result<ToolResult, Interrupted> {
    loop {
        let attempt = attempts.fetch_add(1, Ordering::Relaxed) + 1;
        if attempt > 1 {
            Arc::make_mut(&mut original).at = run.at(BeforeToolUse::NAME);
        }
        let mut asked = ToolAsked::clone(&original);
        turn.comes().await;
        let (admission, known) = {
            // First the state, which a call that already runs may hold for long: the run may be cancelled meanwhile.
            let desk = locked(&floor.desk).await;
            if run.is_cancelled() || floor.closing.load(Ordering::Acquire) && !run.control().still_asks() {
                return Ok(ToolResult::ended(ToolStatus::NotRun, "not run: the run is ending"));
            }
            if !run.control().still_asks() {
                run.control().may_begin()?;
            }
            turn.decide(original.clone())?;
            let stops = desk.pending.stops().len();
            let earlier = match floor.calls.get(turn.earlier()) {
                None | Some([]) => Arc::default(),
                Some(calls) => calls.into(),
            };
            let (admission, mut desk) = admit(run, desk, (&original, &mut asked), run.retries(attempt), &earlier).await;
            if attempt == 1 {
                desk.state.used_tool(&asked.call.tool);
                run.run_budget().count_call();
            }
            floor.close_if(admission.is_err() || desk.pending.stops().len() > stops);
            (admission, desk.state.clone())
        };
        let asked = Arc::new(asked);
        turn.decide(asked.clone())?;
        if let Ok(Next::Retry(wait)) = admission {
            // Later calls wait for this one's turn to end.
            run.pause(wait).await?;
            continue;
        }
        let runs = matches!(admission, Ok(Next::Proceed { .. }));
        let now = match floor.calls {
            [_] => Company::Alone,
            _ if runs => company(run, &asked.call.tool, &asked.call.args),
            _ => Company::Together,
        };
        turn.decided(now).await;
        // While a part of the run waits, the other calls of the answer are asked about, and none begins.
        if admission.is_ok() && run.control().is_suspended() {
            return Err(run.control().interrupted());
        }
        let ended = match admission? {
            Next::Retry(_) => continue,
            Next::Proceed { approved } => {
                let result = use_once(run, floor, turn, &asked, known, approved).await?;
                Ended { result, blocked_by: None, reached: true }
            }
            Next::End(ended) => ended,
        };
        turn.end()?;
        turn.may_close().await;
        let mut desk = locked(&floor.desk).await;
        let stops = desk.pending.stops().len();
        let (next, result) = conclude(run, &mut desk, turn, attempt, &asked, ended).await?;
        floor.close_if(desk.pending.stops().len() > stops);
        drop(desk);
        match next {
            // A run that is ending starts nothing again: the result stands.
            Some(after) if !floor.closing.load(Ordering::Acquire) => run.pause(after).await?,
            Some(_) | None => return Ok(result),
        }
    }
}

impl Floor<'_> {
    fn close_if(&self, ending: bool) {
        self.closing.fetch_or(ending, Ordering::AcqRel);
    }

    /// Nothing more begins, and the first of several reasons is kept.
    async fn interrupt(&self, interrupted: Interrupted) {
        self.close_if(true);
        self.interrupted.lock().await.get_or_insert(interrupted);
    }
}

/// The hooks after a call. Every call that passed the hooks before it comes here, whatever became of it. Returns the wait
/// before another attempt, if a hook wants one, and the result.
async fn conclude(
    run: &Run,
    desk: &mut LoopState,
    turn: Turn<'_>,
    attempt: u32,
    asked: &ToolAsked,
    ended: Ended,
) -> Result<(Option<Duration>, ToolResult), Interrupted> {
    let Ended { mut result, blocked_by, reached } = ended;
    let retries = run.retries(attempt);
    // The second of a pair is told even to a run that is being cancelled.
    let leave = Leave::Never;
    if result.status == ToolStatus::Failed {
        let mut failed = ToolFailed {
            asked: asked.later(run.at(ToolUseFailed::NAME)),
            error: result.output.clone(),
            reached,
            attempts: attempt,
            duration_ms: result.duration_ms,
        };
        let outcome = run.dispatch(ToolUseFailed, &mut failed, &mut desk.state, retries, leave).await?;
        desk.take_stops(&outcome);
        match outcome.verdict() {
            FailureVerdict::Recover { with } => result = with.took(result.duration_ms),
            FailureVerdict::Retry { after_ms } => {
                return Ok((Some(Duration::from_millis(after_ms)), result));
            }
            FailureVerdict::Proceed | FailureVerdict::Skip | FailureVerdict::Stop { .. } => {
                result.output = failed.error;
            }
        }
    }
    turn.close()?;
    let mut used = ToolUsed { asked: asked.later(run.at(AfterToolUse::NAME)), result, blocked_by };
    let outcome = run.dispatch(AfterToolUse, &mut used, &mut desk.state, retries, leave).await?;
    desk.take_stops(&outcome);
    if let RepeatVerdict::Retry { after_ms } = outcome.verdict() {
        return Ok((Some(Duration::from_millis(after_ms)), used.result));
    }
    run.tell(|| News::ToolEnded { call: asked.call.clone(), result: used.result.clone() });
    Ok((None, used.result))
}

/// The tool itself: recorded before and after, cancellable, behind a panic barrier.
///
/// `known` is what the agent knew when the call was let through. The tool works on that: what later calls wait for, a person
/// for example, does not hold it up.
async fn use_once(
    run: &Run,
    floor: &Floor<'_>,
    turn: Turn<'_>,
    asked: &ToolAsked,
    known: AgentState,
    approved: Option<Arc<str>>,
) -> Result<ToolResult, Interrupted> {
    let ToolAsked { call: ToolCall { id: call_id, tool, args, .. }, time_limit, .. } = asked;
    let tools = &run.core().tools;
    let (Some(found), Some(spec)) = (tools.get(tool), tools.spec(tool)) else {
        return Ok(ToolResult::ended(ToolStatus::Failed, format!("unknown tool `{tool}`")));
    };
    let again = spec.idempotent || spec.delegates;
    let children = TaskTracker::new();
    let inside = run.inside(call_id, again, children.clone());
    let invoked =
        |key: Arc<str>| Invocation::new(inside.clone(), floor.desk.clone(), known.clone(), call_id.clone(), key);
    let (key, then) = match begin(run, &**found, spec, asked, &floor.desk, invoked).await? {
        ControlFlow::Break(result) => return Ok(result),
        ControlFlow::Continue(begun) => begun,
    };
    let name: Arc<str> = key.as_str().into();
    turn.start(Work { key: name.clone(), children })?;
    run.tell(|| News::ToolBegan { call: asked.call.clone() });
    // Agents that work for it may ask a person, and the wait does not count as work.
    let clock = || if spec.delegates { run.budget().active(&**run.clock()) } else { run.clock().elapsed() };
    let began = clock();
    let invocation = invoked(name).approved_for(approved);
    let remains = invocation.remains();
    // Called inside the barrier: a tool may panic before it returns a future.
    let work = AssertUnwindSafe(async { found.call(args.clone(), invocation).await }).catch_unwind();
    let ended = run.control().unless_cancelled(run.within(*time_limit, work)).await;
    if !matches!(ended, Ok(Some(_))) {
        turn.let_go().await;
    }
    let result = match ended {
        Ok(Some(Ok(Ok(output)))) => output.into(),
        Ok(Some(Ok(Err(error)))) => ToolResult::ended(ToolStatus::Failed, error.into_message()),
        Ok(None) => {
            let limit = time_limit.unwrap_or_default();
            remains.result(ToolStatus::Failed, format!("tool `{tool}` was stopped: it may take {limit:?}"))
        }
        Ok(Some(Err(panic))) => {
            let failure = vertebra_hooks::Failure::of_panic(panic);
            ToolResult::ended(ToolStatus::Failed, format!("tool `{tool}` {failure}"))
        }
        Err(_) => remains.result(ToolStatus::Cancelled, "cancelled".to_owned()),
    };
    if let Some(then) = then {
        let result = run.as_it_was(then).await?;
        turn.end()?;
        return Ok(result);
    }
    if run.control().is_suspended() && spec.delegates {
        return Err(run.control().interrupted());
    }
    let result = result.took(millis(clock().saturating_sub(began)));
    turn.end()?;
    run.write(What::ToolEnded { call_id: call_id.clone(), key, result: result.clone() }).await?;
    Ok(result)
}
