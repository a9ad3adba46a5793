//! What a hook changed, as a list of differing places.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One place that differs. A JSON pointer, and the value there before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// A JSON pointer, such as `/args/timeout`.
    pub path: String,
    /// What was there; absent if the place is new.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub before: Option<Value>,
    /// What is there; absent if it was taken away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub after: Option<Value>,
}

/// A value that is there, though it may be `null`; one that is absent is not read at all.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// The places where two values differ once serialised.
pub fn between<T: Serialize>(before: &T, after: &T) -> Vec<Change> {
    below("", before, after)
}

/// The places where two values differ once serialised; they stand at `path` in something larger.
pub fn below<T: Serialize>(path: &str, before: &T, after: &T) -> Vec<Change> {
    let mut changes = Vec::new();
    match (serde_json::to_value(before), serde_json::to_value(after)) {
        (Ok(before), Ok(after)) => compare(path.to_owned(), Some(before), Some(after), &mut changes),
        // An event that does not serialise cannot be compared, but that it was touched is still worth a line.
        (Err(error), _) | (_, Err(error)) => {
            changes.push(Change { path: path.to_owned(), before: None, after: Some(error.to_string().into()) });
        }
    }
    changes
}

fn compare(path: String, before: Option<Value>, after: Option<Value>, changes: &mut Vec<Change>) {
    match (before, after) {
        (Some(before), Some(after)) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => compare_objects(&path, before, after, changes),
        (Some(Value::Array(before)), Some(Value::Array(after))) if before.len() == after.len() => {
            for (index, (before, after)) in before.into_iter().zip(after).enumerate() {
                compare(format!("{path}/{index}"), Some(before), Some(after), changes);
            }
        }
        (before, after) => changes.push(Change { path, before, after }),
    }
}

fn compare_objects(path: &str, before: Map<String, Value>, mut after: Map<String, Value>, changes: &mut Vec<Change>) {
    for (key, value) in before {
        let now = after.remove(&key);
        compare(format!("{path}/{}", escape(&key)), Some(value), now, changes);
    }
    for (key, value) in after {
        compare(format!("{path}/{}", escape(&key)), None, Some(value), changes);
    }
}

/// A key as one step of a JSON pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(before: &Value, after: &Value, expected: &[&str]) {
        let changes: Vec<String> = between(before, after)
            .into_iter()
            .map(|change| format!("{} {:?} {:?}", change.path, change.before, change.after))
            .collect();
        assert_eq!(changes, expected);
    }

    #[test]
    fn only_the_places_that_differ_are_named() {
        check(
            &json!({"a": 1, "b": {"c": 2}}),
            &json!({"a": 1, "b": {"c": 3}}),
            &["/b/c Some(Number(2)) Some(Number(3))"],
        );
        check(&json!({"a/b": 1}), &json!({}), &["/a~1b Some(Number(1)) None"]);
        check(&json!({}), &json!({"x": true}), &["/x None Some(Bool(true))"]);
        check(&json!([1, 2]), &json!([1, 3]), &["/1 Some(Number(2)) Some(Number(3))"]);
        check(&json!({"a": null}), &json!({"a": null}), &[]);
    }
}
