//! Providers: whose models can be asked, where, and under which names.

mod table;

use std::fmt;

use vertebra::nearest;

/// The wire format that a provider speaks.
pub use genai::adapter::AdapterKind as Adapter;

pub use self::table::PROVIDERS;

/// A provider of models, or a server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Its name in configuration and on the command line: `anthropic`.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// Its name for people.
    pub label: &'static str,
    /// Environment variables that may hold its key, in order.
    pub keys: &'static [&'static str],
    /// Environment variables that may hold another base URL, in order.
    pub bases: &'static [&'static str],
    /// The wire format it speaks.
    pub adapter: Adapter,
    /// Where it is, ending in `/`; empty if that must be said.
    pub base_url: &'static str,
    /// The port it usually answers on, if it runs on this machine.
    pub port: Option<u16>,
    /// The model that is asked unless another is named. If there is none, the server is asked for its models.
    pub default_model: Option<&'static str>,
    /// How the names of its models begin that are known without its own.
    pub prefixes: &'static [&'static str],
    /// Whether it runs on this machine and wants no key.
    pub local: bool,
    /// What it understands.
    pub takes: Takes,
}

/// What a provider understands, as far as its driver can say it. Single models may understand less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takes {
    /// Tools. Without them a model uses tools by writing about them: see [`React`](crate::React).
    pub tools: bool,
    /// Pictures.
    pub images: bool,
}

/// A provider, and a model of it if one was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'t> {
    /// The provider.
    pub provider: &'static Provider,
    /// The model's name there.
    pub model: Option<&'t str>,
}

impl Provider {
    /// The provider of this name.
    pub fn find(name: &str) -> Result<&'static Self, UnknownProvider> {
        Self::named(name).ok_or_else(|| UnknownProvider::new(name))
    }

    fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.names().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// Its name and its other names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// What a person wrote for a model: `PROVIDER:NAME`, `PROVIDER/NAME`, a provider alone, or the name of a model that
    /// only one provider can mean.
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
        // `deepseek-r1:8b` is a name as Ollama has them, whatever it begins with.
        match PROVIDERS.iter().find(|provider| provider.makes(text)).filter(|_| !text.contains([':', '/'])) {
            Some(provider) => Ok(Choice { provider, model: Some(text) }),
            None => Err(UnknownProvider::new(text)),
        }
    }

    /// Whether a model of this name is known to be one of its.
    fn makes(&self, model: &str) -> bool {
        self.prefixes.iter().any(|prefix| model.starts_with(prefix))
    }
}

/// There is no such provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProvider {
    /// What was asked for.
    pub asked: String,
    /// The name that is most like it, if any is.
    pub nearest: Option<&'static str>,
}

impl UnknownProvider {
    fn new(asked: &str) -> Self {
        // What begins like a model is no misspelt provider.
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
            None if self.asked.is_empty() => write!(f, "; write PROVIDER:NAME, as in `ollama:qwen3:8b`"),
            None => write!(f, "; write PROVIDER:NAME, as in `ollama:{}`", shown(&self.asked)),
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
    fn a_model_is_named_with_its_provider_or_by_a_name_that_is_known() {
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
    fn a_name_that_nobody_or_more_than_one_may_mean_is_an_error_with_the_nearest() {
        check("antropic:claude", "unknown provider `antropic`; did you mean `anthropic`?");
        check("olama:qwen3:8b", "unknown provider `olama`; did you mean `ollama`?");
        let plain = |asked: &str, example: &str| {
            format!("unknown provider `{asked}`; write PROVIDER:NAME, as in `ollama:{example}`")
        };
        check("deepseek-r1:8b", &plain("deepseek-r1", "deepseek-r1:8b"));
        check("qwen3:8b", &plain("qwen3", "qwen3:8b"));
        check("gpt-oss:20b", &plain("gpt-oss", "gpt-oss:20b"));
        check("what\u{1b}[2J", &plain("what\\u{1b}[2J", "what\\u{1b}[2J"));
        check("", &plain("", "qwen3:8b"));
    }

    #[test]
    fn every_name_means_one_provider() {
        let names: Vec<_> = PROVIDERS.iter().flat_map(Provider::names).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for provider in PROVIDERS {
            assert_eq!(Provider::find(provider.name), Ok(provider));
        }
    }

    #[test]
    fn every_adapter_has_a_provider() {
        // These two put an address of their own in the place of the one they are given, so their servers, which speak
        // the format of Chat Completions, are asked in that.
        let replaced = [Adapter::Zai, Adapter::Baidu];
        for adapter in Adapter::all().iter().filter(|adapter| !replaced.contains(adapter)) {
            assert!(PROVIDERS.iter().any(|provider| provider.adapter == *adapter), "{adapter:?}");
        }
        assert!(PROVIDERS.iter().all(|provider| !replaced.contains(&provider.adapter)));
    }

    #[test]
    fn an_address_is_whole_and_a_local_one_is_on_this_machine() {
        for Provider { name, base_url, local, port, keys, .. } in PROVIDERS {
            assert!(base_url.is_empty() || base_url.ends_with('/'), "{name}");
            assert_eq!(base_url.starts_with("http://127.0.0.1:"), *local, "{name}");
            assert_eq!(port.is_some(), *local && *name != "omlx", "{name}");
            assert!(port.is_none_or(|port| base_url.contains(&format!(":{port}/"))), "{name}");
            assert!(*local || !keys.is_empty(), "{name}");
        }
    }
}
