//! Changing hooks while they are in force.

use std::sync::Arc;

use tokio::sync::Notify;
use vertebra_hooks::{Attach, HookInfo, HookOptions, HookSet, Hooks, RegisterError, deny, proceed};

use crate::world::{Calling, Noticing, call, fire, hooks};

fn denying(name: &'static str, reason: &'static str) -> HookSet {
    let mut set = HookSet::new();
    set.on(Calling.named(name), async move |_| deny(reason));
    set
}

fn proceeding(names: &[&'static str]) -> HookSet {
    let mut set = HookSet::new();
    for name in names {
        set.on(Calling.named(*name), async |_| proceed());
    }
    set
}

async fn told(hooks: &Hooks) -> String {
    fire(hooks, call("t")).await.story().join(", ")
}

fn names(hooks: &Hooks) -> Vec<String> {
    hooks.list().iter().map(|hook| hook.name.to_string()).collect()
}

#[tokio::test]
async fn hooks_can_be_installed_replaced_switched_and_removed() {
    let hooks = Hooks::default();
    let mut stories = vec![told(&hooks).await];
    hooks.install(proceeding(&["a", "b"])).expect("new names");
    stories.push(told(&hooks).await);
    hooks.replace("a", denying("a", "new")).expect("`a` is there");
    stories.push(told(&hooks).await);
    hooks.disable("a").expect("`a` is there");
    stories.push(told(&hooks).await);
    hooks.enable("a").expect("`a` is there");
    stories.push(told(&hooks).await);
    hooks.remove("a").expect("`a` is there");
    stories.push(told(&hooks).await);

    let expected = [
        "= proceeded",
        "a proceeded, b proceeded, = proceeded",
        "a denied: new, b not run, because a denied, = denied by a: new",
        "a is switched off, b proceeded, = proceeded",
        "a denied: new, b not run, because a denied, = denied by a: new",
        "b proceeded, = proceeded",
    ];
    assert_eq!(stories, expected);
}

#[test]
fn hooks_can_be_listed_found_and_counted() {
    let mut set = proceeding(&["a"]);
    set.watch(Noticing.named("w").detached().priority(7), async |_| Ok(()));
    let hooks = hooks(set);

    assert_eq!((names(&hooks), hooks.count()), (vec!["a".to_owned(), "w".to_owned()], 2));
    let watch = hooks.get("w").expect("`w` is there");
    assert_eq!(
        (watch.point, watch.priority, watch.detached, watch.timeout),
        ("Noticing", 7, true, Some(HookInfo::DEFAULT_TIMEOUT))
    );
    assert!(hooks.get("nobody").is_none());
    assert!(hooks.any_at(Calling) && hooks.any_decides_at(Calling));
    assert!(hooks.any_at(Noticing) && !hooks.any_decides_at(Noticing), "a watch decides nothing");
    hooks.remove("a").expect("`a` is there");
    assert!(!hooks.any_at(Calling) && !hooks.any_decides_at(Calling));
}

#[tokio::test]
async fn a_replacement_takes_the_place_of_the_old_hook() {
    let hooks = hooks(proceeding(&["a", "b", "c"]));
    hooks.replace("b", proceeding(&["b1", "b2"])).expect("`b` is there");

    assert_eq!(names(&hooks), ["a", "b1", "b2", "c"]);
    assert_eq!(told(&hooks).await, "a proceeded, b1 proceeded, b2 proceeded, c proceeded, = proceeded");
}

#[tokio::test]
async fn a_name_stands_for_the_hooks_of_all_points() {
    let mut set = proceeding(&["same"]);
    set.on(Noticing.named("same"), async |_| proceed());
    let hooks = hooks(set);

    hooks.disable("same").expect("it is there");
    assert!(hooks.list().iter().all(|hook| !hook.enabled));
    hooks.remove("same").expect("it is there");
    assert_eq!(hooks.count(), 0);
}

#[tokio::test]
async fn a_dispatch_in_flight_keeps_the_table_it_began_with() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut set = HookSet::new();
    let (tell, wait) = (started.clone(), go.clone());
    set.on(Calling.named("slow"), async move |_| {
        tell.notify_one();
        wait.notified().await;
        proceed()
    });
    set.on(Calling.named("old"), async |_| proceed());
    set.guard(Calling.named("guard"), async |_| deny("old guard"));
    let hooks = hooks(set);

    let in_flight = hooks.clone();
    let in_flight = tokio::spawn(async move { told(&in_flight).await });
    started.notified().await;
    hooks.remove("slow").expect("it is there");
    hooks.remove("guard").expect("it is there");
    hooks.disable("old").expect("it is there");
    hooks.install(proceeding(&["new"])).expect("a new name");
    let after = told(&hooks).await;
    go.notify_one();

    let before = in_flight.await.expect("it ends");
    assert_eq!(before, "slow proceeded, old proceeded, guard denied: old guard, = denied by guard: old guard");
    assert_eq!(after, "old is switched off, new proceeded, = proceeded");
}

