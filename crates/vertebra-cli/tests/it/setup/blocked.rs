//! What the sandbox refused to a command is on the screen, and package managers do not wait for a network that is not there.

use super::{Machine, bash, say};

#[test]
fn what_the_sandbox_blocked_is_on_the_screen() {
    let machine = Machine::new();
    let told = machine.plays_once(&[bash("mkdir .vscode"), say("done")], &["--mode=bypass"]);
    assert!(told.err.contains("! the sandbox blocked a change of .vscode, which is protected\n"), "{}", told.err);
}

#[test]
fn package_managers_give_up_at_once_in_a_command_without_network() {
    let machine = Machine::new();
    let asks = "test \"$npm_config_fetch_retries$PIP_RETRIES$CARGO_NET_RETRY\" = 000 && touch zero";
    let told = machine.plays_once(&[bash(asks), say("done")], &["--mode=bypass"]);
    assert!(machine.path("project/zero").exists(), "{}", told.err);
    let told = machine.plays_once(
        &[bash("test -z \"$npm_config_fetch_retries\" && touch none"), say("done")],
        &["--mode=bypass", "--network=on"],
    );
    assert!(machine.path("project/none").exists(), "{}", told.err);
}
