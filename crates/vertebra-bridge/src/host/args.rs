//! Brings the arguments of a host's tools into a form that rules can match: commands under one name, and lists that were sent
//! as strings.

use serde_json::{Map, Value};
use vertebra::shell::{quote, quote_line};

/// Parses lists and objects that were sent as JSON strings. Arguments with these names stay strings.
pub(super) fn read_texts(args: &mut Map<String, Value>, meant: &[&str]) {
    for (key, value) in args {
        let text =
            value.as_str().filter(|text| !meant.contains(&key.as_str()) && text.trim_start().starts_with(['[', '{']));
        let read = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
        if let Some(read) = read.filter(|read| read.is_array() || read.is_object()) {
            *value = read;
        }
    }
}

/// Moves commands under other names into `command`, where rules look for them. Returns whether there were any.
pub(super) fn gather_commands(args: &mut Map<String, Value>) -> bool {
    let mut lines: Vec<String> = Vec::new();
    match args.get("commands") {
        Some(Value::Array(several)) => lines.extend(several.iter().filter_map(line)),
        Some(one) => lines.extend(line(one)),
        None => {}
    }
    // Text typed into an open shell.
    let typed = args.get("input").and_then(Value::as_str).map(|keys| keys.replace("{enter}", "\n"));
    lines.extend(typed);
    // A program and its arguments, without a shell.
    if let (Some(Value::String(program)), Some(Value::Array(words))) = (args.get("command"), args.get("args")) {
        let words = words.iter().filter_map(Value::as_str).map(quote);
        lines.push(std::iter::once(program.as_str().into()).chain(words).collect::<Vec<_>>().join(" "));
    }
    if lines.is_empty() {
        return false;
    }
    let known = args.remove("command");
    let lines: Vec<String> = known.as_ref().and_then(line).into_iter().chain(lines).collect();
    args.insert("command".to_owned(), lines.join("\n").into());
    true
}

/// Returns one command as a line.
fn line(command: &Value) -> Option<String> {
    match command {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => Some(quote_line(words.iter().filter_map(Value::as_str))),
        Value::Object(parts) => {
            let words = parts.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let program = parts.get("command").and_then(Value::as_str)?;
            Some(std::iter::once(program.into()).chain(words.map(quote)).collect::<Vec<_>>().join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gathered(args: Value) -> Value {
        let Value::Object(mut args) = args else { panic!("arguments are an object") };
        gather_commands(&mut args);
        args.remove("command").unwrap_or_default()
    }

    #[test]
    fn whatever_a_shell_is_sent_is_a_command() {
        assert_eq!(gathered(json!({ "command": "ls" })), "ls");
        assert_eq!(gathered(json!({ "commands": ["ls", "git push --force"] })), "ls\ngit push --force");
        assert_eq!(gathered(json!({ "commands": "ls" })), "ls");
        assert_eq!(gathered(json!({ "command": "ls", "commands": ["rm x"] })), "ls\nrm x");
        assert_eq!(gathered(json!({ "commands": [{ "command": "rm", "args": ["-rf", "a b"] }] })), "rm -rf 'a b'");
        assert_eq!(gathered(json!({ "command": "git", "args": ["push", "--force"] })), "git\ngit push --force");
        assert_eq!(gathered(json!({ "shellId": "1", "input": "rm x{enter}" })), "rm x\n");
    }

    #[test]
    fn a_list_in_a_text_is_a_list_and_the_text_of_a_file_is_a_text() {
        let given = json!({ "files": r#"[{"path": ".env"}]"#, "content": r#"{"path": ".env"}"#, "note": "[no list" });
        let Value::Object(mut args) = given else { panic!("an object") };
        read_texts(&mut args, &["content"]);
        let read = json!({ "files": [{ "path": ".env" }], "content": r#"{"path": ".env"}"#, "note": "[no list" });
        assert_eq!(Value::Object(args), read);
    }
}
