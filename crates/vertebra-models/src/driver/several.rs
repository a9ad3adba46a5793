//! Models of several providers as one.

use vertebra::{Deltas, Model, ModelError, ModelId, Request, Response};

use super::Driver;

/// Models of several providers: a request goes to the provider that it names, whoever changed it on its way.
#[derive(Debug, Clone)]
pub struct Drivers {
    first: Driver,
    others: Vec<Driver>,
}

impl Drivers {
    /// The driver whose model is asked unless a request names another.
    pub fn new(first: Driver) -> Self {
        Self { first, others: Vec::new() }
    }

    /// And one for another provider.
    #[must_use]
    pub fn and(mut self, driver: Driver) -> Self {
        self.others.push(driver);
        self
    }

    fn all(&self) -> impl Iterator<Item = &Driver> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl Model for Drivers {
    fn id(&self) -> ModelId {
        self.first.id()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let asked = &request.model.provider;
        if let Some(driver) = self.all().find(|driver| driver.provider == *asked) {
            return driver.infer(request, out).await;
        }
        let known: Vec<&str> = self.all().map(|driver| &*driver.provider).collect();
        let message = format!("there is no driver for `{asked}`, only for {}", known.join(", "));
        Err(ModelError::Rejected { message })
    }
}
