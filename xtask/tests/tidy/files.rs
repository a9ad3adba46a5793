//! What holds for single files: how long, how they begin, what they never mention.

use crate::expect_none;
use crate::repo::{Complaints, File, files};

#[test]
fn no_source_file_is_too_long_to_read_at_once() {
    expect_none(&complaints(too_long));
}

#[test]
fn every_source_file_says_first_what_it_is_for() {
    expect_none(&complaints(without_purpose));
}

#[test]
fn no_file_knows_where_it_was_written() {
    expect_none(&complaints(mentions_a_place));
}

#[test]
fn a_file_that_breaks_a_promise_is_noticed() {
    let lines = |count| "//! x\n".repeat(count);
    let cases: [(Check, &str, String, bool); 16] = [
        (too_long, "a/src/b.rs", lines(600), false),
        (too_long, "a/src/b.rs", lines(601), true),
        (too_long, "a/src/run.rs", lines(401), true),
        (too_long, "a/tests/b.stderr", lines(601), false),
        (without_purpose, "a/src/b.rs", "//! Adds.\n".into(), false),
        (without_purpose, "a/src/b.rs", "use std::fmt;\n".into(), true),
        (without_purpose, "a/src/b.rs", "//!\n".into(), true),
        (without_purpose, "a/build.rs", "fn main() {}\n".into(), false),
        (without_purpose, "a/tests/mistakes/b.rs", "fn main() {}\n".into(), false),
        (mentions_a_place, "a.md", format!("see {}", PLACES[0]), true),
        (mentions_a_place, "a.md", format!("file://{}x", PLACES[1]), true),
        (mentions_a_place, "a.md", format!("src{}x", PLACES[0]), false),
        (mentions_a_place, "a.md", format!("$HOME{}x", PLACES[0]), false),
        (mentions_a_place, "a.md", format!("https://{}/x", HOSTS[2]), true),
        (mentions_a_place, "a.md", format!("https://{}.io", HOSTS[0]), true),
        (mentions_a_place, "a/Cargo.lock", format!("https://{}.io", HOSTS[0]), false),
    ];
    for (check, path, text, noticed) in cases {
        let file = File { path: path.to_owned(), text };
        assert_eq!(check(&file).is_some(), noticed, "{path}: {:.40}", file.text);
    }
}

/// Looks at one file and says what is wrong with it.
type Check = fn(&File) -> Option<String>;

fn complaints(check: Check) -> Complaints {
    files().iter().filter_map(|file| Some(format!("{}: {}", file.path, check(file)?))).collect()
}

fn too_long(file: &File) -> Option<String> {
    // The loop stays a picture of the skeleton; whatever would make it longer is a hook.
    let limit = if file.name() == "run.rs" { 400 } else { 600 };
    let lines = file.text.lines().count();
    (file.is_rust() && lines > limit).then(|| format!("{lines} lines, at most {limit}"))
}

fn without_purpose(file: &File) -> Option<String> {
    // Programs that must not compile are pictures of what a user writes; a build script is named by its place.
    let exempt = !file.is_rust() || file.name() == "build.rs" || file.path.contains("tests/mistakes/");
    let purpose = file.text.lines().next().and_then(|line| line.strip_prefix("//!"));
    let says = purpose.is_some_and(|purpose| !purpose.trim().is_empty());
    (!exempt && !says).then(|| "must begin with a `//!` line that says what the file is for".to_owned())
}

/// Written in two halves, because this file is read too.
const PLACES: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
const HOSTS: [&str; 4] =
    [concat!("static", ".crates"), concat!("index", ".crates"), concat!("pypi", ".org"), concat!("registry", ".npmjs")];

fn mentions_a_place(file: &File) -> Option<String> {
    // Cargo writes this one, and the registry's address is part of its format.
    if file.name() == "Cargo.lock" {
        return None;
    }
    let host = HOSTS.iter().find(|host| file.text.contains(**host));
    let place = PLACES.iter().find(|place| mentions_absolute(&file.text, place));
    host.or(place).map(|found| format!("mentions `{found}`, which is true on one machine only"))
}

/// A folder of that name inside another one is nobody's business.
fn mentions_absolute(text: &str, place: &str) -> bool {
    let continues_a_path = |before: char| before.is_alphanumeric() || "_-.~*}".contains(before);
    text.match_indices(place).any(|(at, _)| !text[..at].ends_with(continues_a_path))
}
