//! Chooses the model: the one named on the command line or in the settings, else the first with a key, else the first
//! local server that answers.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use vertebra::SharedModel;
use vertebra_bridge::{
    settings::{self, ModelSettings, Said},
    shown,
};
use vertebra_kit::redaction::{Redaction, RedactionError};
use vertebra_models::{
    Driver, Player, Provider, React, Recorder, Secret,
    found::{Finding, Found, Search},
};

use super::{World, rights, script::Script};

/// The placeholder for the working folder in a recording.
const FOLDER: &str = "{folder}";

/// The error that no model can be used: none is named, no key is set and no local server answers.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "no model is available. Set an API key or start a local model server:\n  \
     export ANTHROPIC_API_KEY=…    (or OPENAI_API_KEY, GEMINI_API_KEY, …)\n  \
     ollama serve                  (or llama.cpp, LM Studio, vLLM)"
)]
pub(crate) struct NoModel;

impl NoModel {
    /// Returns the error with the steps that lead to a model, for a user who typed `vertebra COMMAND`.
    pub(crate) fn page(self, command: &str) -> String {
        format!(
            "{self}\n\
             Then run `vertebra {command}` again; it uses the first model it finds.\n\n\
             To use a specific model, name it as well (it still needs its key or its server):\n  \
             vertebra {command} --model anthropic:claude-sonnet-5-5\n  \
             vertebra init --user          then set `name` under `[model]` in the new file\n\n\
             `vertebra models --all` shows what is missing for each provider.\n\
             `vertebra demo` shows an agent at work without a model."
        )
    }
}

/// The chosen model and why it was chosen.
pub(crate) struct Picked {
    /// The model.
    pub(crate) pick: Pick,
    /// The reason, such as `named by the command line`.
    pub(crate) reason: String,
}

/// A chosen model.
pub(crate) enum Pick {
    /// A scripted model.
    Script(PathBuf),
    /// A recorded model.
    Cassette(PathBuf),
    /// A model of a provider.
    Provider {
        /// The provider and its base URL.
        finding: Box<Finding>,
        /// The name of the model at that provider.
        model: String,
    },
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(file) => write!(f, "script:{}", shown(&file.to_string_lossy())),
            Self::Cassette(file) => write!(f, "cassette:{}", shown(&file.to_string_lossy())),
            Self::Provider { finding, model } => write!(f, "{}:{}", finding.provider.name, shown(model)),
        }
    }
}

/// The places where models are looked for.
pub(crate) struct Places<'s> {
    settings: &'s ModelSettings,
    world: &'s World,
    search: Search,
    /// Keys in variables that the settings name, by provider: the variable and its value.
    keys: BTreeMap<&'static str, (String, Secret)>,
}

impl<'s> Places<'s> {
    /// Creates the search from the settings and the environment.
    pub(crate) fn new(settings: &'s ModelSettings, world: &'s World) -> anyhow::Result<Self> {
        let mut environment = world.variables.clone();
        let (mut urls, mut keys) = (Vec::new(), BTreeMap::new());
        for (name, said) in &settings.providers {
            let provider = Provider::find(name).with_context(|| said.origin.to_string())?;
            if let Some(url) = &said.value.base_url {
                let slash = if url.value.ends_with('/') { "" } else { "/" };
                urls.push((provider, format!("{}{slash}", url.value)));
            }
            if let Some(variable) = &said.value.key {
                let value = world.variables.get(&variable.value).filter(|value| !value.trim().is_empty());
                let value = value.with_context(|| {
                    format!("{}: the environment variable {} is not set or is empty", variable.origin, variable.value)
                })?;
                keys.insert(provider.name, (variable.value.clone(), Secret::new(value)));
                // A variable named in the settings replaces the usual ones.
                environment.retain(|name, _| !provider.keys.contains(&&**name));
                environment.extend(provider.keys.first().map(|usual| ((*usual).to_owned(), value.clone())));
            }
        }
        let search = Search::new(environment);
        let search = urls.iter().fold(search, |search, (provider, url)| search.base_url(provider, url));
        Ok(Self { settings, world, search, keys })
    }

    /// Checks all providers.
    pub(crate) async fn look(&self) -> Found {
        self.search.look().await
    }

    /// Returns the models that this provider lists, or none if it does not say.
    pub(crate) async fn models_of(&self, provider: &'static Provider) -> Vec<String> {
        self.search.at(provider).await.usable.map(|usable| usable.models).unwrap_or_default()
    }

