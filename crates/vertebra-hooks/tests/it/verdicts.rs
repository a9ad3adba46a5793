//! What each verdict does to the rest of a dispatch, and which one decides.

use std::time::Duration;

use vertebra_hooks::{
    Answer, Attach, Cx, Guard, Hook, HookOptions, HookSet, Kind, Retries, Verdict, allow, ask, deny, go_on, proceed,
    replace, retry, skip, stop,
};

use crate::world::{CallVerdict, Calling, Desk, Ending, Line, call, check, fire, fire_at, hooks, story};

/// Always says the same.
#[derive(Clone)]
struct Says(CallVerdict);

impl Hook<Calling> for Says {
    async fn run(&self, _cx: &mut Cx<'_, Calling>) -> Answer<Calling> {
        Ok(self.0.clone())
    }
}

impl Guard<Calling> for Says {
    async fn check(&self, _cx: &Cx<'_, Calling>) -> Answer<Calling> {
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn skip_ends_the_hook_phase_keeps_earlier_changes_and_guards_still_run() {
    let mut set = HookSet::new();
    set.on(Calling.named("rewrite"), async |cx| {
        cx.tool = "rm".into();
        proceed()
    });
    set.on(Calling.named("skip"), async |cx| {
        cx.args = "kept too".into();
        skip()
    });
    set.on(Calling.named("late"), async |_| deny("never reached"));
    set.guard(Calling.named("no-rm"), async |cx| if cx.tool == "rm" { deny("no rm") } else { proceed() });

    let story = [
        "rewrite proceeded; /tool \"ls\" → \"rm\"",
        "skip skipped the rest; /args null → \"kept too\"",
        "late not run, because skip skipped the rest",
        "no-rm denied: no rm",
        "= denied by no-rm: no rm",
    ];
    check(set, call("ls"), story).await;
}

#[tokio::test]
async fn skip_alone_lets_the_operation_go_on() {
    let mut set = HookSet::new();
    set.on(Calling.named("skip"), async |_| skip());

    let fired = check(set, call("t"), ["skip skipped the rest", "= proceeded"]).await;
    assert!(fired.outcome.decision().is_none());
    assert_eq!(fired.outcome.verdict(), CallVerdict::Proceed);
}

#[tokio::test]
async fn the_first_deny_ends_the_hook_phase_and_its_reason_and_author_are_kept() {
    let mut set = HookSet::new();
    set.on(Calling.named("yes"), async |_| allow());
    set.on(Calling.named("no"), async |_| deny("the first"));
    set.on(Calling.named("also-no"), async |_| deny("the second"));
    set.on(Calling.named("off").disabled(), async |_| proceed());
    set.guard(Calling.named("guard"), async |_| deny("the guard's"));

    let story = [
        "yes allowed",
        "no denied: the first",
        "also-no not run, because no denied",
        "off not run, because no denied",
        "guard denied: the guard's",
        "= denied by no: the first",
    ];
    check(set, call("t"), story).await;
}

#[tokio::test]
async fn retry_ends_the_hook_phase_and_guards_still_run() {
    let mut set = HookSet::new();
    set.on(Calling.named("again"), async |_| retry(Duration::from_secs(2)));
    set.on(Calling.named("late"), async |_| proceed());
    set.guard(Calling.named("guard"), async |_| proceed());

    let story = ["again retried", "late not run, because again retried", "guard proceeded", "= retried by again"];
    let fired = check(set, call("t"), story).await;
    assert_eq!(fired.outcome.verdict(), CallVerdict::Retry { after_ms: 2000 });
}

#[tokio::test]
async fn allow_ask_replace_and_stop_leave_the_hook_phase_running() {
    let mut set = HookSet::new();
    set.on(Calling.named("allow"), async |_| allow());
    set.on(Calling.named("replace"), async |_| replace("cached"));
    set.on(Calling.named("ask"), async |_| ask("sure?"));
    set.on(Calling.named("stop"), async |_| stop("enough"));
    set.on(Calling.named("last"), async |_| proceed());

    let story = [
        "allow allowed",
        "replace replaced",
        "ask asked: sure?",
        "stop stopped: enough",
        "last proceeded",
        "= stopped by stop: enough",
    ];
    let fired = check(set, call("t"), story).await;
    let kept: Vec<_> = fired.outcome.of_kind(Kind::Replace).map(|ruling| ruling.verdict.clone()).collect();
    assert_eq!(kept, [CallVerdict::Replace { with: Box::new("cached".into()) }]);
}

#[tokio::test]
async fn deny_beats_ask_beats_allow_beats_no_opinion_whatever_the_order_and_the_role() {
    let opinions = [
        CallVerdict::Proceed,
        CallVerdict::Allow,
        CallVerdict::Ask { reason: "?".into() },
        CallVerdict::Deny { reason: "!".into() },
    ];
    for first in &opinions {
        for second in &opinions {
            let strongest = first.kind().max(second.kind());
            for roles in ["hook hook", "hook guard", "guard hook", "guard guard"] {
                let mut set = HookSet::new();
                for (role, says) in roles.split(' ').zip([first, second]) {
                    match role {
                        "hook" => set.add_hook(Calling, Says(says.clone())),
                        _ => set.add_guard(Calling, Says(says.clone())),
                    };
                }
                let fired = fire(&hooks(set), call("t")).await;
                assert_eq!(fired.outcome.verdict().kind(), strongest, "{first:?}, {second:?} as {roles}");
            }
        }
    }
}

#[tokio::test]
async fn among_equals_the_first_decides() {
    let mut set = HookSet::new();
    set.on(Calling.named("one"), async |_| ask("one"));
    set.on(Calling.named("two"), async |_| ask("two"));
    set.guard(Calling.named("three"), async |_| ask("three"));

    let fired = fire(&hooks(set), call("t")).await;
    assert_eq!(fired.outcome.to_string(), "asked by one: one");
    assert_eq!(fired.outcome.decision().map(|ruling| &*ruling.by), Some("one"));
    let asked: Vec<_> = fired.outcome.of_kind(Kind::Ask).map(|ruling| &*ruling.by).collect();
    assert_eq!(asked, ["one", "two", "three"]);
}

#[tokio::test]
async fn going_on_beats_a_soft_stop() {
    let mut set = HookSet::new();
    set.on(Ending.named("more"), async |_| go_on("one more thing"));
    set.on(Ending.named("enough"), async |_| stop("enough"));

    let outcome = hooks(set).fire(Ending, &mut Line::default()).await;
    let expected = ["more continued: one more thing", "enough stopped: enough", "= continued by more: one more thing"];
    assert_eq!(story(&outcome.record()), expected);
}

#[tokio::test]
async fn one_retry_too_many_is_a_failure_under_the_policy_of_who_asks() {
    let exhausted = "asked to retry once more than allowed";
    let cases = [
        ("open", format!("again {exhausted}, so proceeded"), "late proceeded", "= proceeded".to_owned()),
        (
            "ask",
            format!("again {exhausted}, so asked"),
            "late proceeded",
            format!("= asked by again: `again` {exhausted}"),
        ),
        (
            "closed",
            format!("again {exhausted}, so denied"),
            "late not run, because again denied",
            format!("= denied by again: `again` {exhausted}"),
        ),
    ];
    for (policy, again, late, decision) in cases {
        let mut set = HookSet::new();
        let site = Calling.named("again").max_retries(5);
        let site = match policy {
            "open" => site.fail_open(),
            "ask" => site.fail_ask(),
            _ => site.fail_closed(),
        };
        set.on(site, async |cx| {
            cx.tool = "changed".into();
            retry(Duration::ZERO)
        });
        set.on(Calling.named("late"), async |_| proceed());

        let fired = fire_at(&hooks(set), call("t"), Desk::default(), Retries::Exhausted).await;
        assert_eq!(fired.story(), [again.as_str(), late, decision.as_str()], "{policy}");
        assert_eq!(fired.call, call("t"), "{policy}: what it wrote is undone");
    }
}

#[tokio::test]
async fn a_guard_that_wants_one_retry_too_many_refuses() {
    let mut set = HookSet::new();
    set.guard(Calling.named("again").max_retries(3), async |_| retry(Duration::ZERO));

    let fired = fire_at(&hooks(set), call("t"), Desk::default(), Retries::Exhausted).await;
    let again = "again asked to retry once more than allowed, so denied";
    assert_eq!(fired.story(), [again, "= denied by again: `again` asked to retry once more than allowed"]);
}

#[tokio::test]
async fn without_hooks_everything_goes_on() {
    let fired = check(HookSet::new(), call("t"), ["= proceeded"]).await;
    assert_eq!(fired.outcome.verdict(), CallVerdict::Proceed);
}
