//! What holds for every journal: the one in memory, and the one on disk however it is kept.

use vertebra::{Entry, Journal, JournalError, JournalFault, MemoryJournal};
use vertebra_journal::{Options, Store, Sync};

use crate::support::*;

/// Something that handles can be opened on.
trait Kept {
    type Handle: Journal + Clone;

    /// Another handle.
    fn handle(&self) -> Self::Handle;

    fn lines(&self, session: &str) -> Vec<Entry>;
}

impl Kept for MemoryJournal {
    type Handle = Self;

    fn handle(&self) -> Self {
        self.another()
    }

    fn lines(&self, session: &str) -> Vec<Entry> {
        self.entries().into_iter().filter(|entry| &*entry.session_id == session).collect()
    }
}

struct OnDisk {
    area: Area,
    options: Options,
}

impl Kept for OnDisk {
    type Handle = Store;

    fn handle(&self) -> Store {
        self.area.open_with(self.options)
    }

    fn lines(&self, session: &str) -> Vec<Entry> {
        lines(&Store::read_only(self.area.path()).expect("a journal"), session)
    }
}

macro_rules! laws {
    ($($law:ident),* $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $law() {
                law::$law(MemoryJournal::default()).await;
                for sync in [Sync::Power, Sync::Process] {
                    for chain in [false, true] {
                        law::$law(OnDisk { area: Area::new(), options: Options { sync, chain } }).await;
                    }
                }
            }
        )*
    };
}

laws! {
    lines_are_in_the_order_they_were_given,
    a_line_that_must_last_is_there_with_all_before_it,
    a_new_session_belongs_to_whoever_begins_it,
    a_session_that_never_began_is_unknown,
    a_claimed_session_begins_at_its_latest_whole_checkpoint,
    a_session_is_claimed_once,
    letting_a_session_go_that_is_not_held_changes_nothing,
    a_session_that_ended_or_is_suspended_is_let_go,
    a_handle_that_is_gone_holds_nothing,
    a_handle_that_lost_a_session_writes_nothing,
    many_sessions_are_written_at_once,
}

fn kind<T: std::fmt::Debug>(result: Result<T, JournalError>) -> JournalFault {
    result.expect_err("a refusal").kind
}

mod law {
    use super::*;

    pub(super) async fn lines_are_in_the_order_they_were_given(kept: impl Kept) {
        let journal = kept.handle();
        let given: Vec<Entry> =
            std::iter::once(began("s")).chain((0..50).flat_map(|n| [step("s", n), started("s", n)])).collect();
        write(&journal, given.clone()).await;
        assert_eq!(kept.lines("s"), given);
    }

    pub(super) async fn a_line_that_must_last_is_there_with_all_before_it(kept: impl Kept) {
        let journal = kept.handle();
        write(&journal, [began("s"), step("s", 1), step("s", 2), started("s", 1)]).await;
        assert_eq!(told(&kept.lines("s")), ["session_began", "step 1", "step 2", "call-1"]);
    }

    pub(super) async fn a_new_session_belongs_to_whoever_begins_it(kept: impl Kept) {
        let (ours, theirs) = (kept.handle(), kept.handle());
        write(&ours, [began("s")]).await;
        assert_eq!(kind(theirs.claim("s").await), JournalFault::Busy);
        assert_eq!(kind(theirs.append(started("s", 1)).await), JournalFault::Fenced);
        assert_eq!(kind(theirs.append(began("s")).await), JournalFault::Fenced);
        write(&ours, [started("s", 2)]).await;
        assert_eq!(told(&kept.lines("s")), ["session_began", "call-2"]);
    }

    pub(super) async fn a_session_that_never_began_is_unknown(kept: impl Kept) {
        let journal = kept.handle();
        assert_eq!(kind(journal.claim("s").await), JournalFault::Unknown);
        assert_eq!(kind(journal.append(started("s", 1)).await), JournalFault::Unknown);
        journal.release("s").await.expect("nothing to let go");
        write(&journal, [began("s"), started("s", 2)]).await;
        assert_eq!(told(&kept.lines("s")), ["session_began", "call-2"]);
    }

