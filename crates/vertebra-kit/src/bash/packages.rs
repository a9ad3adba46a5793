//! Package managers: tables of where each of them downloads from and keeps what it downloads, and how each of them is told
//! of a proxy.
//!
//! What an agent's command writes into a cache would run in the person's next build. So commands see the person's caches
//! with a layer of their own on top, where mounts are available: they read what is there, and what they write goes to the
//! layer. Elsewhere, and where the person has no such cache, a variable leads to a cache of their own.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use vertebra::shell::{ParseLimits, parse};

use super::{
    environment::Variables,
    sandbox::{Domain, Layers, Network, Over},
};
use crate::permissions::fetched_by;

/// Hosts that are reached without the proxy.
const LOCAL: &str = "localhost,127.0.0.1,::1,0.0.0.0";

/// Where a package manager keeps what it downloads.
struct Manager {
    name: &'static str,
    /// The variable that says where, and what stands before the folder in it.
    variable: &'static str,
    prefix: &'static str,
    /// The usual folder, from the home folder or (`cache:`) from that of caches.
    usual: &'static str,
    /// What of the folder changes; all of it, if this is empty.
    parts: &'static [&'static str],
}

const fn manager(name: &'static str, variable: &'static str, usual: &'static str) -> Manager {
    Manager { name, variable, prefix: "", usual, parts: &[] }
}

const MANAGERS: &[Manager] = &[
    Manager { parts: &["registry", "git"], ..manager("cargo", "CARGO_HOME", ".cargo") },
    manager("npm", "npm_config_cache", ".npm"),
    // npm warns about variables of others that begin like its own.
    manager("node-gyp", "npm_package_config_node_gyp_devdir", "cache:node-gyp"),
    manager("yarn", "YARN_CACHE_FOLDER", "cache:yarn"),
    manager("yarn-berry", "YARN_GLOBAL_FOLDER", ".yarn/berry"),
    Manager { parts: &["store"], ..manager("pnpm", "PNPM_HOME", ".local/share/pnpm") },
    manager("pnpm-cache", "pnpm_config_cache_dir", "cache:pnpm"),
    manager("bun", "BUN_INSTALL_CACHE_DIR", ".bun/install/cache"),
    manager("deno", "DENO_DIR", "cache:deno"),
    manager("pip", "PIP_CACHE_DIR", "cache:pip"),
    manager("uv", "UV_CACHE_DIR", "cache:uv"),
    manager("poetry", "POETRY_CACHE_DIR", "cache:pypoetry"),
    manager("pre-commit", "PRE_COMMIT_HOME", "cache:pre-commit"),
    manager("go-build", "GOCACHE", "cache:go-build"),
    manager("go-mod", "GOMODCACHE", "go/pkg/mod"),
    manager("gradle", "GRADLE_USER_HOME", ".gradle"),
    Manager { prefix: "-Dmaven.repo.local=", ..manager("maven", "MAVEN_OPTS", ".m2/repository") },
    manager("nuget", "NUGET_PACKAGES", ".nuget/packages"),
    manager("composer", "COMPOSER_CACHE_DIR", "cache:composer"),
    manager("bundler", "BUNDLE_USER_CACHE", ".bundle/cache"),
    manager("ccache", "CCACHE_DIR", "cache:ccache"),
];

/// Where package managers download from, unless they are told otherwise.
struct Registry {
    programs: &'static [&'static str],
    domains: &'static [&'static str],
    /// Variables that name another place.
    variables: &'static [&'static str],
    /// Files that may name another place: absolute, or in the home folder or the working folder.
    files: &'static [&'static str],
    /// What such a file then says.
    says: &'static [&'static str],
}

const REGISTRIES: &[Registry] = &[
    Registry {
        programs: &["cargo"],
        domains: &["crates.io"],
        variables: &["CARGO_REGISTRY_DEFAULT"],
        files: &[".cargo/config.toml", ".cargo/config"],
        says: &["[source", "[registr"],
    },
    Registry {
        programs: &["bun", "npm", "pnpm", "yarn"],
        domains: &["npmjs.org", "yarnpkg.com"],
        variables: &["npm_config_registry", "NPM_CONFIG_REGISTRY", "YARN_NPM_REGISTRY_SERVER"],
        files: &[".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml"],
        says: &["registry"],
    },
    Registry {
        programs: &["go"],
        domains: &["golang.org"],
        variables: &["GOPROXY"],
        files: &[".config/go/env"],
        says: &["GOPROXY"],
    },
    Registry {
        programs: &["bundle", "gem"],
        domains: &["rubygems.org"],
        variables: &[],
        files: &[".gemrc", ".bundle/config"],
        says: &["sources", "BUNDLE_MIRROR"],
    },
];

