//! The choice of the model: named on the command line, named in the settings, by a key, or a local server.

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

/// The error if no provider has a key and no local server answers.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}\nTo list all providers and their keys: vertebra models --all\nTo see an agent without a model: vertebra demo",
    Self::HELP
)]
pub(crate) struct NoModel;

impl NoModel {
    /// What happened, and how to get a model.
    pub(crate) const HELP: &str = "\
no model is available: no API key is set and no local server answers. Do one of these:
  use a provider      export ANTHROPIC_API_KEY=…  (or OPENAI_API_KEY, GEMINI_API_KEY, …)
  use a local server  start Ollama, llama.cpp, LM Studio or vLLM";
}

/// The name of the working folder in recordings.
const FOLDER: &str = "{folder}";

/// The model to use, and the reason for the choice.
pub(crate) struct Picked {
    /// The model.
    pub(crate) pick: Pick,
    /// The reason for people: `named by the command line`.
    pub(crate) reason: String,
}

/// The model to use.
pub(crate) enum Pick {
    /// A model that follows a script.
    Script(PathBuf),
    /// A model that plays back a recording.
    Cassette(PathBuf),
    /// A model of a provider.
    Provider {
        /// The provider, with its address and key.
        finding: Box<Finding>,
        /// The model's name at that provider.
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

/// The places where a model can come from.
pub(crate) struct Places<'s> {
    settings: &'s ModelSettings,
    world: &'s World,
    search: Search,
    /// Keys from variables that the settings name, by provider: the variable and its value.
    keys: BTreeMap<&'static str, (String, Secret)>,
}

impl<'s> Places<'s> {
    /// Collects the providers, addresses and keys of the settings and the environment.
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
                    format!("{}: the variable {} is not set or empty", variable.origin, variable.value)
                })?;
                keys.insert(provider.name, (variable.value.clone(), Secret::new(value)));
                // The variable that the settings name replaces the usual ones.
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

    async fn named(&self, name: &Said<String>) -> anyhow::Result<Pick> {
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

    /// Returns the reason why a provider is usable, with the variable that the settings name.
    pub(crate) fn why(&self, provider: &Provider, why: &str) -> String {
        match (self.keys.get(provider.name), provider.keys.first()) {
            (Some((variable, _)), Some(usual)) => why.replace(usual, variable),
            _ => why.to_owned(),
        }
    }

    /// Opens the model for a working folder, with a recorder around it if `record` names a file.
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

    /// Returns the redaction that keeps secrets of all kinds out of recordings.
    fn redaction(&self) -> Result<Redaction, RedactionError> {
        rights::redaction(self.settings, self.world)
    }

    fn driver(&self, finding: &Finding, model: &str) -> anyhow::Result<(SharedModel, Option<Secret>)> {
        let provider = finding.provider;
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
