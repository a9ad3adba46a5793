//! An event from a file or from another agent, in our words.

use serde_json::{Map, Value};
use vertebra::{AgentPoint, AnyPoint, Points, UnknownPoint, nearest};

/// An event that happened elsewhere: at one of our points, in our wire form, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// The point.
    pub point: AnyPoint,
    /// The event, every field of it.
    pub event: Value,
}

/// Why an event cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// It is no object.
    #[error("an event must be a JSON object")]
    NotAnObject,
    /// It does not say where it happened.
    #[error("the event has no `point`: write `\"point\": \"BeforeToolUse\"`")]
    NoPoint,
    /// There is no such point.
    #[error(transparent)]
    UnknownPoint(#[from] UnknownPoint),
    /// A field is not one of the point's events, or not of its kind.
    #[error("invalid event at {point}: {message}")]
    Fields {
        /// The point.
        point: &'static str,
        /// What is wrong.
        message: String,
    },
}

impl Happened {
    /// Reads an event at a built-in point in our wire form. What is left out is as in an event where nothing is the matter.
    pub fn read(value: &Value) -> Result<Self, EventError> {
        Self::among(&Points::default(), value)
    }

    /// Reads an event at one of these points.
    pub fn among(points: &Points, value: &Value) -> Result<Self, EventError> {
        let given = value.as_object().ok_or(EventError::NotAnObject)?;
        let name = given.get("point").and_then(Value::as_str).ok_or(EventError::NoPoint)?;
        Self::at(points.named(name)?, given)
    }

    /// An event at this point with these fields; the others are as in an event where nothing is the matter.
    pub fn at(point: AnyPoint, given: &Map<String, Value>) -> Result<Self, EventError> {
        let mut event = point.blank();
        event.extend(given.clone());
        event.insert("point".to_owned(), point.name.into());
        let whole = point.complete(Value::Object(event.clone())).map_err(|error| error.to_string());
        let event = whole.and_then(|whole| complete(&event, whole));
        let event = event.map_err(|message| EventError::Fields { point: point.row().name, message })?;
        Ok(Self { point, event })
    }

    /// The event in the type of its point.
    pub fn typed<P: AgentPoint>(&self, point: P) -> Result<P::Event, EventError> {
        let read = point.read(self.event.clone());
        read.map_err(|error| EventError::Fields { point: point.info().name, message: error.to_string() })
    }
}

/// Returns the complete form of an event, or an error if a field is unknown.
fn complete(given: &Map<String, Value>, whole: Value) -> Result<Value, String> {
    // A blank field is left out of the complete form, and is known all the same.
    match given.iter().find(|(key, value)| whole.get(key).is_none() && !is_blank(value)) {
        None => Ok(whole),
        Some((key, _)) => {
            let known = whole.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
            let meant = nearest(key, known).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(format!("it has no field `{key}`{meant}"))
        }
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vertebra::POINT_TABLE;

    use super::*;

    #[test]
    fn an_event_of_every_point_can_be_written_by_its_name_alone() {
        for point in POINT_TABLE {
            let read = Happened::read(&json!({ "point": point.name }));
            assert!(read.is_ok(), "{point}: {read:?}");
        }
    }

    #[test]
    fn a_field_that_is_not_there_is_an_error_that_says_what_was_meant() {
        let read = Happened::read(&json!({ "point": "pre_tool_use", "tool": "bash", "arg": { "command": "ls" } }));
        assert_eq!(
            read.map_err(|error| error.to_string()),
            Err("invalid event at BeforeToolUse: it has no field `arg`; did you mean `args`?".to_owned())
        );
        let read = Happened::read(&json!({ "point": "BeforeToolUze" }));
        let expected = "unknown point `BeforeToolUze`; did you mean `BeforeToolUse`?".to_owned();
        assert_eq!(read.map_err(|error| error.to_string()), Err(expected));
    }
}