#[tokio::test]
async fn an_error_changes_nothing() {
    let hooks = hooks(proceeding(&["a", "b"]));
    let before = (told(&hooks).await, hooks.list());
    let mut cyclic = HookSet::new();
    cyclic.on(Calling.named("x").before("a").after("b").after("a"), async |_| proceed());
    let mut half_bad = proceeding(&["good"]);
    half_bad.on(Calling.named("bad").after("zzzzzz"), async |_| proceed());

    let errors = [
        hooks.install(proceeding(&["new", "a"])),
        hooks.install(cyclic),
        hooks.install(half_bad),
        hooks.replace("a", proceeding(&["b"])),
        hooks.replace("aa", proceeding(&["c"])),
        hooks.remove("aa"),
        hooks.enable("aa"),
        hooks.disable("zzzzzz"),
    ];
    let errors = errors.map(|error| error.expect_err("each of these is a mistake").to_string());

    assert_eq!((told(&hooks).await, hooks.list()), before);
    let expected = [
        "two hooks at Calling are named `a`: give one another name",
        "the hooks at Calling cannot be ordered, because each has to run before the next: a → x → a; remove one of these constraints",
        "`bad` is to run after `zzzzzz`, but no hook of that name is at Calling",
        "two hooks at Calling are named `b`: give one another name",
        "no hook is named `aa`: did you mean `a`?",
        "no hook is named `aa`: did you mean `a`?",
        "no hook is named `aa`: did you mean `a`?",
        "no hook is named `zzzzzz`",
    ];
    assert_eq!(errors, expected);
}

#[tokio::test]
async fn a_name_used_again_does_not_bring_the_old_hook_back() {
    let hooks = hooks(denying("h", "old"));
    hooks.disable("h").expect("it is there");
    hooks.remove("h").expect("it is there");
    hooks.install(denying("h", "new")).expect("the name is free again");

    assert_eq!(told(&hooks).await, "h denied: new, = denied by h: new");
}

#[tokio::test]
async fn a_hook_whose_neighbour_was_removed_can_still_be_switched() {
    let mut set = proceeding(&["a"]);
    set.on(Calling.named("b").after("a"), async |_| proceed());
    let hooks = hooks(set);
    hooks.remove("a").expect("it is there");

    hooks.disable("b").expect("a constraint on somebody who left has no say");
    assert_eq!(told(&hooks).await, "b is switched off, = proceeded");
}

#[test]
fn a_replacement_may_not_name_a_hook_that_left() {
    let after_a = || {
        let mut set = HookSet::new();
        set.on(Calling.named("b").after("a"), async |_| proceed());
        set
    };
    let mut set = proceeding(&["a"]);
    set.append(after_a());
    let hooks = hooks(set);
    hooks.remove("a").expect("it is there");

    assert!(matches!(hooks.replace("b", after_a()), Err(RegisterError::UnknownName { .. })));
}

#[tokio::test]
async fn a_clone_is_another_handle_to_the_same_hooks() {
    let hooks = Hooks::default();
    hooks.clone().install(proceeding(&["a"])).expect("a new name");

    assert_eq!(told(&hooks).await, "a proceeded, = proceeded");
}
