//! What lanes promise, whoever comes and goes.

use std::{
    collections::{BTreeMap, HashSet},
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use proptest::prelude::*;

use super::{Full, Lane, Lanes, Permit, book::PATIENCE};
use crate::limits::{Limits, Places};

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// A small server, so that everything in it is soon full.
fn small() -> Limits {
    let wide = Places { at_once: 3, at_once_of_one: 2, waiting: 6, waiting_of_one: 3 };
    Limits {
        commands: 5,
        commands_reserved: 1,
        control: wide,
        query: wide,
        execute: wide,
        generate: Places { at_once_of_one: 1, ..wide },
        ..Limits::default()
    }
}

/// One place, and any number of people who wait for it.
fn narrow() -> Limits {
    let one = Places { at_once: 1, at_once_of_one: 1, waiting: 1000, waiting_of_one: 1000 };
    Limits {
        commands: 2,
        commands_reserved: 1,
        control: one,
        query: one,
        execute: one,
        generate: one,
        ..Limits::default()
    }
}

/// Somebody who wants a place: polled only after having been woken, as a runtime does it.
struct Visitor<'l> {
    lane: Lane,
    key: &'static str,
    entering: Option<Entering<'l>>,
    woken: Arc<Woken>,
    permit: Option<Permit>,
}

type Entering<'l> = Pin<Box<dyn Future<Output = Result<Permit, Full>> + 'l>>;

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl<'l> Visitor<'l> {
    fn comes(lanes: &'l Lanes, lane: Lane, key: &'static str) -> Self {
        let entering = Box::pin(lanes.enter(lane, key));
        Self { lane, key, entering: Some(entering), woken: Arc::new(Woken(AtomicBool::new(true))), permit: None }
    }

    /// Looks whether there is a place, if somebody said so; says whether it was refused.
    fn looks(&mut self) -> bool {
        let Some(entering) = &mut self.entering else { return false };
        if !self.woken.0.swap(false, Ordering::AcqRel) {
            return false;
        }
        match entering.as_mut().poll(&mut Context::from_waker(&Waker::from(self.woken.clone()))) {
            Poll::Pending => false,
            Poll::Ready(entered) => {
                self.entering = None;
                self.permit = entered.ok();
                self.permit.is_none()
            }
        }
    }

    fn is_in(&self) -> bool {
        self.permit.is_some()
    }
}

