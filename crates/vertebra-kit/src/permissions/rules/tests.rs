//! Which calls are kept in mind, and for how long.

use serde_json::json;
use vertebra::testing;

use super::*;

#[test]
fn what_a_call_is_about_is_kept_for_as_long_as_the_call_is_what_it_was() {
    let rules = Rules::default();
    let (call, standing) = (testing::call("read_file", json!({ "path": "a" })), Standing::default());
    let subject = Subject::new(&call, None, standing.clone()).map(Arc::new);
    rules.judge(&call.at.run, &call, standing.clone(), subject, Look::First);
    let kept = |call: &ToolCall, standing: &Standing| {
        rules.kept(&testing::call("x", json!({})).at.run, call, standing).is_some()
    };
    assert!(kept(&call, &standing));
    assert!(!kept(&call, &Standing { shell: Some("/tmp".to_owned()), ..standing.clone() }), "from another folder");
    assert!(!kept(&testing::call("read_file", json!({ "path": "b" })), &standing), "other arguments");
    assert!(!kept(&testing::call("edit_file", json!({ "path": "a" })), &standing), "another tool");
    rules.done(&call.at.run, &call);
    assert!(!kept(&call, &standing), "the call has ended");
}

#[test]
fn a_call_that_cannot_be_kept_in_mind_is_refused_until_another_has_ended() {
    let rules = Rules::default();
    let asked = testing::call("read_file", json!({ "path": "a" }));
    let call = |number: usize| ToolCall { id: number.to_string().into(), ..asked.call.clone() };
    let judged = |number: usize| {
        let standing = rules.standing(&asked.at.run);
        let subject = Subject::new(&call(number), None, standing.clone()).map(Arc::new);
        rules.judge(&asked.at.run, &call(number), standing, subject, Look::First).0.effect
    };
    let first: Vec<_> = (0..MAX_PENDING).map(judged).collect();
    assert!(!first.contains(&Some(Effect::Deny)));
    assert_eq!(judged(MAX_PENDING), Some(Effect::Deny));
    assert_ne!(judged(0), Some(Effect::Deny), "one that is kept already");
    rules.done(&asked.at.run, &call(7));
    assert_ne!(judged(MAX_PENDING), Some(Effect::Deny));
}