    pub(super) async fn a_claimed_session_begins_at_its_latest_whole_checkpoint(kept: impl Kept) {
        let (ours, theirs) = (kept.handle(), kept.handle());
        write(&ours, [began("s"), step("s", 1), started("s", 1)]).await;
        ours.release("s").await.expect("it is ours");
        assert_eq!(told(&theirs.claim("s").await.expect("it is free")), ["session_began", "step 1", "call-1"]);

        write(&theirs, [checkpoint("s", true), step("s", 2), checkpoint("s", true), checkpoint("s", false)]).await;
        write(&theirs, [step("s", 3)]).await;
        theirs.release("s").await.expect("it is theirs");
        let lines = ours.claim("s").await.expect("it is free");
        assert_eq!(told(&lines), ["checkpoint", "checkpoint", "step 3"]);
        assert!(lines[0].what.starts_over() && !lines[1].what.starts_over());

        write(&ours, [run_ended("s", true), run_ended("s", false)]).await;
        ours.release("s").await.expect("it is ours");
        assert_eq!(told(&theirs.claim("s").await.expect("it is free")), ["run_ended", "run_ended"]);
    }

    pub(super) async fn a_session_is_claimed_once(kept: impl Kept) {
        let journal = kept.handle();
        write(&journal, [began("s")]).await;
        assert_eq!(kind(journal.claim("s").await), JournalFault::Busy, "not even by its own handle");
        journal.release("s").await.expect("it is ours");
        let handles: Vec<_> = (0..4).map(|_| kept.handle()).collect();
        let claims =
            handles.iter().cloned().map(|handle| tokio::spawn(async move { handle.claim("s").await.map(drop) }));
        let mut won = 0;
        for claim in claims.collect::<Vec<_>>() {
            match claim.await.expect("no panic") {
                Ok(()) => won += 1,
                Err(error) => assert_eq!(error.kind, JournalFault::Busy),
            }
        }
        assert_eq!(won, 1);
    }

    pub(super) async fn letting_a_session_go_that_is_not_held_changes_nothing(kept: impl Kept) {
        let (ours, theirs) = (kept.handle(), kept.handle());
        write(&ours, [began("s")]).await;
        theirs.release("s").await.expect("nothing to let go");
        write(&ours, [started("s", 1)]).await;
        assert_eq!(kind(theirs.claim("s").await), JournalFault::Busy);
    }

    pub(super) async fn a_session_that_ended_or_is_suspended_is_let_go(kept: impl Kept) {
        let (ours, theirs) = (kept.handle(), kept.handle());
        write(&ours, [began("s"), suspended("s")]).await;
        assert_eq!(kind(ours.append(started("s", 1)).await), JournalFault::Fenced);
        theirs.claim("s").await.expect("a suspended session can be claimed");
        write(&theirs, [started("s", 2), ended("s")]).await;
        assert_eq!(kind(theirs.append(started("s", 3)).await), JournalFault::Fenced);
        ours.claim("s").await.expect("so can one that ended");
        assert_eq!(told(&kept.lines("s")), ["session_began", "suspended", "call-2", "session_ended"]);
    }

    pub(super) async fn a_handle_that_is_gone_holds_nothing(kept: impl Kept) {
        let (ours, theirs) = (kept.handle(), kept.handle());
        write(&ours, [began("s"), step("s", 1)]).await;
        drop(ours);
        assert_eq!(told(&theirs.claim("s").await.expect("nobody runs it")), ["session_began", "step 1"]);
    }

    pub(super) async fn a_handle_that_lost_a_session_writes_nothing(kept: impl Kept) {
        let (ours, theirs) = (kept.handle(), kept.handle());
        write(&ours, [began("s")]).await;
        ours.release("s").await.expect("it is ours");
        theirs.claim("s").await.expect("it is free");
        let _ = ours.append(step("s", 1)).await;
        assert_eq!(kind(ours.append(started("s", 1)).await), JournalFault::Fenced);
        write(&theirs, [started("s", 2)]).await;
        assert_eq!(told(&kept.lines("s")), ["session_began", "call-2"]);
    }

    pub(super) async fn many_sessions_are_written_at_once(kept: impl Kept) {
        let handles = [kept.handle(), kept.handle()];
        let write_one = |number: usize| {
            let journal = handles[number % 2].clone();
            tokio::spawn(async move {
                let session = format!("s-{number}");
                write(&journal, [began(&session)]).await;
                for line in 0..10 {
                    write(&journal, [step(&session, line), started(&session, line)]).await;
                }
                // Nobody may write to somebody else's session, whatever is written together with it.
                journal.append(started("never", 1)).await.expect_err("it never began");
            })
        };
        let writing: Vec<_> = (0..12).map(write_one).collect();
        for one in writing {
            one.await.expect("no panic");
        }
        let expected: Vec<String> = std::iter::once("session_began".to_owned())
            .chain((0..10).flat_map(|n| [format!("step {n}"), format!("call-{n}")]))
            .collect();
        for number in 0..12 {
            assert_eq!(told(&kept.lines(&format!("s-{number}"))), expected);
        }
    }
}
