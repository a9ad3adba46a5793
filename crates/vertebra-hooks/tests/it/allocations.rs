//! How often a dispatch asks for memory, and how much room it takes: what a clock would tell much later.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use vertebra_hooks::{Attach, Frame, HookOptions, HookSet, Hooks, Outcome, Retries, deny, proceed};

use crate::world::{Calling, Desk, MatchCall, call, hooks};

fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn allocations(hooks: &Hooks) -> u64 {
    let (mut event, mut state) = (call("bash"), Desk::default());
    let mut once = || {
        let frame = Frame { event: &mut event, state: &mut state, scope: &"somebody", retries: Retries::Allowed };
        drop(at_once(hooks.dispatch(Calling, frame)));
    };
    once();
    allocation_counter::measure(once).count_total
}

/// Hooks that capture something and look at the event, as real ones do.
fn looking(count: usize) -> HookSet {
    let word: Arc<str> = "rm".into();
    let mut set = HookSet::new();
    for _ in 0..count {
        let word = word.clone();
        set.on(Calling, async move |cx| if *cx.tool == *word { deny("no") } else { proceed() });
    }
    set
}

#[test]
fn a_dispatch_allocates_nothing_for_nobody_and_once_for_any_number_of_hooks() {
    let counts = [0, 1, 10, 16].map(|count| allocations(&hooks(looking(count))));
    assert_eq!(counts, [0, 1, 1, 1]);
}

#[test]
fn guards_and_watches_allocate_nothing_of_their_own() {
    let mut set = looking(4);
    for _ in 0..3 {
        set.guard(Calling, async |_| proceed());
        set.watch(Calling, async |_| Ok(()));
    }
    assert_eq!(allocations(&hooks(set)), 1);
}

#[test]
fn hooks_chosen_by_the_name_of_a_tool_allocate_nothing_of_their_own() {
    let mut set = looking(4);
    for tool in ["bash", "edit", "write"] {
        set.on(Calling.tool(tool), async |_| proceed());
    }
    assert_eq!(allocations(&hooks(set)), 1);
}

#[test]
fn a_child_allocates_no_more_than_its_parent() {
    let counts = [0, 1, 10].map(|count| allocations(&hooks(looking(count)).child().child()));
    assert_eq!(counts, [0, 1, 1]);
}

/// The bytes that it takes to register so many hooks without a name, so many more from the same line, and so many guards
/// that each run after the one before.
fn registering(count: usize) -> u64 {
    let unnamed = || {
        let mut set = HookSet::new();
        for _ in 0..count {
            set.on(Calling, async |_| proceed());
        }
        set
    };
    let mut chain = HookSet::new();
    chain.guard(Calling.named("g0"), async |_| proceed());
    for at in 1..count {
        chain.guard(Calling.named(format!("g{at}")).after(format!("g{}", at - 1)), async |_| proceed());
    }
    let sets = [unnamed(), unnamed(), chain];
    let registered = || {
        let hooks = Hooks::default();
        for set in sets {
            hooks.install(set).expect("these fit together");
        }
        assert_eq!(hooks.count(), 3 * count);
    };
    allocation_counter::measure(registered).bytes_total
}

#[test]
fn registration_takes_memory_in_proportion_to_the_number_of_hooks() {
    let (once, twice) = (registering(1_000), registering(2_000));
    assert!(twice < once * 5 / 2, "{once} bytes for 1000 hooks, {twice} for 2000");
}

#[test]
fn an_outcome_is_one_word_and_a_dispatch_no_larger_than_it_need_be() {
    let (hooks, mut event, mut state) = (hooks(looking(1)), call("ls"), Desk::default());
    let frame = Frame { event: &mut event, state: &mut state, scope: &"somebody", retries: Retries::Allowed };
    let dispatch = hooks.dispatch(Calling, frame);
    assert_eq!(size_of::<Outcome<Calling>>(), size_of::<usize>());
    assert!(size_of_val(&dispatch) <= 928, "{}", size_of_val(&dispatch));
}
