//! Providers: their names, addresses, keys and what they support.

mod table;

use std::fmt;

use vertebra::nearest;

/// The wire format that a provider speaks.
pub use genai::adapter::AdapterKind as Adapter;

pub use self::table::PROVIDERS;

/// A provider of models, or a model server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// The provider's name in configuration and on the command line: `anthropic`.
    pub name: &'static str,
    /// Other names that mean this provider.
    pub aliases: &'static [&'static str],
    /// The provider's name for people: `Anthropic`.
    pub label: &'static str,
    /// Environment variables that can hold the key, in order.
    pub keys: &'static [&'static str],
    /// Environment variables that can hold another base URL, in order.
    pub bases: &'static [&'static str],
    /// The wire format of the provider's API.
    pub adapter: Adapter,
    /// The base URL, ending in `/`. Empty if the user must supply one.
    pub base_url: &'static str,
    /// The default port of a server on this machine.
    pub port: Option<u16>,
    /// The model to use when none is named. Without one, the server is asked for its list of models.
    pub default_model: Option<&'static str>,
    /// Prefixes of model names that identify this provider without its name.
    pub prefixes: &'static [&'static str],
    /// Whether it is a server on this machine, which needs no key.
    pub local: bool,
    /// What requests to it may contain.
    pub takes: Takes,
}

/// What requests to a provider may contain. A single model may support less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takes {
    /// Tools. A model without tool calling can use them through [`React`](crate::React).
    pub tools: bool,
    /// Images.
    pub images: bool,
}

/// A provider, and one of its models if one was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'t> {
    /// The provider.
    pub provider: &'static Provider,
    /// The model's name at that provider.
    pub model: Option<&'t str>,
}

impl Provider {
    /// Returns the provider with this name or alias.
    pub fn find(name: &str) -> Result<&'static Self, UnknownProvider> {
        Self::named(name).ok_or_else(|| UnknownProvider::new(name))
    }

    fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.names().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// Returns the name and the aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Parses what a person wrote for a model: `PROVIDER:NAME`, `PROVIDER/NAME`, a provider alone, or a model name whose
    /// prefix identifies its provider.
    ///
    /// ```
    /// use vertebra_models::Provider;
    ///
    /// let choice = Provider::parse("ollama:llama3.2:3b")?;
    /// assert_eq!((choice.provider.name, choice.model), ("ollama", Some("llama3.2:3b")));
    /// assert_eq!(Provider::parse("groq/openai/gpt-oss-20b")?.model, Some("openai/gpt-oss-20b"));
    /// assert_eq!(Provider::parse("claude-opus-5-5")?.provider.name, "anthropic");
    /// assert_eq!(Provider::parse("anthropic")?.model, None);
    /// # Ok::<(), vertebra_models::UnknownProvider>(())
    /// ```
    pub fn parse(text: &str) -> Result<Choice<'_>, UnknownProvider> {
        let text = text.trim();
        if let Some(provider) = Self::named(text) {
            return Ok(Choice { provider, model: None });
        }
        for mark in [':', '/'] {
            if let Some((name, model)) = text.split_once(mark)
                && let Some(provider) = Self::named(name)
            {
                let model = Some(model.trim()).filter(|model| !model.is_empty());
                return Ok(Choice { provider, model });
            }
        }
        // `deepseek-r1:8b` has the form of Ollama's names, whatever its prefix.
        match PROVIDERS.iter().find(|provider| provider.makes(text)).filter(|_| !text.contains([':', '/'])) {
            Some(provider) => Ok(Choice { provider, model: Some(text) }),
            None => Err(UnknownProvider::new(text)),
        }
    }

    /// Whether models of this provider should use tools through [`React`](crate::React).
    ///
    /// True for local servers, whose models are often too small for reliable tool calls, and for providers without tool
    /// calling.
    pub fn prefers_react(&self) -> bool {
        self.local || !self.takes.tools
    }

    /// Whether the prefix of a model name identifies this provider.
    fn makes(&self, model: &str) -> bool {
        self.prefixes.iter().any(|prefix| model.starts_with(prefix))
    }
}

/// The error for a name that is not in the table of providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProvider {
    /// The text that was to name a provider.
    pub asked: String,
    /// The most similar name, if one is similar.
    pub nearest: Option<&'static str>,
}

