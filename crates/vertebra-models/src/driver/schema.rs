//! Schemas of tools, without what a provider refuses.

use serde_json::{Map, Value, json};

use crate::Adapter;

/// Keywords about the schema itself. Some providers refuse what they do not know; none makes use of these.
const ABOUT_THE_SCHEMA: [&str; 3] = ["$schema", "$id", "$comment"];

/// Formats that Rust types get and that no standard knows: `uint64`, `double`.
const FORMATS_OF_NUMBERS: [&str; 12] =
    ["int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "int", "float", "double"];

/// How deep a schema is read. What is deeper is sent as it is.
const DEPTH: usize = 64;

/// The schema as a provider takes it: an object at the root, with the properties it must have.
pub(super) fn clean(schema: &Value, adapter: Adapter) -> Value {
    let mut schema = keep_known(schema, adapter);
    let Value::Object(root) = &mut schema else { return json!({ "type": "object", "properties": {} }) };
    root.entry("type").or_insert_with(|| json!("object"));
    if root.get("type") == Some(&json!("object")) {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The schema of an answer: only what says nothing about answers is left out.
pub(super) fn keep_known(schema: &Value, adapter: Adapter) -> Value {
    let mut schema = schema.clone();
    tidy(&mut schema, adapter, DEPTH);
    schema
}

fn tidy(schema: &mut Value, adapter: Adapter, depth: usize) {
    let Value::Object(map) = schema else { return };
    if depth == 0 {
        return;
    }
    map.retain(|keyword, _| !ABOUT_THE_SCHEMA.contains(&&**keyword));
    if map.get("format").and_then(Value::as_str).is_some_and(|format| FORMATS_OF_NUMBERS.contains(&format)) {
        map.remove("format");
    }
    if strict_about_keywords(adapter) {
        narrow(map);
    }
    for (keyword, value) in map {
        match (&**keyword, value) {
            // Their keys are names of the user, not keywords.
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => {
                named.values_mut().for_each(|schema| tidy(schema, adapter, depth - 1));
            }
            ("enum" | "const" | "default" | "examples" | "required", _) => {}
            (_, Value::Array(schemas)) => schemas.iter_mut().for_each(|schema| tidy(schema, adapter, depth - 1)),
            (_, schema) => tidy(schema, adapter, depth - 1),
        }
    }
}

/// Gemini reads a part of JSON Schema and answers the rest with 400.
fn strict_about_keywords(adapter: Adapter) -> bool {
    matches!(adapter, Adapter::Gemini | Adapter::Vertex | Adapter::GeminiIx)
}

fn narrow(map: &mut Map<String, Value>) {
    const REFUSED: [&str; 9] = [
        "patternProperties",
        "unevaluatedProperties",
        "propertyNames",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "contentEncoding",
        "contentMediaType",
        "dependentSchemas",
        "not",
    ];
    map.retain(|keyword, _| !REFUSED.contains(&&**keyword));
    if let Some(only) = map.remove("const") {
        map.insert("enum".to_owned(), json!([only]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_that_a_provider_refuses_are_left_out_and_names_of_properties_are_kept() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "$comment": { "type": "integer", "format": "uint64", "exclusiveMinimum": 0 },
                "when": { "type": "string", "format": "date" },
                "kind": { "const": "not", "default": { "$id": 1 } },
            },
        });
        let properties =
            |when: Value, comment: Value, kind: Value| json!({ "$comment": comment, "when": when, "kind": kind });
        let when = json!({ "type": "string", "format": "date" });
        assert_eq!(
            clean(&schema, Adapter::OpenAI),
            json!({ "type": "object", "properties": properties(
                when.clone(),
                json!({ "type": "integer", "exclusiveMinimum": 0 }),
                json!({ "const": "not", "default": { "$id": 1 } }),
            )}),
        );
        assert_eq!(
            clean(&schema, Adapter::Gemini),
            json!({ "type": "object", "properties": properties(
                when,
                json!({ "type": "integer" }),
                json!({ "enum": ["not"], "default": { "$id": 1 } }),
            )}),
        );
    }

    #[test]
    fn every_schema_is_one_of_an_object() {
        for schema in [json!({}), json!(true), json!(null), json!({ "type": "object" })] {
            assert_eq!(clean(&schema, Adapter::OpenAI), json!({ "type": "object", "properties": {} }));
        }
    }
}
