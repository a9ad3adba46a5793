//! What a dispatch ought to do, written as plainly as possible.

use vertebra_hooks::{FailurePolicy, Kind, Retries, Role};

use super::script::{End, Script, bytes, write};
use crate::world::{Call, call};

/// What is left of a dispatch.
#[derive(Debug, PartialEq)]
pub(crate) struct Left {
    pub(crate) call: Call,
    /// The names that the state was written by.
    pub(crate) trail: Vec<String>,
    pub(crate) seen: Vec<String>,
    pub(crate) rulings: Vec<(String, Kind)>,
    pub(crate) decision: Option<(String, Kind)>,
}

/// The strongest first.
const STRENGTH: [Kind; 6] = [Kind::Deny, Kind::Stop, Kind::Ask, Kind::Retry, Kind::Replace, Kind::Allow];

/// The places of one role in the order they run; `None` if their wishes contradict each other.
pub(crate) fn order(scripts: &[Script], role: Role) -> Option<Vec<usize>> {
    let mut left: Vec<usize> = (0..scripts.len()).filter(|place| scripts[*place].role == role).collect();
    let mut order = vec![];
    while !left.is_empty() {
        let free = |place: &&usize| !left.iter().any(|other| comes_before(scripts, *other, **place));
        let next = *left.iter().filter(free).min_by_key(|place| (scripts[**place].priority, **place))?;
        left.retain(|place| *place != next);
        order.push(next);
    }
    Some(order)
}

/// Whether somebody wished for this.
pub(crate) fn comes_before(scripts: &[Script], first: usize, second: usize) -> bool {
    scripts[first].before.contains(&second) || scripts[second].after.contains(&first)
}

/// The hooks that run on this call, in order.
pub(crate) fn running<'s>(scripts: &'s [Script], role: Role, call: &Call) -> Option<Vec<&'s Script>> {
    let order = order(scripts, role)?.into_iter().map(|place| &scripts[place]);
    Some(order.filter(|script| runs_on(script, call)).collect())
}

fn runs_on(script: &Script, call: &Call) -> bool {
    script.enabled && script.only.is_none_or(|tool| tool == call.tool)
}

/// What a hook comes to, and whether it failed.
pub(crate) fn comes_to(script: &Script, retries: Retries) -> (Kind, bool) {
    match script.ends {
        End::Says(kind) if kind != Kind::Retry || retries == Retries::Allowed => (kind, false),
        _ => match script.policy {
            FailurePolicy::Open => (Kind::Proceed, true),
            FailurePolicy::Closed => (Kind::Deny, true),
            FailurePolicy::Ask => (Kind::Ask, true),
        },
    }
}

/// Plays the whole dispatch; `None` if these hooks cannot be registered.
pub(crate) fn play(scripts: &[Script], retries: Retries) -> Option<Left> {
    let mut left = Left { call: call("a"), trail: vec![], seen: vec![], rulings: vec![], decision: None };
    for place in order(scripts, Role::Hook)? {
        let script = &scripts[place];
        if !runs_on(script, &left.call) {
            continue;
        }
        left.look(script);
        let (kind, failed) = comes_to(script, retries);
        if script.shadow {
            continue;
        }
        if let (Some(tool), false) = (script.writes, failed) {
            write(&mut left.call, tool, &script.name);
            left.trail.push(script.name.clone());
        }
        left.rule(script, kind);
        if matches!(kind, Kind::Deny | Kind::Skip | Kind::Retry) {
            break;
        }
    }
    for guard in running(scripts, Role::Guard, &left.call)? {
        left.look(guard);
        if !guard.shadow {
            left.rule(guard, comes_to(guard, retries).0);
        }
    }
    for watch in running(scripts, Role::Watch, &left.call)? {
        left.look(watch);
    }
    left.decision = STRENGTH.iter().find_map(|kind| left.rulings.iter().find(|ruling| ruling.1 == *kind).cloned());
    Some(left)
}

impl Left {
    fn look(&mut self, script: &Script) {
        self.seen.push(format!("{} saw {}", script.name, bytes(&self.call)));
    }

    fn rule(&mut self, script: &Script, kind: Kind) {
        if !matches!(kind, Kind::Proceed | Kind::Skip) {
            self.rulings.push((script.name.clone(), kind));
        }
    }
}
