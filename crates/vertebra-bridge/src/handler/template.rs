//! Texts that stand for a place in an event: `${args.command}`.

use serde_json::{Map, Value};

use super::HandlerError;

/// Whether all places in these texts are named as they should be.
pub(super) fn check(input: &Value) -> Result<(), HandlerError> {
    match input {
        Value::String(text) => pieces(text).map(drop),
        Value::Array(list) => list.iter().try_for_each(check),
        Value::Object(map) => map.values().try_for_each(check),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// The same with what the event has in those places. A text that is nothing but a place becomes what is there, of
/// whatever type; within a text it is written out.
pub(super) fn fill(input: &Map<String, Value>, event: &Value) -> Result<Map<String, Value>, String> {
    input.iter().map(|(name, value)| Ok((name.clone(), filled(value, event)?))).collect()
}

fn filled(value: &Value, event: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match &*pieces(text).map_err(|error| error.to_string())? {
            [Piece::Place(path)] => at(event, path)?.clone(),
            pieces => {
                let mut written = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => written.push_str(text),
                        Piece::Place(path) => match at(event, path)? {
                            Value::String(text) => written.push_str(text),
                            other => written.push_str(&other.to_string()),
                        },
                    }
                }
                written.into()
            }
        },
        Value::Array(list) => list.iter().map(|item| filled(item, event)).collect::<Result<_, _>>()?,
        Value::Object(map) => fill(map, event)?.into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

enum Piece<'t> {
    Text(&'t str),
    Place(&'t str),
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, HandlerError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        let place = after.split_once('}').filter(|(path, _)| !path.is_empty() && path.split('.').all(is_name));
        let (path, beyond) = place.ok_or_else(|| HandlerError::Template { text: text.to_owned() })?;
        pieces.push(Piece::Place(path));
        rest = beyond;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

fn at<'e>(event: &'e Value, path: &str) -> Result<&'e Value, String> {
    let found = path.split('.').try_fold(event, |value, name| match value {
        Value::Array(list) => name.parse::<usize>().ok().and_then(|index| list.get(index)),
        value => value.get(name),
    });
    found.ok_or_else(|| format!("the event has nothing at `{path}`"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_alone_keeps_its_type_and_within_a_text_it_is_written_out() {
        let event = json!({ "tool": "bash", "args": { "command": "ls", "flags": ["-l", 2] } });
        let fill = |input: Value| filled(&input, &event);
        assert_eq!(fill(json!("${args.flags}")), Ok(json!(["-l", 2])));
        assert_eq!(
            fill(json!({ "a": ["${tool}: ${args.command} ${args.flags.1}"] })),
            Ok(json!({ "a": ["bash: ls 2"] }))
        );
        assert_eq!(fill(json!("costs $5")), Ok(json!("costs $5")));
        assert_eq!(fill(json!("${args.nothing}")), Err("the event has nothing at `args.nothing`".to_owned()));
        for wrong in ["${", "${}", "${args.}", "${a b}"] {
            assert!(check(&json!({ "a": wrong })).is_err(), "{wrong}");
        }
    }
}
