//! The end of a run, told once.

use vertebra_hooks::{Lasting, Point, Retries, State};

use crate::{
    ExecutionEnd, Run, RunReport, RunStatus,
    points::events::ExecutionEnded,
    run::handle::{Interrupted, Leave, LoopState},
    session::again::Memory,
    timeline::feed::News,
    timeline::{Keeper, What},
};

/// `ExecutionEnd`, the journal's last lines of the run, and the front end.
///
/// A run whose end cannot be told or written has failed, however it went.
pub(crate) async fn tell(
    run: &Run,
    desk: &mut LoopState,
    (memory, keeper): (Memory, &mut Keeper),
    mut report: RunReport,
) -> RunReport {
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
    let told = run.dispatch(ExecutionEnd, &mut event, &mut desk.state, Retries::Allowed, Leave::Never).await;
    desk.state.notes_mut().clear(Lasting::Run);
    desk.state.settle(memory.before.usage + run.spent());
    let checkpoint = memory.checkpoint(run, desk, keeper);
    let written = run.write(What::RunEnded { report: Box::new(report.clone()), checkpoint }).await;
    let report = match told.map(drop).and(written.map_err(Interrupted::from)) {
        Ok(()) => report,
        Err(interrupted) => {
            let mut report = RunReport { status: RunStatus::Failed, stop: interrupted.into(), ..report };
            run.veils().report(&mut report);
            report
        }
    };
    if report.status == RunStatus::Failed {
        run.core().model.run_failed();
    }
    run.tell(|| News::Ended { report: Box::new(report.clone()) });
    report
}
