//! Around: middleware outside the three roles.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use vertebra_hooks::{
    Around, AroundOptions, Attach, HookError, HookOptions, HookSet, Hooks, Next, OpCx, WrapError, deny, proceed,
};

use crate::world::{Call, Calling, Desk, Doing, Seen, call, fire, hooks};

/// Does the call inside these arounds; the core says what it was given.
async fn run(hooks: &Hooks, core: &Seen, call: Call) -> Result<String, WrapError> {
    let core = |call: Call| {
        core.add(&call.tool);
        async move { format!("did {}", call.tool) }
    };
    hooks.wrap(Doing, call, &Desk::default(), &"somebody", core).await
}

#[tokio::test]
async fn arounds_wrap_outermost_first() {
    let mut set = HookSet::new();
    let sites =
        [("inner", Doing.priority(2)), ("outer", Doing.priority(1)), ("middle", Doing.priority(2).before("inner"))];
    for (name, site) in sites {
        set.around(site.named(name), async move |cx, next| {
            cx.tool = format!("{}>{name}", cx.tool);
            Ok(format!("{name}({})", next.run(cx).await?))
        });
    }

    let core = Seen::default();
    let done = run(&hooks(set), &core, call("t")).await.expect("nobody fails");
    assert_eq!(done, "outer(middle(inner(did t>outer>middle>inner)))");
}

#[tokio::test]
async fn next_may_be_called_again_and_each_time_begins_with_what_the_around_hands_over() {
    let mut set = HookSet::new();
    set.around(Doing.named("thrice").priority(1), async |cx, next| {
        let first = next.run(cx).await?;
        let second = next.run(cx).await?;
        cx.tool.push('!');
        Ok(format!("{first}, {second}, {}", next.run(cx).await?))
    });
    set.around(Doing.named("plus").priority(2), async |cx, next| {
        cx.tool.push('+');
        next.run(cx).await
    });

    let core = Seen::default();
    let done = run(&hooks(set), &core, call("t")).await.expect("nobody fails");
    assert_eq!(done, "did t+, did t+, did t!+");
    assert_eq!(core.all(), ["t+", "t+", "t!+"]);
}

#[tokio::test]
async fn next_may_not_be_called_at_all() {
    let mut set = HookSet::new();
    set.around(Doing, async |_, _| Ok("cached".to_owned()));

    let core = Seen::default();
    assert_eq!(run(&hooks(set), &core, call("t")).await.expect("nobody fails"), "cached");
    assert!(core.all().is_empty());
}

#[tokio::test]
async fn each_call_of_next_passes_the_guards_anew() {
    let mut set = HookSet::new();
    set.around(Doing, async |cx, next| {
        let first = next.run(cx).await?;
        cx.tool = "rm".into();
        Ok(format!("{first}; {}", next.run(cx).await?))
    });
    set.guard(Calling.named("no-rm"), async |cx| if cx.tool == "rm" { deny("no rm") } else { proceed() });
    let hooks = hooks(set);

    let core = async |call: Call| fire(&hooks, call).await.outcome.to_string();
    let done = hooks.wrap(Doing, call("ls"), &Desk::default(), &"somebody", core).await;
    assert_eq!(done.expect("nobody fails"), "proceeded; denied by no-rm: no rm");
}

#[tokio::test(start_paused = true)]
async fn an_around_that_fails_names_itself() {
    let mut errs = HookSet::new();
    errs.around(Doing.named("cache"), async |_, _| Err(HookError::new("no key")));
    let mut panics = HookSet::new();
    panics.around(Doing.named("cache"), async |_, _| panic!("no key"));
    let mut hangs = HookSet::new();
    hangs.around(Doing.named("cache").timeout(Duration::from_secs(2)), async |_, _| std::future::pending().await);
    let mut inside = HookSet::new();
    inside.around(Doing.named("outer"), async |cx, next| next.run(cx).await);
    inside.around(Doing.named("cache"), async |_, _| Err(HookError::new("no key")));

    let cases = [
        (errs, "`cache` failed: no key"),
        (panics, "`cache` panicked: no key"),
        (hangs, "`cache` gave no answer within 2000 ms"),
        (inside, "`outer` failed: `cache` failed: no key"),
    ];
    for (set, expected) in cases {
        let core = Seen::default();
        let error = run(&hooks(set), &core, call("t")).await.expect_err("it fails");
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_around_waits_for_its_operation_as_long_as_that_takes() {
    let mut set = HookSet::new();
    set.around(Doing.named("outer"), async |cx, next| next.run(cx).await);
    let slow = async |_: Call| {
        tokio::time::sleep(Duration::from_hours(2)).await;
        "slow".to_owned()
    };

    let done = hooks(set).wrap(Doing, call("t"), &Desk::default(), &"somebody", slow).await;
    assert_eq!(done.expect("it has no timeout"), "slow");
}

#[tokio::test]
async fn an_around_may_make_good_what_failed_further_in() {
    let mut set = HookSet::new();
    set.around(Doing, async |cx, next| match next.run(cx).await {
        Err(error) => Ok(format!("made good: {error}")),
        done => done,
    });
    let attempts = Arc::new(AtomicU32::new(0));
    set.around(Doing.named("flaky"), async move |cx, next| {
        if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(HookError::new("first time"));
        }
        next.run(cx).await
    });
    let hooks = hooks(set);

    let core = Seen::default();
    let first = run(&hooks, &core, call("t")).await.expect("made good");
    let second = run(&hooks, &core, call("t")).await.expect("works");
    assert_eq!([first, second], ["made good: `flaky` failed: first time", "did t"]);
}

/// Counts how often it is passed, and who passes.
struct Counter(AtomicU32);

impl Around<Doing> for Counter {
    async fn wrap(&self, cx: &mut OpCx<'_, Doing>, next: Next<'_, Doing>) -> Result<String, HookError> {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let done = next.run(cx).await?;
        Ok(format!("{count} for {} ({}): {done}", cx.scope(), cx.state().metadata.len()))
    }
}

#[tokio::test]
async fn a_struct_may_be_an_around_and_keeps_its_state() {
    let mut set = HookSet::new();
    set.add_around(Doing.named("counter"), Counter(AtomicU32::new(0)));
    let hooks = hooks(set);

    let core = Seen::default();
    run(&hooks, &core, call("a")).await.expect("nobody fails");
    assert_eq!(run(&hooks, &core, call("b")).await.expect("nobody fails"), "2 for somebody (0): did b");
}

#[tokio::test]
async fn an_around_that_is_switched_off_is_not_passed() {
    let mut set = HookSet::new();
    set.around(Doing.named("instead"), async |_, _| Ok("instead".to_owned()));
    let hooks = hooks(set);
    let core = Seen::default();
    let mut done = vec![];

    done.push(run(&hooks, &core, call("t")).await.expect("nobody fails"));
    hooks.disable("instead").expect("it is there");
    done.push(run(&hooks, &core, call("t")).await.expect("nobody fails"));
    hooks.enable("instead").expect("it is there");
    done.push(run(&hooks, &core, call("t")).await.expect("nobody fails"));

    assert_eq!(done, ["instead", "did t", "instead"]);
}
