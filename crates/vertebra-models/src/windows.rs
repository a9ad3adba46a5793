//! How much models read at once: a table of families, for limits that follow the model.

use vertebra::ModelId;

/// What a model is taken to read whose window is not known, in tokens.
pub const UNKNOWN: u64 = 128_000;

/// Families of models by the beginning of their names, with the tokens that all of the family read. The longest beginning
/// that fits counts. A model that reads more than its family is sold with more; less would be a mistake.
const FAMILIES: &[(&str, u64)] = &[
    ("claude-", 200_000),
    ("codestral", 128_000),
    ("command-a", 256_000),
    ("command-r", 128_000),
    ("deepseek-", 128_000),
    ("devstral", 128_000),
    ("gemini-", 1_048_576),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-5", 272_000),
    ("gpt-6", 272_000),
    ("gpt-oss", 131_072),
    ("grok-4", 256_000),
    ("llama-3.", 131_072),
    ("mistral-", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
];

/// Servers on this machine or of somebody's own: how much a model reads there is up to whoever started it.
const UP_TO_THE_SERVER: &[&str] = &["compatible", "llama.cpp", "lmstudio", "ollama", "omlx", "vllm"];

/// How many tokens this model reads at once, if that is known.
pub fn window(model: &ModelId) -> Option<u64> {
    if UP_TO_THE_SERVER.contains(&&*model.provider) {
        return None;
    }
    // Some providers put the maker before the name.
    let name = model.name.rsplit('/').next().unwrap_or_default();
    let fitting = FAMILIES.iter().filter(|(begin, _)| name.starts_with(begin));
    fitting.max_by_key(|(begin, _)| begin.len()).map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_people_use_have_a_window_and_others_have_none() {
        let of = |provider: &str, name: &str| window(&ModelId::new(provider, name));
        assert_eq!(of("anthropic", "claude-sonnet-5-5"), Some(200_000));
        assert_eq!(of("openai", "gpt-4.1-mini"), Some(1_047_576));
        assert_eq!(of("groq", "openai/gpt-oss-20b"), Some(131_072));
        assert_eq!(of("openrouter", "anthropic/claude-opus-5"), Some(200_000));
        assert_eq!(of("ollama", "gpt-oss"), None);
        assert_eq!(of("script", "talk.jsonl"), None);
    }

    #[test]
    fn every_priced_model_of_the_large_providers_has_a_window() {
        let large = ["anthropic", "openai", "gemini", "deepseek", "xai", "mistral", "cohere"];
        for (provider, name) in crate::Prices::built_in().models().filter(|(provider, _)| large.contains(provider)) {
            assert!(window(&ModelId::new(provider, name)).is_some(), "{provider}:{name}");
        }
    }
}
