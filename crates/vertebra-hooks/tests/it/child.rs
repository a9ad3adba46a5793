//! A child has its parent's hooks and can only add.

use vertebra_hooks::{Attach, Drained, HookOptions, HookSet, Hooks, deny, proceed};

use crate::world::{Call, Calling, Desk, Doing, Seen, call, fire, hooks};

/// Hooks that go on, in this order of registration; `name<other` runs before it, `name>other` after it.
fn set(wishes: &[&str]) -> HookSet {
    let mut set = HookSet::new();
    for wish in wishes {
        let name = wish.split(['<', '>']).next().unwrap_or_default();
        let mut site = Calling.named(name);
        for (at, sign) in wish.match_indices(['<', '>']) {
            let other = wish[at + 1..].split(['<', '>']).next().unwrap_or_default();
            site = if sign == "<" { site.before(other) } else { site.after(other) };
        }
        set.on(site, async |_| proceed());
    }
    set
}

async fn order(hooks: &Hooks) -> String {
    let fired = fire(hooks, call("t")).await;
    let ran: Vec<_> = fired.outcome.record().hooks.iter().map(|trace| trace.hook.to_string()).collect();
    ran.join(" ")
}

#[tokio::test]
async fn what_the_parent_has_holds_for_the_child_and_its_children() {
    let mut parents = HookSet::new();
    parents.guard(Calling.named("house-rule"), async |_| deny("not in this house"));
    let parent = hooks(parents);
    let child = parent.child();
    child.install(set(&["own"])).expect("a new name");
    let grandchild = child.child();

    assert_eq!(fire(&parent.child(), call("t")).await.outcome.to_string(), "denied by house-rule: not in this house");
    assert_eq!(order(&grandchild).await, "own house-rule");
    assert_eq!(order(&parent).await, "house-rule", "a child adds nothing to its parent");
}

#[tokio::test]
async fn what_the_parent_changes_later_reaches_the_child() {
    let parent = hooks(set(&["p1"]));
    let grandchild = parent.child().child();
    let mut orders = vec![order(&grandchild).await];
    grandchild.install(set(&["c"])).expect("a new name");
    parent.install(set(&["p2"])).expect("a new name");
    orders.push(order(&grandchild).await);
    parent.replace("p1", set(&["p3"])).expect("it is there");
    orders.push(order(&grandchild).await);
    parent.remove("p2").expect("it is there");
    orders.push(order(&grandchild).await);
    parent.disable("p3").expect("it is there");
    let off = fire(&grandchild, call("t")).await.story();

    assert_eq!(orders, ["p1", "p1 p2 c", "p3 p2 c", "p3 c"]);
    assert_eq!(off, ["p3 is switched off", "c proceeded", "= proceeded"]);
}

#[tokio::test]
async fn a_child_can_only_add() {
    let parent = hooks(set(&["rule"]));
    let child = parent.child();
    child.install(set(&["own"])).expect("a new name");

    let errors =
        [child.remove("rule"), child.disable("rule"), child.enable("rule"), child.replace("rule", set(&["loophole"]))];
    for error in errors {
        assert_eq!(error.expect_err("it is not the child's").to_string(), "no hook is named `rule`");
    }
    assert_eq!(order(&child).await, "rule own");
    assert_eq!((child.count(), parent.count()), (2, 1));
    assert_eq!(child.list().iter().map(|hook| &*hook.name).collect::<Vec<_>>(), ["rule", "own"]);
    assert!(child.get("rule").is_some());
}

#[tokio::test]
async fn a_childs_hooks_may_stand_before_after_and_between_the_parents() {
    let parent = hooks(set(&["p1", "p2"]));
    let child = parent.child();
    child.install(set(&["first<p1", "between>p1<p2", "last>p2"])).expect("the parent's names are known");

    assert_eq!(order(&child).await, "first p1 between p2 last");
}

#[test]
fn a_childs_mistakes_are_errors_too() {
    let parent = hooks(set(&["p1", "p2>p1"]));
    let child = parent.child();
    let errors = [child.install(set(&["c>p3"])), child.install(set(&["c<p1>p2"]))];

    let expected = [
        "`c` is to run after `p3`, but no hook of that name is at Calling: did you mean `p1`?",
        "the hooks at Calling cannot be ordered, because each has to run before the next: p1 → p2 → c → p1; remove one of these constraints",
    ];
    assert_eq!(errors.map(|error| error.expect_err("a mistake").to_string()), expected);
    assert_eq!(child.count(), 2);
}

#[tokio::test]
async fn a_change_of_the_parent_that_breaks_a_childs_constraint_is_refused_and_names_the_hooks() {
    let parent = hooks(set(&["p1", "p2"]));
    let child = parent.child();
    child.install(set(&["c>p1<p2"])).expect("possible so far");
    let grandchild = child.child();

    let error = parent.replace("p2", set(&["p2<p1"])).expect_err("`c` stands between them");
    let circle = "the hooks at Calling cannot be ordered, because each has to run before the next: \
                  p1 → c → p2 → p1; remove one of these constraints";
    assert_eq!(error.to_string(), circle);
    let orders = [order(&parent).await, order(&child).await, order(&grandchild).await];
    assert_eq!(orders, ["p1 p2", "p1 c p2", "p1 c p2"], "nothing has changed");

    child.remove("c").expect("it is the child's");
    parent.replace("p2", set(&["p2<p1"])).expect("nobody stands between them any more");
    assert_eq!(order(&grandchild).await, "p2 p1");
    parent.remove("p1").expect("it is there");
    assert_eq!(order(&grandchild).await, "p2");
}

