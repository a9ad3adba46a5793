//! The page about the first documents names tests and programs that exist.

use std::collections::HashSet;

use crate::repo::{files, read, root};

#[test]
fn every_claim_of_the_first_documents_names_a_test_or_a_program() {
    let tests: HashSet<String> =
        files().iter().filter(|file| file.is_rust()).flat_map(|file| functions(&file.text)).collect();
    let page = read("docs/seeds.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && !line.contains("---")).collect();
    let claims: Vec<&str> = rows.into_iter().filter(|row| !row.starts_with("| claim |")).collect();
    assert!(claims.len() > 50, "only {} claims", claims.len());
    for claim in claims {
        let shown = claim.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let name = shown.trim_matches('`');
        assert!(shown.starts_with('`') && !name.is_empty(), "nothing shows {claim}");
        assert!(tests.contains(name) || root().join(name).is_file(), "there is no test or program {name}");
    }
}

fn functions(text: &str) -> impl Iterator<Item = String> {
    text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next()).map(str::to_owned)
}
