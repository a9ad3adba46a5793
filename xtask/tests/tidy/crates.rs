//! Limits the number of crates that `vertebra` is built from. Each one costs build time and must be trusted.

use std::collections::BTreeSet;

use crate::repo::output_of;

/// The most crates that `vertebra` may be built from, those of this workspace and procedural macros included.
///
/// Lower it when crates leave. `cargo tree -p vertebra-cli -e normal -i CRATE` shows what depends on a crate.
const MOST: usize = 305;

/// Lists the crates. The platform is given, so that the number is the same on every machine.
const TREE: &str = "tree --locked --package vertebra-cli --edges normal --prefix none --no-dedupe \
                    --target x86_64-unknown-linux-gnu";

#[test]
fn the_program_is_built_from_no_more_crates_than_agreed() {
    let tree = output_of("cargo", &TREE.split_whitespace().collect::<Vec<_>>());
    let crates = names_and_versions(&tree);
    assert!(crates.iter().any(|name| name.starts_with("vertebra-cli ")), "the tree was not read: {tree:.200}");
    let count = crates.len();

    assert!(
        count <= MOST,
        "vertebra is built from {count} crates; the limit in xtask/tests/tidy/crates.rs is {MOST}. To see the new ones, \
         compare `cargo tree -p vertebra-cli -e normal --prefix none` before and after your change. Use a crate that is in \
         the tree already, or switch off features of the new one. If it is worth its build time, raise the limit in the \
         same commit and say why."
    );
}

#[test]
fn a_crate_counts_once_for_each_of_its_versions() {
    let tree = "a v1.0.0\nb v1.0.0 (proc-macro)\na v1.0.0\na v2.0.0\n\nc v0.1.0 (/somewhere/c)\n";

    assert_eq!(
        names_and_versions(tree).into_iter().collect::<Vec<_>>(),
        ["a v1.0.0", "a v2.0.0", "b v1.0.0", "c v0.1.0"]
    );
}

/// The first two words of every line.
fn names_and_versions(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
    lines.filter(|name| !name.is_empty()).collect()
}
