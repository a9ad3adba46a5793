//! How a conversation with tools is told to a model that knows only text.

use std::{collections::HashMap, fmt::Write as _, io};

use serde::Serialize as _;
use serde_json::{Map, Serializer, Value, json, ser::Formatter};
use vertebra::{Args, Message, Messages, Offer, Request, ToolCall, ToolResult};

/// How long the list of tools may be. If it is longer, less is said of each.
const MAX_TOOLS_BYTES: usize = 8 * 1024;
/// How much is said of a tool and of an argument.
const MAX_DESCRIPTION_CHARS: usize = 400;
const MAX_ARGUMENT_CHARS: usize = 120;
/// How much of an earlier thought a model reads again.
const MAX_THOUGHT_CHARS: usize = 300;
/// How deep the arguments of an example are filled in.
const MAX_SAMPLE_DEPTH: usize = 3;

const FORMAT: &str = r#"You answer with one JSON object. To use a tool:
{"thought": "...", "tool": "...", "arguments": {...}}
When you know the answer:
{"thought": "...", "answer": "..."}
You use one tool at a time. Its result is the next message."#;

/// The same question without tools: they are described, shown in examples, and what they did is told as text.
pub(super) fn with_tools(asked: &Request, examples: usize) -> Request {
    let mut system = match &*asked.system_prompt {
        "" => String::new(),
        before => format!("{before}\n\n"),
    };
    let _ = write!(system, "Tools:\n{}\n\n{FORMAT}", tools(&asked.tools));
    let mut messages: Vec<Message> = Vec::new();
    if examples > 0 {
        system.push_str("\n\nThe conversation begins with examples.");
        messages.extend(self::examples(&asked.tools, examples));
    }
    told(&asked.messages, &mut messages);
    plain(asked, system, messages)
}

/// The same question where no tools are offered any more: an earlier use of them is told as text.
pub(super) fn without_tools(asked: &Request) -> Request {
    let mut messages = Vec::new();
    told(&asked.messages, &mut messages);
    plain(asked, asked.system_prompt.to_string(), messages)
}

fn plain(asked: &Request, system: String, messages: Vec<Message>) -> Request {
    Request {
        system_prompt: system.into(),
        messages: messages.into_iter().collect(),
        tools: [].into(),
        ..asked.clone()
    }
}

/// What a model is told when its answer could not be read.
pub(super) fn complaint(problem: &str) -> String {
    format!("That could not be used: {problem}. Answer again with one JSON object and nothing else.")
}

/// How much is said of each tool.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    Arguments,
    Description,
    Name,
}

/// The tools in as much detail as there is room for.
fn tools(offers: &[Offer]) -> String {
    let list = |detail| offers.iter().map(|offer| line(offer, detail)).collect::<Vec<_>>().join("\n");
    let detailed = [Detail::Arguments, Detail::Description].into_iter().map(list);
    detailed.into_iter().find(|text| text.len() <= MAX_TOOLS_BYTES).unwrap_or_else(|| list(Detail::Name))
}

fn line(offer: &Offer, detail: Detail) -> String {
    let properties = offer.schema["properties"].as_object();
    let arguments = properties.into_iter().flatten().map(|(name, schema)| {
        let optional = if is_required(&offer.schema, name) { "" } else { "?" };
        format!("{name}{optional}: {}", type_of(schema))
    });
    let arguments = cut(&arguments.collect::<Vec<_>>().join(", "), MAX_DESCRIPTION_CHARS);
    let signature = format!("- {}({arguments})", offer.name);
    let description = match detail {
        Detail::Arguments => cut(&offer.description, MAX_DESCRIPTION_CHARS),
        Detail::Description => cut(first_sentence(&offer.description), MAX_ARGUMENT_CHARS),
        Detail::Name => return signature,
    };
    let mut line = format!("{signature}: {description}");
    if detail == Detail::Arguments {
        for (name, schema) in properties.into_iter().flatten() {
            if let Some(text) = schema["description"].as_str() {
                let _ = write!(line, "\n    {name}: {}", cut(text, MAX_ARGUMENT_CHARS));
            }
        }
    }
    line
}

fn type_of(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array().filter(|values| values.len() <= 8) {
        return values.iter().map(ToString::to_string).collect::<Vec<_>>().join("|");
    }
    match &schema["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
        _ => "any".to_owned(),
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name))
}

/// Turns that show the form: an answer at once, then a tool, its result and the answer for each. Small models go on as
/// the turns before did, so a call that nothing follows would be repeated for ever. They begin every conversation alike:
/// a server that keeps what it has read reads them once.
fn examples(offers: &[Offer], most: usize) -> Vec<Message> {
    let mut turns = vec![Message::user("Hello"), said("I need no tool.", "Hello! How can I help?")];
    for offer in offers.iter().take(most) {
        let arguments = sample_object(&offer.schema, 0);
        let values: Vec<String> = arguments.values().map(plain_text).collect();
        let task = format!("{}: {}", cut(first_sentence(&offer.description), MAX_ARGUMENT_CHARS), values.join(", "));
        turns.push(Message::user(task));
        turns.push(called(&offer.name, &Args::from(arguments), ""));
        turns.push(Message::user(result_text(&offer.name, &ToolResult::done("42"))));
        turns.push(said("I have the result.", "42"));
    }
    turns
}

