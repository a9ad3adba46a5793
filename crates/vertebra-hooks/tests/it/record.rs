//! What a dispatch leaves behind: who ran, in which order, how long, what changed, who decided.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vertebra_hooks::{Attach, HookError, HookOptions, HookSet, Kind, Record, Trace, allow, deny, proceed, skip};

use crate::world::{Calling, Seen, call, check, fire, hooks};

fn eventful() -> HookSet {
    let mut set = HookSet::new();
    set.on(Calling.named("shorten"), async |cx| {
        cx.args["timeout"] = 5.into();
        allow()
    });
    set.on(Calling.named("lengthen"), async |cx| {
        cx.args["timeout"] = 9.into();
        cx.args["force"] = Value::Null;
        proceed()
    });
    set.on(Calling.named("rules").fail_open().max_retries(1), async |_| Err(HookError::new("no rules")));
    set.on(Calling.named("off").disabled(), async |_| proceed());
    set.on(Calling.named("enough"), async |_| skip());
    set.on(Calling.named("late"), async |_| proceed());
    set.guard(Calling.named("guard-off").disabled(), async |_| proceed());
    set.guard(Calling.named("guard"), async |_| deny("no"));
    set.watch(Calling.named("watch").priority(1), async |_| Ok(()));
    set.watch(Calling.named("watch-off").priority(2).disabled(), async |_| Ok(()));
    set.watch(Calling.named("behind").priority(3).detached(), async |_| Ok(()));
    set
}

const STORY: [&str; 12] = [
    "shorten allowed; /args/timeout 60 → 5",
    "lengthen proceeded; /args/timeout 5 → 9; /args/force nothing → null",
    "rules failed: no rules, 2 times, so proceeded",
    "off is switched off",
    "enough skipped the rest",
    "late not run, because enough skipped the rest",
    "guard-off is switched off",
    "guard denied: no",
    "watch proceeded",
    "watch-off is switched off",
    "behind runs behind",
    "= denied by guard: no",
];

fn eventful_call() -> crate::world::Call {
    crate::world::Call { args: json!({"timeout": 60}), ..call("t") }
}

#[tokio::test]
async fn the_record_tells_who_ran_in_order_with_verdicts_changes_and_why_others_did_not() {
    let fired = check(eventful(), eventful_call(), STORY).await;
    let record = &fired.outcome.record();

    assert_eq!(record.point, "Calling");
    assert_eq!(
        (record.verdict, record.decided_by.as_deref(), record.reason.as_deref()),
        (Kind::Deny, Some("guard"), Some("no"))
    );
    let authors: Vec<_> = record.changes().map(|(author, change)| (author, change.path.as_str())).collect();
    assert_eq!(authors, [("shorten", "/args/timeout"), ("lengthen", "/args/timeout"), ("lengthen", "/args/force")]);
}

#[tokio::test]
async fn a_record_survives_the_wire() {
    let record = fire(&hooks(eventful()), eventful_call()).await.outcome.record();

    let text = serde_json::to_string(&record).expect("a record serialises");
    let back: Record = serde_json::from_str(&text).expect("a record deserialises");

    assert_eq!(back, record);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let expected = [
        ("/point", json!("Calling")),
        ("/verdict", json!("deny")),
        ("/decided_by", json!("guard")),
        ("/hooks/0/hook", json!("shorten")),
        ("/hooks/0/role", json!("hook")),
        ("/hooks/0/ran", json!({"ran": "answered", "verdict": "allow"})),
        ("/hooks/0/changes/0", json!({"path": "/args/timeout", "before": 60, "after": 5})),
        ("/hooks/2/ran/failure", json!({"failure": "error", "message": "no rules"})),
        ("/hooks/2/ran/policy", json!("open")),
        ("/hooks/5/ran/why", json!({"because": "ended", "by": "enough", "verdict": "skip"})),
        ("/hooks/6/ran/why", json!({"because": "disabled"})),
    ];
    for (pointer, value) in expected {
        assert_eq!(json.pointer(pointer), Some(&value), "{pointer}");
    }
}

