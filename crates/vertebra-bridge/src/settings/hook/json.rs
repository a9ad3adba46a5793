//! JSON as TOML.

use serde_json::{Map, Value};
use toml_edit::{Array, InlineTable, Item, Table, Value as Toml};

/// An object as a table. What has no place there, nothing, is left out.
pub(super) fn to_table(object: &Map<String, Value>) -> Table {
    object.iter().filter_map(|(key, value)| Some((key.as_str(), Item::Value(to_value(value)?)))).collect()
}

fn to_value(value: &Value) -> Option<Toml> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => list.iter().filter_map(to_value).collect::<Array>().into(),
        Value::Object(object) => {
            let fields = object.iter().filter_map(|(key, value)| Some((key.as_str(), to_value(value)?)));
            fields.collect::<InlineTable>().into()
        }
    })
}
