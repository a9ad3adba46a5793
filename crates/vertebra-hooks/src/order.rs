//! The order of hooks: constraints by name, then priority, then registration.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use crate::{HookInfo, Name, RegisterError};

/// The places of hooks of one role at one point, in the order they run.
///
/// A constraint on a name that is not among them has no say: [`check_names`] has refused those that are mistakes, and
/// what remains are names of hooks that have been removed since.
pub(crate) fn order(infos: &[&Arc<HookInfo>]) -> Result<Vec<usize>, RegisterError> {
    let after = followers(infos);
    let mut waiting_for = vec![0usize; infos.len()];
    for follower in after.iter().flatten() {
        waiting_for[*follower] += 1;
    }
    let mut ready: BinaryHeap<_> = (0..infos.len())
        .filter(|place| waiting_for[*place] == 0)
        .map(|place| Reverse((infos[place].priority, place)))
        .collect();
    let mut order = Vec::with_capacity(infos.len());
    while let Some(Reverse((_, place))) = ready.pop() {
        order.push(place);
        for &follower in &after[place] {
            waiting_for[follower] -= 1;
            if waiting_for[follower] == 0 {
                ready.push(Reverse((infos[follower].priority, follower)));
            }
        }
    }
    if order.len() == infos.len() { Ok(order) } else { Err(cycle(infos, &after, &waiting_for)) }
}

/// For each hook, those that have to run after it.
fn followers(infos: &[&Arc<HookInfo>]) -> Vec<Vec<usize>> {
    let place_of = |name: &Name| infos.iter().position(|info| info.name == *name);
    let mut after = vec![Vec::new(); infos.len()];
    for (place, info) in infos.iter().enumerate() {
        after[place].extend(info.before.iter().filter_map(place_of));
        for earlier in info.after.iter().filter_map(place_of) {
            after[earlier].push(place);
        }
    }
    after
}

/// Follows the hooks that could not be placed until one comes again.
fn cycle(infos: &[&Arc<HookInfo>], after: &[Vec<usize>], waiting_for: &[usize]) -> RegisterError {
    // Every unplaced hook waits for an unplaced one, so walking backwards cannot end except in a circle.
    let waits_for = |place: usize| {
        (0..infos.len()).find(|earlier| waiting_for[*earlier] > 0 && after[*earlier].contains(&place)).unwrap_or(place)
    };
    let mut path = vec![(0..infos.len()).find(|place| waiting_for[*place] > 0).unwrap_or(0)];
    loop {
        let next = waits_for(path[path.len() - 1]);
        if let Some(start) = path.iter().position(|place| *place == next) {
            path.push(next);
            let names = path[start..].iter().rev().map(|place| infos[*place].name.to_string()).collect();
            return RegisterError::Cycle { point: infos[next].point, names };
        }
        path.push(next);
    }
}

/// Checks that the constraints of `new` hooks name hooks of their point that can stand where they ask.
pub(crate) fn check_names(new: &HookInfo, at_point: &[&Arc<HookInfo>]) -> Result<(), RegisterError> {
    let constraints =
        new.before.iter().map(|name| ("before", name)).chain(new.after.iter().map(|name| ("after", name)));
    for (constraint, name) in constraints {
        let Some(other) = at_point.iter().find(|info| info.name == *name) else {
            return Err(RegisterError::UnknownName {
                point: new.point,
                hook: new.name.clone(),
                constraint,
                unknown: name.clone(),
                nearest: nearest(name, at_point.iter().map(|info| &info.name).filter(|other| **other != new.name))
                    .cloned(),
            });
        };
        let impossible = match constraint {
            "before" => other.role < new.role,
            _ => other.role > new.role,
        };
        if impossible {
            return Err(RegisterError::AcrossRoles { hook: new.name.clone(), constraint, other: name.clone() });
        }
    }
    Ok(())
}

/// The name most like `name`, if any is close: what somebody who misspelt a name most likely meant.
pub fn nearest<'n, N: AsRef<str> + ?Sized>(name: &str, names: impl IntoIterator<Item = &'n N>) -> Option<&'n N> {
    let length = name.chars().count();
    let near = |other: &'n N| {
        let text = other.as_ref();
        let limit = (text.len().max(name.len()) / 3).max(1);
        // A difference in length is a distance, and the cheapest to see: most names end here.
        let may_be_near = text.chars().count().abs_diff(length) <= limit;
        let distance = may_be_near.then(|| distance(name, text)).filter(|distance| *distance <= limit)?;
        Some((distance, other))
    };
    names.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// How many letters have to change, or change places with the next, to make one word the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let substituted = rows[i][j] + usize::from(a[i] != b[j]);
            let swapped = (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]).then(|| rows[i - 1][j - 1] + 1);
            row.push(substituted.min(row[j] + 1).min(rows[i][j + 1] + 1).min(swapped.unwrap_or(usize::MAX)));
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
