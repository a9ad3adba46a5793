//! The models of a session: the first one, and those that the user switches to.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use anyhow::{Context as _, bail};
use vertebra::{Deltas, Model, ModelError, ModelId, Request, Response, SharedModel};
use vertebra_bridge::{
    settings::{Level, ModelSettings, Origin},
    shown,
};
use vertebra_kit::{resilience::Router, summary::Window};
use vertebra_models::{Provider, windows};

use super::{Places, World};

/// How many models of a provider an error names.
const MAX_LISTED: usize = 8;

/// Routes each request to the model of its provider. Clones share the same models.
#[derive(Clone)]
pub(crate) struct Models(Arc<Inner>);

struct Inner {
    router: RwLock<Router>,
    /// The model of the settings.
    first: ModelId,
    settings: ModelSettings,
    world: World,
    folder: PathBuf,
    window: Window,
}

impl Models {
    pub(super) fn new(first: SharedModel, settings: &ModelSettings, world: &World, folder: &Path) -> Self {
        let first_id = first.id();
        let window = Window::new(tokens(&first_id, &first_id, settings));
        let (router, settings) = (RwLock::new(Router::new(first)), settings.clone());
        let (world, folder) = (world.clone(), folder.to_owned());
        Self(Arc::new(Inner { router, first: first_id, settings, world, folder, window }))
    }

    /// Returns what the model in use can read.
    pub(crate) fn window(&self) -> &Window {
        &self.0.window
    }

    /// Records that this model is in use from now on.
    pub(crate) fn use_now(&self, model: &ModelId) {
        self.0.window.set(tokens(model, &self.0.first, &self.0.settings));
    }

    fn router(&self) -> Router {
        self.0.router.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens a scripted or recorded model again, so that each session starts at its first turn.
    pub(crate) async fn played_anew(&self) -> anyhow::Result<Option<SharedModel>> {
        let Inner { settings, world, folder, .. } = &*self.0;
        let is_played = |name: &str| name.starts_with("script:") || name.starts_with("cassette:");
        if !settings.name.as_ref().is_some_and(|name| is_played(&name.value)) {
            return Ok(None);
        }
        let places = Places::new(settings, world)?;
        places.open(&places.pick(None).await?.pick, folder, None).map(Some)
    }

    /// Checks a model of the current provider: by the provider's list, if it has one, else by the look of its name.
    async fn check(&self, model: &str, now: &ModelId, is_explicit: bool) -> anyhow::Result<()> {
        let Inner { settings, world, .. } = &*self.0;
        let listed = match Provider::find(&now.provider) {
            Ok(provider) => Places::new(settings, world)?.models_of(provider).await,
            Err(_) => Vec::new(),
        };
        if !listed.is_empty() {
            // Ollama's names have a tag, which may be left out.
            if listed.iter().any(|known| known == model || known.strip_suffix(":latest") == Some(model)) {
                return Ok(());
            }
            let names: Vec<String> = listed.iter().take(MAX_LISTED).map(|name| shown(name)).collect();
            let more = if listed.len() > MAX_LISTED { ", …" } else { "" };
            bail!("{} has no model `{}`; it has {}{more}", now.provider, shown(model), names.join(", "));
        }
        let has_prefix = model.contains(':') && !is_explicit;
        if let Some(error) = Provider::parse(model).err().filter(|_| has_prefix) {
            let name = format!("{}:{model}", now.provider);
            bail!("{error}, or `{}` if {} has a model of this name", shown(&name), now.provider);
        }
        Ok(())
    }

    /// Prepares the model of this name: `PROVIDER:NAME`, or a name of the current provider.
    pub(crate) async fn choose(&self, name: &str, now: &ModelId) -> anyhow::Result<ModelId> {
        let Inner { settings, world, folder, .. } = &*self.0;
        if let Some(named) = settings.name.as_ref().filter(|named| named.origin.level == Level::Managed) {
            bail!("the model cannot be changed: {} sets it", named.origin);
        }
        if Provider::find(name).is_ok_and(|provider| *provider.name == *now.provider) {
            bail!("`{name}` is the current provider: name a model, as in `/model {name}:NAME` (see `vertebra models`)");
        }
        let own = format!("{}:", now.provider);
        let known = Provider::parse(name).ok().filter(|choice| *choice.provider.name != *now.provider);
        let other = known.is_some_and(|choice| choice.model.is_none() || name.contains([':', '/']));
        if !other {
            let model = name.strip_prefix(&own);
            self.check(model.unwrap_or(name), now, model.is_some()).await?;
            return Ok(ModelId::new(now.provider.clone(), model.unwrap_or(name)));
        }
        let named = Origin::command_line().said(name.to_owned());
        let settings = ModelSettings { name: Some(named.clone()), ..settings.clone() };
        let places = Places::new(&settings, world)?;
        let pick = places.named(&named).await.with_context(|| format!("cannot use the model `{}`", shown(name)))?;
        let driver = places.open(&pick, folder, None)?;
        let id = driver.id();
        let mut router = self.0.router.write().unwrap_or_else(PoisonError::into_inner);
        *router = router.clone().with(driver);
        Ok(id)
    }
}

/// Returns how many tokens a model can read at once, as far as is known. What the settings say is about their own model, and
/// about those that are not known.
fn tokens(model: &ModelId, first: &ModelId, settings: &ModelSettings) -> u64 {
    let (said, known) = (settings.window.as_ref().map(|said| said.value), windows::window(model));
    let tokens = if model == first { said.or(known) } else { known.or(said) };
    tokens.unwrap_or(windows::UNKNOWN)
}

impl Model for Models {
    fn id(&self) -> ModelId {
        self.router().id()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        self.router().infer(request, out).await
    }
}
