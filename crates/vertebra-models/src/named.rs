//! A model from its name: the key and the address come from the environment.

use vertebra::SharedModel;

use crate::{
    Choice, Driver, DriverError, Provider, React, UnknownProvider,
    found::{base_url_in, key_in, not_set},
};

/// Returns the model that `provider:name` names, ready for `Agent::builder`.
///
/// The key comes from the environment variable of the provider, such as `ANTHROPIC_API_KEY`; [`PROVIDERS`] lists the
/// variables. A server on this machine needs no key: `ollama:qwen3:8b`. The variables for another base URL, such as
/// `OLLAMA_HOST` and `OPENAI_BASE_URL`, apply too.
///
/// Models of local servers, and of providers without tool calling, are wrapped in [`React`]. To set the key, the base URL
/// or the prices yourself, use [`Driver`].
///
/// ```no_run
/// use vertebra::prelude::*;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let model = vertebra_models::model("anthropic:claude-sonnet-5-5")?;
/// let agent = Agent::builder(model).build()?;
/// println!("{}", agent.run("What is a vertebra?").await?.text);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Returns a [`ModelNameError`] if the name has no known `provider:` prefix, the provider's key is not set, or the
/// provider needs a base URL that is not set. No request is sent: the first call reports a wrong key or a misspelt model.
///
/// [`PROVIDERS`]: crate::PROVIDERS
pub fn model(name: &str) -> Result<SharedModel, ModelNameError> {
    model_in(name, |variable| std::env::var(variable).ok())
}

/// The reason why a name gave no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelNameError {
    /// The name has no `provider:` prefix.
    #[error("`{name}` does not say which provider to use; write {}", suggestion.as_deref().map_or(
        "`provider:name`, for example `anthropic:claude-sonnet-5-5`".to_owned(),
        |suggestion| format!("`{suggestion}`"),
    ))]
    NoProvider {
        /// The name as given.
        name: String,
        /// The name with its provider, if one provider is known to have such models.
        suggestion: Option<String>,
    },
    /// The provider is not in the table of providers.
    #[error(transparent)]
    UnknownProvider(#[from] UnknownProvider),
    /// The name has a provider and no model.
    #[error("`{provider}:` does not name a model; write `{suggestion}`")]
    NoModel {
        /// The provider's name.
        provider: &'static str,
        /// The provider with a model.
        suggestion: String,
    },
    /// The environment has no key for the provider.
    #[error("no API key for {label}: {}; run `export {}=…`", not_set(variables, |_| false), variables.first().unwrap_or(&"KEY"))]
    NoKey {
        /// The provider's name for people.
        label: &'static str,
        /// The variables that can hold the key, in order.
        variables: &'static [&'static str],
    },
    /// The provider has no default address, and the environment has none either.
    #[error("{label} needs a base URL; build the model with `Driver::new` and `Driver::base_url`")]
    NoBaseUrl {
        /// The provider's name for people.
        label: &'static str,
    },
    /// The driver could not be built.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

fn model_in(name: &str, variable: impl Fn(&str) -> Option<String>) -> Result<SharedModel, ModelNameError> {
    let (provider, model) = split(name.trim())?;
    let base_url = base_url_in(provider, &variable).unwrap_or_else(|| provider.base_url.to_owned());
    if base_url.is_empty() {
        return Err(ModelNameError::NoBaseUrl { label: provider.label });
    }
    let mut driver = Driver::new(provider)?.base_url(&base_url)?.model(model);
    match key_in(provider, &variable) {
        Some((_, key)) => driver = driver.key(key),
        None if provider.local => {}
        None => return Err(ModelNameError::NoKey { label: provider.label, variables: provider.keys }),
    }
    Ok(if provider.prefers_react() { SharedModel::new(React::over(driver)) } else { SharedModel::new(driver) })
}

/// Splits `provider:name`.
fn split(name: &str) -> Result<(&'static Provider, &str), ModelNameError> {
    let suggestion = |provider: &Provider| {
        let model = provider.default_model.unwrap_or("NAME");
        format!("{}:{model}", provider.name)
    };
    if let Some((provider, model)) = name.split_once(':') {
        // The error shows the whole name, as Ollama's names have colons too: `qwen3:8b`.
        let provider = Provider::find(provider).map_err(|_| UnknownProvider::new(name))?;
        return match model.trim() {
            "" => Err(ModelNameError::NoModel { provider: provider.name, suggestion: suggestion(provider) }),
            model => Ok((provider, model)),
        };
    }
    match Provider::parse(name) {
        Ok(Choice { provider, model: None }) => {
            Err(ModelNameError::NoModel { provider: provider.name, suggestion: suggestion(provider) })
        }
        Ok(Choice { provider, model: Some(model) }) => {
            let suggestion = Some(format!("{}:{model}", provider.name));
            Err(ModelNameError::NoProvider { name: name.to_owned(), suggestion })
        }
        Err(_) => Err(ModelNameError::NoProvider { name: name.to_owned(), suggestion: None }),
    }
}

