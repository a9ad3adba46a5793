//! The counts of the engine, with any judge.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn said(said: Said) -> Opinion {
    Opinion::of(said)
}

fn judged(then: Said, now: Said) -> Judged {
    let by = (now == Said::Refused).then(|| "no".to_owned());
    Judged { then: said(then), now: Opinion { by, ..said(now) }, matched: vec!["no".into()], not_asked: Vec::new() }
}

fn run(threads: usize, sources: Vec<Vec<u32>>, judge: impl Fn(u32) -> Judged + Sync) -> Report<u32> {
    let backtest = Backtest {
        threads: NonZeroUsize::new(threads).expect("a number"),
        examples: 3,
        stop: &AtomicBool::new(false),
        progress: &|_| {},
    };
    backtest.run(sources, || |event: &u32| judge(*event), |event| *event)
}

fn is_odd(event: u32) -> Judged {
    judged(Said::WentOn, if event % 2 == 1 { Said::Refused } else { Said::Nothing })
}

#[test]
fn differences_are_counted_by_hook_and_shown_by_example() {
    let report = run(1, vec![vec![1, 2, 3], vec![5, 7]], is_odd);
    assert_eq!((report.events, report.different()), (5, 4));
    assert_eq!(report.differences, BTreeMap::from([(Difference::NewlyDenied, 4)]));
    assert_eq!(report.hooks["no"], Hits { matched: 5, decided: 4, not_asked: 0 });
    let shown: Vec<u32> = report.examples[&Difference::NewlyDenied].iter().map(|example| example.about).collect();
    assert_eq!(shown, [1, 3, 5]);
}

#[test]
fn stop_ends_the_backtest_before_the_next_event() {
    let stop = AtomicBool::new(false);
    let backtest = Backtest { threads: NonZeroUsize::MIN, examples: 1, stop: &stop, progress: &|_| {} };
    let judge = |event: &u32| {
        stop.store(*event == 2, Ordering::Relaxed);
        is_odd(*event)
    };
    assert_eq!(backtest.run([(0..100).collect::<Vec<u32>>()], || judge, |event| *event).events, 3);
}

#[test]
fn decisions_are_compared_first_and_then_their_changes() {
    use Difference::{Changed, NewlyAllowed, NewlyAsked, NewlyDenied, NoLongerAllowed, NoLongerAsked};
    use Said::{Allowed, Asked, Nothing, Refused, WentOn};
    let cases = [
        (WentOn, Nothing, None),
        (WentOn, Allowed, None),
        (WentOn, Asked, Some(NewlyAsked)),
        (WentOn, Refused, Some(NewlyDenied)),
        (Nothing, Allowed, Some(NewlyAllowed)),
        (Allowed, Nothing, Some(NoLongerAllowed)),
        (Asked, Nothing, Some(NoLongerAsked)),
        (Asked, Allowed, Some(NoLongerAsked)),
        (Asked, Refused, Some(NewlyDenied)),
        (Refused, Asked, Some(NewlyAsked)),
        (Refused, Nothing, Some(NewlyAllowed)),
        (Refused, Refused, None),
    ];
    for (then, now, difference) in cases {
        assert_eq!(Difference::between(&said(then), &said(now)), difference, "{then} → {now}");
    }
    let with = |word, value: u32| {
        let changes = Some(BTreeMap::from([("/args/timeout".to_owned(), json!(value))]));
        Opinion { changes, ..said(word) }
    };
    assert_eq!(Difference::between(&with(Nothing, 5), &with(Nothing, 5)), None);
    assert_eq!(Difference::between(&with(Nothing, 5), &with(Nothing, 6)), Some(Changed));
    assert_eq!(Difference::between(&with(Refused, 5), &with(Refused, 6)), None, "a denied event does not proceed");
    assert_eq!(Difference::between(&said(WentOn), &with(Nothing, 6)), None, "it is not known what was changed then");
}

proptest! {
    #[test]
    fn the_report_does_not_depend_on_the_number_of_threads(sources in prop::collection::vec(prop::collection::vec(0_u32..50, 0..20), 0..12)) {
        prop_assert_eq!(run(1, sources.clone(), is_odd), run(4, sources, is_odd));
    }
}
