//! The schema that a server holds a model to: one branch for each tool, and one for the answer.
//!
//! A server makes a grammar of it, and its compiler knows a part of JSON Schema only. So schemas are reduced to what all
//! of them know: types, values, properties, items, alternatives. Nothing depends on the rest: the runtime holds every
//! call against the tool's own schema.

use serde_json::{Map, Value, json};
use vertebra::Offer;

/// How much the parts of one schema may be in all, how deep they may be nested, and how many values an `enum` may have.
const MAX_PARTS: usize = 1000;
const MAX_DEPTH: usize = 8;
const MAX_VALUES: usize = 64;
/// How long a thought may be. It keeps a model that repeats itself from doing so for ever.
const MAX_THOUGHT_CHARS: u32 = 400;

/// The schema of a step with these tools, and with this schema of the answer if the caller wants a certain one.
pub(super) fn of_step(offers: &[Offer], answer: Option<&Value>) -> Value {
    let mut parts = MAX_PARTS;
    let answer = answer.map_or_else(|| json!({ "type": "string" }), |schema| simple(schema, &mut parts));
    let mut branches: Vec<Value> = offers.iter().map(|offer| call(offer, &mut parts)).collect();
    if parts == 0 {
        // Too much for a grammar. The names at least are held to.
        let names: Vec<&str> = offers.iter().map(|offer| &*offer.name).collect();
        branches = vec![branch(&[("tool", json!({ "enum": names })), ("arguments", json!({ "type": "object" }))])];
    }
    branches.push(branch(&[("answer", answer)]));
    json!({ "anyOf": branches })
}

fn call(offer: &Offer, parts: &mut usize) -> Value {
    let mut arguments = simple(&offer.schema, parts);
    if arguments["type"] != "object" {
        arguments = json!({ "type": "object" });
    }
    branch(&[("tool", json!({ "const": offer.name })), ("arguments", arguments)])
}

