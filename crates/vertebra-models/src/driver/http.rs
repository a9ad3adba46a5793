//! The way out: one client per driver.

use std::time::Duration;

use reqwest::{Client, ClientBuilder, Proxy, redirect::Policy};

use super::DriverError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that follows no redirect, which could carry the key elsewhere, and asks no proxy that the environment
/// happens to name. Compressed answers are not asked for: a few bytes could become endless ones.
#[derive(Clone)]
pub(super) struct Http(pub(super) Client);

impl Http {
    pub(super) fn new(proxy: Option<&str>) -> Result<Self, DriverError> {
        let client = plain().connect_timeout(CONNECT_TIMEOUT).tcp_keepalive(Duration::from_secs(30));
        let client = match proxy {
            Some(url) => client.proxy(Proxy::all(url).map_err(|_| no_proxy(url))?),
            None => client,
        };
        build(client).map(Self)
    }
}

/// The client of `genai`, which reaches the relay and nothing else.
pub(super) fn loopback() -> Result<Client, DriverError> {
    build(plain().http1_only().pool_max_idle_per_host(0))
}

fn plain() -> ClientBuilder {
    // The client takes the provider of the process. If somebody has chosen one already, theirs is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().redirect(Policy::none()).no_gzip().tcp_nodelay(true)
}

fn build(client: ClientBuilder) -> Result<Client, DriverError> {
    client.build().map_err(|error| DriverError::Client { reason: error.to_string() })
}

fn no_proxy(url: &str) -> DriverError {
    DriverError::Url { url: super::shown(url), reason: "it is no proxy".to_owned() }
}
