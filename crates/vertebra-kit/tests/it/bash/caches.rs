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

/// The real clients, with the registries that this machine reaches.
#[tokio::test]
#[ignore = "it downloads packages from the registries of Rust, npm and Python"]
async fn real_package_managers_install_through_the_proxy() {
    let reaching = |network| held::at_home().with(|bash| bash.sandbox.network = network);
    let rust = reaching(Network::Domains(["crates.io".parse().expect("a domain")].into()));
    let build = "cd c && CARGO_TARGET_DIR=$PWD/target cargo run -q";
    let add = "cargo init -q --vcs none --name x c && cd c && cargo add itoa && cd .. && \
               printf 'fn main() { print!(\"{}\", itoa::Buffer::new().format(7)) }' > c/src/main.rs";
    let others = [
        "mkdir n && cd n && npm init -y > /dev/null && npm install --no-audit --no-fund is-number && \
         node -e 'console.log(require(\"is-number\")(7))'",
        "python3 -m venv v && v/bin/pip install -q --no-input idna && \
         v/bin/python -c 'import idna; print(idna.__version__)'",
    ];
    let results = [rust.commands(&[add, build]).await, reaching(Network::Public).commands(&others).await].concat();
    for (command, result) in [add, build].iter().chain(&others).zip(results) {
        assert_eq!(result.exit_code, Some(0), "{command}\n{}", result.output);
    }
    let offline = rust.with(|bash| bash.sandbox.network = Network::Off);
    let again = offline.bash(&format!("rm -r c/target; {build} --offline")).await;
    assert_eq!((again.exit_code, &*again.output), (Some(0), "7"), "what was downloaded is there again");
}