/// The order of the properties is the order in which they are written: the thought comes first, so that it can help.
fn branch(fields: &[(&str, Value)]) -> Value {
    let thought = json!({ "type": "string", "maxLength": MAX_THOUGHT_CHARS });
    let fields = [("thought", thought)].into_iter().chain(fields.iter().cloned());
    let properties: Map<String, Value> = fields.map(|(name, schema)| (name.to_owned(), schema)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

/// A schema without what a grammar cannot hold. An empty one lets everything through.
fn simple(schema: &Value, parts: &mut usize) -> Value {
    Reduction { root: schema, parts }.of(schema, 0)
}

struct Reduction<'s, 'p> {
    root: &'s Value,
    parts: &'p mut usize,
}

impl Reduction<'_, '_> {
    fn of(&mut self, schema: &Value, depth: usize) -> Value {
        *self.parts = self.parts.saturating_sub(1);
        if *self.parts == 0 || depth > MAX_DEPTH {
            return json!({});
        }
        if let Some(reference) = schema["$ref"].as_str() {
            // A schema that holds itself ends where the depth does.
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.map_or_else(|| json!({}), |target| self.of(target, depth + 1));
        }
        if schema.get("const").is_some() {
            return json!({ "const": schema["const"] });
        }
        if let Some(values) =
            schema["enum"].as_array().filter(|values| !values.is_empty() && values.len() <= MAX_VALUES)
        {
            return json!({ "enum": values });
        }
        if let Some(branches) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return self.any_of(branches, depth);
        }
        if let Some([only]) = schema["allOf"].as_array().map(Vec::as_slice) {
            return self.of(only, depth + 1);
        }
        match &schema["type"] {
            Value::String(name) => self.of_type(name, schema, depth),
            Value::Array(names) => {
                let names = names.iter().filter_map(Value::as_str);
                let branches: Vec<Value> = names.map(|name| self.of_type(name, schema, depth)).collect();
                json!({ "anyOf": branches })
            }
            _ if schema["properties"].is_object() => self.object(schema, depth),
            _ => json!({}),
        }
    }

    fn any_of(&mut self, branches: &[Value], depth: usize) -> Value {
        let branches: Vec<Value> = branches.iter().map(|branch| self.of(branch, depth + 1)).collect();
        let everything = branches.is_empty() || branches.contains(&json!({}));
        if everything { json!({}) } else { json!({ "anyOf": branches }) }
    }

    fn of_type(&mut self, name: &str, schema: &Value, depth: usize) -> Value {
        match name {
            "object" => self.object(schema, depth),
            "array" => json!({ "type": "array", "items": self.of(&schema["items"], depth + 1) }),
            "string" | "number" | "integer" | "boolean" | "null" => json!({ "type": name }),
            _ => json!({}),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty()) else {
            return match &schema["additionalProperties"] {
                values @ Value::Object(_) => {
                    json!({ "type": "object", "additionalProperties": self.of(values, depth + 1) })
                }
                Value::Bool(false) => json!({ "type": "object", "properties": {}, "additionalProperties": false }),
                _ => json!({ "type": "object" }),
            };
        };
        let properties: Map<String, Value> =
            properties.iter().map(|(name, schema)| (name.clone(), self.of(schema, depth + 1))).collect();
        let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().collect();
        let required: Vec<&Value> = required
            .into_iter()
            .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
            .collect();
        json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::react::tests::{offer, offers};

    #[test]
    fn every_tool_is_a_branch_and_the_answer_is_the_last() {
        let schema = of_step(&offers(), None);
        let branches = schema["anyOf"].as_array().expect("branches");
        let names: Vec<Vec<&String>> =
            branches.iter().map(|branch| branch["properties"].as_object().expect("fields").keys().collect()).collect();
        assert_eq!(
            names,
            [vec!["thought", "tool", "arguments"], vec!["thought", "tool", "arguments"], vec!["thought", "answer"]]
        );
        assert_eq!(branches[1]["properties"]["tool"], json!({ "const": "add" }));
        assert_eq!(branches[1]["properties"]["arguments"]["required"], json!(["a", "b"]));
    }

    #[test]
    fn what_a_grammar_cannot_hold_is_left_out_and_references_are_followed() {
        let schema = json!({
            "$schema": "x",
            "$defs": { "Kind": { "enum": ["a", "b"], "title": "Kind" }, "Self": { "type": "array", "items": { "$ref": "#/$defs/Self" } } },
            "type": "object",
            "properties": {
                "kind": { "$ref": "#/$defs/Kind" },
                "path": { "type": "string", "pattern": "^(?=x).*$", "format": "uri", "minLength": 1 },
                "limit": { "type": ["integer", "null"], "minimum": 1 },
                "odd": { "not": { "type": "string" } },
                "names": { "type": "object", "additionalProperties": { "type": "boolean" } },
                "kinds": { "oneOf": [{ "const": 1, "description": "one" }, { "type": "array", "items": { "type": "number" } }] },
            },
            "required": ["kind", "missing"],
        });
        assert_eq!(
            simple(&schema, &mut { MAX_PARTS }),
            json!({
                "type": "object",
                "required": ["kind"],
                "properties": {
                    "kind": { "enum": ["a", "b"] },
                    "path": { "type": "string" },
                    "limit": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                    "odd": {},
                    "names": { "type": "object", "additionalProperties": { "type": "boolean" } },
                    "kinds": { "anyOf": [{ "const": 1 }, { "type": "array", "items": { "type": "number" } }] },
                },
                "additionalProperties": false,
            })
        );
        let endless = json!({ "$defs": schema["$defs"], "$ref": "#/$defs/Self" });
        assert!(simple(&endless, &mut { MAX_PARTS }).to_string().len() < 1000);
    }

    #[test]
    fn too_many_tools_are_held_to_their_names_only() {
        let offers: Vec<Offer> = (0..500).map(|number| offer(&format!("tool_{number}"), &["a", "b"])).collect();
        let schema = of_step(&offers, None);
        assert_eq!(schema["anyOf"].as_array().map(Vec::len), Some(2));
        assert_eq!(schema["anyOf"][0]["properties"]["tool"]["enum"][499], "tool_499");
    }
}
