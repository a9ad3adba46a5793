//! Three roles and their rights: who sees what, and when.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use serde_json::Value;
use tokio::sync::{Barrier, Notify};
use vertebra_hooks::{
    Answer, Attach, Cx, Guard, Hook, HookError, HookOptions, HookSet, Seen as Looked, Watch, allow, deny, proceed,
};

use crate::world::{Calling, Line, MatchCall, Noticing, Seen, call, check, fire, hooks, story};

#[tokio::test]
async fn hooks_run_one_after_another_and_each_sees_what_the_one_before_left() {
    let mut set = HookSet::new();
    set.on(Calling.named("one"), async |cx| {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        cx.tool.push('1');
        proceed()
    });
    set.on(Calling.named("two"), async |cx| {
        cx.tool.push('2');
        proceed()
    });

    let story = ["one proceeded; /tool \"t\" → \"t1\"", "two proceeded; /tool \"t1\" → \"t12\"", "= proceeded"];
    let fired = check(set, call("t"), story).await;

    assert_eq!(fired.call.tool, "t12");
}

#[tokio::test]
async fn later_matchers_judge_the_event_as_earlier_hooks_left_it() {
    let mut set = HookSet::new();
    set.on(Calling.tool("read").named("rename"), async |cx| {
        cx.tool = "write".into();
        proceed()
    });
    set.on(Calling.tool("read").named("no-reads"), async |_| deny("reads are over"));
    set.on(Calling.tool("write").named("no-writes"), async |_| deny("no writing"));

    let story = [
        "rename proceeded; /tool \"read\" → \"write\"",
        "no-writes denied: no writing",
        "= denied by no-writes: no writing",
    ];
    check(set, call("read"), story).await;
}

#[tokio::test]
async fn a_matcher_judges_the_state_as_earlier_hooks_left_it() {
    use vertebra_hooks::{Match, Test};
    let mut set = HookSet::new();
    set.on(Calling.named("taint"), async |cx| {
        cx.state_mut().metadata.insert("tainted".into(), true.into());
        proceed()
    });
    set.on(Calling.metadata("tainted", Test::Exists).named("clean"), async |_| deny("tainted"));

    let story =
        ["taint proceeded; /metadata/tainted nothing → true", "clean denied: tainted", "= denied by clean: tainted"];
    check(set, call("t"), story).await;
}

#[tokio::test]
async fn a_guard_sees_the_final_form_however_early_it_asks_to_run() {
    let mut set = HookSet::new();
    set.guard(Calling.tool("rm").named("no-rm").priority(i32::MIN), async |cx| {
        deny(format!("{} is not for you", cx.tool))
    });
    set.on(Calling.named("rewrite").priority(i32::MAX), async |cx| {
        cx.tool = "rm".into();
        proceed()
    });

    let story = [
        "rewrite proceeded; /tool \"ls\" → \"rm\"",
        "no-rm denied: rm is not for you",
        "= denied by no-rm: rm is not for you",
    ];
    check(set, call("ls"), story).await;
}