impl UnknownProvider {
    pub(crate) fn new(asked: &str) -> Self {
        // A text with the prefix of a model is not a misspelt provider.
        let is_a_model = PROVIDERS.iter().any(|provider| provider.makes(asked));
        let names = PROVIDERS.iter().flat_map(Provider::names).filter(|_| !is_a_model);
        Self { asked: asked.to_owned(), nearest: nearest(&before_the_model(asked).to_lowercase(), names) }
    }
}

fn before_the_model(text: &str) -> &str {
    text.split([':', '/']).next().unwrap_or(text)
}

impl std::error::Error for UnknownProvider {}

impl fmt::Display for UnknownProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &str| text.chars().take(60).collect::<String>().escape_debug().to_string();
        write!(f, "unknown provider `{}`", shown(before_the_model(&self.asked)))?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None if self.asked.is_empty() => write!(f, "; write PROVIDER:NAME, for example `ollama:qwen3:8b`"),
            None => write!(f, "; write PROVIDER:NAME, for example `ollama:{}`", shown(&self.asked)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let told = match Provider::parse(text) {
            Ok(Choice { provider, model }) => format!("{} {}", provider.name, model.unwrap_or("-")),
            Err(error) => error.to_string(),
        };
        assert_eq!(told, expected, "{text}");
    }

    #[test]
    fn a_model_is_named_with_its_provider_or_by_a_known_prefix() {
        check("anthropic:claude-opus-5-5", "anthropic claude-opus-5-5");
        check(" Anthropic/claude-opus-5-5 ", "anthropic claude-opus-5-5");
        check("openrouter:anthropic/claude-opus-5.5", "openrouter anthropic/claude-opus-5.5");
        check("google:gemini-3.8-flash", "gemini gemini-3.8-flash");
        check("claude-opus-5-5", "anthropic claude-opus-5-5");
        check("gpt-6.1-sol", "openai gpt-6.1-sol");
        check("ollama:qwen3:8b", "ollama qwen3:8b");
        check("llama.cpp", "llama.cpp -");
        check("anthropic:", "anthropic -");
    }

    #[test]
    fn an_unknown_provider_is_an_error_with_the_nearest_name_or_an_example() {
        check("antropic:claude", "unknown provider `antropic`; did you mean `anthropic`?");
        check("olama:qwen3:8b", "unknown provider `olama`; did you mean `ollama`?");
        let example = "write PROVIDER:NAME, for example";
        check("deepseek-r1:8b", &format!("unknown provider `deepseek-r1`; {example} `ollama:deepseek-r1:8b`"));
        check("qwen3:8b", &format!("unknown provider `qwen3`; {example} `ollama:qwen3:8b`"));
        check("gpt-oss:20b", &format!("unknown provider `gpt-oss`; {example} `ollama:gpt-oss:20b`"));
        check("what\u{1b}[2J", &format!("unknown provider `what\\u{{1b}}[2J`; {example} `ollama:what\\u{{1b}}[2J`"));
        check("", &format!("unknown provider ``; {example} `ollama:qwen3:8b`"));
    }

    #[test]
    fn every_name_and_alias_belongs_to_one_provider() {
        let names: Vec<_> = PROVIDERS.iter().flat_map(Provider::names).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for provider in PROVIDERS {
            assert_eq!(Provider::find(provider.name), Ok(provider));
        }
    }

    #[test]
    fn every_adapter_has_a_provider() {
        // The adapters of these two ignore the given base URL. Their servers also speak the Chat Completions format, so
        // they are reached through that.
        let replaced = [Adapter::Zai, Adapter::Baidu];
        for adapter in Adapter::all().iter().filter(|adapter| !replaced.contains(adapter)) {
            assert!(PROVIDERS.iter().any(|provider| provider.adapter == *adapter), "{adapter:?}");
        }
        assert!(PROVIDERS.iter().all(|provider| !replaced.contains(&provider.adapter)));
    }

    #[test]
    fn every_base_url_ends_with_a_slash_and_a_local_one_is_on_this_machine() {
        for Provider { name, base_url, local, port, keys, .. } in PROVIDERS {
            assert!(base_url.is_empty() || base_url.ends_with('/'), "{name}");
            assert_eq!(base_url.starts_with("http://127.0.0.1:"), *local, "{name}");
            assert_eq!(port.is_some(), *local && *name != "omlx", "{name}");
            assert!(port.is_none_or(|port| base_url.contains(&format!(":{port}/"))), "{name}");
            assert!(*local || !keys.is_empty(), "{name}");
        }
    }
}
