//! Options of a request that drivers understand.
//!
//! | option | meaning |
//! | --- | --- |
//! | `response_schema` | `{ "name", "schema" }`: the answer is JSON that fits the schema |
//! | `reasoning_effort` | `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, or a number of tokens |
//! | `tool_choice` | `auto`, `none`, `required`, or the name of a tool |
//! | `top_p`, `seed`, `stop` | as everywhere |
//! | `verbosity`, `service_tier`, `prompt_cache_key` | as `OpenAI` takes them |
//! | `body` | an object that is merged into what is sent, for what a server has besides |

use genai::chat::{ChatOptions, ChatResponseFormat, JsonSpec, ReasoningEffort, ToolChoice};
use serde_json::{Map, Value};
use vertebra::Request;

use super::{request, schema};
use crate::Adapter;

/// The option that asks for an answer of this schema.
pub const RESPONSE_SCHEMA: &str = "response_schema";

pub(super) fn map(request: &Request, adapter: Adapter) -> ChatOptions {
    let option = |name: &str| request.options.get(name).filter(|value| !value.is_null());
    let text = |name: &str| option(name).and_then(Value::as_str);
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        .with_capture_reasoning_content(tells_thoughts(adapter, &request.model.name));
    options.max_tokens = request.max_output_tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
    options.temperature = request.temperature.map(exactly);
    options.top_p = option("top_p").and_then(Value::as_f64);
    options.seed = option("seed").and_then(Value::as_u64);
    options.stop_sequences = match option("stop") {
        Some(Value::String(stop)) => vec![stop.clone()],
        Some(Value::Array(stops)) => stops.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    options.verbosity = text("verbosity").and_then(|word| word.parse().ok());
    options.service_tier = text("service_tier").and_then(|word| word.parse().ok());
    options.prompt_cache_key = text("prompt_cache_key").map(str::to_owned);
    options.tool_choice = text("tool_choice").map(tool_choice);
    options.response_format = option(RESPONSE_SCHEMA).and_then(|asked| response_format(asked, adapter));
    options.reasoning_effort = option("reasoning_effort").and_then(effort);
    if matches!(adapter, Adapter::Anthropic) {
        suit_anthropic(&mut options);
    }
    if options.reasoning_effort.is_none() && names_may_end_in_an_effort(adapter, &request.model.name) {
        // A budget is not sent in this wire format, but it keeps the name whole.
        options.reasoning_effort = Some(ReasoningEffort::Budget(0));
    }
    options
}

/// What is merged into the body on its way out: what `genai` has no word for.
pub(super) fn patch(request: &Request, adapter: Adapter) -> Map<String, Value> {
    let mut patch = Map::new();
    // Its adapter knows only JSON of no particular schema.
    if matches!(adapter, Adapter::Ollama | Adapter::OllamaCloud)
        && let Some((_, schema)) = request.options.get(RESPONSE_SCHEMA).and_then(|asked| asked_schema(asked, adapter))
    {
        patch.insert("format".to_owned(), schema);
    }
    patch.extend(request.options.get("body").and_then(Value::as_object).cloned().unwrap_or_default());
    patch
}

/// Anthropic refuses a temperature beside thoughts, and thoughts that may take all there is to write.
fn suit_anthropic(options: &mut ChatOptions) {
    let budget = match &options.reasoning_effort {
        None | Some(ReasoningEffort::Zero) => return,
        Some(ReasoningEffort::Budget(tokens)) => *tokens,
        Some(ReasoningEffort::Minimal | ReasoningEffort::Low) => 1024,
        Some(ReasoningEffort::Medium) => 8000,
        Some(ReasoningEffort::High | ReasoningEffort::XHigh | ReasoningEffort::Max) => 24_000,
    };
    if options.max_tokens.is_some_and(|most| most <= budget) {
        options.reasoning_effort = None;
    } else {
        options.temperature = None;
    }
}

/// 0.7 in a request is 0.7 on the wire, not 0.699999988079071.
fn exactly(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}

/// `OpenAI` refuses to be asked for the thoughts of a model that has none.
fn tells_thoughts(adapter: Adapter, model: &str) -> bool {
    let thinks =
        |name: &str| ["gpt-5", "gpt-6", "o1", "o3", "o4", "codex"].iter().any(|family| name.starts_with(family));
    !matches!(adapter, Adapter::OpenAIResp) || thinks(model)
}

/// Only in these formats: elsewhere a budget would be sent, or names are left alone.
fn names_may_end_in_an_effort(adapter: Adapter, model: &str) -> bool {
    use Adapter::{Anthropic, Gemini, GeminiIx, MiniMax, Ollama, OllamaCloud, Vertex};
    let elsewhere = matches!(adapter, Anthropic | Gemini | GeminiIx | MiniMax | Ollama | OllamaCloud | Vertex);
    !elsewhere && request::ends_like_an_effort(model)
}

fn effort(asked: &Value) -> Option<ReasoningEffort> {
    match asked {
        Value::String(word) => word.parse().ok(),
        number => number.as_u64().and_then(|tokens| u32::try_from(tokens).ok()).map(ReasoningEffort::Budget),
    }
}

fn tool_choice(word: &str) -> ToolChoice {
    match word {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        name => ToolChoice::Tool { name: name.to_owned() },
    }
}

fn response_format(asked: &Value, adapter: Adapter) -> Option<ChatResponseFormat> {
    asked_schema(asked, adapter).map(|(name, schema)| JsonSpec::new(name, schema).into())
}

/// The name and the schema of the answer that is asked for.
fn asked_schema(asked: &Value, adapter: Adapter) -> Option<(String, Value)> {
    let (name, schema) = match asked.get("schema") {
        Some(schema) => (asked.get("name").and_then(Value::as_str).unwrap_or("answer"), schema),
        None => ("answer", asked),
    };
    // Providers take letters, digits, `_` and `-`.
    let fits = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name = name.chars().map(fits).take(64).collect();
    schema.is_object().then(|| (name, schema::keep_known(schema, adapter)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vertebra::{Messages, ModelId};

    use super::*;

    fn asked(options: Value) -> Request {
        Request {
            model: ModelId::new("test", "qwen-max"),
            system_prompt: "".into(),
            messages: Messages::default(),
            tools: [].into(),
            max_output_tokens: Some(u64::MAX),
            temperature: Some(0.7),
            options,
        }
    }

    #[test]
    fn options_that_are_known_are_taken_and_others_are_left() {
        let options = map(
            &asked(json!({ "stop": "END", "reasoning_effort": "high", "tool_choice": "bash", "x": 1 })),
            Adapter::OpenAI,
        );
        assert_eq!(options.stop_sequences, ["END"]);
        assert_eq!(options.temperature, Some(0.7));
        assert_eq!(options.max_tokens, Some(u32::MAX));
        assert!(matches!(options.reasoning_effort, Some(ReasoningEffort::High)));
        assert!(matches!(options.tool_choice, Some(ToolChoice::Tool { name }) if name == "bash"));
    }

    #[test]
    fn options_of_the_wrong_shape_do_no_harm() {
        for options in
            [json!(null), json!([]), json!("x"), json!({ "stop": 1, "top_p": "x", "response_schema": 3, "body": [] })]
        {
            let request = asked(options);
            let options = map(&request, Adapter::OpenAI);
            assert!(options.response_format.is_none() && options.top_p.is_none() && options.stop_sequences.is_empty());
            assert!(patch(&request, Adapter::Ollama).is_empty());
        }
    }

    #[test]
    fn anthropic_gets_thoughts_or_a_temperature_and_room_for_the_answer() {
        let ask = |most, effort| {
            let request = Request { max_output_tokens: most, ..asked(json!({ "reasoning_effort": effort })) };
            let options = map(&request, Adapter::Anthropic);
            (options.reasoning_effort.is_some(), options.temperature.is_some())
        };
        assert_eq!(ask(None, "low"), (true, false));
        assert_eq!(ask(Some(2000), "low"), (true, false));
        assert_eq!(ask(Some(1000), "low"), (false, true));
        assert_eq!(ask(Some(8000), "medium"), (false, true));
        assert_eq!(ask(Some(1000), "none"), (true, true));
    }
}