#[cfg(test)]
mod tests {
    use vertebra::Model as _;

    use super::*;

    /// Checks what a name gives in an environment with these variables: the model's own name, or the error.
    #[track_caller]
    fn check(name: &str, variables: &[(&str, &str)], expected: &str) {
        let variable =
            |asked: &str| variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned());
        let told = match model_in(name, variable) {
            Ok(model) => format!("{} {}", model.id().provider, model.id().name),
            Err(error) => error.to_string(),
        };
        assert_eq!(told, expected, "{name}");
    }

    const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-planted");

    #[test]
    fn a_provider_and_a_name_give_a_model_if_the_key_is_set() {
        check("anthropic:claude-sonnet-5-5", &[KEY], "anthropic claude-sonnet-5-5");
        check(" Claude: claude-opus-5-5 ", &[KEY], "anthropic claude-opus-5-5");
        check("groq:openai/gpt-oss-120b", &[("GROQ_API_KEY", "gsk")], "groq openai/gpt-oss-120b");
        check("gemini:gemini-3.8-flash", &[("GOOGLE_API_KEY", "k")], "gemini gemini-3.8-flash");
    }

    #[test]
    fn a_local_server_needs_no_key() {
        check("ollama:qwen3:8b", &[], "ollama qwen3:8b");
        check("ollama:qwen3:8b", &[("OLLAMA_HOST", "10.0.0.2:11434")], "ollama qwen3:8b");
        check("llama.cpp:any", &[], "llama.cpp any");
    }

    #[test]
    fn a_missing_or_empty_key_names_the_variables_to_set() {
        let text = "no API key for Anthropic: ANTHROPIC_API_KEY is not set; run `export ANTHROPIC_API_KEY=…`";
        check("anthropic:claude-sonnet-5-5", &[], text);
        check("anthropic:claude-sonnet-5-5", &[("ANTHROPIC_API_KEY", " ")], text);
        check(
            "gemini:gemini-3.8-flash",
            &[KEY],
            "no API key for Google Gemini: GEMINI_API_KEY and GOOGLE_API_KEY are not set; run \
             `export GEMINI_API_KEY=…`",
        );
    }

    #[test]
    fn an_unknown_provider_is_reported_with_the_nearest_name() {
        check("antropic:claude-sonnet-5-5", &[KEY], "unknown provider `antropic`; did you mean `anthropic`?");
        check("qwen3:8b", &[], "unknown provider `qwen3`; write PROVIDER:NAME, for example `ollama:qwen3:8b`");
    }

    #[test]
    fn a_name_without_a_provider_is_reported_with_the_full_name() {
        check("gpt-5", &[], "`gpt-5` does not say which provider to use; write `openai:gpt-5`");
        check(
            "anthropic/claude-opus-5-5",
            &[KEY],
            "`anthropic/claude-opus-5-5` does not say which provider to use; write `anthropic:claude-opus-5-5`",
        );
        check(
            "something",
            &[],
            "`something` does not say which provider to use; write `provider:name`, for example \
             `anthropic:claude-sonnet-5-5`",
        );
    }

    #[test]
    fn a_provider_without_a_model_is_reported_with_an_example() {
        let text = "`anthropic:` does not name a model; write `anthropic:claude-sonnet-5-5`";
        check("anthropic:", &[KEY], text);
        check("anthropic", &[KEY], text);
        check("ollama", &[], "`ollama:` does not name a model; write `ollama:NAME`");
    }

    #[test]
    fn a_provider_without_an_address_points_at_the_driver() {
        check(
            "vertex:gemini-3.8-flash",
            &[("VERTEX_API_KEY", "k")],
            "Google Vertex AI needs a base URL; build the model with `Driver::new` and `Driver::base_url`",
        );
    }

    #[test]
    fn an_invalid_base_url_in_the_environment_is_an_error_that_hides_credentials() {
        let told = model_in("openai:gpt-6.1-sol", |variable| {
            Some(if variable == "OPENAI_BASE_URL" { "https://me:sk-planted@host/" } else { "key" }.to_owned())
        });
        let error = told.err().expect("credentials in a URL are refused").to_string();
        assert!(error.contains("https://…@host/") && !error.contains("sk-planted"), "{error}");
    }
}
