//! The tour of the code names items and files that exist.

use crate::repo::{read, root};

#[test]
fn every_stop_of_the_code_tour_leads_to_an_item_of_that_name() {
    let page = read("docs/code-tour.md");
    let mut stops = 0;
    for link in page.split("[`").skip(1) {
        let (name, rest) = link.split_once("`](").expect("a link to code looks like [`name`](file)");
        let (file, _) = rest.split_once(')').expect("a link ends");
        let file = file.strip_prefix("../").expect("a link to code starts in the repository");
        assert!(root().join(file).is_file(), "{file} does not exist");
        let declared = ["fn ", "struct ", "enum "].iter().any(|kind| declares(&read(file), kind, name));
        assert!(declared, "{file} declares no `{name}`");
        stops += 1;
    }
    assert!(stops >= 10, "a tour of {stops} stops");
    let numbered = page.lines().filter(|line| line.split_once(". ").is_some_and(|(n, _)| n.parse::<u8>().is_ok()));
    assert_eq!(numbered.count(), 10);
}

/// Whether a file declares an item of this kind and name.
fn declares(text: &str, kind: &str, name: &str) -> bool {
    let item = format!("{kind}{name}");
    text.match_indices(&item)
        .any(|(at, _)| !text[at + item.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}
