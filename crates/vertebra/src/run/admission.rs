//! Whether a call may happen: hooks and guards first, then whoever has to decide.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::sync::MutexGuard;
use vertebra_hooks::{Kind, Name, Outcome, Point, Retries};

use crate::{
    Approval, Args, BeforeToolUse, Checked, Decision, Notification, PermissionRequest, PermissionVerdict, Run,
    ToolCall, ToolResult, ToolStatus, ToolVerdict,
    approval::ErasedApprover,
    points::events::{Notified, PermissionAsked, ToolAsked},
    run::control::APPROVER,
    run::handle::{Interrupted, Leave, LoopState},
    run::stage::{Ended, Next},
    timeline::feed::News,
    timeline::{Question, What},
    tool::check::{Problem, check},
};

/// How often a person may change the arguments of one call.
const MAX_EDITS: u32 = 8;

/// What the hooks and guards of a call make of it, and the check of its tool.
enum Judged {
    Next(Next),
    /// If the approver says yes to this, the call goes on like that.
    Ask(Box<Approval>, Next),
}

/// Runs the hooks and guards of a call, then the check of its tool; asks, if one of them asked. `earlier` are the calls of
/// the same answer that have not ended. While a person is asked, others have the state.
pub(crate) async fn admit<'a>(
    run: &Run,
    desk: MutexGuard<'a, LoopState>,
    (original, asked): (&ToolAsked, &mut ToolAsked),
    retries: Retries,
    earlier: &Arc<[ToolCall]>,
) -> (Result<Next, Interrupted>, MutexGuard<'a, LoopState>) {
    let shared = MutexGuard::mutex(&desk);
    let (mut desk, mut approved) = (desk, None);
    for _ in 0..MAX_EDITS {
        let (approval, then) =
            match judge(run, &mut desk, (original, asked), retries, earlier, approved.as_deref()).await {
                Ok(Judged::Next(next)) => return (Ok(next), desk),
                Ok(Judged::Ask(approval, then)) => (approval, then),
                Err(interrupted) => return (Err(interrupted), desk),
            };
        drop(desk);
        let answer = ask_person(run, *approval).await;
        desk = shared.lock().await;
        match answer {
            Ok(Answer::Yes) => return (Ok(then), desk),
            Ok(Answer::No { by, reason }) => return (Ok(Next::End(Ended::blocked(by, reason))), desk),
            Ok(Answer::Instead(args)) => {
                // What a person wrote is guarded like what the model wrote, and counts as approved if it passes unchanged.
                approved = Some(args.digest());
                *asked.args_mut() = args;
                asked.at = run.at(BeforeToolUse::NAME);
            }
            Err(interrupted) => return (Err(interrupted), desk),
        }
    }
    (Ok(Next::End(Ended::blocked("approver".into(), "the arguments were changed too often"))), desk)
}

/// The hooks and guards of a call, then the check of its tool, then the hooks at [`PermissionRequest`] if one of them asked
/// about other arguments than a person has `approved`.
async fn judge(
    run: &Run,
    desk: &mut LoopState,
    (original, asked): (&ToolAsked, &mut ToolAsked),
    retries: Retries,
    earlier: &Arc<[ToolCall]>,
    approved: Option<&str>,
) -> Result<Judged, Interrupted> {
    let outcome = run.dispatch(BeforeToolUse, asked, &mut desk.state, retries, Leave::OnceBegun).await?;
    desk.take_stops(&outcome);
    if let Some(reason) = beyond_judgement(original, asked) {
        return Ok(blocked("runtime".into(), format!("blocked: {reason}")));
    }
    let reason = match outcome.verdict() {
        ToolVerdict::Deny { reason } => return Ok(denied(&outcome, &reason)),
        ToolVerdict::Stop { reason } => {
            let ended = Ended::without_tool(ToolStatus::NotRun, format!("not run: {reason}"));
            return Ok(Judged::Next(Next::End(ended)));
        }
        ToolVerdict::Retry { after_ms } => return Ok(Judged::Next(Next::Retry(Duration::from_millis(after_ms)))),
        ToolVerdict::Replace { with } => return Ok(Judged::Next(replaced(*with))),
        ToolVerdict::Ask { reason } => {
            // Nobody is asked about a call that is not to be made yet.
            if let Some(ToolVerdict::Retry { after_ms }) = first_of(&outcome, Kind::Retry) {
                return Ok(Judged::Next(Next::Retry(Duration::from_millis(after_ms))));
            }
            Some(reason)
        }
        ToolVerdict::Proceed | ToolVerdict::Skip | ToolVerdict::Allow => None,
    };
    // Nobody is asked about a call that cannot be made.
    if let Err(problem) = run.core().tools.check(&asked.call) {
        return Ok(invalid(problem));
    }
    let checked = match check(run, desk, asked, earlier.clone(), reason.is_some()).await? {
        Ok(checked) => checked,
        Err(Problem { text, by: None }) => return Ok(invalid(text)),
        Err(Problem { text, by: Some(by) }) => return Ok(blocked(by, text)),
    };
    let reason = match (&checked.ask, reason) {
        (None, None) => return Ok(Judged::Next(Next::Proceed { approved: None })),
        (None, Some(reason)) => reason,
        (Some(ask), None) => ask.clone(),
        (Some(ask), Some(reason)) => format!("{ask}; {reason}"),
    };
    let then = match first_of(&outcome, Kind::Replace) {
        Some(ToolVerdict::Replace { with }) => replaced(*with),
        _ => Next::Proceed { approved: checked.ask.as_deref().map(Arc::from) },
    };
    if approved == Some(&*asked.args.digest()) {
        return Ok(Judged::Next(then));
    }
    put_question(run, desk, asked, &outcome, reason, checked, then).await
}