#[tokio::test]
async fn a_hook_sees_the_verdicts_given_so_far() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    set.on(Calling.named("one"), async |_| allow());
    set.on(Calling.named("two").fail_open(), async |_| Err(HookError::new("x")));
    set.on(Calling.named("off").disabled(), async |_| proceed());
    let log = seen.clone();
    set.on(Calling, async move |cx| {
        log.add(format!("{:?}", cx.record().verdicts().collect::<Vec<_>>()));
        proceed()
    });

    fire(&hooks(set), call("t")).await;
    assert_eq!(seen.all(), ["[(\"one\", Allow), (\"two\", Proceed)]"]);
}

#[tokio::test]
async fn a_hook_sees_what_those_before_it_changed_and_not_what_it_changes_itself() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    set.on(Calling.named("one"), async |cx| {
        cx.tool.push('1');
        proceed()
    });
    let log = seen.clone();
    set.on(Calling, async move |cx| {
        for _ in 0..2 {
            let record = cx.record().to_record();
            let changes: Vec<_> = record.changes().map(|(by, change)| (by, change.after.as_ref())).collect();
            log.add(format!("{changes:?}"));
            cx.tool.push('2');
        }
        proceed()
    });

    fire(&hooks(set), call("t")).await;
    assert_eq!(seen.all(), ["[(\"one\", Some(String(\"t1\")))]"; 2]);
}

/// Waits for the clock to move at all, so that something was measured.
fn spin() {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(50) {}
}

#[tokio::test]
async fn only_a_hook_that_did_more_than_let_pass_at_once_is_measured_and_the_dispatch_takes_no_less() {
    let mut set = HookSet::new();
    set.on(Calling.named("quiet"), async |_| proceed());
    set.on(Calling.named("fails").fail_open(), async |_| {
        spin();
        Err(HookError::new("x"))
    });
    set.on(Calling.named("writes"), async |cx| {
        spin();
        cx.tool.push('!');
        proceed()
    });
    set.on(Calling.named("waits"), async |_| {
        spin();
        tokio::task::yield_now().await;
        proceed()
    });
    set.on(Calling.named("quiet-too"), async |_| proceed());
    for name in ["asks", "waiting", "waits-too"] {
        set.guard(Calling.named(name), async move |_| {
            spin();
            if name == "asks" {
                return allow();
            }
            tokio::task::yield_now().await;
            proceed()
        });
    }
    set.watch(Calling.named("looks"), async |_| Ok(()));
    let record = fire(&hooks(set), call("t")).await.outcome.record();

    let measured = record.hooks.iter().filter(|trace| trace.took.is_some());
    let named: Vec<_> = measured.clone().map(|trace| &*trace.hook).collect();
    assert_eq!(named, ["fails", "writes", "waits", "asks", "waiting", "waits-too"]);
    assert!(measured.clone().all(|trace| trace.took >= Some(Duration::from_micros(50))), "{record:#?}");
    // The last two ran at the same time.
    let sum: Duration = measured.take(5).filter_map(|trace| trace.took).sum();
    assert!(record.took >= sum, "{:?} for hooks that took {sum:?}", record.took);
}

#[test]
fn what_was_not_measured_is_written_as_zero_as_journals_have_it() {
    let written = json!({"hook": "a", "role": "hook", "ran": {"ran": "detached"}, "took": {"secs": 0, "nanos": 0}});
    let trace: Trace = serde_json::from_value(written.clone()).expect("a trace as it is on disk");
    assert_eq!((trace.took, serde_json::to_value(&trace).ok()), (None, Some(written)));
    let old = json!({"hook": "a", "role": "hook", "ran": {"ran": "detached"}, "took": {"secs": 0, "nanos": 70}});
    let trace: Trace = serde_json::from_value(old).expect("a trace from before");
    assert_eq!(trace.took, Some(Duration::from_nanos(70)));
}

#[tokio::test]
async fn a_hook_that_writes_what_was_there_changes_nothing() {
    let mut set = HookSet::new();
    set.on(Calling.named("same"), async |cx| {
        cx.tool = "t".into();
        proceed()
    });

    check(set, call("t"), ["same proceeded", "= proceeded"]).await;
}
