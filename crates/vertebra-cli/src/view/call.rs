//! Formats a tool call for people: the tool and its main argument.

use serde_json::Value;
use vertebra::{Args, ToolCall};

use super::{
    rows::{BOLD, DIM, PLAIN, Row},
    text::{more, on_one_line, visible},
};

/// How many lines of a command are shown.
const MAX_COMMAND_LINES: usize = 8;
/// The longest arguments of an unknown tool that are shown.
const MAX_ARGUMENTS: usize = 300;
/// How many bytes of unfinished arguments are kept.
const MAX_GLANCE: usize = 4 * 1024;

/// Formats a call. A command of several lines takes several rows.
pub(crate) fn rows(call: &ToolCall) -> Vec<Row> {
    let Some(command) = command(&call.tool, &call.args) else { return vec![subject(call)] };
    let mut lines = command.trim_end().lines();
    let mut rows = vec![dollar("$ ", lines.next().unwrap_or_default())];
    rows.extend(lines.by_ref().take(MAX_COMMAND_LINES - 1).map(|line| dollar("  ", line)));
    match lines.count() {
        0 => {}
        missing => rows.push(Row::default().with(DIM, format!("  {}", more(missing, "line")))),
    }
    rows
}

/// Formats a call as one row.
pub(crate) fn on_one_row(call: &ToolCall) -> Row {
    match command(&call.tool, &call.args) {
        Some(command) => dollar("$ ", &on_one_line(command)),
        None => subject(call),
    }
}

/// Formats a call whose arguments are on the screen: its tool, and its file.
pub(crate) fn name(call: &ToolCall) -> Row {
    match command(&call.tool, &call.args) {
        Some(_) => Row::default().with(BOLD, "bash"),
        None if call.args.text("path").is_some() => subject(call),
        None => Row::default().with(BOLD, on_one_line(&call.tool)),
    }
}

fn command<'a>(tool: &str, args: &'a Args) -> Option<&'a str> {
    args.text("command").filter(|_| tool == "bash")
}

fn dollar(mark: &str, line: &str) -> Row {
    Row::default().with(DIM, mark).with(PLAIN, visible(line))
}

/// Formats the tool and its main argument.
fn subject(call: &ToolCall) -> Row {
    let (args, name) = (&call.args, Row::default().with(BOLD, on_one_line(&call.tool)));
    let text = |key: &str| args.text(key).map(on_one_line);
    let path = || text("path").unwrap_or_else(|| ".".to_owned());
    match &*call.tool {
        "read_file" => name.with(PLAIN, format!(" {}", path())).with(DIM, range(args)),
        "write_file" | "edit_file" | "list_dir" => name.with(PLAIN, format!(" {}", path())),
        "search_files" | "grep" => {
            let glob = text("glob").map(|glob| format!(" {glob}")).unwrap_or_default();
            name.with(PLAIN, format!(" {}", patterns(args))).with(DIM, format!(" in {}{glob}", path()))
        }
        "todo_write" => name,
        "background" => {
            let stop = args.get("stop").and_then(Value::as_bool) == Some(true);
            let name = name.with(PLAIN, text("id").map(|id| format!(" {id}")).unwrap_or_default());
            if stop { name.with(DIM, ": stop") } else { name }
        }
        "spawn_subagent" => name
            .with(PLAIN, format!(" {}", text("agent").unwrap_or_default()))
            .with(DIM, format!(": {}", text("prompt").unwrap_or_default())),
        _ => name.with(PLAIN, compact(call)),
    }
}

/// Formats the line range of a read.
fn range(args: &Args) -> String {
    let number = |key: &str| args.get(key).and_then(Value::as_u64);
    match (number("offset").unwrap_or_default(), number("limit")) {
        (0, None) => String::new(),
        (offset, None) => format!(" from line {}", offset.saturating_add(1)),
        (offset, Some(limit)) => format!(" lines {}–{}", offset.saturating_add(1), offset.saturating_add(limit)),
    }
}

fn patterns(args: &Args) -> String {
    let several = args.get("patterns").and_then(Value::as_array).into_iter().flatten();
    let all: Vec<String> =
        args.get("pattern").into_iter().chain(several).filter_map(Value::as_str).map(on_one_line).collect();
    all.join(" ")
}