/// Options that name another place.
const ELSEWHERE: &[&str] =
    &["--registry", "--index", "--extra-index", "--default-index", "--source", "--find-links", "-i"];

/// The largest file that is looked into.
const MOST_BYTES: u64 = 256 * 1024;

impl Registry {
    /// Whether the person's or the project's settings may name another place.
    fn is_elsewhere(&self, variables: &Variables, folder: &Path) -> bool {
        let says = |path: PathBuf| {
            let text = fs::metadata(&path).ok().filter(|found| found.is_file() && found.len() <= MOST_BYTES);
            let text = text.and_then(|_| fs::read_to_string(path).ok()).unwrap_or_default();
            self.says.iter().any(|words| text.contains(words))
        };
        let folders = || [variables.folder("HOME"), Some(folder.to_owned())].into_iter().flatten();
        self.variables.iter().any(|name| variables.0.contains_key(OsStr::new(name)))
            || self.files.iter().any(|file| folders().any(|folder| says(folder.join(file))))
    }
}

/// The registries that a command downloads from, if all that it is known to fetch comes from known ones.
pub(super) fn registries(command: &str, variables: &Variables, folder: &Path) -> Option<Network> {
    let mut domains = BTreeSet::new();
    for (simple, fetches) in fetched(command) {
        let program = fetches.split(' ').next().unwrap_or_default();
        let registry = REGISTRIES.iter().find(|registry| registry.programs.contains(&program))?;
        let leads = |word: &str| word.contains("://") || ELSEWHERE.iter().any(|option| word.starts_with(option));
        if simple.split(' ').any(leads) || registry.is_elsewhere(variables, folder) {
            return None;
        }
        let known = registry.domains.iter().filter(|name| program == "yarn" || !name.contains("yarn"));
        domains.extend(known.filter_map(|name| name.parse::<Domain>().ok()));
    }
    (!domains.is_empty()).then_some(Network::Domains(domains))
}

/// Returns whether a command is known to fetch something.
pub(super) fn fetches(command: &str) -> bool {
    fetched(command).next().is_some()
}

/// The simple commands in a command that fetch something, each with its program and subcommand.
fn fetched(command: &str) -> impl Iterator<Item = (String, String)> {
    let commands = parse(command, ParseLimits::default()).texts().to_vec();
    commands.into_iter().filter_map(|simple| fetched_by(&simple).map(|fetches| (simple, fetches)))
}

/// Whether a domain is that of a registry which package managers download from.
pub(super) fn is_registry(domain: &Domain) -> bool {
    let name = domain.to_string();
    REGISTRIES.iter().flat_map(|registry| registry.domains).any(|known| *known == name)
}

/// The caches of commands.
pub(super) struct Caches {
    /// The folder of all that is not a layer.
    pub(super) own: PathBuf,
    /// Layers over the person's caches.
    pub(super) layers: Layers,
}

impl Caches {
    /// Makes the folders. Nothing, if there is no home folder or nothing can be made there.
    pub(super) fn prepare(variables: &Variables) -> Option<Self> {
        let cache = cache_home(variables)?;
        let folder = cache.join("vertebra/sandbox");
        let own = folder.join("own");
        let layers = folder.join("layers");
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(&own).ok()?;
        private.create(&layers).ok()?;
        let over = MANAGERS.iter().flat_map(|manager| manager.over(variables));
        Some(Self {
            own: own.canonicalize().ok()?,
            layers: Layers { over: over.collect(), folder: layers.canonicalize().ok()? },
        })
    }

    /// The variables that lead to caches of commands, for what has no layer.
    pub(super) fn variables(&self, variables: &Variables, has_layers: bool) -> Vec<(OsString, OsString)> {
        let without = MANAGERS.iter().filter(|manager| !has_layers || manager.over(variables).next().is_none());
        let value = |manager: &Manager| {
            let folder = self.own.join(manager.name);
            let text: OsString = [OsStr::new(manager.prefix), folder.as_os_str()].into_iter().collect();
            (OsString::from(manager.variable), text)
        };
        without.map(value).collect()
    }
}