/// Arguments that fit: those that must be there, or the first one if none must.
fn sample_object(schema: &Value, depth: usize) -> Map<String, Value> {
    let Some(properties) = schema["properties"].as_object() else { return Map::new() };
    let none_required = schema["required"].as_array().is_none_or(Vec::is_empty);
    let is_shown = |index: u32, name: &str| if none_required { index == 0 } else { is_required(schema, name) };
    let shown = (0..).zip(properties).filter(|(index, (name, _))| is_shown(*index, name));
    shown.map(|(index, (name, schema))| (name.clone(), sample(name, schema, index, depth + 1))).collect()
}

fn sample(name: &str, schema: &Value, index: u32, depth: usize) -> Value {
    let given = [&schema["const"], &schema["enum"][0], &schema["examples"][0], &schema["default"]];
    let is_short = |value: &Value| value.to_string().len() <= MAX_ARGUMENT_CHARS;
    if let Some(given) = given.into_iter().find(|value| !value.is_null() && is_short(value)) {
        return given.clone();
    }
    let kind = schema["type"].as_str().or(schema["type"][0].as_str());
    match kind {
        Some("integer" | "number") => json!(index + 2),
        Some("boolean") => json!(true),
        Some("array") if depth < MAX_SAMPLE_DEPTH => json!([sample(name, &schema["items"], index, depth + 1)]),
        Some("array") => json!([]),
        Some("object") if depth < MAX_SAMPLE_DEPTH => Value::Object(sample_object(schema, depth)),
        Some("object") => json!({}),
        _ => json!(format!("example {name}")),
    }
}

/// The conversation in the form in which the model is to go on with it.
fn told(conversation: &Messages, turns: &mut Vec<Message>) {
    let mut results: HashMap<&str, &ToolResult> = HashMap::new();
    for message in conversation.iter() {
        if let Message::Tool { call_id, result, .. } = message {
            results.insert(call_id, result);
        }
    }
    let mut calls: Vec<&str> = Vec::new();
    for message in conversation.iter() {
        match message {
            Message::Assistant { text, reasoning, calls: made, .. } => {
                if made.is_empty() || !text.is_empty() {
                    turns.push(said(or(reasoning, "I know the answer."), text));
                }
                for ToolCall { id, tool, args, .. } in made {
                    calls.push(id);
                    turns.push(called(tool, args, reasoning));
                    if let Some(result) = results.get(&**id) {
                        heard(turns, result_text(tool, result));
                    }
                }
            }
            // Told with its call, unless that is no longer there.
            Message::Tool { call_id, tool, result } if !calls.contains(&&**call_id) => {
                heard(turns, result_text(tool, result));
            }
            Message::Tool { .. } => {}
            Message::User { text, images } if images.is_empty() => heard(turns, text.clone()),
            Message::User { .. } | Message::Instruction { .. } => turns.push(message.clone()),
        }
    }
}

/// Many chat templates know only turns that alternate, so what is said to the model in a row is one turn.
fn heard(turns: &mut Vec<Message>, said: String) {
    match turns.last_mut() {
        Some(Message::User { text, .. }) => {
            text.push_str("\n\n");
            text.push_str(&said);
        }
        _ => turns.push(Message::user(said)),
    }
}

fn result_text(tool: &str, result: &ToolResult) -> String {
    if result.success {
        format!("Result of {tool}: {}", result.output)
    } else {
        format!("Result of {tool} ({}): {}", result.status, result.output)
    }
}

fn said(thought: &str, answer: &str) -> Message {
    assistant(&json!({ "thought": cut(thought, MAX_THOUGHT_CHARS), "answer": answer }))
}

fn called(tool: &str, args: &Args, thought: &str) -> Message {
    let usual = format!("I need the tool {tool}.");
    let thought = cut(or(thought, &usual), MAX_THOUGHT_CHARS);
    assistant(&json!({ "thought": thought, "tool": tool, "arguments": args }))
}

fn assistant(step: &Value) -> Message {
    let mut text = Vec::new();
    let written = step.serialize(&mut Serializer::with_formatter(&mut text, Spaced));
    debug_assert!(written.is_ok(), "a value can be written to memory");
    Message::assistant(String::from_utf8_lossy(&text).into_owned().into())
}

/// JSON on one line as people and most training data write it. Small models follow it much better than dense JSON.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

