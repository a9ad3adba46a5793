//! The semantics page is the contract: no point of the skeleton is missing from it.

use std::collections::HashSet;

use serde_json::Value;

use crate::repo::read;

#[test]
fn every_point_is_explained_in_the_semantics() {
    let points = points();
    assert!(points.len() >= 20, "only {} points found in sdk/points.json: {points:?}", points.len());

    let page = read("docs/semantics.md");
    let words: HashSet<_> = page.split(|c: char| !c.is_alphanumeric()).collect();
    let missing: Vec<_> = points.iter().filter(|point| !words.contains(point.as_str())).collect();
    assert!(missing.is_empty(), "docs/semantics.md does not mention {missing:?}");
}

/// All points, from the file that a test makes from their table.
fn points() -> Vec<String> {
    let table: Value = serde_json::from_str(&read("sdk/points.json")).expect("JSON");
    let rows = table["points"].as_array().expect("a list of points");
    rows.iter().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect()
}
