//! The models that can be used now: providers whose key is set, and servers on this machine that answer.
//!
//! The caller passes the environment in. Only addresses of this machine are contacted.

mod probe;

use std::{collections::BTreeMap, fmt, time::Duration};

use futures_util::future::join_all;
use reqwest::Url;

use crate::{
    Adapter, PROVIDERS, Provider, Secret,
    driver::{parse_base, shown},
};

/// The time limit for a local server to list its models.
const WAIT: Duration = Duration::from_millis(300);

/// Providers whose key variable is often set for another purpose. They are used only when named.
const ONLY_BY_NAME: [&str; 1] = ["github"];

/// A search for usable models in an environment and on local ports.
#[derive(Clone)]
pub struct Search {
    environment: BTreeMap<String, String>,
    base_urls: BTreeMap<&'static str, String>,
    wait: Duration,
}

/// The result of a [`Search`], in the order of [`PROVIDERS`].
#[derive(Debug, Clone)]
pub struct Found(Vec<Finding>);

/// The result of checking one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The provider.
    pub provider: &'static Provider,
    /// The base URL that would be used.
    pub base_url: String,
    /// How it can be used, or the reason why not.
    pub usable: Result<Usable, String>,
}

/// How a provider can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usable {
    /// The key to send.
    pub key: Option<Secret>,
    /// The models that the server lists, if it was asked.
    pub models: Vec<String>,
    /// The reason for people: `ANTHROPIC_API_KEY is set`.
    pub why: String,
}

/// The provider and the model that are used when none is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen<'f> {
    /// The provider.
    pub finding: &'f Finding,
    /// The model's name at that provider.
    pub model: &'f str,
    /// The reason for people.
    pub why: &'f str,
}

impl Search {
    /// Creates a search for keys in this environment, and for servers on their default ports.
    pub fn new(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { environment: environment.into_iter().collect(), base_urls: BTreeMap::new(), wait: WAIT }
    }

    /// Sets the base URL of a provider. A server on this machine is contacted; any other is assumed to work.
    #[must_use]
    pub fn base_url(mut self, provider: &'static Provider, url: &str) -> Self {
        self.base_urls.insert(provider.name, url.to_owned());
        self
    }

    /// Sets the time limit for a local server to list its models. The default is 300 ms.
    #[must_use]
    pub fn within(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Checks every provider, all at once.
    pub async fn look(&self) -> Found {
        Found(join_all(PROVIDERS.iter().map(|provider| self.at(provider))).await)
    }

    /// Checks one provider.
    pub async fn at(&self, provider: &'static Provider) -> Finding {
        let told = self.base_urls.get(provider.name).cloned();
        let told = told.or_else(|| base_url_in(provider, |name| self.environment.get(name).cloned()));
        let base_url = told.clone().unwrap_or_else(|| provider.base_url.to_owned());
        match parse_base(&base_url) {
            // The URL may contain a key, and findings are shown.
            Err(error) if !base_url.is_empty() => {
                Finding { provider, base_url: shown(&base_url), usable: Err(error.to_string()) }
            }
            _ => {
                let usable = self.usable(provider, &base_url, told.is_some()).await;
                Finding { provider, base_url, usable }
            }
        }
    }

    async fn usable(&self, provider: &Provider, base_url: &str, told: bool) -> Result<Usable, String> {
        if base_url.is_empty() {
            return Err("it needs a base URL".to_owned());
        }
        let (variable, key) = key_in(provider, |name| self.environment.get(name).cloned()).unzip();
        let Some(address) = loopback(base_url).filter(|_| provider.local && (told || provider.port.is_some())) else {
            return match variable {
                Some(name) => Ok(Usable { key, models: Vec::new(), why: format!("{name} is set") }),
                None if told => Ok(Usable { key, models: Vec::new(), why: format!("{base_url} is configured") }),
                None if provider.local => Err("no base URL is configured".to_owned()),
                None => Err(not_set(provider.keys, |name| self.environment.contains_key(name))),
            };
        };
        let list = if provider.adapter == Adapter::Ollama { "api/tags" } else { "models" };
        let path = format!("{}{list}", address.path());
        let place = place(&address);
        let asked = tokio::time::timeout(self.wait, probe::models(&place, &path)).await;
        let wait = self.wait.as_millis();
        let models = asked.unwrap_or_else(|_| Err(format!("{place} does not answer within {wait} ms")))?;
        if models.is_empty() {
            return Err(format!("{place} answers, but lists no models"));
        }
        Ok(Usable { key, models, why: format!("{} answers on {place}", provider.label) })
    }
}

/// Returns the base URL that the environment has for a provider.
pub(crate) fn base_url_in(provider: &Provider, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    set_in(provider.bases, variable).map(|(_, url)| whole(provider, &url))
}

/// Returns the key that the environment has for a provider, with the name of its variable.
pub(crate) fn key_in(provider: &Provider, variable: impl Fn(&str) -> Option<String>) -> Option<(&'static str, Secret)> {
    set_in(provider.keys, variable).map(|(name, key)| (name, Secret::new(&key)))
}

/// Returns the first of these variables that is set and not empty, with its value.
fn set_in(names: &'static [&'static str], variable: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    let set = |name: &&'static str| Some((*name, variable(name)?.trim().to_owned()));
    names.iter().filter_map(set).find(|(_, value)| !value.is_empty())
}

