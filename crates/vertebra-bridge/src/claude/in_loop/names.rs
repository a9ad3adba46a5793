//! Our tools in Claude Code's words, and back.

use serde_json::{Map, Value, json};
use vertebra::{Args, ToolCall, ToolResult, ToolStatus, paths::absolute};
use vertebra_kit::bash::STDERR;

use crate::host::claude_name;

/// Arguments that Claude Code calls differently, by the tool: ours, theirs.
const KEYS: &[(&str, &[(&str, &str)])] = &[
    ("bash", &[("timeout_ms", "timeout")]),
    ("read_file", &[("path", "file_path")]),
    ("write_file", &[("path", "file_path")]),
    ("edit_file", &[("path", "file_path")]),
    ("grep", &[("ignore_case", "-i"), ("context", "-C")]),
    ("spawn_subagent", &[("agent", "subagent_type")]),
    ("load_skill", &[("name", "skill")]),
];

fn keys(tool: &str) -> &'static [(&'static str, &'static str)] {
    KEYS.iter().find(|(ours, _)| *ours == tool).map_or(&[], |(_, keys)| keys)
}

/// What Claude Code calls a tool. One that it has not got keeps its name.
pub(in crate::claude) fn tool_name(tool: &str, aliases: &[std::sync::Arc<str>]) -> String {
    let alias = || aliases.iter().find(|alias| alias.starts_with(|c: char| c.is_ascii_uppercase()));
    match claude_name(tool) {
        Some(theirs) => theirs.to_owned(),
        None => alias().map_or_else(|| tool.to_owned(), ToString::to_string),
    }
}

/// A call's arguments as Claude Code would write them.
pub(in crate::claude) fn tool_input(tool: &str, args: &Args, cwd: &str) -> Map<String, Value> {
    let keys = keys(tool);
    let theirs =
        |key: &str| keys.iter().find(|(ours, _)| *ours == key).map_or(key.to_owned(), |(_, name)| (*name).to_owned());
    let mut input: Map<String, Value> = args.iter().map(|(key, value)| (theirs(key), value.clone())).collect();
    if let Some(Value::String(path)) = input.get_mut("file_path") {
        *path = absolute(cwd, path);
    }
    if tool == "spawn_subagent" {
        input.entry("description").or_insert_with(|| "".into());
    }
    input
}

/// Arguments as Claude Code writes them, as the tool takes them.
pub(in crate::claude) fn args(tool: &str, input: &Map<String, Value>) -> Map<String, Value> {
    let keys = keys(tool);
    let ours = |key: &str| {
        keys.iter().find(|(_, theirs)| *theirs == key).map_or(key.to_owned(), |(name, _)| (*name).to_owned())
    };
    let mut args: Map<String, Value> = input.iter().map(|(key, value)| (ours(key), value.clone())).collect();
    if tool == "spawn_subagent" {
        args.remove("description");
    }
    args
}

/// What a tool gave back, in the form that Claude Code's tool of the kind has.
pub(in crate::claude) fn tool_response(call: &ToolCall, result: &ToolResult, cwd: &str) -> Value {
    let text = &result.output;
    let path = || call.args.text("path").map(|path| absolute(cwd, path)).unwrap_or_default();
    let arg = |key: &str| call.args.get(key).cloned().unwrap_or_default();
    match &*call.tool {
        "bash" => {
            let interrupted = result.status == ToolStatus::Cancelled;
            let (stdout, stderr) = outputs(text);
            json!({ "stdout": stdout, "stderr": stderr, "interrupted": interrupted, "isImage": false })
        }
        "read_file" => {
            let file = json!({ "filePath": path(), "content": text, "numLines": text.lines().count() });
            json!({ "type": "text", "file": file })
        }
        "write_file" => json!({ "filePath": path(), "content": arg("content"), "success": result.success }),
        "edit_file" => json!({
            "filePath": path(), "oldString": arg("old_string"), "newString": arg("new_string"),
            "replaceAll": call.args.get("replace_all") == Some(&Value::Bool(true)), "success": result.success,
        }),
        "search_files" => {
            let names: Vec<&str> = text.lines().collect();
            json!({ "numFiles": names.len(), "filenames": names })
        }
        "grep" => json!({ "mode": "content", "content": text }),
        _ => Value::String(text.clone()),
    }
}

/// The two outputs of a command, of which our own tool makes one text.
fn outputs(text: &str) -> (&str, &str) {
    match text.strip_prefix(STDERR) {
        Some(stderr) => ("", stderr),
        None => text.split_once(&format!("\n{STDERR}")).unwrap_or((text, "")),
    }
}

/// The text of a result that hooks replaced.
pub(in crate::claude) fn result_text(replaced: &Value) -> String {
    let texts = |list: &[Value]| {
        let texts: Vec<&str> = list.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    let field = |key: &str| replaced.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    match replaced {
        Value::String(text) => text.clone(),
        Value::Array(list) => texts(list).unwrap_or_else(|| replaced.to_string()),
        Value::Object(_) if replaced.get("stdout").is_some() => {
            [field("stdout"), field("stderr")].into_iter().flatten().collect::<Vec<_>>().join("\n")
        }
        Value::Object(object) => {
            let inner = object.get("file").and_then(|file| file.get("content")?.as_str()).or_else(|| field("content"));
            let of_list = object.get("content").and_then(Value::as_array).and_then(|list| texts(list));
            inner.map(str::to_owned).or(of_list).unwrap_or_else(|| replaced.to_string())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => replaced.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_back_as_they_went() {
        let cases = [
            ("bash", json!({ "command": "ls", "timeout_ms": 5, "description": "d" })),
            ("read_file", json!({ "path": "/repo/a", "offset": 1, "max_bytes": 9 })),
            ("write_file", json!({ "path": "/repo/a", "content": "c" })),
            ("grep", json!({ "pattern": "p", "ignore_case": true, "context": 2 })),
            ("spawn_subagent", json!({ "agent": "explorer", "prompt": "p" })),
            ("mcp__x__y", json!({ "path": "a" })),
        ];
        for (tool, given) in cases {
            let before = Args::try_from(given.clone()).expect("an object");
            let there = tool_input(tool, &before, "/repo");
            assert_eq!(Value::Object(args(tool, &there)), given, "{tool} as {there:?}");
        }
    }

    #[test]
    fn a_path_is_absolute_and_a_tool_has_the_name_that_scripts_know() {
        let given = Args::try_from(json!({ "path": "./src/../a.rs" })).expect("an object");
        assert_eq!(tool_input("edit_file", &given, "/repo")["file_path"], "/repo/a.rs");
        let names = ["bash", "read_file", "edit_file", "spawn_subagent", "mcp__x__y"].map(|tool| tool_name(tool, &[]));
        assert_eq!(names, ["Bash", "Read", "Edit", "Agent", "mcp__x__y"]);
        assert_eq!(tool_name("task_list", &["TodoWrite".into()]), "TodoWrite");
    }

    #[test]
    fn a_replaced_result_is_read_from_its_form() {
        let cases = [
            (json!("plain"), "plain"),
            (json!({ "stdout": "a", "stderr": "b", "interrupted": false }), "a\nb"),
            (json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]), "a\nb"),
            (json!({ "type": "text", "file": { "content": "c" } }), "c"),
            (json!({ "content": [{ "text": "d" }] }), "d"),
        ];
        for (value, expected) in cases {
            assert_eq!(result_text(&value), expected);
        }
    }
}