/// What is counted of everybody.
#[derive(Default)]
struct Counted {
    all: usize,
    lanes: BTreeMap<Lane, (usize, usize)>,
    keys: BTreeMap<(Lane, &'static str), (usize, usize)>,
}

fn count(visitors: &[Visitor<'_>]) -> Counted {
    let mut counted = Counted::default();
    for visitor in visitors {
        let (inside, waits) = (usize::from(visitor.is_in()), usize::from(!visitor.is_in()));
        counted.all += inside;
        let of_lane = counted.lanes.entry(visitor.lane).or_default();
        *of_lane = (of_lane.0 + inside, of_lane.1 + waits);
        let of_key = counted.keys.entry((visitor.lane, visitor.key)).or_default();
        *of_key = (of_key.0 + inside, of_key.1 + waits);
    }
    counted
}

fn places(limits: &Limits, lane: Lane) -> Places {
    [limits.control, limits.query, limits.execute, limits.generate][lane as usize]
}

/// What must be so whenever nobody moves.
fn check(limits: &Limits, lanes: &Lanes, visitors: &[Visitor<'_>]) {
    let counted = count(visitors);
    assert!(counted.all <= limits.commands);
    let control = counted.lanes.get(&Lane::Control).map_or(0, |(inside, _)| *inside);
    let others = counted.all - control;
    assert!(others <= limits.commands - limits.commands_reserved, "what is reserved for control stays free");
    for lane in Lane::ALL {
        let (inside, waits) = counted.lanes.get(&lane).copied().unwrap_or_default();
        assert_eq!((lanes.under_way(lane), lanes.waiting(lane)), (inside, waits), "{lane:?}");
        assert!(inside <= places(limits, lane).at_once && waits <= places(limits, lane).waiting);
    }
    for ((lane, key), (inside, waits)) in counted.keys {
        let places = places(limits, lane);
        assert!(inside <= places.at_once_of_one && waits <= places.waiting_of_one, "{lane:?} {key}");
        let lane_has_place = counted.lanes.get(&lane).is_some_and(|(inside, _)| *inside < places.at_once);
        let is_admitted = counted.all < limits.commands
            && (lane == Lane::Control || others < limits.commands - limits.commands_reserved);
        let could_go = lane_has_place && is_admitted && inside < places.at_once_of_one;
        assert!(waits == 0 || !could_go, "somebody of {key} waits in {lane:?} for a place that is free");
    }
}

#[derive(Debug, Clone)]
enum Move {
    Comes(Lane, &'static str),
    /// Ends, or stops waiting: somebody of those who are there.
    Goes(prop::sample::Index),
    /// The same, but whoever is called meanwhile has not looked yet.
    GoesUnseen(prop::sample::Index),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let comes = (prop::sample::select(&Lane::ALL[..]), prop::sample::select(&KEYS[..]))
        .prop_map(|(lane, key)| Move::Comes(lane, key));
    let goes = any::<prop::sample::Index>().prop_map(Move::Goes);
    let goes_unseen = any::<prop::sample::Index>().prop_map(Move::GoesUnseen);
    prop::collection::vec(prop_oneof![4 => comes, 2 => goes, 1 => goes_unseen], 1..120)
}

/// Everybody looks who was told to. Answers with who came in, in the order in which they came.
fn look(visitors: &mut Vec<Visitor<'_>>) -> Vec<(Lane, &'static str)> {
    let mut entered = Vec::new();
    visitors.retain_mut(|visitor| {
        let (was_in, refused) = (visitor.is_in(), visitor.looks());
        if visitor.is_in() && !was_in {
            entered.push((visitor.lane, visitor.key));
        }
        !refused
    });
    entered
}

proptest! {
    #[test]
    fn whoever_comes_and_goes_no_more_are_in_than_may_and_nobody_waits_for_a_free_place(moves in moves()) {
        let limits = small();
        let lanes = Lanes::new(&limits);
        let mut visitors = Vec::new();
        for one in moves {
            match one {
                Move::Comes(lane, key) => visitors.push(Visitor::comes(&lanes, lane, key)),
                Move::Goes(index) | Move::GoesUnseen(index) if !visitors.is_empty() => {
                    drop(visitors.swap_remove(index.index(visitors.len())));
                    if matches!(one, Move::GoesUnseen(_)) {
                        continue;
                    }
                }
                Move::Goes(_) | Move::GoesUnseen(_) => {}
            }
            look(&mut visitors);
            check(&limits, &lanes, &visitors);
        }
        look(&mut visitors);
        // Whoever is in goes, until nobody is left: so nobody was forgotten.
        while !visitors.is_empty() {
            let before = visitors.len();
            visitors.retain(|visitor| !visitor.is_in());
            prop_assert!(visitors.len() < before, "nobody is in, and {before} wait");
            look(&mut visitors);
            check(&limits, &lanes, &visitors);
        }
        prop_assert!(lanes.lock().is_empty());
    }

    #[test]
    fn keys_take_turns_and_under_a_key_the_first_is_the_first(
        queue in prop::collection::vec(prop::sample::select(&KEYS[..]), 1..60),
    ) {
        let lanes = Lanes::new(&narrow());
        let mut visitors = vec![Visitor::comes(&lanes, Lane::Generate, "first")];
        look(&mut visitors);
        visitors.extend(queue.iter().map(|key| Visitor::comes(&lanes, Lane::Generate, key)));
        look(&mut visitors);
        let mut order = Vec::new();
        while !visitors.is_empty() {
            let inside = visitors.iter().position(Visitor::is_in).expect("somebody is in");
            visitors.remove(inside);
            // The list of visitors is in the order of their coming: a later one of a key is never in before an earlier.
            order.extend(look(&mut visitors).into_iter().map(|(_, key)| key));
            for (index, visitor) in visitors.iter().enumerate() {
                let waits_before = visitors[..index].iter().any(|other| other.key == visitor.key && !other.is_in());
                prop_assert!(!(visitor.is_in() && waits_before), "{} was overtaken", visitor.key);
            }
        }
        // Round after round, everybody who is left once.
        let mut left = BTreeMap::new();
        for key in &queue {
            *left.entry(*key).or_insert(0usize) += 1;
        }
        let mut rest = order.as_slice();
        while !left.is_empty() {
            let (round, later) = rest.split_at(left.len());
            prop_assert_eq!(round.iter().collect::<HashSet<_>>(), left.keys().collect::<HashSet<_>>(), "{:?}", order);
            left.retain(|_, count| {
                *count -= 1;
                *count > 0
            });
            rest = later;
        }
    }
}

/// Lets whoever is in go, and says who comes in.
fn next(visitors: &mut Vec<Visitor<'_>>) -> Vec<(Lane, &'static str)> {
    visitors.retain(|visitor| !visitor.is_in());
    look(visitors)
}

#[test]
fn the_more_urgent_goes_first() {
    let lanes = Lanes::new(&narrow());
    let mut visitors = vec![Visitor::comes(&lanes, Lane::Query, "x")];
    look(&mut visitors);
    for lane in [Lane::Generate, Lane::Execute, Lane::Query] {
        visitors.push(Visitor::comes(&lanes, lane, "x"));
    }
    assert!(look(&mut visitors).is_empty());
    let order: Vec<_> = std::iter::from_fn(|| next(&mut visitors).first().map(|(lane, _)| *lane)).collect();
    assert_eq!(order, [Lane::Query, Lane::Execute, Lane::Generate]);
}

#[test]
fn a_flood_of_urgent_commands_does_not_keep_the_others_out_for_ever() {
    let lanes = Lanes::new(&narrow());
    let mut visitors = vec![Visitor::comes(&lanes, Lane::Query, "x")];
    look(&mut visitors);
    visitors.push(Visitor::comes(&lanes, Lane::Generate, "x"));
    let mut urgent = 0;
    loop {
        visitors.push(Visitor::comes(&lanes, Lane::Query, "x"));
        look(&mut visitors);
        match *next(&mut visitors) {
            [(Lane::Query, _)] => urgent += 1,
            [(Lane::Generate, _)] => break,
            ref others => panic!("{others:?}"),
        }
        assert!(urgent <= PATIENCE, "it still waits");
    }
    assert_eq!(urgent, PATIENCE);
}

#[test]
fn a_full_server_can_be_told_to_stop() {
    let limits = small();
    let lanes = Lanes::new(&limits);
    let mut visitors: Vec<_> = [Lane::Query, Lane::Execute, Lane::Generate]
        .into_iter()
        .flat_map(|lane| KEYS.map(|key| Visitor::comes(&lanes, lane, key)))
        .collect();
    look(&mut visitors);
    assert_eq!(count(&visitors).all, limits.commands - limits.commands_reserved);
    visitors.push(Visitor::comes(&lanes, Lane::Control, "x"));
    assert_eq!(look(&mut visitors), [(Lane::Control, "x")]);
}

#[test]
fn a_queue_has_an_end_and_one_of_many_cannot_fill_it_alone() {
    let lanes = Lanes::new(&small());
    let mut visitors = Vec::new();
    // One is in, three wait, and the next is refused, although others may still wait.
    let mut comes = |key| {
        visitors.push(Visitor::comes(&lanes, Lane::Generate, key));
        let before = visitors.len();
        look(&mut visitors);
        visitors.len() == before
    };
    assert_eq!([(); 5].map(|()| comes("a")), [true, true, true, true, false]);
    assert_eq!([(); 5].map(|()| comes("b")), [true, true, true, true, false]);
    // There is a place for another key, and then no room for anybody to wait.
    assert_eq!([(); 2].map(|()| comes("c")), [true, false]);
}

#[test]
fn a_queue_of_no_length_lets_in_whoever_need_not_wait() {
    let nobody_waits = Places { at_once: 1, at_once_of_one: 1, waiting: 0, waiting_of_one: 0 };
    let lanes = Lanes::new(&Limits { query: nobody_waits, ..Limits::default() });
    let mut visitors = vec![Visitor::comes(&lanes, Lane::Query, "a"), Visitor::comes(&lanes, Lane::Query, "b")];
    assert_eq!(look(&mut visitors), [(Lane::Query, "a")]);
    assert_eq!(visitors.len(), 1);
}

#[test]
fn sizes_of_nothing_still_let_one_in() {
    let nothing = Places { at_once: 0, at_once_of_one: 0, waiting: 9, waiting_of_one: 9 };
    let limits = Limits {
        commands: 0,
        commands_reserved: 9,
        control: nothing,
        query: nothing,
        execute: nothing,
        generate: nothing,
        ..Limits::default()
    };
    let lanes = Lanes::new(&limits);
    let mut visitors: Vec<_> = Lane::ALL.into_iter().map(|lane| Visitor::comes(&lanes, lane, "x")).collect();
    look(&mut visitors);
    while !visitors.is_empty() {
        assert!(visitors.iter().any(Visitor::is_in));
        next(&mut visitors);
    }
}

/// Many threads, and people who go away at any moment: what a test in one thread cannot bring about.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_leaks_when_many_come_and_go_at_once() {
    let limits = Limits { generate: Places { waiting: 1000, waiting_of_one: 1000, ..small().generate }, ..small() };
    let lanes = Arc::new(Lanes::new(&limits));
    let inside = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..64u64)
        .map(|number| {
            let (lanes, inside) = (lanes.clone(), inside.clone());
            let most = limits.generate.at_once;
            tokio::spawn(async move {
                let mut patience = number;
                for round in 0..200u64 {
                    // Some are more patient than others.
                    patience = patience.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
                    let gives_up = async {
                        for _ in 0..(patience >> 33) % 64 {
                            tokio::task::yield_now().await;
                        }
                    };
                    let key = KEYS[(patience >> 40) as usize % KEYS.len()];
                    tokio::select! {
                        entered = lanes.enter(Lane::Generate, key) => {
                            let _permit = entered.expect("there is room to wait");
                            assert!(inside.fetch_add(1, Ordering::AcqRel) < most);
                            tokio::task::yield_now().await;
                            inside.fetch_sub(1, Ordering::AcqRel);
                        }
                        () = gives_up => {}
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no promise is broken");
    }
    assert!(lanes.lock().is_empty());
    let again = lanes.enter(Lane::Generate, "a").await;
    assert!(again.is_ok());
}
