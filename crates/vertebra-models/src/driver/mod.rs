//! Drivers: one [`Model`] for every provider, on the adapters of `genai`.
//!
//! `genai` turns a request into a provider's JSON and a provider's events into pieces. Everything it does not let us
//! see or bound (bytes, headers, sizes, ends) passes through the [`relay`], which is the only part that goes out.
//!
//! ```text
//! Request ─ request ─▶ genai ─ HTTP on loopback ─▶ relay ─ http ─▶ provider
//! Deltas ◀─ answer ─── genai ◀── whole frames ──── relay ◀─ frames ─ bytes
//! ```

mod answer;
mod carry;
mod conversation;
mod failure;
mod frames;
mod http;
mod options;
mod relay;
mod request;
mod schema;
mod several;
mod sniff;

use std::{sync::Arc, time::Duration};

use genai::{
    ModelIden, ServiceTarget,
    resolver::{AuthData, Endpoint},
};
use reqwest::Url;
use vertebra::{Deltas, Model, ModelError, ModelId, Request, Response};

use self::{http::Http, relay::Relay};
use crate::{Adapter, Prices, Provider, Secret};

pub use self::{options::RESPONSE_SCHEMA, several::Drivers};

/// A model of a provider. It asks for the model that a request names; to ask several providers, see [`Drivers`].
///
/// ```
/// use vertebra_models::{Driver, Provider, Secret};
///
/// let model = Driver::new(Provider::find("openai")?)?.key(Secret::new("sk-…")).model("gpt-5-mini");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Driver {
    provider: Arc<str>,
    adapter: Adapter,
    base: Option<Url>,
    prices: Arc<Prices>,
    key: Option<Secret>,
    model: Arc<str>,
    bounds: Bounds,
    http: Http,
    genai: genai::Client,
}

/// What is too long for an answer, in time and in size.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Between two pieces of an answer, and before the first.
    idle: Duration,
    /// Of the whole answer, as it comes over the wire.
    answer_bytes: usize,
    /// Of one event in it.
    frame_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { idle: Duration::from_mins(2), answer_bytes: 64 << 20, frame_bytes: 16 << 20 }
    }
}

/// Why there is no driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The base URL cannot be used.
    #[error("invalid base URL `{url}`: {reason}; write one like `https://api.example.com/v1/`")]
    Url {
        /// What was given.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The HTTP client could not be made.
    #[error("no HTTP client: {reason}")]
    Client {
        /// Why not.
        reason: String,
    },
}

impl Driver {
    /// A driver for a provider's default model.
    pub fn new(provider: &Provider) -> Result<Self, DriverError> {
        let genai = genai::Client::builder().with_reqwest(http::loopback()?).build();
        Ok(Self {
            provider: provider.name.into(),
            adapter: provider.adapter,
            base: Some(provider.base_url).filter(|url| !url.is_empty()).map(parse_base).transpose()?,
            prices: Arc::new(Prices::built_in().clone()),
            key: None,
            model: provider.default_model.unwrap_or_default().into(),
            bounds: Bounds::default(),
            http: Http::default(),
            genai: genai.map_err(|error| DriverError::Client { reason: error.to_string() })?,
        })
    }

    /// Sends this key.
    #[must_use]
    pub fn key(mut self, key: Secret) -> Self {
        self.key = Some(key).filter(|key| !key.is_empty());
        self
    }

    /// Asks the server there instead of the provider's own.
    pub fn base_url(mut self, url: &str) -> Result<Self, DriverError> {
        self.base = Some(parse_base(url)?);
        Ok(self)
    }

    /// Counts what an answer costs by these prices instead of the built-in ones.
    #[must_use]
    pub fn prices(mut self, prices: Arc<Prices>) -> Self {
        self.prices = prices;
        self
    }

    /// Goes through this proxy. None is taken from the environment.
    pub fn proxy(mut self, url: &str) -> Result<Self, DriverError> {
        self.http = Http::through(url)?;
        Ok(self)
    }

    /// Asks this model unless a request names another.
    #[must_use]
    pub fn model(mut self, name: &str) -> Self {
        self.model = name.into();
        self
    }