#[tokio::test(start_paused = true)]
async fn guards_run_at_the_same_time() {
    let both = Arc::new(Barrier::new(2));
    let mut set = HookSet::new();
    for name in ["left", "right"] {
        let both = both.clone();
        set.guard(Calling.named(name), async move |_| {
            both.wait().await;
            proceed()
        });
    }

    check(set, call("t"), ["left proceeded", "right proceeded", "= proceeded"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_guard_is_tried_again_beside_the_others_and_what_it_told_last_counts() {
    let both = Arc::new(Barrier::new(2));
    let mut set = HookSet::new();
    let (tries, meets) = (Arc::new(AtomicUsize::new(0)), both.clone());
    set.guard(Calling.named("again").max_retries(1), async move |cx| {
        let before = tries.fetch_add(1, SeqCst);
        cx.account(before.into());
        tokio::task::yield_now().await;
        if before == 0 {
            return Err(HookError::new("not yet"));
        }
        meets.wait().await;
        proceed()
    });
    set.guard(Calling.named("other"), async move |_| {
        both.wait().await;
        proceed()
    });

    let fired = check(set, call("t"), ["again proceeded", "other proceeded", "= proceeded"]).await;
    let told: Vec<_> = fired.outcome.record().hooks.into_iter().map(|trace| trace.account).collect();
    assert_eq!(told, [Some(Box::new(Value::from(1))), None]);
}

#[tokio::test(start_paused = true)]
async fn ready_waiting_and_disabled_guards_are_recorded_in_order() {
    let released = Arc::new(Notify::new());
    let mut set = HookSet::new();
    set.guard(Calling.named("ready"), async |_| proceed());
    let waits = released.clone();
    set.guard(Calling.named("waiting"), async move |_| {
        waits.notified().await;
        deny("I waited")
    });
    set.guard(Calling.named("off").disabled(), async |_| deny("never"));
    set.guard(Calling.named("last"), async move |_| {
        released.notify_one();
        proceed()
    });

    let story = [
        "ready proceeded",
        "waiting denied: I waited",
        "off is switched off",
        "last proceeded",
        "= denied by waiting: I waited",
    ];
    check(set, call("t"), story).await;
}

#[tokio::test]
async fn a_guard_does_not_see_what_other_guards_answered() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    for name in ["first", "second"] {
        let log = seen.clone();
        set.guard(Calling.named(name), async move |cx| {
            log.add(format!("{} hooks", cx.record().to_record().hooks.len()));
            proceed()
        });
    }

    check(set, call("t"), ["first proceeded", "second proceeded", "= proceeded"]).await;
    assert_eq!(seen.all(), ["0 hooks", "0 hooks"]);
}

#[tokio::test]
async fn thousands_of_guards_can_wait_at_the_same_time() {
    const GUARDS: usize = 5_000;
    let all = Arc::new(Barrier::new(GUARDS));
    let mut set = HookSet::new();
    for at in 0..GUARDS {
        let all = all.clone();
        set.guard(Calling.named(format!("guard-{at}")), async move |_| {
            all.wait().await;
            proceed()
        });
    }

    let fired = fire(&hooks(set), call("t")).await;

    assert_eq!(fired.outcome.record().hooks.len(), GUARDS);
}

#[tokio::test(start_paused = true)]
async fn verdicts_of_guards_are_merged_in_their_order_not_in_the_order_they_answer() {
    let second_answered = Arc::new(Notify::new());
    let seen = Seen::default();
    let mut set = HookSet::new();
    let (answered, log) = (second_answered.clone(), seen.clone());
    set.guard(Calling.named("first"), async move |_| {
        answered.notified().await;
        log.add("first");
        deny("I am first")
    });
    let (answered, log) = (second_answered, seen.clone());
    set.guard(Calling.named("second"), async move |_| {
        log.add("second");
        answered.notify_one();
        deny("I am faster")
    });

    let story = ["first denied: I am first", "second denied: I am faster", "= denied by first: I am first"];
    check(set, call("t"), story).await;
    assert_eq!(seen.all(), ["second", "first"]);
}

#[tokio::test]
async fn a_guard_knows_what_the_hooks_said() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    set.on(Calling.named("yes"), async |_| allow());
    let log = seen.clone();
    set.guard(Calling.named("guard"), async move |cx| {
        log.add(format!("{:?} {}", cx.record().verdicts().collect::<Vec<_>>(), cx.scope()));
        proceed()
    });

    check(set, call("t"), ["yes allowed", "guard proceeded", "= allowed by yes"]).await;
    assert_eq!(seen.all(), ["[(\"yes\", Allow)] somebody"]);
}

#[tokio::test]
async fn a_watch_sees_the_final_event_and_the_decision_also_when_blocked() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    let log = seen.clone();
    set.watch(Calling.named("watch").priority(1), async move |cx| {
        log.add(format!("{}: {}", cx.tool, cx.record()));
        Ok(())
    });
    set.on(Calling.named("louder"), async |cx| {
        cx.tool.push('!');
        proceed()
    });
    set.guard(Calling.tool("rm!").named("guard"), async |_| deny("no"));
    let hooks = hooks(set);

    fire(&hooks, call("rm")).await;
    fire(&hooks, call("ls")).await;
    assert_eq!(seen.all(), ["rm!: denied by guard: no", "ls!: proceeded"]);
}

