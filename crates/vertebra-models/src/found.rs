//! What is usable here and now: keys that are set, servers on this machine that answer.
//!
//! Nothing here reads the environment: whoever asks hands it in. Nothing but loopback is asked.

mod probe;

use std::{collections::BTreeMap, fmt, time::Duration};

use futures_util::future::join_all;
use reqwest::Url;

use crate::{
    Adapter, PROVIDERS, Provider, Secret,
    driver::{parse_base, shown},
};

/// How long a local server has to list its models.
const WAIT: Duration = Duration::from_millis(300);

/// Providers whose key is often there for something else: they are used when they are named, and not before.
const ONLY_BY_NAME: [&str; 1] = ["github"];

/// Where to look.
#[derive(Clone)]
pub struct Search {
    environment: BTreeMap<String, String>,
    base_urls: BTreeMap<&'static str, String>,
    wait: Duration,
}

/// What was found, in the order of [`PROVIDERS`].
#[derive(Debug, Clone)]
pub struct Found(Vec<Finding>);

/// Whether one provider is usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The provider.
    pub provider: &'static Provider,
    /// Where it is.
    pub base_url: String,
    /// With what it can be used, or why it cannot.
    pub usable: Result<Usable, String>,
}

/// With what a provider can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usable {
    /// The key to send.
    pub key: Option<Secret>,
    /// The models that its server lists, if it was asked.
    pub models: Vec<String>,
    /// Why it is usable, in words: `ANTHROPIC_API_KEY is set`.
    pub why: String,
}

/// The provider and the model that are used when nobody names any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen<'f> {
    /// The provider.
    pub finding: &'f Finding,
    /// The model's name there.
    pub model: &'f str,
    /// Why this one, in words.
    pub why: &'f str,
}

impl Search {
    /// Looks for keys in this environment, and for servers on their usual ports.
    pub fn new(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { environment: environment.into_iter().collect(), base_urls: BTreeMap::new(), wait: WAIT }
    }

    /// The provider is there, as configured. One that is on this machine is asked; another one is believed.
    #[must_use]
    pub fn base_url(mut self, provider: &'static Provider, url: &str) -> Self {
        self.base_urls.insert(provider.name, url.to_owned());
        self
    }

    /// Gives a local server so long to list its models.
    #[must_use]
    pub fn within(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Looks at every provider, at all of them at once.
    pub async fn look(&self) -> Found {
        Found(join_all(PROVIDERS.iter().map(|provider| self.at(provider))).await)
    }

    /// Looks at one provider.
    pub async fn at(&self, provider: &'static Provider) -> Finding {
        let told = self.base_urls.get(provider.name).cloned();
        let told =
            told.or_else(|| provider.bases.iter().find_map(|name| self.set(name)).map(|url| whole(provider, url)));
        let base_url = told.clone().unwrap_or_else(|| provider.base_url.to_owned());
        match parse_base(&base_url) {
            // Somebody may have put a key into it, and findings are shown.
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
        let variable = provider.keys.iter().find(|name| self.set(name).is_some());
        let key = variable.and_then(|name| self.set(name)).map(Secret::new);
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

    fn set(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }
}

/// An environment is full of secrets.
impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("wait", &self.wait).finish_non_exhaustive()
    }
}

/// An address from the environment as a URL: Ollama's is often a host and a port alone.
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

/// The URL, if it is one of this machine that wants no encryption.
fn loopback(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok().filter(|url| url.scheme() == "http")?;
    let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
    let is = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is.then_some(url)
}

fn place(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

fn not_set(names: &[&str], there: impl Fn(&str) -> bool) -> String {
    match (names, names.iter().find(|name| there(name))) {
        (_, Some(empty)) => format!("{empty} is empty"),
        ([one], None) => format!("{one} is not set"),
        (several, None) => format!("{} are not set", several.join(" and ")),
    }
}

impl Found {
    /// Every provider.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// What is known of this provider.
    pub fn of(&self, provider: &Provider) -> Option<&Finding> {
        self.iter().find(|finding| finding.provider.name == provider.name)
    }

    /// The provider that is used when none is named: the first whose key is set, then the first local server that
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

    /// The model that is used when none is named: the provider's, or the first that its server lists to talk with.
    pub fn default_model(&self) -> Option<&str> {
        let models = self.usable.as_ref().ok().map_or(&[][..], |usable| &usable.models);
        let listed = models.iter().find(|name| !name.contains("embed")).or(models.first());
        self.provider.default_model.or(listed.map(|name| &**name))
    }
}
