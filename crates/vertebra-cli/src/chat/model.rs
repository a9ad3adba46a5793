//! `/model`: switches the model from the next step on.

use std::sync::{Arc, Mutex, PoisonError};

use vertebra::{Agent, Model as _, ModelId, RegisterError, prelude::*};

use crate::assembly::Models;

/// Switches the model. A hook puts the chosen model into every request that names the first one.
pub(crate) struct ModelSwitch {
    models: Models,
    wanted: Arc<Mutex<ModelId>>,
}

impl ModelSwitch {
    /// The name of the hook.
    pub(crate) const HOOK: &str = "chat/model";

    pub(crate) fn new(agent: &Agent, models: Models) -> Result<Self, RegisterError> {
        let first = models.id();
        let wanted = Arc::new(Mutex::new(first.clone()));
        let instead = wanted.clone();
        let mut set = HookSet::new();
        // Runs before hooks that choose a model themselves, so that their choice wins.
        set.on(BeforeInference.named(Self::HOOK).priority(0), async move |cx| {
            if cx.request.model == first {
                cx.request.model = instead.lock().unwrap_or_else(PoisonError::into_inner).clone();
            }
            proceed()
        });
        agent.hooks().install(set)?;
        Ok(Self { models, wanted })
    }

    /// Switches to this model.
    pub(super) async fn choose(&self, name: &str) -> anyhow::Result<()> {
        let chosen = self.models.choose(name, &self.now()).await?;
        self.models.use_now(&chosen);
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = chosen;
        Ok(())
    }

    /// Returns the current model as `PROVIDER:NAME`.
    pub(super) fn told(&self) -> String {
        let ModelId { provider, name } = self.now();
        format!("{provider}:{name}")
    }

    fn now(&self) -> ModelId {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