#[tokio::test]
async fn a_watch_may_end_in_nothing() {
    let (seen, mut set) = (Seen::default(), HookSet::new());
    let log = seen.clone();
    set.watch(Calling, async move |cx| log.add(cx.tool.clone()));
    fire(&vertebra_hooks::Hooks::new(set).expect("one watch"), call("ls")).await;
    assert_eq!(seen.all(), ["ls"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_never_matters() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    set.watch(Calling.named("errs"), async |_| Err(std::fmt::Error.into()));
    set.watch(Calling.named("panics"), async |_| -> () { panic!("oh") });
    set.watch(Calling.named("hangs"), async |_| std::future::pending::<()>().await);
    let log = seen.clone();
    set.watch(Calling.named("last"), async move |cx| {
        log.add(cx.record().to_string());
        Ok(())
    });
    set.guard(Calling.named("guard"), async |_| allow());

    let story = [
        "guard allowed",
        "errs failed: an error occurred when formatting an argument, so proceeded",
        "panics panicked: oh, so proceeded",
        "hangs gave no answer within 30000 ms, so proceeded",
        "last proceeded",
        "= allowed by guard",
    ];
    let fired = check(set, call("t"), story).await;
    assert_eq!(fired.outcome.rulings().len(), 1);
    assert!(!fired.outcome.record().decided_by_failure());
    assert_eq!(seen.all(), ["allowed by guard"]);
}

#[tokio::test]
async fn a_hook_may_change_what_nobody_decides() {
    let mut set = HookSet::new();
    set.on(Noticing.named("shout"), async |cx| {
        cx.text = cx.text.to_uppercase();
        proceed()
    });
    let mut line = Line { text: "hi".into() };

    let outcome = hooks(set).fire(Noticing, &mut line).await;

    assert_eq!(line.text, "HI");
    assert_eq!(story(&outcome.record()), ["shout proceeded; /text \"hi\" → \"HI\"", "= proceeded"]);
}

/// Keeps one tool out, by three roles at once.
struct Keeper(Seen);

impl Hook<Calling> for Keeper {
    async fn run(&self, cx: &mut Cx<'_, Calling>) -> Answer<Calling> {
        cx.tool.push('?');
        proceed()
    }
}

impl Guard<Calling> for Keeper {
    async fn check(&self, cx: &Cx<'_, Calling>) -> Answer<Calling> {
        deny(format!("{} may not", cx.tool))
    }
}

impl Watch<Calling> for Keeper {
    async fn see(&self, cx: &Cx<'_, Calling>) -> Looked {
        self.0.add(cx.record().to_string());
        Ok(())
    }
}

#[tokio::test]
async fn one_object_may_take_several_roles() {
    let keeper = Arc::new(Keeper(Seen::default()));
    let mut set = HookSet::new();
    set.add_hook(Calling.named("hook"), keeper.clone());
    set.add_guard(Calling.named("guard"), keeper.clone());
    set.add_watch(Calling.named("watch"), keeper.clone());

    let story = [
        "hook proceeded; /tool \"t\" → \"t?\"",
        "guard denied: t? may not",
        "watch proceeded",
        "= denied by guard: t? may not",
    ];
    check(set, call("t"), story).await;
    assert_eq!(keeper.0.all(), ["denied by guard: t? may not"]);
}
