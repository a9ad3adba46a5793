//! Steering: what a person says while an agent works.
//!
//! ```
//! use vertebra::{Agent, testing::Script};
//! use vertebra_kit::steering::Steering;
//!
//! let steering = Steering::default();
//! let agent = Agent::builder(Script::new()).with(steering.clone()).build()?;
//! // From wherever the person types:
//! steering.say("rather in French").expect("there is room");
//! # Ok::<(), vertebra::BuildError>(())
//! ```

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vertebra::{Prompt, prelude::*};

/// How many messages may wait.
pub const MAX_WAITING: usize = 32;

/// Messages for an agent that is at work. They wait for its next step, pass the hooks at [`PromptSubmit`] like any
/// prompt, and are read by the model as a person's words. What comes too late is there for whoever
/// [takes](Self::take) it.
///
/// Clones share one queue. Give each session an agent, and so a queue, of its own.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<VecDeque<Prompt>>>);

/// As many messages wait as may. This is the one that found no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_WAITING} messages are waiting already")]
pub struct Full(pub Prompt);

impl Steering {
    /// Says something to the agent, for its next step.
    pub fn say(&self, prompt: impl Into<Prompt>) -> Result<(), Full> {
        let (prompt, mut queue) = (prompt.into(), self.queue());
        if queue.len() >= MAX_WAITING {
            return Err(Full(prompt));
        }
        queue.push_back(prompt);
        Ok(())
    }

    /// What waits, oldest first. It does not wait any longer.
    pub fn take(&self) -> Vec<Prompt> {
        self.queue().drain(..).collect()
    }

    /// How many messages wait.
    pub fn waiting(&self) -> usize {
        self.queue().len()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Prompt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Capability for Steering {
    fn install(self, kit: &mut Kit) {
        // The person speaks to the agent, not to its children.
        kit.on(BeforeStep.named("steering/messages").own_agent_only().no_timeout(), async move |cx| {
            let run = cx.scope();
            while let Some(prompt) = { self.queue().front().cloned() } {
                let submitted = run.submit(cx.state_mut(), prompt).await?;
                // Taken out only now: what is cancelled half way is not lost.
                self.queue().pop_front();
                if let Err(refused) = submitted {
                    run.notify(cx.state_mut(), "steering", refused.to_string()).await?;
                }
            }
            proceed()
        });
    }
}
