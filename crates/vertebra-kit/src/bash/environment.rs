//! The environment of a command: a list of what may pass, and nothing that looks like a secret.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    sync::Arc,
};

use serde_json::Value;
use vertebra::AgentState;

use crate::process;

/// What passes unless more is named: what programs need to find themselves, and where toolchains live.
pub const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "FNM_DIR",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RBENV_ROOT",
    "GEM_HOME",
    "COMPOSER_HOME",
    "NIX_PATH",
    "NIX_PROFILES",
    "SDKROOT",
    "DEVELOPER_DIR",
    "PKG_CONFIG_PATH",
    "CC",
    "CXX",
    "AR",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "MAKEFLAGS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
];

/// Parts of a name that speak of a secret.
const SECRET: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASS",
    "_PWD",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "PRIVATE",
    "CERT",
    "DSN",
    "DATABASE_URL",
    "CONNECTION",
    "WEBHOOK",
];

/// Where a command's variables come from, and which of them it gets.
#[derive(Clone)]
pub struct Environment {
    /// Names that pass. One `*` at the end stands for the rest of a name. A variable that looks like a secret, by its
    /// name or because it is a URL with a password, passes only if its name stands here in full.
    pub pass: Vec<String>,
    /// Variables that every command gets, whatever their name.
    pub set: BTreeMap<String, String>,
    source: Source,
}

#[derive(Clone)]
enum Source {
    Process,
    Given(Arc<[(OsString, OsString)]>),
}

impl Default for Environment {
    /// What [`PASSED`] names, from the environment of this process.
    fn default() -> Self {
        let pass = PASSED.iter().map(|name| (*name).to_owned()).collect();
        Self { pass, set: BTreeMap::new(), source: Source::Process }
    }
}

impl Environment {
    /// Takes the variables from here, not from the environment of this process.
    #[must_use]
    pub fn from<N: Into<OsString>, V: Into<OsString>>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.source = Source::Given(variables.collect());
        self
    }

    /// Lets this variable pass too, or all that begin like it: `GITHUB_ACTIONS`, `npm_config_*`.
    #[must_use]
    pub fn pass(mut self, name: impl Into<String>) -> Self {
        self.pass.push(name.into());
        self
    }

    /// Gives every command this variable.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set.insert(name.into(), value.into());
        self
    }

    /// What a command gets.
    pub(super) fn variables(&self) -> Variables {
        let set = self.set.iter().map(|(name, value)| (name.into(), value.into()));
        let variables = match &self.source {
            Source::Process => self.passing(std::env::vars_os()).chain(set).collect(),
            Source::Given(given) => self.passing(given.iter().cloned()).chain(set).collect(),
        };
        Variables(variables)
    }

    /// The value of a variable where these come from, whether it passes or not.
    pub(super) fn outside(&self, name: &str) -> Option<String> {
        match &self.source {
            Source::Process => std::env::var(name).ok(),
            Source::Given(given) => {
                let (_, value) = given.iter().find(|(known, _)| known == name)?;
                value.to_str().map(str::to_owned)
            }
        }
    }

    fn passing(&self, all: impl Iterator<Item = (OsString, OsString)>) -> impl Iterator<Item = (OsString, OsString)> {
        // A name that is not text is on no list.
        all.filter(|(name, value)| name.to_str().is_some_and(|name| self.passes(name, value)))
    }

    fn passes(&self, name: &str, value: &OsStr) -> bool {
        let secret = looks_secret(name) || has_password(&value.to_string_lossy());
        self.pass.iter().any(|pass| match pass.strip_suffix('*') {
            Some(beginning) => !secret && name.starts_with(beginning),
            None => name == pass,
        })
    }
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// `postgres://me:hunter2@db/app`
fn has_password(value: &str) -> bool {
    let authority = value.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    authority.is_some_and(|authority| authority.contains('@'))
}

/// Values are nobody's business, not even a log's.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("pass", &self.pass).finish_non_exhaustive()
    }
}

/// The variables of one command.
#[derive(Clone)]
pub(super) struct Variables(pub(super) BTreeMap<OsString, OsString>);

/// Where hooks note variables that every later command of a conversation gets: an object of texts.
pub const VARIABLES: &str = "bash/variables";

impl Variables {
    /// With what hooks have noted.
    pub(super) fn and_noted(mut self, state: &AgentState) -> Self {
        let noted = state.metadata().get(VARIABLES).and_then(Value::as_object);
        let texts = noted.into_iter().flatten().filter_map(|(name, value)| Some((name.into(), value.as_str()?.into())));
        self.0.extend(texts);
        self
    }

    pub(super) fn folder(&self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.0.get(OsStr::new(name))?);
        path.is_absolute().then_some(path)
    }

    /// Where temporary files go.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder("TMPDIR").unwrap_or_else(|| "/tmp".into())
    }

    /// The program of this name on the `PATH`, by its full path: a name alone would cost a fork instead of a spawn.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        self.programs(name).next()
    }

    /// All programs of this name on the `PATH`, the one that counts first.
    pub(super) fn programs(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        process::on_path(name, self.0.get(OsStr::new("PATH")).map(OsString::as_os_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(environment: &Environment) -> Vec<String> {
        environment.variables().0.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    fn given(names: &[&'static str]) -> Environment {
        Environment::default().from(names.iter().map(|name| (*name, "x")))
    }

    #[test]
    fn only_what_is_listed_passes() {
        assert_eq!(passing(&given(&["PATH", "LC_ALL", "LD_PRELOAD", "BASH_ENV", "PYTHONSTARTUP"])), ["LC_ALL", "PATH"]);
    }

    #[test]
    fn a_secret_passes_only_by_its_full_name() {
        let names = ["GITHUB_TOKEN", "GITHUB_SHA", "LC_API_KEY"];
        assert_eq!(passing(&given(&names).pass("GITHUB_*")), ["GITHUB_SHA"]);
        assert_eq!(passing(&given(&names).pass("GITHUB_TOKEN")), ["GITHUB_TOKEN"]);
    }

    #[test]
    fn secrets_are_known_by_the_names_that_people_give_them_and_by_their_form() {
        let secrets = [
            "A_DSN",
            "A_DATABASE_URL",
            "A_PGPASSWORD",
            "A_DB_PWD",
            "A_SMTP_PASS",
            "A_SENTRY_DSN",
            "A_CONFIG__AUTH",
            "A_CONNECTION_STRING",
            "A_SLACK_WEBHOOK",
        ];
        assert_eq!(passing(&given(&secrets).pass("A_*")), [""; 0]);
        let urls = [("A_REDIS", "redis://:hunter2@host/0"), ("A_HOME", "https://example.org/@me")];
        assert_eq!(passing(&Environment::default().from(urls).pass("A_*")), ["A_HOME"]);
    }

    #[test]
    fn values_do_not_show_in_debug_output() {
        let environment = Environment::default().set("DATABASE_URL", "hunter2");
        assert!(!format!("{environment:?}").contains("hunter2"));
    }
}
