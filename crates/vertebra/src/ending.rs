//! The end of a run, told once.

use vertebra_hooks::{Lasting, Point, Retries, State};

use crate::{
    ExecutionEnd, Run, RunReport, RunStatus, Usage,
    events::ExecutionEnded,
    front::News,
    journal::What,
    scope::{Desk, Interrupted, Leave},
};

/// `ExecutionEnd`, the journal's last line of the run, and the front end. `usage` is what the session had used before.
///
/// A run whose end cannot be told or written has failed, however it went.
pub(crate) async fn tell(run: &Run, desk: &mut Desk, usage: Usage, mut report: RunReport) -> RunReport {
    run.veils().report(&mut report);
    let mut event = ExecutionEnded {
        at: run.at(ExecutionEnd::NAME),
        status: report.status,
        stop: report.stop.clone(),
        text: report.text.clone(),
        steps: report.steps,
        usage: report.usage,
        duration_ms: report.duration_ms,
    };
    let told = run.fire(ExecutionEnd, &mut event, &mut desk.state, Retries::Allowed, Leave::Never).await;
    let written = run.write(What::RunEnded { report: report.clone() }).await.map_err(Interrupted::from);
    let report = match told.map(drop).and(written) {
        Ok(()) => report,
        Err(interrupted) => {
            let mut report = RunReport { status: RunStatus::Failed, stop: interrupted.into(), ..report };
            run.veils().report(&mut report);
            report
        }
    };
    desk.state.notes_mut().clear(Lasting::Run);
    desk.state.settle(usage + run.spent());
    run.tell(|| News::Ended { report: Box::new(report.clone()) });
    report
}
