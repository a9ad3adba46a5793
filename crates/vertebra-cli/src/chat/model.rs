//! `/model`: another model is asked from the next step on.

use std::sync::{Arc, Mutex, PoisonError};

use vertebra::{Agent, Model as _, ModelId, RegisterError, prelude::*};

use crate::assembly::Models;

/// The model that is asked. A hook puts it into every request that would go to the first one.
pub(crate) struct ModelSwitch {
    models: Models,
    wanted: Arc<Mutex<ModelId>>,
}

impl ModelSwitch {
    /// The hook.
    pub(crate) const HOOK: &str = "chat/model";

    pub(crate) fn new(agent: &Agent, models: Models) -> Result<Self, RegisterError> {
        let first = models.id();
        let wanted = Arc::new(Mutex::new(first.clone()));
        let instead = wanted.clone();
        let mut set = HookSet::new();
        // Before hooks that choose a model for a reason of their own: theirs counts.
        set.on(BeforeInference, async move |cx| {
            if cx.request.model == first {
                cx.request.model = instead.lock().unwrap_or_else(PoisonError::into_inner).clone();
            }
            proceed()
        })
        .named(Self::HOOK)
        .priority(0);
        agent.hooks().install(set)?;
        Ok(Self { models, wanted })
    }

    /// Asks this one from now on.
    pub(super) async fn choose(&self, name: &str) -> anyhow::Result<()> {
        let chosen = self.models.choose(name, &self.now()).await?;
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = chosen;
        Ok(())
    }

    /// Which one is asked.
    pub(super) fn told(&self) -> String {
        let ModelId { provider, name } = self.now();
        format!("{provider}:{name}")
    }

    fn now(&self) -> ModelId {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
