//! The environment variables and folders of the process. No other module reads them.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use vertebra_bridge::{
    settings,
    trust::{Own, Store},
};

/// The environment of the process.
#[derive(Clone)]
pub(crate) struct World {
    /// The environment variables that are valid UTF-8.
    pub(crate) variables: BTreeMap<String, String>,
    /// Where the user's settings are: `~/.config/vertebra`.
    pub(crate) config: Option<PathBuf>,
    /// Where this program keeps its state: `~/.local/state/vertebra`.
    pub(crate) state: Option<PathBuf>,
    /// The settings of the administrator of the machine.
    pub(crate) managed: PathBuf,
    /// Whether standard input and standard error are a terminal, so that the user can be asked.
    pub(crate) is_interactive: bool,
}

impl World {
    /// Reads them from the process.
    pub(crate) fn of_process() -> Self {
        let text = |text: std::ffi::OsString| text.into_string().ok();
        let variables: BTreeMap<String, String> =
            std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect();
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let folder = |variable: &str, usual: &str| {
            let named = variables.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            Some(named.or_else(|| Some(home.as_ref()?.join(usual)))?.join("vertebra"))
        };
        Self {
            config: folder("XDG_CONFIG_HOME", ".config"),
            state: folder("XDG_STATE_HOME", ".local/state"),
            managed: settings::MANAGED.into(),
            is_interactive: io::stdin().is_terminal() && io::stderr().is_terminal(),
            variables,
        }
    }

    /// Reads the managed settings and the user's settings, as far as possible, and remembers that the user has some.
    pub(crate) fn own_settings(&self) -> Own {
        let (user, store) = (self.user_settings(), self.store());
        let own = Own::read(&self.managed, user.as_deref(), store.as_ref());
        if let Some((user, store)) = user.zip(store) {
            own.remember(&user, &store);
        }
        own
    }

    /// Returns whether the user's settings are missing or set nothing.
    pub(crate) fn own_settings_are_gone(&self) -> bool {
        let own = Own::read(Path::new(""), self.user_settings().as_deref(), None);
        own.whole().is_ok_and(|(_, user)| user == settings::Settings::default())
    }

    /// Returns where trust in folders is recorded.
    pub(crate) fn store(&self) -> Option<Store> {
        let store = Store::in_folder(self.state.as_deref()?);
        Some(match &self.config {
            Some(config) => store.expecting(config),
            None => store,
        })
    }

    /// Returns the path of the user's settings.
    pub(crate) fn user_settings(&self) -> Option<PathBuf> {
        Some(self.config.as_ref()?.join(settings::FILE_NAME))
    }
}
