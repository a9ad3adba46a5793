//! Which model: the one that was named, the one in the settings, the one there is a key for, the one that runs here.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};
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

/// What is said if there is no model.
const NO_MODEL: &str = "\
there is no model to ask. Any of these gives you one:
  1. name one       vertebra run --model anthropic:claude-sonnet-5-5 \"…\"
  2. write it down  vertebra init --user, then `name` under `[model]`
  3. set a key      export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY, …)
  4. run one here   start Ollama, llama.cpp, LM Studio or vLLM
What was looked for: vertebra models. To see an agent at work without a model: vertebra demo";

/// What a recording calls the folder that is worked in.
const FOLDER: &str = "{folder}";

/// A model that is to be asked, and why this one.
pub(crate) struct Picked {
    /// The model.
    pub(crate) pick: Pick,
    /// Why: `named by the command line`.
    pub(crate) reason: String,
}

/// A model that is to be asked.
pub(crate) enum Pick {
    /// A script.
    Script(PathBuf),
    /// A recording.
    Cassette(PathBuf),
    /// A model of a provider.
    Provider {
        /// The provider, and how it is reached.
        finding: Box<Finding>,
        /// The model's name there.
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

/// Where models are looked for.
pub(crate) struct Places<'s> {
    settings: &'s ModelSettings,
    world: &'s World,
    search: Search,
    /// Keys under names of a person's own, by provider: the variable, and what is in it.
    keys: BTreeMap<&'static str, (String, Secret)>,
}

impl<'s> Places<'s> {
    /// Where the settings and the environment say.
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
                // The usual variables do not count beside the one that was named.
                environment.retain(|name, _| !provider.keys.contains(&&**name));
                environment.extend(provider.keys.first().map(|usual| ((*usual).to_owned(), value.clone())));
            }
        }
        let search = Search::new(environment);
        let search = urls.iter().fold(search, |search, (provider, url)| search.base_url(provider, url));
        Ok(Self { settings, world, search, keys })
    }

    /// Looks everywhere.
    pub(crate) async fn look(&self) -> Found {
        self.search.look().await
    }

    /// The model to ask. Without a name all places are looked at, unless somebody did already.
    pub(crate) async fn pick(&self, looked: Option<&Found>) -> anyhow::Result<Picked> {
        if let Some(name) = &self.settings.name {
            let pick = self
                .named(name)
                .await
                .with_context(|| format!("the model `{}` of {}", shown(&name.value), name.origin))?;
            return Ok(Picked { pick, reason: format!("named by {}", name.origin) });
        }
        let found = match looked {
            Some(found) => Cow::Borrowed(found),
            None => Cow::Owned(self.look().await),
        };
        let chosen = found.choice().ok_or_else(|| anyhow!(NO_MODEL))?;
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
            // A server on this machine may be slow to list its models, or not list them at all.
            (Ok(_), Some(model)) => model.to_owned(),
            (Err(_), Some(model)) if choice.provider.local => model.to_owned(),
            (Ok(_), None) => finding.default_model().context("it has no usual model: write PROVIDER:NAME")?.to_owned(),
            (Err(why), _) => bail!("{} cannot be used: {why}", choice.provider.label),
        };
        Ok(Pick::Provider { finding: Box::new(finding), model })
    }

    /// Why a provider is usable, with the names that a person gave.
    pub(crate) fn why(&self, provider: &Provider, why: &str) -> String {
        match (self.keys.get(provider.name), provider.keys.first()) {
            (Some((variable, _)), Some(usual)) => why.replace(usual, variable),
            _ => why.to_owned(),
        }
    }

    /// The model itself, in the folder it works in; recorded, if it is to be.
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

    /// What keeps secrets out of recordings: all kinds, and not only the key that this model is asked with.
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
            settings::Driver::Auto => provider.local || !provider.takes.tools,
            settings::Driver::Native => false,
            settings::Driver::React => true,
        };
        let model = if react { SharedModel::new(React::over(driver)) } else { SharedModel::new(driver) };
        Ok((model, key))
    }
}
