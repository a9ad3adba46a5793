//! Which model: the one that was named, the one in the settings, the one there is a key for, the one that runs here.

use anyhow::{Context as _, bail};
use vertebra::SharedModel;
use vertebra_bridge::settings::ModelSettings;

use super::World;

/// What is said if there is no model.
const NO_MODEL: &str = "\
there is no model to ask. Any of these gives you one:
  1. name one:           vertebra run --model anthropic:claude-sonnet-4-5 \"…\"
  2. write it down:      `vertebra init`, then `name` under `[model]` in vertebra.toml
  3. set a key:          export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY, …)
  4. run one here:       start Ollama, llama.cpp, LM Studio or vLLM
`vertebra models` shows what was looked for. To see an agent at work without any: vertebra demo";

/// A model, and why this one.
pub(crate) struct Chosen {
    /// The model.
    pub(crate) model: SharedModel,
    /// Why: `named by --model`.
    pub(crate) reason: String,
}

/// Chooses a model.
pub(crate) async fn choose(settings: &ModelSettings, _world: &World) -> anyhow::Result<Chosen> {
    let Some(name) = &settings.name else { bail!(NO_MODEL) };
    let (scheme, rest) = name.value.split_once(':').with_context(|| {
        format!("`{}` (from {}) is not a model: write PROVIDER:NAME", name.value.escape_debug(), name.origin)
    })?;
    match scheme {
        "script" => {
            let model = SharedModel::new(super::script::Script::open(std::path::Path::new(rest))?);
            Ok(Chosen { model, reason: format!("named by {}", name.origin) })
        }
        other => bail!("there is no provider `{}`", other.escape_debug()),
    }
}
