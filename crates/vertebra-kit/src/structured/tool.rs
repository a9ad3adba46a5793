//! The tool form: the model has a text turned into a value of a registered schema.

use std::{fmt::Write as _, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};
use vertebra::{Args, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    Schema, StructuredOutput,
    ask::{ask, own_request},
};

pub(super) const TOOL: &str = "structured_output";

/// The tool, with the schemas it knows.
pub(super) struct ExtractTool(pub(super) Arc<StructuredOutput>);

#[derive(Deserialize)]
struct Wanted {
    input: String,
    schema: String,
    store_as: Option<String>,
}

impl Tool for ExtractTool {
    fn spec(&self) -> ToolSpec {
        let names: Vec<&str> = self.0.schemas.iter().map(Schema::name).collect();
        let mut description = "Turns text into a value of a known schema. Schemas:".to_owned();
        for schema in &self.0.schemas {
            let _ = write!(description, "\n- {}: {}", schema.name(), schema.description);
        }
        ToolSpec::new(TOOL, description).schema(json!({
            "type": "object",
            "properties": {
                "input": { "type": "string", "description": "The text to read." },
                "schema": { "type": "string", "enum": names, "description": "What to read out of it." },
                "store_as": { "type": "string", "description": "The metadata key to keep the value under." },
            },
            "required": ["input", "schema"],
            "additionalProperties": false,
        }))
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let Wanted { input, schema, store_as } = args.parse()?;
        let Self(knobs) = self;
        let known = knobs.schemas.iter().find(|known| known.name() == schema);
        let schema = known.ok_or_else(|| ToolError::new(format!("there is no schema `{schema}`")))?;
        if input.len() > knobs.max_input_bytes {
            let (len, limit) = (input.len(), knobs.max_input_bytes);
            return Err(ToolError::new(format!(
                "the input has {len} bytes, and the limit is {limit}: send it in parts"
            )));
        }
        if let Some(key) = &store_as {
            knobs.limits.check_key(key).map_err(ToolError::new)?;
        }
        let request = own_request(invocation.run(), &knobs.system_prompt, prompt(schema, &input));
        let max_retries = schema.max_retries.unwrap_or(knobs.max_retries);
        let value = ask(&invocation, TOOL, request, schema, max_retries).await?;
        Ok(output(schema, value, store_as.as_deref(), knobs.preview_chars))
    }
}

fn prompt(schema: &Schema, input: &str) -> String {
    let mut text = String::new();
    if !schema.description.is_empty() {
        let _ = writeln!(text, "{}: {}\n", schema.name(), schema.description);
    }
    for (input, value) in &schema.examples {
        let _ = writeln!(text, "For example, from <text>{input}</text> comes {value}\n");
    }
    let _ = write!(text, "<text>\n{input}\n</text>");
    text
}

/// What the model reads, and what the hook keeps. That there is nothing is told, and not kept.
fn output(schema: &Schema, value: Value, store_as: Option<&str>, preview_chars: usize) -> ToolOutput {
    let nothing = value.get("nothing").and_then(Value::as_str).filter(|_| schema.optional);
    if let Some(why) = nothing {
        return ToolOutput { text: format!("the text has no {}: {why}", schema.name()), ..ToolOutput::default() };
    }
    let found = value.get("found").filter(|_| schema.optional).cloned();
    let value = found.unwrap_or(value);
    let whole = value.to_string();
    let text = match store_as {
        None => whole,
        Some(key) => {
            let preview: String = whole.chars().take(preview_chars).collect();
            let dots = if preview.len() < whole.len() { "…" } else { "" };
            format!("kept as `{key}`: {preview}{dots}")
        }
    };
    ToolOutput { text, exit_code: None, data: json!({ "value": value, "store_as": store_as }) }
}
