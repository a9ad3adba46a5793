//! The name that somebody may have meant.

/// The name most like this one, if a third of it at most is different.
pub(super) fn to<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wrong: Vec<char> = wrong.to_lowercase().chars().take(60).collect();
    let nearest = names.map(|name| (distance(&wrong, name), name)).min_by_key(|(distance, _)| *distance);
    nearest.filter(|(distance, name)| distance * 3 <= name.len()).map(|(_, name)| name)
}

/// How many characters have to be put in, left out or changed.
fn distance(one: &[char], other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, left) in one.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], above + 1);
        for (at, top) in other.iter().enumerate() {
            let changed = corner + usize::from(left != top);
            corner = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}
