//! Bundles: hooks that have a name together.

use vertebra_hooks::{Attach, HookOptions, HookSet, Hooks, RegisterError, deny, proceed};

use crate::world::{Calling, Noticing, call, fire, hooks};

fn rules(bundle: &'static str) -> HookSet {
    let mut set = HookSet::new();
    set.on(Calling.named("last").after("first"), async |_| proceed());
    set.on(Calling.named("first"), async |_| proceed());
    set.on(Noticing, async |_| proceed());
    set.bundled(bundle)
}

async fn told(hooks: &Hooks) -> String {
    fire(hooks, call("t")).await.story().join(", ")
}

#[tokio::test]
async fn two_bundles_with_the_same_hooks_do_not_collide_and_keep_their_own_order() {
    let mut set = rules("a");
    set.append(rules("b"));
    let story = told(&hooks(set)).await;
    assert_eq!(story, "a/first proceeded, a/last proceeded, b/first proceeded, b/last proceeded, = proceeded");
}

#[test]
fn hooks_without_a_name_are_in_the_bundle_too() {
    let hooks = hooks(rules("a"));
    let unnamed = hooks.list().into_iter().find(|hook| hook.point == "Noticing").expect("the hook at Noticing");
    assert!(unnamed.name.starts_with("a/") && unnamed.name.contains(".rs:"), "{}", unnamed.name);
    assert!(hooks.list().iter().all(|hook| hook.bundle.as_deref() == Some("a")));
}

#[tokio::test]
async fn a_bundle_is_switched_replaced_and_removed_as_one() {
    let hooks = hooks(rules("a"));
    hooks.disable("a").expect("the bundle is there");
    assert_eq!(told(&hooks).await, "a/first is switched off, a/last is switched off, = proceeded");
    hooks.enable("a").expect("the bundle is there");
    let mut strict = HookSet::new();
    strict.on(Calling.named("door"), async |_| deny("closed"));
    hooks.replace("a", strict.bundled("a")).expect("the name is free once the old bundle is gone");
    assert_eq!(told(&hooks).await, "a/door denied: closed, = denied by a/door: closed");
    hooks.remove("a").expect("the bundle is there");
    assert_eq!(hooks.count(), 0);
}

#[test]
fn one_hook_of_a_bundle_is_still_reached_by_its_own_name() {
    let hooks = hooks(rules("a"));
    hooks.remove("a/first").expect("the hook is there");
    assert_eq!(hooks.count(), 2);
}

#[test]
fn a_name_that_another_bundle_has_is_refused_whatever_hooks_it_brings() {
    let mut other = HookSet::new();
    other.on(Calling.named("unlike any other"), async |_| proceed());
    let other = other.bundled("a");
    let expected = RegisterError::DuplicateBundle { bundle: "a".into() };

    let mut both = rules("a");
    both.append(rules("a"));
    assert_eq!(Hooks::new(both).err(), Some(expected.clone()));

    let hooks = hooks(rules("a"));
    assert_eq!(hooks.install(other).err(), Some(expected));
    assert_eq!(hooks.count(), 3, "nothing was changed");
}

#[tokio::test]
async fn a_constraint_may_name_a_hook_outside_the_bundle() {
    let mut inside = HookSet::new();
    inside.on(Calling.named("mine").before("yours"), async |_| proceed());
    let mut set = HookSet::new();
    set.on(Calling.named("yours"), async |_| proceed());
    set.append(inside.bundled("a"));
    assert_eq!(told(&hooks(set)).await, "a/mine proceeded, yours proceeded, = proceeded");
}

#[tokio::test]
async fn hooks_that_stand_together_keep_their_names_and_are_replaced_as_one() {
    let together = |reason: &'static str| {
        let mut set = HookSet::new();
        set.on(Calling.named("last").after("door"), async |_| proceed());
        set.on(Calling.named("door"), async move |_| if reason.is_empty() { proceed() } else { deny(reason) });
        set.together("clients")
    };
    let hooks = hooks(together(""));
    assert_eq!(told(&hooks).await, "door proceeded, last proceeded, = proceeded");
    hooks.replace("clients", together("closed")).expect("the names are free once the old ones are gone");
    assert!(told(&hooks).await.ends_with("= denied by door: closed"), "{}", told(&hooks).await);
    hooks.remove("clients").expect("they are there");
    assert_eq!(hooks.count(), 0);
}