fn first_of(outcome: &Outcome<BeforeToolUse>, kind: Kind) -> Option<ToolVerdict> {
    outcome.of_kind(kind).next().map(|ruling| ruling.verdict.clone())
}

/// Why matchers could not judge the call: it is not the one they were asked about, or there is more of it than they read.
fn beyond_judgement(before: &ToolAsked, after: &ToolAsked) -> Option<&'static str> {
    if !after.call.is_same_call(&before.call) || after.at.run != before.at.run {
        return Some("a hook changed which call this is");
    }
    after.call.is_beyond_reading().then_some("the command is too complex to judge; split it into simpler commands")
}

/// A refusal, in words that tell an opinion from a crash.
fn denied(outcome: &Outcome<BeforeToolUse>, reason: &str) -> Judged {
    let by = outcome.decided_by().cloned().unwrap_or_default();
    let reason = if outcome.decided_by_failure() {
        format!("blocked: hook {reason}")
    } else {
        format!("blocked by {by}: {reason}")
    };
    blocked(by, reason)
}

fn blocked(by: Name, reason: String) -> Judged {
    Judged::Next(Next::End(Ended::blocked(by, reason)))
}

fn replaced(result: ToolResult) -> Next {
    Next::End(Ended { result, blocked_by: None, reached: false })
}

fn invalid(problem: String) -> Judged {
    Judged::Next(Next::End(Ended::without_tool(ToolStatus::Failed, problem)))
}

enum Answer {
    Yes,
    No { by: Name, reason: String },
    Instead(Args),
}