/// The folder of caches.
fn cache_home(variables: &Variables) -> Option<PathBuf> {
    variables.folder("XDG_CACHE_HOME").or_else(|| Some(variables.folder("HOME")?.join(".cache")))
}

impl Manager {
    /// The folders of the person that it would write to and that are there.
    fn over(&self, variables: &Variables) -> impl Iterator<Item = Over> {
        let named = variables.folder(self.variable).filter(|_| self.prefix.is_empty());
        let usual = || match self.usual.strip_prefix("cache:") {
            Some(below) => Some(cache_home(variables)?.join(below)),
            None => Some(variables.folder("HOME")?.join(self.usual)),
        };
        let parts = if self.parts.is_empty() { &[""][..] } else { self.parts };
        let folder = named.or_else(usual);
        parts.iter().filter_map(move |part| {
            let at = folder.as_ref()?.join(part).canonicalize().ok().filter(|at| at.is_dir())?;
            let name = if part.is_empty() { self.name.to_owned() } else { format!("{}-{part}", self.name) };
            Some(Over { name, at })
        })
    }
}

/// The variables that send programs through a proxy on a port of the loopback interface.
pub(super) fn through(port: u16) -> Vec<(OsString, OsString)> {
    let proxy = format!("http://127.0.0.1:{port}");
    // Java reads no variables of this kind.
    let java = format!(
        "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={port} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={port} \
         -Dhttp.nonProxyHosts=localhost|127.*|[::1]"
    );
    let for_all = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"];
    let all = for_all.map(|name| (name, proxy.clone()));
    let local = ["NO_PROXY", "no_proxy"].map(|name| (name, LOCAL.to_owned()));
    let of_java = ["MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"].map(|name| (name, java.clone()));
    let node = [("NODE_USE_ENV_PROXY", "1".to_owned())];
    let pairs = all.into_iter().chain(local).chain(of_java).chain(node);
    pairs.map(|(name, value)| (name.into(), value.into())).collect()
}

/// How package managers are told not to try again, for a command without network: npm would for more than a minute.
pub(super) fn without_network() -> Vec<(OsString, OsString)> {
    let names = ["npm_config_fetch_retries", "PIP_RETRIES", "CARGO_NET_RETRY", "UV_HTTP_RETRIES", "YARN_HTTP_RETRY"];
    names.map(|name| (name.into(), "0".into())).into()
}

/// Sets variables. Those that hold options of Java are added up.
pub(super) fn set(variables: &mut Variables, more: impl IntoIterator<Item = (OsString, OsString)>) {
    for (name, value) in more {
        match variables.0.get_mut(&name).filter(|_| name.to_string_lossy().ends_with("_OPTS")) {
            Some(options) => {
                options.push(" ");
                options.push(value);
            }
            None => _ = variables.0.insert(name, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_managers_download_from_known_registries_unless_settings_or_options_name_others() {
        let home = tempfile::tempdir().expect("a folder");
        let project = tempfile::tempdir().expect("a folder");
        let variables = || Variables([("HOME".into(), home.path().into())].into_iter().collect());
        let found = |command: &str| registries(command, &variables(), project.path()).map(|found| found.to_string());
        let npm = || Some("npmjs.org".to_owned());
        assert_eq!(found("npm install && npm test"), npm());
        assert_eq!(found("cd a; gem install rake; cargo add itoa").as_deref(), Some("crates.io, rubygems.org"));
        for unknown in [
            "cargo test",
            "npm ci && curl https://example.org",
            "npm install --registry=https://npm.example.org",
            "pip install flask",
            "git clone https://example.org/a.git",
        ] {
            assert_eq!(found(unknown), None, "{unknown}");
        }
        fs::write(project.path().join(".npmrc"), "registry=https://npm.example.org\n").expect("a file");
        assert_eq!(found("npm ci"), None, "the project has a registry of its own");
        fs::write(project.path().join(".npmrc"), "save-exact=true\n").expect("a file");
        assert_eq!(found("npm ci"), npm());
        fs::create_dir_all(home.path().join(".cargo")).expect("a folder");
        fs::write(home.path().join(".cargo/config.toml"), "[source.crates-io]\nreplace-with = 'x'\n").expect("a file");
        assert_eq!(found("cargo add itoa"), None, "the person has a registry of their own");
    }
}
