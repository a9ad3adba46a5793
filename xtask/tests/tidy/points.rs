//! The semantics page is the contract: no point of the skeleton is missing from it.

use std::collections::HashSet;
use std::fs;

use crate::repo::{read, root};

#[test]
fn every_point_is_explained_in_the_semantics() {
    let points = points();
    assert!(points.len() >= 20, "only {} points found in crates/vertebra/src/points: {points:?}", points.len());

    let page = read("docs/semantics.md");
    let words: HashSet<_> = page.split(|c: char| !c.is_alphanumeric()).collect();
    let missing: Vec<_> = points.iter().filter(|point| !words.contains(point.as_str())).collect();
    assert!(missing.is_empty(), "docs/semantics.md does not mention {missing:?}");
}

#[test]
fn only_declarations_inside_the_macro_are_points() {
    let source = "
/// points! { like this }
fn before() -> Answer {
    Other(\"no\")
}
points! {
    /// Before the tool runs.
    BeforeToolUse(\"BeforeToolUse\"): ToolUse => {
        Inner(no),
    }
    AfterToolUse(\"AfterToolUse\"): ToolResult;
}
    Late(\"no\")
";

    assert_eq!(declared(source), ["BeforeToolUse", "AfterToolUse"]);
}

/// All points declared in the folder `points`.
fn points() -> Vec<String> {
    let src = root().join("crates/vertebra/src");
    let files = fs::read_dir(src.join("points")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut points: Vec<_> =
        files.flat_map(|path| declared(&fs::read_to_string(path).expect("source code is text"))).collect();
    points.sort();
    points
}

/// The names at the head of lines such as `    BeforeToolUse("BeforeToolUse"): …` inside `points! { … }`.
fn declared(source: &str) -> Vec<String> {
    let mut inside = false;
    let mut points = vec![];
    for line in source.lines() {
        // The macro is called at the top of a file, so rustfmt keeps its ends at the margin.
        match line {
            _ if line.ends_with("points! {") && !line.trim_start().starts_with("//") => inside = true,
            "}" => inside = false,
            _ if inside => points.extend(head(line)),
            _ => {}
        }
    }
    points
}

/// `^\s+([A-Z]\w+)\("`
fn head(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix([' ', '\t'])?.trim_start().split_once("(\"")?;
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(char::is_alphanumeric);
    is_name.then(|| name.to_owned())
}
