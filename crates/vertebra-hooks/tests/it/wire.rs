//! Verdicts as JSON: what a point cannot honour is an error, never ignored.

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vertebra_hooks::{Kind, Verdict, verdict};

use crate::world::{CallVerdict, EndVerdict, NoticeVerdict};

verdict! {
    /// What may be said to a piece of a stream.
    pub(crate) enum PieceVerdict { hold, halt, recover(u8) }
}

const KINDS: [Kind; 12] = [
    Kind::Proceed,
    Kind::Skip,
    Kind::Allow,
    Kind::Replace,
    Kind::Recover,
    Kind::Retry,
    Kind::Hold,
    Kind::Ask,
    Kind::Stop,
    Kind::GoOn,
    Kind::Halt,
    Kind::Deny,
];

/// A verdict of this kind, with all that any kind needs.
fn wire(kind: Kind, text: &str, number: u8) -> Value {
    let with = if kind == Kind::Recover { json!(number) } else { json!(text) };
    match kind {
        Kind::Proceed | Kind::Skip | Kind::Allow | Kind::Hold => json!({"verdict": kind}),
        Kind::Replace | Kind::Recover => json!({"verdict": kind, "with": with}),
        Kind::Retry => json!({"verdict": kind, "after_ms": number}),
        Kind::GoOn => json!({"verdict": kind, "instruction": text}),
        Kind::Ask | Kind::Stop | Kind::Halt | Kind::Deny => json!({"verdict": kind, "reason": text}),
    }
}

/// Honoured verdicts come through unchanged, all others are errors that name what would have been honoured.
fn check<V: Verdict + PartialEq + DeserializeOwned>(text: &str, number: u8) -> Result<(), TestCaseError> {
    for kind in KINDS {
        let wire = wire(kind, text, number);
        let honoured = matches!(kind, Kind::Proceed | Kind::Skip) || V::POWERS.contains(&kind);
        match serde_json::from_value::<V>(wire.clone()) {
            Ok(verdict) => {
                prop_assert!(honoured, "{} was taken", wire);
                prop_assert_eq!(verdict.kind(), kind);
                let has_reason = matches!(kind, Kind::Ask | Kind::Stop | Kind::Halt | Kind::Deny | Kind::GoOn);
                prop_assert_eq!(verdict.reason(), has_reason.then_some(text));
                prop_assert_eq!(V::with_reason(kind, text.to_owned()), has_reason.then(|| verdict.clone()));
                prop_assert_eq!(serde_json::to_value(&verdict).expect("a verdict serialises"), wire);
            }
            Err(error) => {
                prop_assert!(!honoured, "{} was refused: {}", wire, error);
                prop_assert!(
                    error.to_string().contains("expected one of `proceed`, `skip`")
                        || error.to_string().contains("expected `proceed` or `skip`"),
                    "{}",
                    error
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_point_takes_exactly_the_verdicts_it_can_honour(text in ".{0,20}", number: u8) {
        check::<CallVerdict>(&text, number)?;
        check::<EndVerdict>(&text, number)?;
        check::<NoticeVerdict>(&text, number)?;
        check::<PieceVerdict>(&text, number)?;
    }
}

#[test]
fn a_verdict_that_lacks_what_it_needs_is_an_error() {
    let cases = [
        json!({"verdict": "deny"}),
        json!({"verdict": "deny", "reason": 7}),
        json!({"verdict": "retry", "after_ms": -1}),
        json!({"verdict": "replace"}),
        json!({"verdict": "Deny", "reason": "x"}),
        json!({"reason": "x"}),
        json!("deny"),
        json!(null),
    ];
    for wire in cases {
        assert!(serde_json::from_value::<CallVerdict>(wire.clone()).is_err(), "{wire} was taken");
    }
}

#[test]
fn a_refusal_is_the_strongest_a_point_has() {
    assert_eq!(CallVerdict::refuse("x").map(|verdict| verdict.kind()), Some(Kind::Deny));
    assert_eq!(PieceVerdict::refuse("x").map(|verdict| verdict.kind()), Some(Kind::Halt));
    assert_eq!(EndVerdict::refuse("x").map(|verdict| verdict.kind()), Some(Kind::Stop));
    assert_eq!(NoticeVerdict::refuse("x").map(|verdict| verdict.kind()), None);
    let can =
        [CallVerdict::can_refuse(), PieceVerdict::can_refuse(), EndVerdict::can_refuse(), NoticeVerdict::can_refuse()];
    assert_eq!(can, [true, true, false, false]);
}
