//! TOML as JSON, and back.

use serde_json::{Map, Value};
use toml_edit::{Array, InlineTable, Item, Table, TableLike, Value as Toml};

/// The same in JSON, or what has no place there.
pub(super) fn of_item(item: &Item) -> Result<Value, String> {
    match item {
        Item::None => Ok(Value::Null),
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table).map(Value::Object),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| of_table(table).map(Value::Object)).collect(),
    }
}

/// An object in JSON.
pub(super) fn of_table(table: &dyn TableLike) -> Result<Map<String, Value>, String> {
    table.iter().map(|(key, item)| Ok((key.to_owned(), of_item(item)?))).collect()
}

fn of_value(value: &Toml) -> Result<Value, String> {
    Ok(match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Boolean(flag) => (*flag.value()).into(),
        Toml::Datetime(moment) => moment.value().to_string().into(),
        Toml::Float(number) => serde_json::Number::from_f64(*number.value())
            .ok_or("a number that is infinite or none cannot be an argument")?
            .into(),
        Toml::Array(list) => list.iter().map(of_value).collect::<Result<Vec<Value>, String>>()?.into(),
        Toml::InlineTable(table) => of_table(table)?.into(),
    })
}

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
