//! An event from a file or from another agent, in our words.

use serde_json::{Map, Value, json};
use vertebra::{AgentPoint, POINTS, PointInfo, PointVisitor, at_point, nearest, point_named};

/// An event that happened elsewhere: at one of our points, in our wire form, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// The point.
    pub point: &'static str,
    /// The event, every field of it.
    pub event: Value,
}

/// Why an event cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// It is no object.
    #[error("an event must be a JSON object")]
    NotAnObject,
    /// It does not say where it happened.
    #[error("the event has no `point`: write `\"point\": \"BeforeToolUse\"`")]
    NoPoint,
    /// There is no such point.
    #[error("unknown point `{name}`{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownPoint {
        /// The name.
        name: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
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
    /// Reads an event in our wire form. What is left out is as in an event where nothing is the matter.
    pub fn read(value: &Value) -> Result<Self, EventError> {
        let given = value.as_object().ok_or(EventError::NotAnObject)?;
        let name = given.get("point").and_then(Value::as_str).ok_or(EventError::NoPoint)?;
        let point = point_named(name).ok_or_else(|| EventError::UnknownPoint {
            name: name.to_owned(),
            nearest: nearest(name, POINTS.iter().copied()),
        })?;
        Self::at(point, given)
    }

    /// An event at this point with these fields; the others are as in an event where nothing is the matter.
    pub fn at(point: &'static str, given: &Map<String, Value>) -> Result<Self, EventError> {
        let mut event = usual(point);
        event.extend(given.clone());
        event.insert("point".to_owned(), point.into());
        let event = at_point(point, Complete(&event))
            .ok_or_else(|| EventError::UnknownPoint { name: point.to_owned(), nearest: None })??;
        Ok(Self { point, event })
    }

    /// The event in the point's own type.
    pub fn typed<P: AgentPoint>(&self) -> Result<P::Event, EventError> {
        typed::<P>(&self.event)
    }
}

fn typed<P: AgentPoint>(event: &Value) -> Result<P::Event, EventError> {
    (P::code().event_from_json)(event.clone())
        .map_err(|error| EventError::Fields { point: P::NAME, message: error.to_string() })
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

/// Brings an event of any point into its complete form.
struct Complete<'e>(&'e Map<String, Value>);

impl PointVisitor for Complete<'_> {
    type Out = Result<Value, EventError>;

    fn at<P: AgentPoint>(self, _: P) -> Self::Out {
        let event = typed::<P>(&Value::Object(self.0.clone()))?;
        let whole = (P::code().event_to_json)(&event);
        let whole = whole.map_err(|error| error.to_string()).and_then(|whole| complete(self.0, whole));
        whole.map_err(|message| EventError::Fields { point: P::NAME, message })
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

/// The fields of an event where nothing is the matter.
fn usual(point: &str) -> Map<String, Value> {
    let folder = std::env::current_dir().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
    let head = json!({
        "event_id": "run-1.1", "session_id": "session-1", "run_id": "run-1", "agent": "agent", "depth": 0, "step": 1,
        "timestamp": "1970-01-01T00:00:00Z", "working_directory": folder,
    });
    let own = PointInfo::named(point).map(|info| (info.blank)());
    [Some(head), own].into_iter().flatten().filter_map(object).flatten().collect()
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_every_point_can_be_written_by_its_name_alone() {
        for point in POINTS {
            let read = Happened::read(&json!({ "point": point }));
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