    /// Waits so long for the first piece of an answer and between two pieces. 120 seconds unless told otherwise.
    #[must_use]
    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.bounds.idle = idle;
        self
    }

    /// Takes so many bytes of an answer, as it comes over the wire. 64 MiB unless told otherwise.
    #[must_use]
    pub fn max_answer_bytes(mut self, bytes: usize) -> Self {
        self.bounds.answer_bytes = bytes;
        self.bounds.frame_bytes = self.bounds.frame_bytes.min(bytes);
        self
    }
}

/// A key in a URL would be shown by everything that shows URLs, so none is taken.
pub(crate) fn parse_base(url: &str) -> Result<Url, DriverError> {
    let fail = |reason: &str| DriverError::Url { url: shown(url), reason: reason.to_owned() };
    let mut base = Url::parse(url).map_err(|error| fail(&error.to_string()))?;
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err(fail("it must begin with `http://` or `https://` and name a host"));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(fail("credentials belong in the key"));
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(fail("it must end with its path"));
    }
    if !base.path().ends_with('/') {
        let path = format!("{}/", base.path());
        base.set_path(&path);
    }
    Ok(base)
}

/// What was given, without what may be a secret in it.
pub(crate) fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}://…{}", &url[..scheme], &url[at..]),
        _ => url.chars().take(200).collect(),
    }
}

impl Model for Driver {
    fn id(&self) -> ModelId {
        ModelId::new(self.provider.clone(), self.model.clone())
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let call = request::map(request, self.adapter);
        let Some(base) = &self.base else {
            let message = format!("{} has no address of its own: give it a base URL", self.provider);
            return Err(ModelError::Rejected { message });
        };
        // Line breaks, and quotation marks of a text processor.
        if self.key.as_ref().is_some_and(|key| !key.reveal().bytes().all(|byte| matches!(byte, b' '..=b'~'))) {
            let message = format!("the key of {} has characters that no key has; was it copied whole?", self.provider);
            return Err(ModelError::Unauthorised { message });
        }
        let relay = Relay::open(&self.http, base, self.key.as_ref(), self.bounds, call.patch).await?;
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(relay.address()),
            auth: AuthData::from_single(relay::PLACEHOLDER),
            model: ModelIden::new(self.adapter, request::exact_name(&request.model.name)),
        };
        let stream = self.genai.exec_chat_stream(target, call.chat, Some(&call.options)).await;
        let stream = stream.map_err(|error| failure::of_genai(&error, self.key.as_ref()))?.stream;
        let seen = relay.seen();
        let relayed = relay.run();
        let answer = answer::read(stream, request, self.adapter, &seen, self.key.as_ref(), out);
        tokio::pin!(relayed, answer);
        let mut response = tokio::select! {
            answered = &mut answer => answered,
            relayed = &mut relayed => {
                // Pieces that came before the end, however it ended, are read first.
                let answered = answer.await;
                relayed.and(answered)
            }
        }?;
        let asked = ModelId::new(self.provider.clone(), request.model.name.clone());
        response.usage.cost_micros = self.prices.cost(&asked, &response.usage).unwrap_or_default();
        Ok(response)
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { provider, adapter, base, key, model, bounds, .. } = self;
        f.debug_struct("Driver")
            .field("provider", provider)
            .field("model", model)
            .field("adapter", adapter)
            .field("base", &base.as_ref().map(Url::as_str))
            .field("key", key)
            .field("bounds", bounds)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_ends_in_a_slash_and_holds_no_secret() {
        assert_eq!(parse_base("http://localhost:8080/v1").expect("a URL").as_str(), "http://localhost:8080/v1/");
        for (url, shown) in [
            ("ftp://host/", "`ftp://host/`"),
            ("localhost:8080", "`localhost:8080`"),
            ("https://user:sk-planted@host/v1", "`https://…@host/v1`"),
            ("https://host/v1?key=sk-planted", "`https://host/v1`"),
        ] {
            let error = parse_base(url).expect_err(url).to_string();
            assert!(error.starts_with(shown) && !error.contains("sk-planted"), "{error}");
        }
    }
}
