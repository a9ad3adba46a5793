//! The caches of package managers: commands read those of the person, and write to caches of their own.

use vertebra_kit::bash::sandbox::{Engine, Network};

use super::*;

/// A home with a cache in it.
fn with_cache(cache: &str) -> Area {
    let area = Area::new();
    fs::create_dir_all(area.path("home").join(cache)).expect("a new folder");
    fs::write(area.path("home").join(cache).join("mine"), "mine").expect("a new file");
    let (path, environment) = (std::env::var("PATH").expect("a PATH"), area.bash.environment.clone());
    area.with(|bash| bash.environment = environment.from([("PATH", path)]))
}

#[tokio::test]
async fn what_a_command_writes_into_a_cache_of_the_person_stays_with_commands() {
    let area = with_cache(".cargo/registry");
    let write = "cat ~/.cargo/registry/mine && echo changed > ~/.cargo/registry/mine && echo new > ~/.cargo/registry/new && \
                 rm ~/.cargo/registry/mine; mkdir ~/.cargo/registry/folder && echo ${CARGO_HOME-unset}";
    let results = area.commands(&[write, "ls ~/.cargo/registry; cat ~/.cargo/registry/new"]).await;
    assert_eq!((results[0].exit_code, &*results[0].output), (Some(0), "mineunset"), "it is read where it is");
    assert_eq!(results[1].output, "folder\nnew\nnew", "the next command finds what this one wrote");
    assert_eq!(fs::read_to_string(area.path("home/.cargo/registry/mine")).expect("a file"), "mine");
    assert_eq!(fs::read_dir(area.path("home/.cargo/registry")).expect("a folder").count(), 1);
}

#[tokio::test]
async fn a_manager_without_a_cache_is_led_to_one_of_commands() {
    let area = Area::new();
    let results =
        area.commands(&["mkdir -p $npm_config_cache && echo x > $npm_config_cache/f", "cat $npm_config_cache/f"]);
    let results = results.await;
    assert_eq!((results[0].exit_code, &*results[1].output), (Some(0), "x"), "{}", results[0].output);
    assert!(!area.path("home/.npm").exists());
}

#[tokio::test]
async fn without_mounts_every_manager_is_led_to_a_cache_of_commands() {
    bubblewrap::refusing(&[libc::SYS_unshare, libc::SYS_mount], libc::EPERM);
    let area = with_cache(".npm").with(|bash| bash.sandbox.engine = Engine::Own);
    let result = area.bash("mkdir -p $npm_config_cache && echo x > $npm_config_cache/f && echo y > ~/.npm/mine").await;
    assert!(result.output.contains("the sandbox blocked a change of"), "{}", result.output);
    assert_eq!(fs::read_to_string(area.path("home/.npm/mine")).expect("a file"), "mine");
    assert_eq!(fs::read_to_string(area.path("home/.cache/vertebra/sandbox/own/npm/f")).expect("a file"), "x\n");
}

#[tokio::test]
async fn commands_at_the_same_time_have_layers_of_their_own() {
    let area = with_cache(".npm");
    let slow = "echo first > ~/.npm/f; touch began; until [ -e go ]; do sleep 0.02; done; cat ~/.npm/f";
    let quick = "until [ -e began ]; do sleep 0.02; done; echo second > ~/.npm/f; cat ~/.npm/f; touch go";
    let (slow, quick) = tokio::join!(area.bash(slow), area.bash(quick));
    assert_eq!((&*slow.output, &*quick.output), ("first", "second"));
}

