//! Whether a call may happen: hooks and guards first, then whoever has to decide.

use std::time::Duration;

use vertebra_hooks::{Kind, Name, Outcome, Point, Retries};

use crate::{
    Approval, Args, BeforeToolUse, Decision, Notification, PermissionRequest, PermissionVerdict, Run, ToolResult,
    ToolVerdict,
    events::{Notified, PermissionAsked, ToolAsked},
    front::News,
    journal::What,
    scope::{Desk, Interrupted, Leave},
    shell,
};

/// How often a person may change the arguments of one call.
const MAX_EDITS: u32 = 8;

/// What becomes of a call before its tool.
pub(crate) enum Admission {
    /// It runs.
    Run,
    /// Here is its result.
    Replaced(ToolResult),
    /// It was refused.
    Blocked { by: Name, reason: String },
    /// Its arguments do not fit.
    Invalid(String),
    /// It is asked for again, after a wait.
    Retry(Duration),
    /// The run is ending.
    Stopped { reason: String },
}

/// Runs the hooks and guards of a call; asks, if one of them asked.
pub(crate) async fn admit(
    run: &Run,
    desk: &mut Desk,
    asked: &mut ToolAsked,
    retries: Retries,
) -> Result<Admission, Interrupted> {
    let mut approved: Option<String> = None;
    for _ in 0..MAX_EDITS {
        let before = asked.clone();
        let outcome = run.fire(BeforeToolUse, asked, &mut desk.state, retries, Leave::OnceBegun).await?;
        desk.take_stops(&outcome);
        if let Some(reason) = beyond_judgement(&before, asked) {
            return Ok(Admission::Blocked { by: "runtime".into(), reason: format!("blocked: {reason}") });
        }
        let reason = match outcome.verdict() {
            ToolVerdict::Deny { reason } => return Ok(blocked(&outcome, &reason)),
            ToolVerdict::Stop { reason } => return Ok(Admission::Stopped { reason }),
            ToolVerdict::Retry { after_ms } => return Ok(Admission::Retry(Duration::from_millis(after_ms))),
            ToolVerdict::Replace { with } => return Ok(Admission::Replaced(*with)),
            ToolVerdict::Ask { reason } => {
                // Nobody is asked about a call that is not to be made yet.
                if let Some(ToolVerdict::Retry { after_ms }) = first_of(&outcome, Kind::Retry) {
                    return Ok(Admission::Retry(Duration::from_millis(after_ms)));
                }
                Some(reason)
            }
            ToolVerdict::Proceed | ToolVerdict::Skip | ToolVerdict::Allow => None,
        };
        // Nobody is asked about a call that cannot be made.
        if let Err(problem) = run.core().tools.check(&asked.call) {
            return Ok(Admission::Invalid(problem));
        }
        let Some(reason) = reason else { return Ok(Admission::Run) };
        if approved.as_deref() != Some(&*asked.args.digest()) {
            match put_question(run, desk, asked, &outcome, reason).await? {
                Answer::Yes => {}
                Answer::No { by, reason } => return Ok(Admission::Blocked { by, reason }),
                Answer::Instead(args) => {
                    // What a person wrote is guarded like what the model wrote, and counts as approved if it passes
                    // unchanged.
                    approved = Some(args.digest());
                    *asked.args_mut() = args;
                    asked.at = run.at(BeforeToolUse::NAME);
                    continue;
                }
            }
        }
        return Ok(match first_of(&outcome, Kind::Replace) {
            Some(ToolVerdict::Replace { with }) => Admission::Replaced(*with),
            _ => Admission::Run,
        });
    }
    Ok(Admission::Blocked { by: "approver".into(), reason: "the arguments were changed too often".to_owned() })
}

fn first_of(outcome: &Outcome<BeforeToolUse>, kind: Kind) -> Option<ToolVerdict> {
    outcome.of_kind(kind).next().map(|ruling| ruling.verdict.clone())
}

/// Why matchers could not judge the call: it is not the one they were asked about, or there is more of it than they read.
fn beyond_judgement(before: &ToolAsked, after: &ToolAsked) -> Option<&'static str> {
    if !after.call.is_same_call(&before.call) || after.at.run != before.at.run {
        return Some("a hook changed which call this is");
    }
    (after.call.simple_commands().len() >= shell::MAX_COMMANDS).then_some("the command line is too long to be judged")
}