#[test]
fn a_child_that_is_gone_holds_up_no_change_of_its_parent() {
    let parent = hooks(set(&["p1", "p2"]));
    let child = parent.child();
    child.install(set(&["c>p1<p2"])).expect("possible so far");
    drop(child);

    parent.replace("p2", set(&["p2<p1"])).expect("nobody stands between them any more");
}

#[test]
fn hooks_that_cannot_be_ordered_together_are_not_layered() {
    let parent = hooks(set(&["p1", "p2"]));
    let child = parent.child();
    child.install(set(&["c>p1<p2"])).expect("possible under this parent");
    let other = hooks(set(&["p1", "p2<p1"]));
    let own = hooks(set(&["p1", "p2"]));
    own.install(set(&["d<p1>p2"])).expect("possible here");

    let circle = "the hooks at Calling cannot be ordered, because each has to run before the next: \
                  p1 → c → p2 → p1; remove one of these constraints";
    let errors = [Hooks::layered(&other, &child), other.beside(&child)];
    assert_eq!(errors.map(|error| error.expect_err("`c` cannot stand there").to_string()), [circle; 2]);
    Hooks::layered(&other, &own).expect("`d` stands between them the other way round");
}

#[test]
fn constraints_that_the_roles_rule_out_are_not_layered() {
    let mut watches = HookSet::new();
    watches.watch(Calling.named("p1"), async |_| Ok(()));
    let own = hooks(set(&["p1"]));
    own.install(set(&["c>p1"])).expect("possible here");

    let error = Hooks::layered(&hooks(watches), &own).expect_err("a hook cannot wait for a watch");
    assert_eq!(error.to_string(), "`c` cannot run after `p1`: hooks run first, then guards, then watches");
}

#[tokio::test(start_paused = true)]
async fn a_child_inherits_arounds_and_detached_watches_too() {
    let seen = Seen::default();
    let mut parents = HookSet::new();
    parents.around(Doing, async |cx, next| Ok(format!("({})", next.run(cx).await?)));
    let log = seen.clone();
    parents.watch(Calling.detached(), async move |cx| {
        tokio::task::yield_now().await;
        log.add(&cx.tool);
        Ok(())
    });
    let child = hooks(parents).child();

    let core = async |call: Call| fire(&child, call).await.outcome.to_string();
    let done = child.wrap(Doing, call("t"), &Desk::default(), &"somebody", core).await;
    let drained = child.drain(std::time::Duration::from_secs(1)).await;

    assert_eq!(done.expect("nobody fails"), "(proceeded)");
    assert_eq!((drained, seen.all()), (Drained::default(), vec!["t".to_owned()]));
}

#[tokio::test]
async fn the_same_hooks_may_stand_under_two_parents_and_keep_what_is_added_under_either() {
    let (strict, lax, own) = (hooks(set(&["strict"])), hooks(set(&["lax"])), hooks(set(&["own"])));
    let (under_strict, under_lax) = (Hooks::layered(&strict, &own), Hooks::layered(&lax, &own));
    let (under_strict, under_lax) = (under_strict.expect("no constraints"), under_lax.expect("no constraints"));
    under_strict.install(set(&["added<strict"])).expect("the parent's name is known");
    own.install(set(&["later"])).expect("a new name");

    let orders = [order(&under_strict).await, order(&under_lax).await, order(&strict).await, order(&own).await];
    assert_eq!(orders, ["own added strict later", "lax own added later", "strict", "own added later"]);
}

#[tokio::test]
async fn a_hook_that_is_not_inherited_holds_for_its_own_agent_alone() {
    let kept = |name: &'static str| {
        let mut set = HookSet::new();
        set.on(Calling.named(name).own_agent_only(), async |_| proceed());
        set
    };
    let layered = |parent: &Hooks, own: &Hooks| Hooks::layered(parent, own).expect("no constraints");
    let beside = |agent: &Hooks, more: &Hooks| agent.beside(more).expect("no constraints");
    let (parent, own, more) = (hooks(kept("p")), hooks(kept("c")), hooks(set(&["m"])));
    parent.install(set(&["rule"])).expect("a new name");
    let child = layered(&parent, &own);

    let orders = [
        order(&parent).await,
        order(&child).await,
        order(&child.child()).await,
        order(&layered(&parent, &parent)).await,
        order(&beside(&parent, &more)).await,
        order(&layered(&beside(&parent, &more), &own)).await,
    ];
    assert_eq!(orders, ["p rule", "rule c", "rule", "rule p", "p rule m", "rule m c"]);
}