/// Hides the environment, which contains secrets.
impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("wait", &self.wait).finish_non_exhaustive()
    }
}

/// Completes an address from the environment to a URL: Ollama's is often only a host and a port.
fn whole(provider: &Provider, address: &str) -> String {
    let url = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let here = url.replace("//0.0.0.0", "//127.0.0.1");
    let slash = if here.ends_with('/') { "" } else { "/" };
    match (provider.port, Url::parse(&here)) {
        (Some(port), Ok(url)) if url.port().is_none() && !address.contains("://") => {
            format!("{}:{port}/", here.trim_end_matches('/'))
        }
        _ => format!("{here}{slash}"),
    }
}

/// Returns the URL if it is plain HTTP to this machine.
pub(crate) fn loopback(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok().filter(|url| url.scheme() == "http")?;
    let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
    let is = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is.then_some(url)
}

fn place(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

/// Says that variables are not set, or that one of them is empty.
pub(crate) fn not_set(names: &[&str], there: impl Fn(&str) -> bool) -> String {
    match (names, names.iter().find(|name| there(name))) {
        (_, Some(empty)) => format!("{empty} is empty"),
        ([one], None) => format!("{one} is not set"),
        (several, None) => format!("{} are not set", several.join(" and ")),
    }
}

impl Found {
    /// Returns the findings about all providers.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// Returns the finding about this provider.
    pub fn of(&self, provider: &Provider) -> Option<&Finding> {
        self.iter().find(|finding| finding.provider.name == provider.name)
    }

    /// Returns the provider to use when none is named: the first whose key is set, else the first local server that
    /// answers, in the order of [`PROVIDERS`].
    pub fn choice(&self) -> Option<Chosen<'_>> {
        let local = |local: bool| self.iter().filter(move |finding| finding.provider.local == local);
        local(false).chain(local(true)).find_map(Finding::chosen)
    }
}

impl Finding {
    fn chosen(&self) -> Option<Chosen<'_>> {
        let usable = self.usable.as_ref().ok().filter(|_| !ONLY_BY_NAME.contains(&self.provider.name))?;
        Some(Chosen { finding: self, model: self.default_model()?, why: &usable.why })
    }

    /// Returns the model to use when none is named: the provider's default, else the first chat model that the server
    /// lists.
    pub fn default_model(&self) -> Option<&str> {
        let models = self.usable.as_ref().ok().map_or(&[][..], |usable| &usable.models);
        let listed = models.iter().find(|name| !name.contains("embed")).or(models.first());
        self.provider.default_model.or(listed.map(|name| &**name))
    }
}
