//! What is done when something fails outside a tool: hooks first, then the error policy.

use vertebra_hooks::{Outcome, Point};

use crate::{
    ErrorClass, ErrorVerdict, OnError, OnFailure, RunError, Stop, StopReason, points::events::Failed,
    run::handle::Interrupted, run::r#loop::Loop,
};

impl Loop {
    /// `OnError`, then the error policy. Answers with the stop, if the run ends.
    pub(crate) async fn on_error(&mut self, interrupted: Interrupted) -> Option<Stop> {
        let Interrupted::Failed(error) = interrupted else { return Some(interrupted.into()) };
        let outcome = match self.tell_error(&error).await {
            Ok(outcome) => outcome,
            Err(interrupted) => return Some(interrupted.into()),
        };
        // Whoever was told may have suspended the run.
        if self.run.control().is_suspended() {
            return Some(self.run.control().interrupted().into());
        }
        let by = outcome.decided_by().map_or("a hook", |by| by).to_owned();
        match outcome.verdict() {
            // Nothing goes on unrecorded, whatever a hook says.
            ErrorVerdict::Recover { with } if error.class() != ErrorClass::Journal => {
                self.failures = 0;
                self.desk.instruct(&self.run, *with, by);
                self.once_more()
            }
            ErrorVerdict::Stop { reason } => Some(Stop::hard(StopReason::Error, by, format!("{error}: {reason}"))),
            ErrorVerdict::Proceed | ErrorVerdict::Skip | ErrorVerdict::Recover { .. } => self.by_policy(&error).await,
        }
    }

    /// A failure that leaves no step to go on with. Hooks are told of it; there is nothing left to make good.
    pub(crate) async fn on_fatal_error(&mut self, interrupted: Interrupted) -> Stop {
        // Whoever stands around the execution may have made an error of that.
        if self.run.control().is_suspended() {
            return self.run.control().interrupted().into();
        }
        if let Interrupted::Failed(error) = &interrupted {
            // Whatever goes wrong here too, the run ends with what went wrong first.
            let _ = self.tell_error(error).await;
        }
        interrupted.into()
    }

    async fn tell_error(&mut self, error: &RunError) -> Result<Outcome<OnError>, Interrupted> {
        self.failures += 1;
        let mut event = Failed {
            at: self.run.at(OnError::NAME),
            class: error.class(),
            message: error.to_string(),
            attempts: self.failures,
            wait: error.wait(),
        };
        self.fire(OnError, &mut event).await
    }

    async fn by_policy(&mut self, error: &RunError) -> Option<Stop> {
        match self.run.core().error_policy.action(error.class()) {
            OnFailure::Retry { times, wait } if self.failures <= times => {
                let wait = error.wait().unwrap_or(wait.saturating_mul(1 << (self.failures - 1).min(16)));
                self.run.pause(wait).await.err().map(Stop::from)
            }
            OnFailure::Ignore => {
                self.desk.instruct(&self.run, format!("The last step failed: {error}"), OnError::NAME);
                self.once_more()
            }
            OnFailure::Retry { .. } | OnFailure::Stop => Some(Interrupted::from(error.clone()).into()),
        }
    }
}
