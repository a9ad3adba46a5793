//! Law 9: one budget. However many spend at once, no limit at any level is exceeded.

use std::sync::Barrier;

use proptest::{collection::vec, prelude::*};
use vertebra::{Budget, Limits, Meter, What};

use super::{
    cases,
    plan::{leaving, plan},
    world::{Event, play},
};

/// One attempt to spend: at which node, how much, exactly or as much as there is, and how much of it is really used.
#[derive(Debug, Clone)]
struct Spending {
    node: usize,
    amount: u64,
    exactly: bool,
    used: u64,
}

fn spending() -> impl Strategy<Value = Spending> {
    (0..6usize, 1..40u64, any::<bool>(), 0..40u64).prop_map(|(node, amount, exactly, used)| Spending {
        node,
        amount,
        exactly,
        used,
    })
}

/// A tree of six nodes: each has an earlier one for its parent.
fn tree(limits: &[Option<u64>], parents: &[usize]) -> Vec<Budget> {
    let limit = |tokens| Limits { tokens, ..Limits::none() };
    let mut nodes = vec![Budget::new("root", limit(limits[0]))];
    for (place, tokens) in limits.iter().enumerate().skip(1) {
        let parent = nodes[parents[place] % place].clone();
        nodes.push(parent.child(format!("node {place}"), limit(*tokens)));
    }
    nodes
}

fn exceeded(nodes: &[Budget]) -> Option<(u64, u64)> {
    let over = |node: &Budget| {
        let (used, limit) = (node.used(Meter::Tokens), node.limits().tokens?);
        (used > limit).then_some((used, limit))
    };
    nodes.iter().find_map(over)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn concurrent_spending_never_exceeds_a_limit(
        limits in vec(prop::option::of(0..200u64), 6),
        parents in vec(0..6usize, 6),
        spendings in vec(vec(spending(), 1..60), 4),
    ) {
        let nodes = tree(&limits, &parents);
        let start = Barrier::new(spendings.len());
        let over: Vec<(u64, u64)> = std::thread::scope(|scope| {
            let threads: Vec<_> = spendings
                .iter()
                .map(|spendings| {
                    scope.spawn(|| {
                        start.wait();
                        spendings.iter().filter_map(|spending| {
                            let node = &nodes[spending.node];
                            let reserved = if spending.exactly {
                                node.reserve(Meter::Tokens, spending.amount)
                            } else {
                                node.reserve_up_to(Meter::Tokens, spending.amount)
                            };
                            let over = exceeded(&nodes);
                            if let Ok(reserved) = reserved {
                                let used = spending.used.min(reserved.amount());
                                reserved.settle(used);
                            }
                            over.or_else(|| exceeded(&nodes))
                        }).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        prop_assert_eq!(over, vec![]);
    }

    #[test]
    fn what_is_given_back_can_be_spent_again_and_parents_count_all_below(
        limits in vec(prop::option::of(0..200u64), 6),
        parents in vec(0..6usize, 6),
        spendings in vec(spending(), 1..60),
    ) {
        let nodes = tree(&limits, &parents);
        let mut root = 0;
        for Spending { node, amount, used, .. } in spendings {
            let left = nodes[node].left(Meter::Tokens);
            match nodes[node].reserve(Meter::Tokens, amount) {
                Ok(reserved) => {
                    prop_assert!(left.is_none_or(|left| amount <= left));
                    let used = used.min(amount);
                    reserved.settle(used);
                    root += used;
                }
                Err(stop) => {
                    prop_assert!(left.is_some_and(|left| amount > left) && stop.hard, "{stop} with {left:?} left");
                }
            }
            prop_assert_eq!(nodes[0].used(Meter::Tokens), root);
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_run_with_children_never_takes_more_steps_than_its_budget(plan in plan(leaving())) {
        let steps = play(&plan).count(|event| matches!(event, Event::Line(What::StepBegan { .. })));
        prop_assert!(steps as u64 <= plan.max_steps, "{steps} steps of {}", plan.max_steps);
    }
}
