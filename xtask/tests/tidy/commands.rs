//! The commands we promise: one for a contributor, and the same one for the machine.

use crate::repo::read;

#[test]
fn the_machine_runs_exactly_what_a_contributor_runs() {
    let script = read(".ci/run");
    let commands: Vec<_> = script.lines().filter(|line| line.trim_start().starts_with("cargo ")).collect();

    assert_eq!(commands, ["cargo xtask test"]);
}

#[cfg(unix)]
#[test]
fn the_machines_script_can_be_started() {
    use std::os::unix::fs::PermissionsExt as _;

    let script = crate::repo::root().join(".ci/run");
    let mode = script.metadata().expect(".ci/run exists").permissions().mode();

    assert_eq!(mode & 0o111, 0o111, ".ci/run is not executable");
}
