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
    /// Where the user's settings would be without variables that lead elsewhere, if that is another folder.
    pub(crate) usual: Vec<PathBuf>,
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
        let config = folder("XDG_CONFIG_HOME", ".config");
        let of_account = std::fs::read_to_string("/etc/passwd").ok();
        let of_account = of_account.and_then(|accounts| home_of(&accounts, rustix::process::getuid().as_raw()));
        let mut usual: Vec<PathBuf> =
            home.iter().cloned().chain(of_account).map(|home| home.join(".config/vertebra")).collect();
        usual.retain(|folder| Some(folder) != config.as_ref());
        usual.dedup();
        Self {
            config,
            usual,
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
        let store = match &self.config {
            Some(config) => store.expecting(config),
            None => store,
        };
        Some(store.unless_expected_in(&self.usual))
    }

    /// Returns the path of the user's settings.
    pub(crate) fn user_settings(&self) -> Option<PathBuf> {
        Some(self.config.as_ref()?.join(settings::FILE_NAME))
    }
}

/// Returns the home folder of an account, by the lines of `/etc/passwd`.
fn home_of(accounts: &str, user: u32) -> Option<PathBuf> {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(user)).then(|| fields.get(5).map(PathBuf::from)).flatten()
    };
    accounts.lines().find_map(of_line).filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_folder_is_found_by_the_account() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\nbroken\nme:x:1000:1000:A, B:/home/me:/bin/bash\nno:x:7:7::nowhere:\n";
        assert_eq!(home_of(accounts, 1000).as_deref(), Some(Path::new("/home/me")));
        assert_eq!((home_of(accounts, 7), home_of(accounts, 8)), (None, None));
    }
}
