//! The order hooks run in: constraints, then priority, then registration.

use vertebra_hooks::{
    AroundOptions, AroundRegistration, Attach, HookInfo, HookOptions, HookSet, Registration, proceed,
};

use crate::world::{Calling, Desk, Doing, MatchCall, Seen, call, fire, hooks};

/// A hook by name, priority, and what it has to run before and after.
struct Wish {
    name: &'static str,
    priority: Option<i32>,
    before: &'static [&'static str],
    after: &'static [&'static str],
}

fn wish(name: &'static str) -> Wish {
    Wish { name, priority: None, before: &[], after: &[] }
}

impl Wish {
    fn at(self, priority: i32) -> Self {
        Self { priority: Some(priority), ..self }
    }

    fn before(self, before: &'static [&'static str]) -> Self {
        Self { before, ..self }
    }

    fn after(self, after: &'static [&'static str]) -> Self {
        Self { after, ..self }
    }

    fn site(&self) -> Registration<Calling> {
        let site = Calling.named(self.name).priority(self.priority.unwrap_or(HookInfo::DEFAULT_PRIORITY));
        let site = self.before.iter().fold(site, |site, name| site.before(*name));
        self.after.iter().fold(site, |site, name| site.after(*name))
    }

    fn around(&self) -> AroundRegistration<Doing> {
        let site = Doing.named(self.name).priority(self.priority.unwrap_or(HookInfo::DEFAULT_PRIORITY));
        let site = self.before.iter().fold(site, |site, name| site.before(*name));
        self.after.iter().fold(site, |site, name| site.after(*name))
    }
}

/// The order is the same for hooks, guards, watches and arounds.
async fn check<const N: usize>(wishes: [Wish; N], expected: [&str; N]) {
    for role in ["hook", "guard", "watch", "around"] {
        let seen = Seen::default();
        let mut set = HookSet::new();
        for wish in &wishes {
            match role {
                "hook" => set.on(wish.site(), async |_| proceed()),
                "guard" => set.guard(wish.site(), async |_| proceed()),
                "watch" => set.watch(wish.site(), async |_| Ok(())),
                _ => {
                    let (log, name) = (seen.clone(), wish.name);
                    set.around(wish.around(), async move |cx, next| {
                        log.add(name);
                        next.run(cx).await
                    })
                }
            };
        }
        let hooks = hooks(set);
        let ran: Vec<String> = if role == "around" {
            let (desk, core) = (Desk::default(), async |_| String::new());
            hooks.wrap(Doing, call("t"), &desk, &"somebody", core).await.expect("no around fails");
            seen.all()
        } else {
            fire(&hooks, call("t")).await.outcome.record().hooks.iter().map(|trace| trace.hook.to_string()).collect()
        };
        assert_eq!(ran, expected, "as {role}");
    }
}

#[tokio::test]
async fn a_lower_priority_runs_first_and_ties_run_as_registered() {
    check([wish("c").at(7), wish("a").at(-1), wish("d").at(7), wish("b").at(0)], ["a", "b", "c", "d"]).await;
}

#[tokio::test]
async fn the_default_priority_is_one_hundred() {
    assert_eq!(HookInfo::DEFAULT_PRIORITY, 100);
    check([wish("c").at(101), wish("b"), wish("a").at(99), wish("d").at(101)], ["a", "b", "c", "d"]).await;
}

#[tokio::test]
async fn before_and_after_override_priorities() {
    check([wish("a").at(1), wish("z").at(999).before(&["a"])], ["z", "a"]).await;
    check([wish("a").at(1).after(&["z"]), wish("z").at(999)], ["z", "a"]).await;
    check(
        [wish("x").at(1).after(&["y"]), wish("y").at(5).after(&["z"]), wish("z").at(9), wish("free").at(6)],
        ["free", "z", "y", "x"],
    )
    .await;
}

#[tokio::test]
async fn a_constraint_holds_however_often_it_is_given() {
    check([wish("b").after(&["a", "a"]), wish("a").before(&["b", "b"])], ["a", "b"]).await;
}

#[tokio::test]
async fn roles_come_before_constraints_and_priorities() {
    let mut set = HookSet::new();
    set.watch(Calling.named("watch").priority(1).after("guard"), async |_| Ok(()));
    set.guard(Calling.named("guard").priority(2).after("hook"), async |_| proceed());
    set.on(Calling.named("hook").priority(3).before("watch"), async |_| proceed());

    let fired = fire(&hooks(set), call("t")).await;
    assert_eq!(fired.story(), ["hook proceeded", "guard proceeded", "watch proceeded", "= proceeded"]);
}

#[tokio::test]
async fn hooks_installed_later_may_name_those_already_there() {
    let mut first = HookSet::new();
    first.on(Calling.named("old").priority(1), async |_| proceed());
    let hooks = hooks(first);
    let mut second = HookSet::new();
    second.on(Calling.named("new").before("old"), async |_| proceed());
    hooks.install(second).expect("`old` is there");

    assert_eq!(fire(&hooks, call("t")).await.story(), ["new proceeded", "old proceeded", "= proceeded"]);
}

#[test]
fn explain_shows_all_hooks_in_the_order_they_run_and_which_of_them_match() {
    use vertebra_hooks::Match;
    let mut set = HookSet::new();
    set.watch(Calling.tool("rm").named("watch"), async |_| Ok(()));
    set.guard(Calling.when(|call| call.tool.len() == 2).named("short"), async |_| proceed());
    set.on(Calling.tool("ls").named("ls").priority(900), async |_| proceed());
    set.on(Calling.named("all").after("ls"), async |_| proceed());
    set.on(Calling.named("off").priority(1).disabled(), async |_| proceed());

    let explained = hooks(set).explain(Calling, &call("rm"), &Desk::default());
    let explained: Vec<_> = explained.iter().map(|one| (&*one.hook.name, one.matches, one.hook.enabled)).collect();
    let expected =
        [("off", true, false), ("ls", false, true), ("all", true, true), ("short", true, true), ("watch", true, true)];
    assert_eq!(explained, expected);
}
