//! A failing model is asked again.

use std::time::Duration;

use vertebra::{
    Around, ErrorClass, HookError, Inference, InferenceReport, ModelError, Next, OpCx, Purpose, RetryNotice, RunError,
    prelude::*,
};

use super::Backoff;

const NAME: &str = "model-retry";

/// How long the model call of a hook or a tool is retried at most: these have time limits of their own.
const ASIDE: Duration = Duration::from_secs(10);

/// Asks a model again that was busy, could not be reached or broke off, after a wait. The waits are not active time. A wait
/// that the provider names is kept.
///
/// An answer that broke off begins again: nothing of it has been executed, and front ends are told that what they have
/// shown of it is cut off ([`News::Retry`](vertebra::News::Retry)).
///
/// When the patience is over and no hook at [`OnError`] recovers, the run is suspended, so that resuming its session
/// continues the task. A run that cannot be resumed fails. The retries of the agent's error policy do not come on top.
#[derive(Debug, Clone, Copy)]
pub struct ModelRetry {
    /// How long the waits for one answer may be together.
    pub patience: Duration,
    /// After which waits.
    pub backoff: Backoff,
    /// How often one answer may break off after it began. Each of these attempts costs tokens.
    pub broken: u32,
}

impl Default for ModelRetry {
    /// Ten minutes, with waits from one second to half a minute, and five answers that break off.
    fn default() -> Self {
        let backoff = Backoff { longest: Duration::from_secs(30), ..Backoff::default() };
        Self { patience: Duration::from_mins(10), backoff, broken: 5 }
    }
}

fn is_passing(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::ModelBusy | ErrorClass::Network | ErrorClass::Broken)
}

impl Capability for ModelRetry {
    fn install(self, kit: &mut Kit) {
        // Inside of a fallback, so that each model gets its retries.
        kit.add_around(Inference.named("model-retry/again").priority(70), self);
        kit.on(
            OnError.when(|failed| is_passing(failed.class)).named("model-retry/enough").priority(1000),
            async |cx| {
                if cx.record().gave(Kind::Recover) {
                    return proceed();
                }
                let message = format!("{}; gave up retrying", cx.message);
                // If the run cannot be suspended, it fails.
                cx.scope().suspend(NAME, message);
                stop("gave up retrying")
            },
        );
    }
}

impl ModelRetry {
    /// The wait before this retry, or `None` if there is none.
    fn wait(&self, error: &ModelError, tried: &Tried, purpose: &Purpose, who: &str) -> Option<Duration> {
        let patience = match purpose {
            Purpose::Step => self.patience,
            Purpose::Capability(_) => self.patience.min(ASIDE),
        };
        let wait = match error {
            ModelError::Busy { wait: Some(wait), .. } => *wait,
            _ => self.backoff.wait(tried.retries + 1, who),
        };
        let is_worth_it = is_passing(error.class()) && tried.broken <= self.broken;
        (is_worth_it && tried.waited.saturating_add(wait) <= patience).then_some(wait)
    }
}

/// What was done so far to get one answer.
#[derive(Default)]
struct Tried {
    retries: u32,
    waited: Duration,
    /// Answers that broke off.
    broken: u32,
}

impl Around<Inference> for ModelRetry {
    async fn wrap(
        &self,
        cx: &mut OpCx<'_, Inference>,
        next: Next<'_, Inference>,
    ) -> Result<InferenceReport, HookError> {
        let run = cx.scope().clone();
        let mut tried = Tried::default();
        loop {
            let (shown, began) = (run.shown_bytes(), run.clock().elapsed());
            let report = next.run(cx).await?;
            let InferenceReport::Failed(RunError::Model(error)) = &report else { return Ok(report) };
            match error.class() {
                ErrorClass::Network => run.was_idle(run.clock().elapsed().saturating_sub(began)),
                ErrorClass::Broken => tried.broken += 1,
                _ => {}
            }
            let budget_is_spent = run.budget().overrun(&**run.clock()).is_some();
            let wait = self.wait(error, &tried, &cx.purpose, &run.info().run_id);
            let Some(wait) = wait.filter(|_| !budget_is_spent) else { return Ok(report) };
            tried.retries += 1;
            tried.waited += wait;
            let cut_off = run.shown_bytes() > shown;
            let notice = RetryNotice { message: error.to_string(), retry: tried.retries, wait, cut_off };
            run.notify_retry(&mut cx.state().clone(), NAME, notice).await?;
            if let Err(interrupted) = run.wait_for_provider(&cx.purpose, wait).await {
                return Ok(interrupted.into());
            }
        }
    }
}