/// Asks the hooks at [`PermissionRequest`], and puts the question if they leave it open. Nobody there means no.
async fn put_question(
    run: &Run,
    desk: &mut LoopState,
    asked: &ToolAsked,
    outcome: &Outcome<BeforeToolUse>,
    reason: String,
    checked: Checked,
    then: Next,
) -> Result<Judged, Interrupted> {
    let decided_by = outcome.decided_by().cloned().filter(|_| outcome.kind() == Kind::Ask);
    let asked_by = decided_by.unwrap_or_else(|| asked.tool.shared());
    let mut event = PermissionAsked { asked: asked.later(run.at(PermissionRequest::NAME)), reason, asked_by };
    let answered =
        run.dispatch(PermissionRequest, &mut event, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    match answered.verdict() {
        // What a tool wants a person to agree to, no hook agrees to.
        PermissionVerdict::Allow if checked.ask.is_some() => {}
        PermissionVerdict::Allow => return Ok(Judged::Next(then)),
        PermissionVerdict::Deny { reason } => {
            let by = answered.decided_by().cloned().unwrap_or_default();
            let reason = format!("blocked by {by}: {reason}");
            return Ok(blocked(by, reason));
        }
        PermissionVerdict::Proceed | PermissionVerdict::Skip => {}
    }
    let approval = Approval {
        at: event.asked.at,
        call: asked.call.clone(),
        digest: asked.args.digest(),
        reason: event.reason,
        asked_by: event.asked_by,
        preview: checked.preview,
        only_once: checked.ask.is_some(),
    };
    if run.core().approver.is_none() {
        let Approval { asked_by, reason, .. } = approval;
        let reason = format!("denied: {asked_by} requires approval ({reason}), and no approver is configured");
        return Ok(blocked(APPROVER.into(), reason));
    }
    let message = format!("{} asks about {}: {}", approval.asked_by, approval.call.tool, approval.reason);
    let at = run.at(Notification::NAME);
    let mut news = Notified { at, kind: "permission".into(), message, data: serde_json::Value::Null };
    run.dispatch(Notification, &mut news, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    Ok(Judged::Ask(Box::new(approval), then))
}

/// Asks the approver.
async fn ask_person(run: &Run, approval: Approval) -> Result<Answer, Interrupted> {
    let no = |reason: String| Answer::No { by: APPROVER.into(), reason };
    let Some(approver) = &run.core().approver else { return Ok(no("denied: no approver is configured".to_owned())) };
    let mut digest = approval.digest.clone();
    let decision = match asked_before(run, &approval).await? {
        Some(Question { decision: Some(decision), line, .. }) => {
            // In a record, arguments may hide something that was there when they were approved.
            if let (Some(_), What::Asked { approval, .. }) = (run.replayed(), line.what) {
                digest = approval.digest;
            }
            // Whatever goes wrong in an approver, the answer stands.
            let _ = std::panic::AssertUnwindSafe(async { approver.recall(&approval, &decision).await })
                .catch_unwind()
                .await;
            decision
        }
        Some(Question { until, .. }) => put(run, &**approver, &approval, until).await?,
        None => {
            let until = run.clock().now().saturating_add(run.core().wait_limit).unwrap_or(jiff::Timestamp::MAX);
            run.write(What::Asked { approval: Box::new(approval.clone()), until }).await?;
            put(run, &**approver, &approval, until).await?
        }
    };
    Ok(match decision {
        Decision::Approve { digest: of, .. } if of == digest => Answer::Yes,
        Decision::Approve { .. } => no("denied: the approval was for other arguments".to_owned()),
        Decision::Deny { reason } => no(format!("denied: {reason}")),
        Decision::Edit { args } => Answer::Instead(args),
        Decision::Later => {
            let message = format!("`{}` waits for approval: {}", approval.call.tool, approval.reason);
            return Err(run.control().wait_for(APPROVER, message));
        }
    })
}

/// The question as it was put before the run was resumed, or in the run that is replayed.
async fn asked_before(run: &Run, approval: &Approval) -> Result<Option<Question>, Interrupted> {
    let Some(tape) = run.tape() else { return Ok(None) };
    // In a replay it is as late afterwards as it was then, and nobody worked meanwhile.
    let asked = async { tape.question(run.place(), &approval.call.id, &approval.digest) };
    let question = run.unpaid(asked).await?;
    let what = What::Asked { approval: Box::new(approval.clone()), until: jiff::Timestamp::MAX };
    run.happens(question.as_ref().map(|question| &question.line), what);
    let answered = question.as_ref().is_some_and(|question| question.decision.is_some());
    if run.replayed().is_some() && (!answered || run.is_cancelled()) {
        return Err(Interrupted::Cancelled);
    }
    Ok(question)
}

/// Puts the question to whoever decides, and keeps the answer.
async fn put(
    run: &Run,
    approver: &dyn ErasedApprover,
    approval: &Approval,
    until: jiff::Timestamp,
) -> Result<Decision, Interrupted> {
    let late = || Decision::Deny { reason: "no one answered in time".to_owned() };
    let left = until.duration_since(run.clock().now());
    run.tell(|| News::Asked { approval: approval.clone() });
    let decision = match Duration::try_from(left) {
        Ok(left) if !left.is_zero() => {
            let patience = left.min(run.core().approval_timeout);
            let answer = std::panic::AssertUnwindSafe(async { approver.decide(approval).await }).catch_unwind();
            let decided = run.unpaid(run.within(Some(patience), answer));
            match run.control().until_resting(decided).await.transpose()? {
                // The question stays.
                None => Decision::Later,
                Some(Some(Ok(Decision::Later))) if !run.control().may_wait => Decision::Deny {
                    reason: "no one can be asked, and the tool that runs this agent cannot be suspended".to_owned(),
                },
                Some(Some(Ok(decision))) => decision,
                Some(Some(Err(_panic))) => Decision::Deny { reason: "the approver panicked".to_owned() },
                Some(None) => late(),
            }
        }
        _ => late(),
    };
    let call_id = approval.call.id.clone();
    run.tell(|| News::Decided { call_id: call_id.clone(), decision: decision.clone() });
    // Who says "later" has not answered.
    if decision != Decision::Later {
        run.write(What::Answered { call_id, decision: decision.clone() }).await?;
    }
    Ok(decision)
}