/// Formats the arguments of an unknown tool.
fn compact(call: &ToolCall) -> String {
    let text = match (&call.malformed, call.args.iter().count()) {
        (Some(written), _) => written.clone(),
        (None, 0) => return String::new(),
        // A single text argument is shown without its name.
        (None, 1) => match call.args.iter().next() {
            Some((_, Value::String(text))) => text.clone(),
            _ => call.args.to_value().to_string(),
        },
        (None, _) => call.args.to_value().to_string(),
    };
    let text = &text[..text.floor_char_boundary(MAX_ARGUMENTS * 4)];
    format!(" {}", super::text::cut(&on_one_line(text), MAX_ARGUMENTS))
}

/// A call that the model is still writing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub(crate) tool: String,
    written: String,
    bytes: usize,
}

impl Draft {
    /// Creates an empty draft.
    pub(crate) fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), ..Self::default() }
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: &str) {
        self.bytes += piece.len();
        let room = MAX_GLANCE.saturating_sub(self.written.len());
        self.written.push_str(&piece[..piece.floor_char_boundary(room)]);
    }

    /// Formats the draft so far.
    pub(crate) fn row(&self) -> Row {
        let keys = ["command", "path", "pattern", "agent", "prompt"];
        let about = keys.iter().find_map(|key| glance(&self.written, key)).unwrap_or_default();
        Row::default()
            .with(PLAIN, "writing ")
            .with(BOLD, on_one_line(&self.tool))
            .with(PLAIN, format!(" {}", on_one_line(&about)))
            .with(DIM, format!(" · {}", super::text::bytes(self.bytes)))
    }
}

/// Reads the text of a key from JSON that may be incomplete.
fn glance(json: &str, key: &str) -> Option<String> {
    let name = format!("\"{key}\"");
    let after = json[json.find(&name)? + name.len()..].trim_start().strip_prefix(':')?.trim_start();
    let inside = after.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let written = &inside[..end.unwrap_or(inside.len())];
    // An incomplete escape is not valid JSON, so try again with fewer characters.
    let lengths = (0..=6).map(|less| written.floor_char_boundary(written.len().saturating_sub(less)));
    lengths.into_iter().find_map(|length| serde_json::from_str(&format!("\"{}\"", &written[..length])).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tool: &str, args: &str) -> String {
        let rows = rows(&ToolCall::from_text("1", tool, args));
        rows.iter().map(|row| row.paint(false)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_tool_has_a_readable_form() {
        assert_eq!(row("bash", r#"{"command": "cd a &&\n  ls\u001b[2J\n"}"#), "$ cd a &&\n    ls⟨U+001B⟩[2J");
        assert_eq!(row("read_file", r#"{"path": "a b.rs", "offset": 9, "limit": 20}"#), "read_file a b.rs lines 10–29");
        assert_eq!(row("grep", r#"{"pattern": "fn .*", "glob": "*.rs"}"#), "grep fn .* in . *.rs");
        assert_eq!(
            row("search_files", r#"{"patterns": ["*.rs", "*.md"], "path": "src"}"#),
            "search_files *.rs *.md in src"
        );
        assert_eq!(
            row("spawn_subagent", r#"{"agent": "scout", "prompt": "look\naround"}"#),
            "spawn_subagent scout: look around"
        );
        assert_eq!(row("mcp__git__log", r#"{"n": 3, "path": "."}"#), r#"mcp__git__log {"n":3,"path":"."}"#);
        assert_eq!(row("mcp__web__get", r#"{"url": "http://x"}"#), "mcp__web__get http://x");
        assert_eq!(row("background", r#"{"id": "b1", "stop": true}"#), "background b1: stop");
        assert_eq!(row("background", r#"{"id": "b1"}"#), "background b1");
        assert_eq!(row("odd", "no json"), "odd no json");
        let long = row("bash", &format!(r#"{{"command": "{}"}}"#, "x\\n".repeat(20)));
        assert!(long.ends_with("  x\n  … 12 more lines"), "{long}");
    }

    #[test]
    fn a_call_is_shown_while_the_model_writes_it() {
        let mut draft = Draft::new("write_file");
        let mut seen = Vec::new();
        for piece in ["{\"pa", "th\": \"src/\\u00", "fcber\\", "n.rs\", \"content\": \"", &"x".repeat(2_000)] {
            draft.push(piece);
            seen.push(draft.row().paint(false));
        }
        assert_eq!(
            seen,
            [
                "writing write_file  · 4 B",
                "writing write_file src/ · 18 B",
                "writing write_file src/über · 24 B",
                "writing write_file src/über .rs · 43 B",
                "writing write_file src/über .rs · 2.0 kB",
            ]
        );
    }
}
