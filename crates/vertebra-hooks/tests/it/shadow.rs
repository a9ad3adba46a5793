//! Hooks that only stand beside, and what hooks tell of their work.

use serde_json::json;
use vertebra_hooks::{Attach, HookError, HookOptions, HookSet, deny, proceed};

use crate::world::{Calling, MatchCall, call, fire, hooks};

#[tokio::test]
async fn what_a_shadow_would_have_done_is_in_the_record_and_nothing_came_of_it() {
    let mut set = HookSet::new();
    set.on(Calling.named("candidate").shadow(), async |cx| {
        cx.tool = "other".into();
        deny("by the new rule")
    });
    set.guard(Calling.named("broken").shadow(), async |_| Err(HookError::new("not ready")));
    set.guard(Calling.tool("t").named("live"), async |_| proceed());

    let fired = fire(&hooks(set), call("t")).await;

    assert_eq!((fired.call.tool.as_str(), fired.outcome.to_string().as_str()), ("t", "proceeded"));
    let record = serde_json::to_value(&fired.outcome.record().hooks).expect("a record serialises");
    assert_eq!(record[0]["ran"], json!({"ran": "answered", "verdict": "deny", "reason": "by the new rule"}));
    assert_eq!(record[0]["changes"], json!([{"path": "/tool", "before": "t", "after": "other"}]));
    assert_eq!((&record[0]["shadow"], &record[1]["shadow"]), (&json!(true), &json!(true)));
    assert_eq!((&record[1]["ran"]["ran"], &record[2]["hook"]), (&json!("failed"), &json!("live")));
    assert!(record[2].get("shadow").is_none());
    let record = &fired.outcome.record();
    assert_eq!((record.changes().count(), record.failures().count()), (0, 0));
}

#[tokio::test]
async fn the_record_keeps_what_each_hook_told_of_its_work_also_if_it_failed() {
    let mut set = HookSet::new();
    set.on(Calling.named("one"), async |cx| {
        cx.account(json!({"exit_code": 0}));
        tokio::task::yield_now().await;
        proceed()
    });
    set.on(Calling.named("two").fail_open(), async |cx| {
        cx.account(json!({"exit_code": 3}));
        Err(HookError::new("it failed"))
    });
    for name in ["three", "four"] {
        set.guard(Calling.named(name), async move |cx| {
            tokio::task::yield_now().await;
            cx.account(json!(name));
            tokio::task::yield_now().await;
            proceed()
        });
    }
    set.watch(Calling.named("five"), async |cx| {
        cx.account(json!("seen"));
        Ok(())
    });
    set.guard(Calling.named("silent"), async |_| proceed());

    let fired = fire(&hooks(set), call("t")).await;

    let record = fired.outcome.record();
    let told = record.hooks.iter().map(|trace| (&*trace.hook, trace.account.as_deref().cloned()));
    let expected = [
        ("one", Some(json!({"exit_code": 0}))),
        ("two", Some(json!({"exit_code": 3}))),
        ("three", Some(json!("three"))),
        ("four", Some(json!("four"))),
        ("silent", None),
        ("five", Some(json!("seen"))),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_dispatch_inside_a_hook_keeps_its_own_accounts() {
    let mut inner = HookSet::new();
    inner.on(Calling, async |cx| {
        cx.account(json!("inner"));
        proceed()
    });
    let inner = hooks(inner);
    let mut set = HookSet::new();
    set.on(Calling, async move |cx| {
        cx.account(json!("outer"));
        let fired = fire(&inner, call("t")).await;
        assert_eq!(fired.outcome.record().hooks[0].account.as_deref(), Some(&json!("inner")));
        proceed()
    });

    let fired = fire(&hooks(set), call("t")).await;

    assert_eq!(fired.outcome.record().hooks[0].account.as_deref(), Some(&json!("outer")));
}

#[tokio::test]
async fn hooks_for_one_event_take_what_they_cannot_judge_as_meant_for_them() {
    for matcher in [Calling.command(r"(\w{900}){900}x"), Calling.command(r"(\w{900}){900}x").tool("bash")] {
        let mut set = HookSet::new();
        set.guard(matcher.named("too-large"), async |_| deny("nobody can tell"));
        set.for_one_event();
        let event = crate::world::Call { command: Some("x".into()), ..call("bash") };
        assert_eq!(fire(&hooks(set), event).await.outcome.to_string(), "denied by too-large: nobody can tell");
    }
}