/// A refusal, in words that tell an opinion from a crash.
fn blocked(outcome: &Outcome<BeforeToolUse>, reason: &str) -> Admission {
    let by = outcome.record.decided_by.clone().unwrap_or_default();
    let reason = if outcome.record.decided_by_failure() {
        format!("blocked because a hook failed: {reason}")
    } else {
        format!("blocked by {by}: {reason}")
    };
    Admission::Blocked { by, reason }
}

enum Answer {
    Yes,
    No { by: Name, reason: String },
    Instead(Args),
}

/// Asks the hooks at [`PermissionRequest`], then the approver. Nobody there means no.
async fn put_question(
    run: &Run,
    desk: &mut Desk,
    asked: &ToolAsked,
    outcome: &Outcome<BeforeToolUse>,
    reason: String,
) -> Result<Answer, Interrupted> {
    let asked_by = outcome.record.decided_by.clone().unwrap_or_default();
    let at = run.at(PermissionRequest::NAME);
    let mut event = PermissionAsked { at, call: asked.call.clone(), reason, asked_by };
    let answered = run.fire(PermissionRequest, &mut event, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    match answered.verdict() {
        PermissionVerdict::Allow => return Ok(Answer::Yes),
        PermissionVerdict::Deny { reason } => {
            let by = answered.record.decided_by.unwrap_or_default();
            return Ok(Answer::No { reason: format!("blocked by {by}: {reason}"), by });
        }
        PermissionVerdict::Proceed | PermissionVerdict::Skip => {}
    }
    let approval = Approval {
        at: event.at,
        call_id: asked.call.call_id.clone(),
        tool: asked.call.tool.clone(),
        args: asked.call.args.clone(),
        digest: asked.call.args.digest(),
        reason: event.reason,
        asked_by: event.asked_by,
    };
    ask_person(run, desk, approval).await
}

async fn ask_person(run: &Run, desk: &mut Desk, approval: Approval) -> Result<Answer, Interrupted> {
    let by: Name = "approver".into();
    let no = |reason: String| Answer::No { by: by.clone(), reason };
    let Some(approver) = &run.core().approver else {
        return Ok(no(format!(
            "blocked: {} asked ({}), and nobody is there to answer",
            approval.asked_by, approval.reason
        )));
    };
    let message = format!("{} asks about {}: {}", approval.asked_by, approval.tool, approval.reason);
    let at = run.at(Notification::NAME);
    let mut news = Notified { at, kind: "permission".into(), message, data: serde_json::Value::Null };
    run.fire(Notification, &mut news, &mut desk.state, Retries::Allowed, Leave::OnCancel).await?;
    let (call_id, digest) = (approval.call_id.clone(), approval.digest.clone());
    let patience = run.core().approval_timeout;
    let until = run.clock().now().saturating_add(patience).unwrap_or(jiff::Timestamp::MAX);
    run.write(What::Asked { approval: Box::new(approval.clone()), until }).await?;
    run.tell(|| News::Asked { approval: approval.clone() });
    let decision = run
        .wait_for_person(async {
            let answer = std::panic::AssertUnwindSafe(async { approver.decide(&approval).await });
            let answer = futures_util::FutureExt::catch_unwind(answer);
            let timeout = run.clock().sleep(patience);
            match futures_util::future::select(Box::pin(answer), timeout).await {
                futures_util::future::Either::Left((Ok(decision), _)) => decision,
                futures_util::future::Either::Left((Err(_panic), _)) => {
                    Decision::Deny { reason: "the approver panicked".to_owned() }
                }
                futures_util::future::Either::Right(_) => {
                    Decision::Deny { reason: "nobody answered in time".to_owned() }
                }
            }
        })
        .await?;
    run.tell(|| News::Decided { call_id: call_id.clone(), decision: decision.clone() });
    run.write(What::Answered { call_id, decision: decision.clone() }).await?;
    Ok(match decision {
        Decision::Approve { digest: of } if of == digest => Answer::Yes,
        Decision::Approve { .. } => no("blocked: the approval was for other arguments".to_owned()),
        Decision::Deny { reason } => no(format!("blocked by a person: {reason}")),
        Decision::Edit { args } => Answer::Instead(args),
        Decision::Later => return Err(Interrupted::Suspended { message: "waiting for a person".to_owned() }),
    })
}
