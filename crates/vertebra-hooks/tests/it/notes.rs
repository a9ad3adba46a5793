//! Notes: typed, under the writer's name, for a dispatch, a step or a run.

use std::time::Duration;

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use vertebra_hooks::{Attach, Frame, HookOptions, HookSet, Lasting, Retries, State, proceed};

use crate::world::{Calling, Desk, Seen, call, check, fire_at, hooks};

#[derive(Debug, Serialize, Deserialize)]
struct Risk {
    level: u8,
}

#[tokio::test]
async fn a_note_reaches_later_hooks_guards_and_watches_as_the_type_it_was_written_as() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    set.on(Calling.named("rater"), async |cx| {
        cx.note(Lasting::Dispatch, Risk { level: 3 })?;
        proceed()
    });
    let log = seen.clone();
    set.on(Calling, async move |cx| {
        log.add(format!("hook: {:?}", cx.note_of::<Risk>("rater")?));
        proceed()
    });
    let log = seen.clone();
    set.guard(Calling, async move |cx| {
        log.add(format!("guard: {:?}", cx.note_of::<Risk>("rater")?));
        proceed()
    });
    let log = seen.clone();
    set.watch(Calling, async move |cx| {
        log.add(format!("watch: {:?} {:?}", cx.note_of::<Risk>("rater")?, cx.note_of::<Risk>("nobody")?));
        Ok(())
    });

    let fired = fire_at(&hooks(set), call("t"), Desk::default(), Retries::Allowed).await;
    let expected =
        ["hook: Some(Risk { level: 3 })", "guard: Some(Risk { level: 3 })", "watch: Some(Risk { level: 3 }) None"];
    assert_eq!(seen.all(), expected);
    assert_eq!(fired.desk.notes().get("rater"), None, "its dispatch is over");
}

#[tokio::test]
async fn a_note_read_as_another_type_is_a_failure_of_the_reader() {
    let mut set = HookSet::new();
    set.on(Calling.named("rater"), async |cx| {
        cx.note(Lasting::Dispatch, "high")?;
        proceed()
    });
    set.on(Calling.named("reader"), async |cx| {
        cx.note_of::<u8>("rater")?;
        proceed()
    });

    let story = [
        "rater proceeded; /notes/dispatch/rater nothing → \"high\"",
        "reader failed: invalid type: string \"high\", expected u8, so denied",
        "= denied by reader: `reader` failed: invalid type: string \"high\", expected u8",
    ];
    check(set, call("t"), story).await;
}

#[tokio::test]
async fn a_note_lasts_as_long_as_it_was_meant_to() {
    let mut set = HookSet::new();
    for (name, lasting) in [("d", Lasting::Dispatch), ("s", Lasting::Step), ("r", Lasting::Run)] {
        set.on(Calling.named(name), async move |cx| {
            cx.note(lasting, 1)?;
            proceed()
        });
    }
    let fired = fire_at(&hooks(set), call("t"), Desk::default(), Retries::Allowed).await;
    let mut notes = fired.desk.notes().clone();
    let mut left = vec![];
    for ends in [Lasting::Step, Lasting::Run] {
        left.push(["d", "s", "r"].map(|name| notes.get(name).is_some()));
        notes.clear(ends);
    }
    left.push(["d", "s", "r"].map(|name| notes.get(name).is_some()));

    assert_eq!(left, [[false, true, true], [false, false, true], [false, false, false]]);
}

#[tokio::test]
async fn of_two_notes_the_shorter_lived_is_read() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    set.on(Calling.named("w"), async |cx| {
        cx.note(Lasting::Run, "for the run")?;
        cx.note(Lasting::Dispatch, "for now")?;
        proceed()
    });
    let log = seen.clone();
    set.guard(Calling, async move |cx| {
        log.add(cx.note_of::<String>("w")?.unwrap_or_default());
        proceed()
    });

    let fired = fire_at(&hooks(set), call("t"), Desk::default(), Retries::Allowed).await;
    assert_eq!(seen.all(), ["for now"]);
    assert_eq!(fired.desk.notes().get("w"), Some(&"for the run".into()));
}

#[tokio::test]
async fn notes_stand_in_the_record_under_a_valid_pointer() {
    let mut set = HookSet::new();
    set.on(Calling.named("src/a~b.rs:7"), async |cx| {
        cx.note(Lasting::Run, 1)?;
        proceed()
    });

    check(set, call("t"), ["src/a~b.rs:7 proceeded; /notes/run/src~1a~0b.rs:7 nothing → 1", "= proceeded"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_note_for_a_dispatch_that_was_dropped_does_not_reach_the_next() {
    let seen = Seen::default();
    let mut set = HookSet::new();
    set.on(Calling.named("writer"), async |cx| {
        if cx.tool == "first" {
            cx.note(Lasting::Dispatch, "stale")?;
        }
        proceed()
    });
    let log = seen.clone();
    set.on(Calling, async move |cx| {
        if cx.tool == "first" {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        log.add(format!("{:?}", cx.note_of::<String>("writer")?));
        proceed()
    });
    let hooks = hooks(set);
    let (mut event, mut desk) = (call("first"), Desk::default());
    let frame = Frame { event: &mut event, state: &mut desk, scope: &"somebody", retries: Retries::Allowed };

    assert!(hooks.dispatch(Calling, frame).now_or_never().is_none());
    fire_at(&hooks, call("second"), desk, Retries::Allowed).await;

    assert_eq!(seen.all(), ["None"]);
}
