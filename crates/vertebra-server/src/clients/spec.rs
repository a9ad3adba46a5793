//! What a client says of a hook, in the words of files.

use std::sync::Arc;

use prost_types::{Value as Wire, value::Kind};
use serde_json::{Map, Number, Value, json};
use vertebra::Points;
use vertebra_bridge::settings::Stand;

use crate::{
    door::{Governs, Principal},
    proto::{FailurePolicy, Hook, Matcher, Role, Scope, Test, scope::Which, test},
};

/// How deep matchers may be in each other, and values.
const DEEPEST: usize = 16;

/// The sessions that a hook governs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Governed {
    /// Those of its principal.
    Own,
    /// This one.
    Session(Arc<str>),
    /// All.
    Everything,
}

/// Which sessions a hook governs.
pub(super) fn read_scope(scope: Option<Scope>, principal: &Principal) -> Result<Governed, String> {
    match scope.and_then(|scope| scope.which) {
        None | Some(Which::Own(_)) => Ok(Governed::Own),
        Some(Which::SessionId(id)) => Ok(Governed::Session(id.into())),
        Some(Which::Everything(_)) if principal.governs == Governs::Everything => Ok(Governed::Everything),
        Some(Which::Everything(_)) => Err(format!("`{principal}` governs its own sessions and no others")),
    }
}

/// Where a hook stands. What could not hold is an error, as it is in a file.
pub(super) fn read_stand(hook: Hook, client: &str, points: &Points) -> Result<Stand, String> {
    let mut said = Map::new();
    let mut say = |key: &str, value: Value| _ = said.insert(key.to_owned(), value);
    let role = match hook.role() {
        Role::Unspecified | Role::Hook => "hook",
        Role::Guard => "guard",
        Role::Watch => "watch",
    };
    say("role", role.into());
    match hook.on_failure() {
        FailurePolicy::Unspecified => {}
        FailurePolicy::Open => say("on_failure", "open".into()),
        FailurePolicy::Closed => say("on_failure", "closed".into()),
        FailurePolicy::Ask => say("on_failure", "ask".into()),
    }
    say("name", hook.name.into());
    say("point", hook.point.into());
    if let Some(matcher) = hook.r#match {
        say("match", matching(matcher, 0)?);
    }
    if let Some(priority) = hook.priority {
        say("priority", priority.into());
    }
    for (key, names) in [("before", hook.before), ("after", hook.after)] {
        if !names.is_empty() {
            say(key, names.into());
        }
    }
    if let Some(timeout) = hook.timeout_ms {
        say("timeout", format!("{timeout}ms").into());
    }
    if hook.max_retries > 0 {
        say("max_retries", hook.max_retries.into());
    }
    for (key, flag) in [("shadow", hook.shadow), ("detached", hook.detached)] {
        if flag {
            say(key, true.into());
        }
    }
    Stand::from_json(&said, &format!("a hook of client {client}"), points).map_err(|error| error.to_string())
}

fn matching(matcher: Matcher, depth: usize) -> Result<Value, String> {
    if depth > DEEPEST {
        return Err(format!("matchers are at most {DEEPEST} deep in each other"));
    }
    let mut said = Map::new();
    let mut say = |key: &str, value: Value| _ = said.insert(key.to_owned(), value);
    let patterns = [
        ("tool", matcher.tool),
        ("path", matcher.path),
        ("command", matcher.command),
        ("session", matcher.session),
        ("agent", matcher.agent),
    ];
    for (key, patterns) in patterns {
        if !patterns.is_empty() {
            say(key, patterns.into());
        }
    }
    if !matcher.step.is_empty() {
        say("step", matcher.step.into());
    }
    for (key, patterns) in matcher.attributes {
        if said.contains_key(&key) {
            return Err(format!("the attribute `{key}` is there twice: as a field of the matcher and in `attributes`"));
        }
        said.insert(key, patterns.any.into());
    }
    let mut say = |key: &str, value: Value| _ = said.insert(key.to_owned(), value);
    for (key, tests) in [("metadata", matcher.metadata), ("args", matcher.args)] {
        if !tests.is_empty() {
            let tests =
                tests.into_iter().map(|(at, is)| Ok((at, tested(is)?))).collect::<Result<Map<_, _>, String>>()?;
            say(key, tests.into());
        }
    }
    for (key, inner) in [("all", matcher.all), ("any", matcher.any)] {
        if !inner.is_empty() {
            let inner = inner.into_iter().map(|one| matching(one, depth + 1)).collect::<Result<Vec<_>, _>>()?;
            say(key, inner.into());
        }
    }
    if let Some(not) = matcher.not {
        say("not", matching(*not, depth + 1)?);
    }
    Ok(said.into())
}

fn tested(is: Test) -> Result<Value, String> {
    Ok(match is.test {
        None => return Err("a test is one of `exists`, `equals` and `matches`".to_owned()),
        Some(test::Test::Exists(exists)) => json!({ "exists": exists }),
        Some(test::Test::Equals(value)) => {
            let value = to_json(value, 0)?;
            if has_null(&value) {
                return Err(
                    "nothing equals `null` in a matcher, as in a file: ask whether the place `exists`".to_owned()
                );
            }
            json!({ "equals": value })
        }
        Some(test::Test::Matches(pattern)) => json!({ "matches": pattern }),
    })
}

/// Files have no word for nothing, and what is read like one has none either.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().any(has_null),
        Value::Object(object) => object.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A value of the wire in JSON. Numbers are whole where they are.
pub(crate) fn to_json(value: Wire, depth: usize) -> Result<Value, String> {
    if depth > DEEPEST {
        return Err(format!("values are at most {DEEPEST} deep in each other"));
    }
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(flag)) => flag.into(),
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::NumberValue(number)) => number_of(number).ok_or("a number is finite")?,
        Some(Kind::ListValue(list)) => {
            list.values.into_iter().map(|value| to_json(value, depth + 1)).collect::<Result<Vec<_>, _>>()?.into()
        }
        Some(Kind::StructValue(object)) => {
            let fields = object.fields.into_iter().map(|(key, value)| Ok((key, to_json(value, depth + 1)?)));
            fields.collect::<Result<Map<_, _>, String>>()?.into()
        }
    })
}

/// The wire knows one kind of number; whole ones up to 2^53 are what they were before.
#[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
fn number_of(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Some((number as i64).into());
    }
    Number::from_f64(number).map(Value::Number)
}