/// What one of the real clients prints outside of the sandbox; nothing if it is not there.
#[expect(clippy::disallowed_methods, reason = "it ends by itself and prints a line")]
fn says(program: &str, args: &[&str]) -> Option<String> {
    let output = std::process::Command::new(program).args(args).output().ok().filter(|output| output.status.success());
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The same of a client that is to be tried. If it is not there, its name is printed.
fn tried(program: &str, args: &[&str]) -> Option<String> {
    let said = says(program, args);
    if said.is_none() {
        println!("NOT TRIED HERE: `{program}` is missing for this user");
    }
    said
}

/// Commands at home, with what it takes to reach the registry at this address: its domain, or if it is in a private network
/// or on this machine, that.
fn reaching(registry: &str) -> Area {
    let (scheme, rest) = registry.split_once("://").expect("an address");
    let place = rest.split('/').next().unwrap_or(rest).rsplit('@').next().unwrap_or(rest);
    let port = if scheme == "https" { 443 } else { 80 };
    let (host, port) =
        place.rsplit_once(':').map_or((place, port), |(host, port)| (host, port.parse().expect("a port")));
    let found: Vec<_> = std::net::ToSocketAddrs::to_socket_addrs(&(host, port)).expect("a host").collect();
    held::at_home().with(|bash| {
        if found.iter().any(|address| address.ip().is_loopback()) {
            bash.sandbox.ports.insert(port);
        } else if found.iter().any(|address| vertebra_kit::is_public(address.ip())) {
            bash.sandbox.network = Network::Domains([host.parse().expect("a domain")].into());
        } else {
            bash.sandbox.network = Network::On;
        }
    })
}

/// The same for a registry that sends its clients to other hosts.
fn reaching_all(registry: &str) -> Area {
    reaching(registry).with(|bash| {
        if let Network::Domains(_) = bash.sandbox.network {
            bash.sandbox.network = Network::Public;
        }
    })
}

#[tokio::test]
async fn npm_installs_through_the_proxy_and_prints_no_warning() {
    let Some(registry) = tried("npm", &["config", "get", "registry", "--silent"]) else { return };
    let install = "mkdir n && cd n && npm init -y > /dev/null && npm install --no-audit --no-fund is-number && \
                   npm run env > /dev/null && node -e 'console.log(require(\"is-number\")(7))'";
    let area = reaching(&registry);
    let result = area.bash(install).await;
    assert_eq!(result.exit_code, Some(0), "{}", result.output);
    assert!(result.output.contains("true") && !result.output.contains("npm warn"), "{}", result.output);
    let offline = area.with(|bash| bash.sandbox.network = Network::Off);
    let refused = offline.bash("rm -rf m && mkdir m && cd m && npm init -y > /dev/null && npm install is-odd").await;
    assert!(refused.output.contains("[the sandbox blocked"), "{}", refused.output);
}

#[tokio::test]
async fn pip_installs_through_the_proxy() {
    let index = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)";
    let Some(usual) = tried("python3", &["-c", index]) else { return };
    let named = says("python3", &["-m", "pip", "config", "get", "global.index-url"]);
    let install = "python3 -m venv v && v/bin/pip install -q --no-input idna && \
                   v/bin/python -c 'import idna; print(idna.__version__)'";
    let result = reaching_all(&named.unwrap_or(usual)).bash(install).await;
    assert_eq!(result.exit_code, Some(0), "{}", result.output);
}

#[tokio::test]
async fn cargo_builds_with_what_it_fetched_through_the_proxy_and_offline_again() {
    let Some(_) = tried("cargo", &["--version"]) else { return };
    let build = "cd c && CARGO_TARGET_DIR=$PWD/target cargo run -q";
    let add = "cargo init -q --vcs none --name x c && cd c && cargo add itoa && cd .. && \
               printf 'fn main() { print!(\"{}\", itoa::Buffer::new().format(7)) }' > c/src/main.rs";
    let area = held::at_home().with(|bash| bash.sandbox.network = Network::Public);
    for (command, result) in [add, build].iter().zip(area.commands(&[add, build]).await) {
        assert_eq!(result.exit_code, Some(0), "{command}\n{}", result.output);
    }
    let offline = area.with(|bash| bash.sandbox.network = Network::Off);
    let again = offline.bash(&format!("rm -r c/target; {build} --offline")).await;
    assert_eq!((again.exit_code, &*again.output), (Some(0), "7"), "what was downloaded is there again");
}
