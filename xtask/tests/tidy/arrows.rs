//! Who may depend on whom. A new arrow is a decision: see `docs/decisions`.

use serde_json::Value;

use crate::expect_none;
use crate::repo::{Complaints, output_of};

/// They use `vertebra` and do not know each other; only the command brings them together.
const MIDDLE: [&str; 5] = ["vertebra-server", "vertebra-models", "vertebra-kit", "vertebra-bridge", "vertebra-journal"];

/// They may use anything, because nobody uses them.
pub(crate) const OUTSIDE: [&str; 5] = ["bench-journal", "bench-served", "vertebra-bench", "vertebra-examples", "xtask"];

/// Names that say nothing, and so attract everything.
const DRAWERS: [&str; 4] = ["common", "utils", "types", "core"];

#[test]
fn crates_depend_on_each_other_only_along_the_arrows() {
    let found = arrows();
    assert!(found.contains(&arrow("vertebra", "vertebra-hooks")), "the arrows were not read: {found:?}");

    expect_none(&wrong_arrows(&found));
}

#[test]
fn every_crate_is_named_after_what_it_is_for() {
    expect_none(&drawers(packages().iter().map(name)));
}

#[test]
fn an_arrow_off_the_map_is_noticed() {
    let cases = [
        ("vertebra-kit", "vertebra-models"),    // the middle knows no neighbour
        ("vertebra-kit", "vertebra-bridge"),    // …the kit does not know who makes policies of it
        ("vertebra-journal", "vertebra-hooks"), // …and reaches the mechanism through the agent
        ("vertebra-server", "vertebra-kit"),    // …and the server gets its agents from whoever composes them
        ("vertebra-bridge", "vertebra-wake"),   // only the kit knows the unsafe call
        ("vertebra-kit", "vertebra-macros"),    // the attribute is used through the agent
        ("vertebra-kit", "vertebra-shell"),     // …and so is the reader of command lines
        ("vertebra-shell", "vertebra"),         // which decides nothing
        ("vertebra-hooks", "vertebra"),         // upwards
        ("vertebra-server", "vertebra-cli"),    // nobody uses the command
        ("vertebra", "vertebra-bench"),         // nobody uses the outside
        ("vertebra-bench", "xtask"),            // …not even the outside
        ("vertebra-cloud", "vertebra"),         // a crate that is not on the map
    ];
    for (from, to) in cases {
        assert_eq!(wrong_arrows(&[arrow(from, to)]).len(), 1, "{from} → {to}");
    }
    assert_eq!(drawers(["vertebra-utils", "common", "vertebra-kit"]).len(), 2);
}

fn wrong_arrows(arrows: &[(String, String)]) -> Complaints {
    let wrong = arrows.iter().filter(|(from, to)| !is_allowed(from, to));
    wrong.map(|(from, to)| format!("{from} → {to}: not on the map in xtask/tests/tidy/arrows.rs")).collect()
}

fn is_allowed(from: &str, to: &str) -> bool {
    let for_nobody = to == "vertebra-cli" || OUTSIDE.contains(&to);
    !for_nobody
        && match from {
            "vertebra-hooks" | "vertebra-macros" | "vertebra-shell" | "vertebra-wake" => false,
            // Its attribute for tools must be a crate of its own: the compiler wants it so. For the reader of command
            // lines see decision 0029.
            "vertebra" => ["vertebra-hooks", "vertebra-macros", "vertebra-shell"].contains(&to),
            "vertebra-cli" => to == "vertebra" || MIDDLE.contains(&to),
            // One policy is hooks and rules: see decision 0009.
            "vertebra-bridge" => to == "vertebra" || to == "vertebra-kit",
            // The only unsafe code: see decision 0022.
            "vertebra-kit" => to == "vertebra" || to == "vertebra-wake",
            // What a client registers is a hook from outside, and what it reads is the journal: see decision 0013.
            "vertebra-server" => ["vertebra", "vertebra-bridge", "vertebra-journal"].contains(&to),
            _ if MIDDLE.contains(&from) => to == "vertebra",
            _ => OUTSIDE.contains(&from),
        }
}

fn drawers<'a>(names: impl IntoIterator<Item = &'a str>) -> Complaints {
    let last_word = |name: &str| name.rsplit('-').next().is_some_and(|word| DRAWERS.contains(&word));
    let found = names.into_iter().filter(|name| last_word(name));
    found.map(|name| format!("{name}: a crate is named after what it is for, not after being shared")).collect()
}

/// All arrows between crates of this workspace, those for tests and build scripts included. Only the tests of a crate in
/// the middle may use its neighbours: what a user brings together is tried together.
fn arrows() -> Vec<(String, String)> {
    let packages = packages();
    let members: Vec<_> = packages.iter().map(name).collect();
    let mut arrows = vec![];
    for package in &packages {
        let dependencies = package["dependencies"].as_array().expect("a package has a list of dependencies");
        let ours = dependencies.iter().filter(|dependency| dependency["path"].is_string());
        let is_trial = |dependency: &Value| {
            dependency["kind"] == "dev" && MIDDLE.contains(&name(package)) && MIDDLE.contains(&name(dependency))
        };
        let ours = ours.filter(|dependency| !is_trial(dependency)).map(name);
        arrows.extend(ours.filter(|to| members.contains(to)).map(|to| arrow(name(package), to)));
    }
    arrows
}

pub(crate) fn packages() -> Vec<Value> {
    let metadata = output_of("cargo", &["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("metadata lists packages").clone()
}

pub(crate) fn name(value: &Value) -> &str {
    value["name"].as_str().expect("packages and dependencies have names")
}

fn arrow(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}
