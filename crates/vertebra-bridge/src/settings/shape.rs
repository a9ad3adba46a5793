//! JSON Schema fragments for the values of a settings file, for editors.

use serde_json::{Map, Value, json};

pub(super) fn text(such_as: &str) -> Value {
    json!({ "type": "string", "examples": [such_as] })
}

/// A string that matches this regex.
pub(super) fn pattern(pattern: &str, such_as: &str) -> Value {
    json!({ "type": "string", "pattern": pattern, "examples": [such_as] })
}

/// A duration: a number and a unit.
pub(super) fn duration(such_as: &str) -> Value {
    pattern("^[0-9]+(ms|s|m|h|d)$", such_as)
}

pub(super) fn flag() -> Value {
    json!({ "type": "boolean" })
}

pub(super) fn whole(least: i64, most: i64) -> Value {
    match most {
        i64::MAX => json!({ "type": "integer", "minimum": least }),
        _ => json!({ "type": "integer", "minimum": least, "maximum": most }),
    }
}

pub(super) fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

pub(super) fn list(of: &Value) -> Value {
    json!({ "type": "array", "items": of })
}

pub(super) fn either(shapes: impl IntoIterator<Item = Value>) -> Value {
    json!({ "anyOf": shapes.into_iter().collect::<Vec<_>>() })
}

/// A table with any keys.
pub(super) fn object() -> Value {
    json!({ "type": "object" })
}

/// A table with these keys and no others.
pub(super) fn table(properties: &Map<String, Value>) -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}
