//! The way out: one client per driver, made when it is first needed.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{Client, ClientBuilder, Proxy, redirect::Policy};

use super::DriverError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that follows no redirect, which could carry the key elsewhere, and asks no proxy that the environment
/// happens to name. Compressed answers are not asked for: a few bytes could become endless ones.
#[derive(Clone, Default)]
pub(super) struct Http {
    proxy: Option<Proxy>,
    secure: Arc<OnceLock<Client>>,
    plain: Arc<OnceLock<Client>>,
}

impl Http {
    pub(super) fn through(proxy: &str) -> Result<Self, DriverError> {
        let no_proxy =
            |_| DriverError::Url { url: super::shown(proxy), reason: "it cannot be used as a proxy".to_owned() };
        Ok(Self { proxy: Some(Proxy::all(proxy).map_err(no_proxy)?), ..Self::default() })
    }

    /// The client for a scheme. To read the machine's certificates takes time that plain HTTP need not spend.
    pub(super) fn client(&self, scheme: &str) -> Result<Client, String> {
        let (slot, client) = match scheme {
            "https" => (&self.secure, basic()),
            _ => (&self.plain, basic().tls_certs_only([])),
        };
        if let Some(client) = slot.get() {
            return Ok(client.clone());
        }
        let client = client.connect_timeout(CONNECT_TIMEOUT).tcp_keepalive(Duration::from_secs(30));
        let client = match &self.proxy {
            Some(proxy) => client.proxy(proxy.clone()),
            None => client,
        };
        let client = client.build().map_err(|error| format!("cannot build an HTTP client: {error}"))?;
        Ok(slot.get_or_init(|| client).clone())
    }
}

/// The client of `genai`, which reaches the relay and trusts nobody else.
pub(super) fn loopback() -> Result<Client, DriverError> {
    let client = basic().tls_certs_only([]).http1_only().pool_max_idle_per_host(0).build();
    client.map_err(|error| DriverError::Client { reason: error.to_string() })
}

fn basic() -> ClientBuilder {
    // The client takes the provider of the process. If somebody has chosen one already, theirs is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().redirect(Policy::none()).no_gzip().tcp_nodelay(true)
}
