//! Several drivers as one model.

use std::{collections::BTreeMap, sync::Arc};

use vertebra::{Deltas, Model, ModelError, ModelId, Request, Response, SharedModel};

/// A model made of several drivers: each request goes to the driver of its provider. A hook that changes `request.model`
/// thereby changes who is asked.
#[derive(Clone)]
pub struct Router {
    first: ModelId,
    drivers: BTreeMap<Arc<str>, SharedModel>,
}

impl Router {
    /// The driver whose model is asked unless a hook says otherwise.
    pub fn new(driver: impl Model) -> Self {
        Self { first: driver.id(), drivers: BTreeMap::new() }.with(driver)
    }

    /// Another provider's driver. The last one of a provider counts.
    #[must_use]
    pub fn with(mut self, driver: impl Model) -> Self {
        self.drivers.insert(driver.id().provider, SharedModel::new(driver));
        self
    }
}

impl Model for Router {
    fn id(&self) -> ModelId {
        self.first.clone()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let provider = &request.model.provider;
        let Some(driver) = self.drivers.get(provider) else {
            let known: Vec<&str> = self.drivers.keys().map(|known| &**known).collect();
            let message = format!("no driver for provider `{provider}`; there are: {}", known.join(", "));
            return Err(ModelError::Rejected { message });
        };
        driver.infer(request, out).await
    }
}
