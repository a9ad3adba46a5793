//! `/model`: another model is asked from the next step on.

use std::sync::{Arc, Mutex, PoisonError};

use vertebra::{Agent, ModelId, RegisterError, prelude::*};

/// The model that is asked. A hook puts it into every request that would go to the first one.
pub(super) struct ModelSwitch {
    first: ModelId,
    wanted: Arc<Mutex<ModelId>>,
}

impl ModelSwitch {
    pub(super) fn new(agent: &Agent, first: ModelId) -> Result<Self, RegisterError> {
        let wanted = Arc::new(Mutex::new(first.clone()));
        let (asked, instead) = (first.clone(), wanted.clone());
        let mut set = HookSet::new();
        // Before hooks that choose a model for a reason of their own: theirs counts.
        set.on(BeforeInference, async move |cx| {
            if cx.request.model == asked {
                cx.request.model = instead.lock().unwrap_or_else(PoisonError::into_inner).clone();
            }
            proceed()
        })
        .named("chat/model")
        .priority(0);
        agent.hooks().install(set)?;
        Ok(Self { first, wanted })
    }

    /// Asks this one from now on: a name alone, or `PROVIDER:NAME` of the same provider.
    pub(super) fn choose(&self, name: &str) -> Result<(), String> {
        let provider = &self.first.provider;
        let name = match name.split_once(':') {
            Some((other, name)) if other == &**provider => name,
            // Names of models may have colons, those of providers are known only to whoever made the agent.
            Some((other, _)) if other.chars().all(|c| c.is_ascii_lowercase()) && !self.first.name.contains(':') => {
                return Err(format!(
                    "this session talks to {provider}; for {other}, start another one: vertebra chat --model {name}"
                ));
            }
            _ => name,
        };
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = ModelId::new(provider.clone(), name);
        Ok(())
    }

    /// Which one is asked.
    pub(super) fn told(&self) -> String {
        let ModelId { provider, name } = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        format!("{provider}:{name}")
    }
}
