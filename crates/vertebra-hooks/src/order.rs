//! The order of hooks: constraints by name, then priority, then registration.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
};

use crate::{HookInfo, Name, RegisterError, Role, point::PointId, set::Registered};

/// Checks that hooks fit into their tables and that all constraints between them can be met.
pub(crate) fn check<'r>(hooks: impl IntoIterator<Item = &'r Registered>) -> Result<(), RegisterError> {
    let mut by_point: HashMap<PointId, Vec<&Arc<HookInfo>>> = HashMap::new();
    for hook in hooks {
        by_point.entry(hook.point).or_default().push(&hook.info);
    }
    by_point.into_values().try_for_each(|infos| check_point(&infos))
}

fn check_point(infos: &[&Arc<HookInfo>]) -> Result<(), RegisterError> {
    if let Some(beyond) = infos.get(HookInfo::MAX_AT_POINT) {
        let (point, hook) = (beyond.point, beyond.name.clone());
        return Err(RegisterError::TooMany { point, hook, count: infos.len(), limit: HookInfo::MAX_AT_POINT });
    }
    if !infos.iter().any(|info| info.has_constraints()) {
        return Ok(());
    }
    let names = Names::new(infos.iter().copied());
    infos.iter().try_for_each(|info| names.check_roles(info))?;
    for role in [Role::Around, Role::Hook, Role::Guard, Role::Watch] {
        order(&infos.iter().copied().filter(|info| info.role == role).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The hooks of one point by name. Of two with one name, which only two layers can have, the first counts.
pub(crate) struct Names<'i>(HashMap<&'i str, &'i Arc<HookInfo>>);

impl<'i> Names<'i> {
    pub(crate) fn new(infos: impl IntoIterator<Item = &'i Arc<HookInfo>>) -> Self {
        let mut names = HashMap::new();
        for info in infos {
            names.entry(&*info.name).or_insert(info);
        }
        Self(names)
    }

    /// Checks that the constraints of a hook name hooks that are there.
    pub(crate) fn check_known(&self, hook: &HookInfo) -> Result<(), RegisterError> {
        let Some((constraint, unknown)) = hook.constraints().find(|(_, name)| !self.0.contains_key(&***name)) else {
            return Ok(());
        };
        let others = self.0.values().map(|info| &info.name).filter(|name| **name != hook.name);
        Err(RegisterError::UnknownName {
            point: hook.point,
            hook: hook.name.clone(),
            constraint,
            unknown: unknown.clone(),
            // Sorted, so that the same mistake gives the same advice.
            nearest: nearest(unknown, others.collect::<std::collections::BTreeSet<_>>()).cloned(),
        })
    }

    /// Checks that the roles allow the constraints of a hook.
    fn check_roles(&self, hook: &HookInfo) -> Result<(), RegisterError> {
        for (constraint, name) in hook.constraints() {
            let Some(other) = self.0.get(&**name) else { continue };
            let is_impossible = if constraint == "before" { other.role < hook.role } else { other.role > hook.role };
            if is_impossible {
                return Err(RegisterError::AcrossRoles { hook: hook.name.clone(), constraint, other: name.clone() });
            }
        }
        Ok(())
    }
}

/// The places of hooks of one role at one point, in the order they run.
///
/// A constraint on a name that is not among them is met: a name that no hook has was refused at registration
/// ([`Names::check_known`]), so what remains are names of hooks of another role and of hooks that were removed since.
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
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, info) in infos.iter().enumerate() {
        places.entry(&*info.name).or_insert(place);
    }
    let place_of = |name: &Name| places.get(&**name).copied();
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