fn or<'t>(text: &'t str, otherwise: &'t str) -> &'t str {
    if text.is_empty() { otherwise } else { text }
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn first_sentence(text: &str) -> &str {
    let line = text.trim_start().lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(first, _)| first).trim_end_matches('.')
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::react::tests::{asking, offer, offers};

    fn shown(request: &Request) -> String {
        let turns = request.messages.iter().map(|message| match message {
            Message::User { text, .. } => format!("> {text}\n"),
            Message::Assistant { text, .. } => format!("< {text}\n"),
            other => format!("{other:?}\n"),
        });
        format!("{}\n---\n{}", request.system_prompt, turns.collect::<String>())
    }

    #[test]
    fn the_whole_prompt_is_this() {
        let mut conversation = asking("What is in a.txt?");
        let call = ToolCall::from_text("1", "bash", r#"{"command": "cat a.txt"}"#);
        let failed =
            ToolResult { success: false, status: vertebra::ToolStatus::Failed, ..ToolResult::done("no such file") };
        let calls = vec![call.clone()];
        conversation.messages.push(Message::assistant(vertebra::Response { calls, ..Default::default() }));
        conversation.messages.push(Message::tool(call, failed));
        conversation.messages.push(Message::user("Then b.txt."));
        insta::assert_snapshot!(shown(&with_tools(&conversation, 5)), @r#"
        You are a test.

        Tools:
        - bash(command: string): Runs a command
        - add(a: number, b: number, round?: "up"|"down"): Adds two numbers. Slowly.
            a: the first
            b: the second

        You answer with one JSON object. To use a tool:
        {"thought": "...", "tool": "...", "arguments": {...}}
        When you know the answer:
        {"thought": "...", "answer": "..."}
        You use one tool at a time. Its result is the next message.

        The conversation begins with examples.
        ---
        > Hello
        < {"thought": "I need no tool.", "answer": "Hello! How can I help?"}
        > Runs a command: example command
        < {"thought": "I need the tool bash.", "tool": "bash", "arguments": {"command": "example command"}}
        > Result of bash: 42
        < {"thought": "I have the result.", "answer": "42"}
        > Adds two numbers: 2, 3
        < {"thought": "I need the tool add.", "tool": "add", "arguments": {"a": 2, "b": 3}}
        > Result of add: 42
        < {"thought": "I have the result.", "answer": "42"}
        > What is in a.txt?
        < {"thought": "I need the tool bash.", "tool": "bash", "arguments": {"command": "cat a.txt"}}
        > Result of bash (failed): no such file

        Then b.txt.
        "#);
    }

    #[test]
    fn calls_made_at_once_are_told_one_after_another_each_with_its_result() {
        let call = |id: &str| ToolCall::from_text(id, "bash", &format!(r#"{{"command": "{id}"}}"#));
        let calls = vec![call("one"), call("two")];
        let mut conversation = asking("go");
        conversation.messages.push(Message::assistant(vertebra::Response { calls, ..Default::default() }));
        conversation.messages.push(Message::tool(call("one"), ToolResult::done("1")));
        conversation.messages.push(Message::tool(call("two"), ToolResult::done("2")));
        conversation.messages.push(Message::tool(call("lost"), ToolResult::done("3")));
        insta::assert_snapshot!(shown(&without_tools(&conversation)), @r#"
        You are a test.
        ---
        > go
        < {"thought": "I need the tool bash.", "tool": "bash", "arguments": {"command": "one"}}
        > Result of bash: 1
        < {"thought": "I need the tool bash.", "tool": "bash", "arguments": {"command": "two"}}
        > Result of bash: 2

        Result of bash: 3
        "#);
    }

    #[test]
    fn less_is_said_of_each_tool_where_there_are_many() {
        let long = |count: usize| {
            (0..count).map(|n| Offer { description: "Does. More".repeat(50).into(), ..offer(&format!("t{n}"), &["a"]) })
        };
        for (count, first) in [(2, 400), (60, 40), (300, 20)] {
            let offers: Vec<Offer> = long(count).collect();
            let text = tools(&offers);
            assert!(text.lines().next().is_some_and(|line| line.len() < first + 40), "{text}");
            assert!(text.contains(&format!("t{}(", count - 1)));
        }
        assert_eq!(tools(&offers()).lines().count(), 4);
    }

    #[test]
    fn a_tool_that_says_too_much_of_itself_is_cut() {
        let long = "word ".repeat(10_000);
        let properties = json!({ "a": { "enum": [long, "b"] }, "c": { "type": "string", "default": long } });
        let schema = json!({ "type": "object", "properties": properties, "required": ["a", "c"] });
        let tools = vec![Offer { name: "chatty".into(), description: long.into(), schema: schema.into() }];
        let prompt = shown(&with_tools(&Request { tools: tools.into(), ..asking("go") }, 5));
        assert!(prompt.len() < 3000, "{} bytes", prompt.len());
    }
}
