//! No trace of failure: event, state and notes are as they were before a hook that failed.

use std::time::Duration;

use futures_util::FutureExt;
use vertebra_hooks::{
    Answer, Attach, Cx, Frame, Hook, HookError, HookOptions, HookSet, Lasting, Retries, State, proceed, retry,
};

use crate::world::{Calling, Desk, call, fire_at, hooks};

/// Writes everywhere, then ends as told.
#[derive(Clone, Copy, Debug)]
enum Writer {
    Succeeds,
    Errs,
    Panics,
    Hangs,
    AsksForTooManyRetries,
}

impl Hook<Calling> for Writer {
    async fn run(&self, cx: &mut Cx<'_, Calling>) -> Answer<Calling> {
        cx.tool = "written".into();
        cx.args = serde_json::json!({"a": [1, 2, 3]});
        cx.state_mut().metadata.insert("written".into(), true.into());
        cx.note(Lasting::Dispatch, "written")?;
        cx.note(Lasting::Step, "written")?;
        cx.note(Lasting::Run, "written")?;
        tokio::task::yield_now().await;
        match self {
            Self::Succeeds => proceed(),
            Self::Errs => Err(HookError::new("no")),
            Self::Panics => panic!("no"),
            Self::Hangs => std::future::pending().await,
            Self::AsksForTooManyRetries => retry(Duration::ZERO),
        }
    }
}

fn writing(writer: Writer) -> HookSet {
    let mut set = HookSet::new();
    set.on(Calling.named("before"), async |cx| {
        cx.tool.push_str("-before");
        cx.note(Lasting::Run, "before")?;
        proceed()
    });
    set.add_hook(Calling.named("writer").fail_open(), writer);
    set.on(Calling.named("after"), async |cx| {
        cx.tool.push_str("-after");
        proceed()
    });
    set
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_leaves_event_state_and_notes_as_they_were() {
    for writer in [Writer::Errs, Writer::Panics, Writer::Hangs, Writer::AsksForTooManyRetries] {
        let fired = fire_at(&hooks(writing(writer)), call("t"), Desk::default(), Retries::Exhausted).await;

        assert_eq!(fired.call, call("t-before-after"), "{writer:?}");
        assert!(fired.desk.metadata.is_empty(), "{writer:?}");
        assert_eq!(fired.desk.notes().get("writer"), None, "{writer:?}");
        assert_eq!(fired.desk.notes().get("before"), Some(&"before".into()), "{writer:?}");
        let record = fired.outcome.record();
        let authors: Vec<_> = record.changes().map(|(author, _)| author).collect();
        assert_eq!(authors, ["before", "before", "after"], "{writer:?}");
    }
}

#[tokio::test]
async fn a_hook_that_succeeds_leaves_all_it_wrote() {
    let fired = fire_at(&hooks(writing(Writer::Succeeds)), call("t"), Desk::default(), Retries::Allowed).await;

    assert_eq!(fired.call.tool, "written-after");
    assert_eq!(fired.desk.metadata["written"], true);
    assert_eq!(fired.desk.notes().get("writer"), Some(&"written".into()));
}

#[tokio::test(start_paused = true)]
async fn a_dispatch_dropped_half_way_leaves_nothing_of_the_hook_it_was_in() {
    let hooks = hooks(writing(Writer::Hangs));
    let (mut event, mut state) = (call("t"), Desk::default());
    let frame = Frame { event: &mut event, state: &mut state, scope: &"somebody", retries: Retries::Allowed };

    let mut dispatch = Box::pin(hooks.dispatch(Calling, frame));
    for _ in 0..3 {
        assert!(dispatch.as_mut().now_or_never().is_none());
    }
    drop(dispatch);

    assert_eq!(event, call("t-before"));
    assert!(state.metadata.is_empty());
    assert_eq!(state.notes().get("writer"), None);
    assert_eq!(state.notes().get("before"), Some(&"before".into()));
}

#[tokio::test]
async fn a_hook_that_is_tried_again_does_not_build_on_its_failed_attempt() {
    let mut set = HookSet::new();
    set.on(Calling.named("h").max_retries(4).fail_open(), async |cx| {
        let before = cx.tool.clone();
        cx.tool.push('x');
        Err(HookError::new(before))
    });

    let fired = fire_at(&hooks(set), call("t"), Desk::default(), Retries::Allowed).await;
    assert_eq!(fired.story(), ["h failed: t, 5 times, so proceeded", "= proceeded"]);
}
