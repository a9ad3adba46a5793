//! A failing model is asked again.

use vertebra::{
    Around, ErrorClass, HookError, Inference, InferenceReport, ModelError, Next, OpCx, RunError, prelude::*,
};

use super::Backoff;

/// Asks a model again that was busy, was not reached or broke off, after a wait. A wait that the provider names is kept.
///
/// Nothing is asked again once a part of the answer was shown, unless [`Replay::Allowed`]. What this gives up on ends the
/// run, unless a hook at [`OnError`] makes it good: the retries of the agent's error policy do not come on top.
#[derive(Debug, Clone, Copy)]
pub struct ModelRetry {
    /// How often.
    pub retries: u32,
    /// After which waits.
    pub backoff: Backoff,
    /// Whether an answer may begin anew before everybody's eyes.
    pub replay: Replay,
}

/// Whether a model is asked again when a part of its answer was shown already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// It is not.
    Never,
    /// It is: front ends see the answer begin again.
    Allowed,
}

impl Default for ModelRetry {
    fn default() -> Self {
        Self { retries: 2, backoff: Backoff::default(), replay: Replay::Never }
    }
}

fn is_passing(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::ModelBusy | ErrorClass::Network | ErrorClass::Broken)
}

impl Capability for ModelRetry {
    fn install(self, kit: &mut Kit) {
        // Inside of a fallback, so that each model gets its retries.
        kit.add_around(Inference, self).named("model-retry/again").priority(70);
        kit.on(OnError.when(|failed| is_passing(failed.class)), async |cx| {
            if cx.record().gave(Kind::Recover) {
                return proceed();
            }
            stop("it is not asked again")
        })
        .named("model-retry/enough")
        .priority(1000);
    }
}

impl Around<Inference> for ModelRetry {
    async fn wrap(
        &self,
        cx: &mut OpCx<'_, Inference>,
        next: Next<'_, Inference>,
    ) -> Result<InferenceReport, HookError> {
        let run = cx.scope().clone();
        let mut retries = 0;
        loop {
            let shown = run.shown_bytes();
            let report = next.run(cx).await?;
            let InferenceReport::Failed(RunError::Model(error)) = &report else { return Ok(report) };
            let replays = self.replay == Replay::Allowed || run.shown_bytes() == shown;
            let time_is_up = run.budget().exhausted(&**run.clock()).is_some();
            if retries == self.retries || !is_passing(error.class()) || !replays || time_is_up {
                return Ok(report);
            }
            retries += 1;
            let wait = match error {
                ModelError::Busy { wait: Some(wait), .. } => *wait,
                _ => self.backoff.wait(retries, &run.info().run_id),
            };
            let message = format!("{error}; retry {retries} of {} in {} ms", self.retries, wait.as_millis());
            run.notify(&mut cx.state().clone(), "model-retry", message).await?;
            if let Err(interrupted) = run.wait_to_ask(&cx.purpose, wait).await {
                return Ok(interrupted.into());
            }
        }
    }
}
