//! The `match` of a case, as each side writes it.

use prost_types::{ListValue, Struct, Value as Wire, value::Kind};
use serde_json::{Map, Value};
use vertebra::{Matcher, Test};
use vertebra_server::proto;

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::String(text) => vec![text.clone()],
        other => panic!("a pattern is a text, and this is {other}"),
    }
}

fn inner(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("a matcher is an object")
}

fn several(value: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    value.as_array().expect("matchers are a list").iter().map(inner)
}

/// As Rust has it: all of these hold.
pub(crate) fn in_rust(matcher: &Map<String, Value>) -> Matcher {
    let any = |key: &str, value: &Value| {
        Matcher::Any(texts(value).into_iter().map(|text| Matcher::attribute(key.to_owned(), text)).collect())
    };
    let mut all = Vec::new();
    for (key, value) in matcher {
        match key.as_str() {
            "metadata" => all.extend(
                inner(value).iter().map(|(key, is)| tested(is, |is| Matcher::Metadata { key: key.clone(), is })),
            ),
            "args" => {
                all.extend(
                    inner(value).iter().map(|(at, is)| tested(is, |is| Matcher::inside("args", at.clone(), is))),
                );
            }
            "all" => all.push(Matcher::All(several(value).map(in_rust).collect())),
            "any" => all.push(Matcher::Any(several(value).map(in_rust).collect())),
            "not" => all.push(in_rust(inner(value)).negated()),
            attribute => all.push(any(attribute, value)),
        }
    }
    Matcher::All(all)
}

fn tested(test: &Value, make: impl Fn(Test) -> Matcher) -> Matcher {
    let (key, value) = inner(test).iter().next().expect("a test");
    match (key.as_str(), value) {
        ("exists", Value::Bool(true)) => make(Test::Exists),
        ("exists", Value::Bool(false)) => make(Test::Exists).negated(),
        ("equals", value) => make(Test::Equals(value.clone())),
        ("matches", Value::String(pattern)) => make(Test::Matches(pattern.clone())),
        _ => panic!("there is no test {test}"),
    }
}

/// As it goes over the wire.
pub(crate) fn on_the_wire(matcher: &Map<String, Value>) -> proto::Matcher {
    let mut wire = proto::Matcher::default();
    let tests = |value: &Value| {
        inner(value)
            .iter()
            .map(|(at, test)| {
                let (key, value) = inner(test).iter().next().expect("a test");
                let test = match (key.as_str(), value) {
                    ("exists", Value::Bool(exists)) => proto::test::Test::Exists(*exists),
                    ("equals", value) => proto::test::Test::Equals(wire_value(value)),
                    ("matches", Value::String(pattern)) => proto::test::Test::Matches(pattern.clone()),
                    _ => panic!("there is no test {test}"),
                };
                (at.clone(), proto::Test { test: Some(test) })
            })
            .collect()
    };
    for (key, value) in matcher {
        match key.as_str() {
            "tool" => wire.tool = texts(value),
            "path" => wire.path = texts(value),
            "command" => wire.command = texts(value),
            "session" => wire.session = texts(value),
            "agent" => wire.agent = texts(value),
            "step" => wire.step = texts(value).concat(),
            "metadata" => wire.metadata = tests(value),
            "args" => wire.args = tests(value),
            "all" => wire.all = several(value).map(on_the_wire).collect(),
            "any" => wire.any = several(value).map(on_the_wire).collect(),
            "not" => wire.not = Some(Box::new(on_the_wire(inner(value)))),
            other => panic!("there is no matcher `{other}`"),
        }
    }
    wire
}

fn wire_value(value: &Value) -> Wire {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(*flag),
        Value::Number(number) => Kind::NumberValue(number.as_f64().expect("a number")),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(list) => Kind::ListValue(ListValue { values: list.iter().map(wire_value).collect() }),
        Value::Object(object) => Kind::StructValue(Struct {
            fields: object.iter().map(|(key, value)| (key.clone(), wire_value(value))).collect(),
        }),
    };
    Wire { kind: Some(kind) }
}

/// As a file has it, or why it cannot.
pub(crate) fn in_toml(value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::Null => return Err("TOML has no null".to_owned()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(list) => format!("[{}]", list.iter().map(in_toml).collect::<Result<Vec<_>, _>>()?.join(", ")),
        Value::Object(object) => {
            let field =
                |(key, value): (&String, &Value)| Ok(format!("{} = {}", Value::from(key.as_str()), in_toml(value)?));
            format!("{{ {} }}", object.iter().map(field).collect::<Result<Vec<_>, String>>()?.join(", "))
        }
    })
}
