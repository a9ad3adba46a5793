//! Drivers: one [`Model`] for every provider, built on the adapters of `genai`.
//!
//! `genai` translates a request into the provider's JSON, and the provider's events into deltas. Its HTTP traffic goes
//! through the [`relay`], which limits sizes and times, adds the key and detects a cut-off response. Only the relay
//! connects to the provider.
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
use crate::{Adapter, Prices, Provider, Secret, found::loopback};

pub use self::{options::RESPONSE_SCHEMA, several::Drivers};

/// A model of one provider. Use it when [`model`](crate::model) is not enough: to pass the key, the base URL or the
/// prices yourself. For requests to several providers, see [`Drivers`].
///
/// ```
/// use vertebra_models::{Driver, Provider, Secret};
///
/// let model = Driver::new(Provider::find("openai")?)?.key(Secret::new("sk-…")).model("gpt-6.1-sol");
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

/// The limits of a response, in time and in size.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The time before the first piece of the response.
    first: Duration,
    /// The time between two pieces.
    idle: Duration,
    /// The size of the whole response on the wire.
    answer_bytes: usize,
    /// The size of one event of the response.
    frame_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            first: Duration::from_mins(10),
            idle: Duration::from_mins(2),
            answer_bytes: 64 << 20,
            frame_bytes: 16 << 20,
        }
    }
}

/// The reason why a driver could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The base URL cannot be used.
    #[error("invalid base URL `{url}`: {reason}; write one like `https://api.example.com/v1/`")]
    Url {
        /// The URL as given, without credentials.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The HTTP client could not be built.
    #[error("cannot build an HTTP client: {reason}")]
    Client {
        /// The reason.
        reason: String,
    },
}

impl Driver {
    /// Creates a driver for the provider's default model.
    pub fn new(provider: &Provider) -> Result<Self, DriverError> {
        let genai = genai::Client::builder().with_reqwest(http::loopback()?).build();
        let driver = Self {
            provider: provider.name.into(),
            adapter: provider.adapter,
            base: Some(provider.base_url).filter(|url| !url.is_empty()).map(parse_base).transpose()?,
            prices: Arc::new(Prices::built_in().clone()),
            key: None,
            model: provider.default_model.unwrap_or_default().into(),
            bounds: Bounds::default(),
            http: Http::default(),
            genai: genai.map_err(|error| DriverError::Client { reason: error.to_string() })?,
        };
        Ok(driver.patient_with_local())
    }

    /// Sets the API key.
    #[must_use]
    pub fn key(mut self, key: Secret) -> Self {
        self.key = Some(key).filter(|key| !key.is_empty());
        self
    }

    /// Sets the base URL, for a proxy or another server with the same API.
    pub fn base_url(mut self, url: &str) -> Result<Self, DriverError> {
        self.base = Some(parse_base(url)?);
        Ok(self.patient_with_local())
    }

    /// A model on this machine may be slow throughout.
    fn patient_with_local(mut self) -> Self {
        if self.base.as_ref().is_some_and(|base| loopback(base.as_str()).is_some()) {
            self.bounds.idle = self.bounds.idle.max(self.bounds.first);
        }
        self
    }

    /// Computes costs from these prices instead of the built-in ones.
    #[must_use]
    pub fn prices(mut self, prices: Arc<Prices>) -> Self {
        self.prices = prices;
        self
    }

    /// Sends requests through this proxy. Proxy variables of the environment are ignored.
    pub fn proxy(mut self, url: &str) -> Result<Self, DriverError> {
        self.http = Http::through(url)?;
        Ok(self)
    }

    /// Sets the model to use when a request names no other.
    #[must_use]
    pub fn model(mut self, name: &str) -> Self {
        self.model = name.into();
        self
    }

    /// Sets the time limit for the first piece of a response. The default is 10 minutes.
    #[must_use]
    pub fn first_timeout(mut self, first: Duration) -> Self {
        self.bounds.first = first;
        self
    }

    /// Sets the time limit between two pieces of a response. The default is 2 minutes, or 10 for a server on this machine.
    #[must_use]
    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.bounds.idle = idle;
        self
    }

    /// Sets the largest response on the wire, in bytes. The default is 64 MiB.
    #[must_use]
    pub fn max_answer_bytes(mut self, bytes: usize) -> Self {
        self.bounds.answer_bytes = bytes;
        self.bounds.frame_bytes = self.bounds.frame_bytes.min(bytes);
        self
    }
}

/// Parses a base URL. One with credentials is rejected, because URLs are shown in errors and logs.
pub(crate) fn parse_base(url: &str) -> Result<Url, DriverError> {
    let fail = |reason: &str| DriverError::Url { url: shown(url), reason: reason.to_owned() };
    let mut base = Url::parse(url).map_err(|error| fail(&error.to_string()))?;
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err(fail("it must start with `http://` or `https://` and name a host"));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(fail("it contains credentials, which belong in the key"));
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(fail("it must not have a query or a fragment"));
    }
    if !base.path().ends_with('/') {
        let path = format!("{}/", base.path());
        base.set_path(&path);
    }
    Ok(base)
}

/// Returns the URL without the parts that may be secret.
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
            let message = format!("{} needs a base URL", self.provider);
            return Err(ModelError::Rejected { message });
        };
        // Typical mistakes: a line break, or typographic quotes.
        if self.key.as_ref().is_some_and(|key| !key.reveal().bytes().all(|byte| matches!(byte, b' '..=b'~'))) {
            let message = format!(
                "the API key for {} contains invalid characters; check that it was copied completely",
                self.provider
            );
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
                // Deltas that arrived before the end are read first, also if it ended with an error.
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
    fn a_model_has_ten_minutes_to_begin_and_one_on_this_machine_for_each_piece() {
        let minutes = |driver: &Driver| (driver.bounds.first.as_secs() / 60, driver.bounds.idle.as_secs() / 60);
        let of = |name| Driver::new(Provider::find(name).expect("a provider")).expect("a driver");
        assert_eq!(minutes(&of("anthropic")), (10, 2));
        assert_eq!(minutes(&of("ollama")), (10, 10));
        assert_eq!(minutes(&of("openai").base_url("http://localhost:8080/v1").expect("a URL")), (10, 10));
    }

    #[test]
    fn a_base_url_gets_a_trailing_slash_and_its_errors_show_no_credentials() {
        assert_eq!(parse_base("http://localhost:8080/v1").expect("a URL").as_str(), "http://localhost:8080/v1/");
        for (url, shown) in [
            ("ftp://host/", "`ftp://host/`"),
            ("localhost:8080", "`localhost:8080`"),
            ("https://user:sk-planted@host/v1", "`https://…@host/v1`"),
            ("https://host/v1?key=sk-planted", "`https://host/v1`"),
        ] {
            let error = parse_base(url).expect_err(url).to_string();
            let expected = format!("invalid base URL {shown}");
            assert!(error.starts_with(&expected) && !error.contains("sk-planted"), "{error}");
        }
    }
}
