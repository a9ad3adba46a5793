//! The laws of dispatch, tried on random hooks.

mod model;
mod script;

use proptest::prelude::*;
use vertebra_hooks::{FailurePolicy, Hooks, Kind, Ran, RegisterError, Retries, Role, State, Verdict};

use self::script::{
    End, Script, bytes, ends, fails, play, play_once, play_until, retries, script, scripts, scripts_without_wishes, set,
};
use crate::world::{Fired, Seen};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() }
}

fn left(fired: Fired, seen: Vec<String>) -> model::Left {
    let ruling = |ruling: &vertebra_hooks::Ruling<_>| (ruling.by.to_string(), Verdict::kind(&ruling.verdict));
    model::Left {
        trail: script::trail(&fired.desk),
        seen,
        rulings: fired.outcome.rulings().iter().map(ruling).collect(),
        decision: fired.outcome.decision().map(ruling),
        call: fired.call,
    }
}

/// A hook that writes and then ends like this, at once or after a wait; the weakest there is, put anywhere.
fn intruder(ends: End, waits: bool, priority: i32) -> Script {
    Script {
        name: "intruder".into(),
        role: Role::Hook,
        priority,
        before: vec![],
        after: vec![],
        only: None,
        enabled: true,
        writes: Some("b"),
        waits,
        ends,
        policy: FailurePolicy::Open,
        shadow: false,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_dispatch_does_what_the_contract_says(scripts in scripts(), retries in retries()) {
        if let Some(expected) = model::play(&scripts, retries) {
            let (fired, seen) = play(&scripts, retries);
            let record = fired.outcome.record().hooks.len();
            prop_assert_eq!(&left(fired, seen), &expected);

            let (fired, seen) = play_once(&scripts, retries);
            prop_assert_eq!(fired.outcome.record().hooks.len(), record);
            prop_assert_eq!(left(fired, seen), expected);
        } else {
            let registered = Hooks::new(set(&scripts, &Seen::default()));
            let cyclic = matches!(registered, Err(RegisterError::Cycle { .. }));
            prop_assert!(cyclic);
        }
    }

    /// Laws 1 and 2: final form, no bypass.
    #[test]
    fn every_guard_that_matches_what_goes_on_has_seen_exactly_that(
        scripts in scripts_without_wishes(),
        retries in retries(),
    ) {
        let (fired, seen) = play(&scripts, retries);
        let guards = model::running(&scripts, Role::Guard, &fired.call).expect("without wishes there is an order");
        for guard in &guards {
            let saw = format!("{} saw {}", guard.name, bytes(&fired.call));
            prop_assert_eq!(seen.iter().filter(|line| **line == saw).count(), 1, "{}", saw);
        }
        let record = fired.outcome.record();
        let judged = record.hooks.iter().filter(|trace| {
            trace.role == Role::Guard && matches!(trace.ran, Ran::Answered { .. } | Ran::Failed { .. })
        });
        prop_assert_eq!(judged.count(), guards.len());
        if fired.outcome.verdict().kind() < Kind::Ask {
            let refuses = |guard: &&&Script| !guard.shadow && model::comes_to(guard, retries).0 >= Kind::Ask;
            prop_assert_eq!(guards.iter().find(refuses).map(|guard| &guard.name), None);
        }
    }

    /// Law 3: deny wins.
    #[test]
    fn one_deny_is_enough_whatever_the_order(
        mut scripts in scripts_without_wishes(),
        says in ends(),
        denies in prop::sample::select(vec![End::Says(Kind::Deny), End::Errs, End::Panics, End::Hangs]),
        waits in any::<bool>(),
        priority in -1..5,
    ) {
        let mut guard = intruder(denies, waits, priority);
        guard.role = Role::Guard;
        guard.writes = None;
        guard.policy = FailurePolicy::Closed;
        scripts.push(guard);
        let mut other = intruder(says, !waits, 4 - priority);
        other.name = "other".into();
        scripts.push(other);

        let (forwards, _) = play(&scripts, Retries::Allowed);
        let record = forwards.outcome.record();
        let denied_first = record.verdicts().find(|(_, verdict)| *verdict == Kind::Deny);
        let denier = denied_first.map(|(name, _)| name.to_owned());
        prop_assert_eq!(record.verdict, Kind::Deny);
        prop_assert_eq!(record.decided_by.as_deref(), denier.as_deref());

        for script in &mut scripts {
            script.priority = -script.priority;
        }
        scripts.reverse();
        prop_assert_eq!(play(&scripts, Retries::Allowed).0.outcome.record().verdict, Kind::Deny);
    }

    /// Law 4: no trace of failure.
    #[test]
    fn a_hook_that_fails_open_might_as_well_not_be_there(
        mut scripts in scripts_without_wishes(),
        ends in prop_oneof![fails(), Just(End::Says(Kind::Retry))],
        waits in any::<bool>(),
        priority in -1..5,
    ) {
        let (fired, seen) = play(&scripts, Retries::Exhausted);
        let without = left(fired, seen);
        scripts.push(intruder(ends, waits, priority));
        let (fired, seen) = play(&scripts, Retries::Exhausted);
        let changed = fired.outcome.record().changes().any(|(author, _)| author == "intruder");
        let mut with = left(fired, seen);
        with.seen.retain(|line| !line.starts_with("intruder "));
        prop_assert!(!changed);
        prop_assert_eq!(with, without);
    }

    /// Law 4 where the dispatch is dropped, at any of its polls: inside a hook, a guard or a watch.
    #[test]
    fn a_cancelled_dispatch_leaves_what_the_hooks_before_left_and_nothing_of_the_one_it_was_in(
        scripts in scripts_without_wishes(),
        retries in retries(),
        polls in 0usize..10,
    ) {
        let (fired, seen) = play(&scripts, retries);
        let whole = left(fired, seen);
        let cut = play_until(&scripts, retries, polls);
        let is_hook = |name: &str| scripts.iter().any(|script| script.name == name && script.role == Role::Hook);
        let mut ended: Vec<_> = cut.seen.iter().filter_map(|line| line.split(' ').next()).collect();
        if cut.was_dropped && ended.last().is_some_and(|name| is_hook(name)) {
            ended.pop();
        }
        let expected: Vec<_> = whole.trail.iter().filter(|name| ended.contains(&name.as_str())).cloned().collect();

        prop_assert_eq!(script::trail(&cut.desk), expected.clone());
        prop_assert_eq!(script::written(&cut.call), expected.clone());
        for script in &scripts {
            let has_note = State::notes(&cut.desk).get(&script.name).is_some();
            prop_assert_eq!(has_note, expected.contains(&script.name), "the note of {}", script.name);
        }
    }

    /// Law 5: deterministic order.
    #[test]
    fn hooks_run_in_the_one_order_their_wishes_allow_or_a_real_circle_is_named(
        mut scripts in (2usize..14).prop_flat_map(|count| prop::collection::vec(script(count), count)),
        role in prop::sample::select(vec![Role::Hook, Role::Guard, Role::Watch]),
    ) {
        for (place, script) in scripts.iter_mut().enumerate() {
            script.name = format!("h{place}");
            script.role = role;
            script.policy = if role == Role::Watch { FailurePolicy::Open } else { FailurePolicy::Closed };
            script.shadow = false;
        }
        let names = |hooks: &Hooks| -> Vec<String> {
            let (event, state) = (crate::world::call("a"), crate::world::Desk::default());
            let explained = hooks.explain(crate::world::Calling, &event, &state);
            explained.iter().map(|one| one.hook.name.to_string()).collect()
        };
        let seen = Seen::default();
        match (Hooks::new(set(&scripts, &seen)), model::order(&scripts, role)) {
            (Ok(hooks), Some(order)) => {
                let expected: Vec<_> = order.into_iter().map(|place| format!("h{place}")).collect();
                prop_assert_eq!(names(&hooks), expected);
                let again = Hooks::new(set(&scripts, &seen)).expect("as before");
                prop_assert_eq!(names(&again), names(&hooks));
            }
            (Err(RegisterError::Cycle { names, .. }), None) => {
                let places: Vec<usize> =
                    names.iter().filter_map(|name| name.strip_prefix('h')?.parse().ok()).collect();
                prop_assert_eq!(places.len(), names.len());
                prop_assert!(places.len() >= 2 && places.first() == places.last(), "{:?}", names);
                for pair in places.windows(2) {
                    prop_assert!(model::comes_before(&scripts, pair[0], pair[1]), "{:?}: {:?}", names, pair);
                }
                let mut once = places[1..].to_vec();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), places.len() - 1, "a hook stands twice in {:?}", names);
            }
            (registered, order) => {
                prop_assert!(false, "{:?} instead of {:?}", registered.map(|hooks| names(&hooks)), order);
            }
        }
    }
}