    /// Chooses the model. If none is named, checks all providers, unless `looked` has the result already.
    pub(crate) async fn pick(&self, looked: Option<&Found>) -> anyhow::Result<Picked> {
        if let Some(name) = &self.settings.name {
            let pick = self
                .named(name)
                .await
                .with_context(|| format!("cannot use the model `{}` named by {}", shown(&name.value), name.origin))?;
            return Ok(Picked { pick, reason: format!("named by {}", name.origin) });
        }
        let found = match looked {
            Some(found) => Cow::Borrowed(found),
            None => Cow::Owned(self.look().await),
        };
        let chosen = found.choice().ok_or(NoModel)?;
        let pick = Pick::Provider { finding: Box::new(chosen.finding.clone()), model: chosen.model.to_owned() };
        Ok(Picked { pick, reason: self.why(chosen.finding.provider, chosen.why) })
    }

    pub(super) async fn named(&self, name: &Said<String>) -> anyhow::Result<Pick> {
        match name.value.split_once(':') {
            Some(("script", file)) => return Ok(Pick::Script(file.into())),
            Some(("cassette", file)) => return Ok(Pick::Cassette(file.into())),
            Some(_) | None => {}
        }
        let choice = Provider::parse(&name.value)?;
        let finding = self.search.at(choice.provider).await;
        let model = match (&finding.usable, choice.model) {
            // A local server may be slow to list its models, or not list them at all.
            (Ok(_), Some(model)) => model.to_owned(),
            (Err(_), Some(model)) if choice.provider.local => model.to_owned(),
            (Ok(_), None) => {
                let provider = choice.provider;
                let no_default = || format!("{} has no default model; write {}:NAME", provider.label, provider.name);
                finding.default_model().with_context(no_default)?.to_owned()
            }
            (Err(why), _) => bail!("{why}"),
        };
        Ok(Pick::Provider { finding: Box::new(finding), model })
    }

    /// Returns the reason why a provider is usable, with the variable names from the settings.
    pub(crate) fn why(&self, provider: &Provider, why: &str) -> String {
        match (self.keys.get(provider.name), provider.keys.first()) {
            (Some((variable, _)), Some(usual)) => why.replace(usual, variable),
            _ => why.to_owned(),
        }
    }

    /// Opens the model for this folder, and records it if `record` names a file.
    pub(crate) fn open(&self, pick: &Pick, folder: &Path, record: Option<&Path>) -> anyhow::Result<SharedModel> {
        let folder = folder.to_string_lossy();
        let (model, key) = match pick {
            Pick::Script(file) => (SharedModel::new(Script::open(file)?), None),
            Pick::Cassette(file) => {
                let player = Player::open(file)?.place(FOLDER, &folder).normalise(super::prompt::without_date);
                (SharedModel::new(player.redact(self.redaction()?.veil())), None)
            }
            Pick::Provider { finding, model } => self.driver(finding, model)?,
        };
        let Some(path) = record else { return Ok(model) };
        let recorder = Recorder::new(model, path)?.place(FOLDER, &folder).redact(self.redaction()?.veil());
        Ok(SharedModel::new(match &key {
            Some(key) => recorder.secret(key),
            None => recorder,
        }))
    }

    /// Returns the redaction for recordings. It covers all secrets, not only the key of this model.
    fn redaction(&self) -> Result<Redaction, RedactionError> {
        rights::redaction(self.settings, self.world)
    }

    fn driver(&self, finding: &Finding, model: &str) -> anyhow::Result<(SharedModel, Option<Secret>)> {
        let provider = finding.provider;
        if let Some(why) = &self.settings.unknown_address {
            bail!("{why}, so no model is asked: a request could go to another address than the one you set");
        }
        let found = finding.usable.as_ref().ok().and_then(|usable| usable.key.clone());
        let key = self.keys.get(provider.name).map(|(_, key)| key.clone()).or(found);
        let mut driver = Driver::new(provider)?.base_url(&finding.base_url)?.model(model);
        if let Some(key) = &key {
            driver = driver.key(key.clone());
        }
        let chosen = self.settings.driver.as_ref().map_or(settings::Driver::Auto, |said| said.value);
        let react = match chosen {
            settings::Driver::Auto => provider.prefers_react(),
            settings::Driver::Native => false,
            settings::Driver::React => true,
        };
        let model = if react { SharedModel::new(React::over(driver)) } else { SharedModel::new(driver) };
        Ok((model, key))
    }
}
