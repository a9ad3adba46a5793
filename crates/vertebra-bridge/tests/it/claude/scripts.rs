//! Hooks as people write them, run as they are.

use std::fs;

use serde_json::{Value, json};
use vertebra_bridge::wire::{Decision, Judgement};

use super::world::{World, bash};

/// A script in a project's `.claude/hooks`, declared as its readers declare it.
async fn run(
    event: &str,
    matcher: &str,
    name: &str,
    script: &str,
    command: &str,
    fields: &Value,
) -> (World, Judgement) {
    let world = World::new();
    world.script(&format!("project/.claude/hooks/{name}"), script);
    let group = json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] });
    world.settings("project", &json!({ "hooks": { event: [group] } }));
    let mut event_of = fields.clone();
    event_of["hook_event_name"] = event.into();
    let got = world.fire(&event_of).await;
    (world, got)
}

const IN_PROJECT: &str = "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/";

#[tokio::test]
async fn a_guard_in_bash_and_jq() {
    let script = r#"#!/bin/bash
INPUT=$(cat)
COMMAND=$(echo "$INPUT" | jq -r '.tool_input.command // empty')
if echo "$COMMAND" | grep -qE 'git push.*(--force|-f)( |$)'; then
  echo "Blocked: force push. Use --force-with-lease." >&2
  exit 2
fi
exit 0
"#;
    for (line, expected) in [("git push --force", Some(Decision::Deny)), ("git push", None)] {
        let command = format!("{IN_PROJECT}guard.sh");
        let (_, got) = run("PreToolUse", "Bash", "guard.sh", script, &command, &bash("PreToolUse", line)).await;
        assert_eq!(got.decision, expected, "{line}: {got:?}");
    }
}

#[tokio::test]
async fn a_guard_in_bash_and_jq_that_answers_in_json() {
    let script = r#"#!/usr/bin/env bash
set -euo pipefail
path=$(jq -r '.tool_input.file_path // ""')
case "$path" in
  *.env|*/secrets/*)
    jq -n --arg reason "$path is protected" '{
      hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: $reason }
    }'
    ;;
esac
"#;
    let write = json!({ "tool_name": "Write", "tool_input": { "file_path": "config/.env", "content": "x" } });
    let command = format!("{IN_PROJECT}protect.sh");
    let (world, got) = run("PreToolUse", "Edit|MultiEdit|Write", "protect.sh", script, &command, &write).await;
    let expected = format!("{}/config/.env is protected", world.project().display());
    assert_eq!((got.decision, got.reason), (Some(Decision::Deny), Some(expected)));
}

#[tokio::test]
async fn a_validator_in_python_that_reads_stdin() {
    let script = r#"#!/usr/bin/env python3
import json, re, sys

RULES = [(r"^grep\b(?!.*\|)", "Use 'rg' instead of 'grep'"), (r"^find\s+\S+\s+-name\b", "Use 'rg --files -g' instead")]

try:
    data = json.load(sys.stdin)
except json.JSONDecodeError as e:
    print(f"Error: Invalid JSON input: {e}", file=sys.stderr)
    sys.exit(1)

if data.get("tool_name") != "Bash":
    sys.exit(0)
issues = [message for pattern, message in RULES if re.search(pattern, data["tool_input"].get("command", ""))]
if issues:
    for message in issues:
        print(f"• {message}", file=sys.stderr)
    sys.exit(2)
"#;
    let command = "python3 \"$CLAUDE_PROJECT_DIR/.claude/hooks/validate.py\"";
    let (_, got) = run("PreToolUse", "Bash", "validate.py", script, command, &bash("PreToolUse", "grep x .")).await;
    assert_eq!(got.reason.as_deref(), Some("• Use 'rg' instead of 'grep'"));
}

#[tokio::test]
async fn a_context_giver_in_node() {
    let script = r"#!/usr/bin/env node
const chunks = [];
process.stdin.on('data', (chunk) => chunks.push(chunk));
process.stdin.on('end', () => {
  const input = JSON.parse(Buffer.concat(chunks).toString());
  console.log(JSON.stringify({
    hookSpecificOutput: { hookEventName: input.hook_event_name, additionalContext: `You asked: ${input.prompt}` },
    suppressOutput: true,
  }));
});
";
    let command = "node ${CLAUDE_PROJECT_DIR}/.claude/hooks/context.js";
    let (_, got) = run("UserPromptSubmit", "", "context.js", script, command, &json!({ "prompt": "hi" })).await;
    assert_eq!(got.model_context, ["You asked: hi"]);
}

#[tokio::test]
async fn a_script_that_never_reads_what_it_is_given() {
    let script = "#!/bin/sh\necho \"Current branch: main\"\necho \"Today is a good day\"\n";
    // Longer than what fits into a pipe that nobody reads.
    let start = json!({ "source": "startup", "padding": "x".repeat(300_000) });
    let command = format!("{IN_PROJECT}start.sh");
    let (_, got) = run("SessionStart", "startup|resume", "start.sh", script, &command, &start).await;
    assert_eq!(got.model_context, ["Current branch: main\nToday is a good day"]);
}

#[tokio::test]
async fn a_script_that_ends_at_its_first_error() {
    let script = r#"#!/bin/bash
set -e
read -r line
name=$(echo "$line" | jq -r '.tool_name')
[ "$name" = "Bash" ]
mkdir -p "$CLAUDE_PROJECT_DIR/.claude/logs"
echo "$line" | jq -c '{tool_name, command: .tool_input.command}' >> "$CLAUDE_PROJECT_DIR/.claude/logs/commands.jsonl"
"#;
    let command = format!("{IN_PROJECT}log.sh");
    let (world, got) = run("PostToolUse", "*", "log.sh", script, &command, &bash("PostToolUse", "make test")).await;
    assert_eq!(got.warnings, Vec::<String>::new(), "{got:?}");
    let log = world.text("project/.claude/logs/commands.jsonl");
    assert_eq!(log, "{\"tool_name\":\"Bash\",\"command\":\"make test\"}\n");
    let read = json!({ "tool_name": "Read", "tool_input": {} });
    let (_, got) = run("PostToolUse", "*", "log.sh", script, &command, &read).await;
    assert_eq!((got.decision, got.warnings.len()), (None, 1), "code 1 blocks nothing");
}

#[tokio::test]
async fn a_loop_that_reads_the_last_word_in_the_transcript() {
    let script = r#"#!/bin/bash
set -euo pipefail
HOOK_INPUT=$(cat)
TRANSCRIPT_PATH=$(echo "$HOOK_INPUT" | jq -r '.transcript_path')
if [[ ! -f "$TRANSCRIPT_PATH" ]]; then exit 0; fi
if ! grep -q '"role":"assistant"' "$TRANSCRIPT_PATH"; then exit 0; fi
LAST_LINE=$(grep '"role":"assistant"' "$TRANSCRIPT_PATH" | tail -1)
LAST_OUTPUT=$(echo "$LAST_LINE" | jq -r '.message.content | map(select(.type == "text")) | map(.text) | join("\n")')
if [[ "$LAST_OUTPUT" == *"<promise>DONE</promise>"* ]]; then exit 0; fi
jq -n --arg prompt "Keep going" '{"decision": "block", "reason": $prompt, "systemMessage": "iteration 2"}'
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.jsonl");
    for (said, stop) in [("not yet", "prevented"), ("<promise>DONE</promise>", "allowed")] {
        let line = json!({ "type": "assistant", "message": { "role": "assistant", "content": [{ "type": "text", "text": said }] } });
        fs::write(&path, format!("{line}\n")).expect("a transcript");
        let command = format!("{IN_PROJECT}loop.sh");
        let (_, got) = run("Stop", "", "loop.sh", script, &command, &json!({ "transcript_path": path })).await;
        assert_eq!(got.effects["stop"], stop, "{said}: {got:?}");
    }
}

#[tokio::test]
async fn a_notifier_that_tries_what_is_there() {
    let script = r#"#!/usr/bin/env bash
message=$(jq -r '.message // "Claude needs you"')
if command -v notify-send-of-nobody >/dev/null 2>&1; then
  notify-send-of-nobody "Claude Code" "$message"
else
  printf '%s\n' "$message" >> "$HOME/notifications.log"
fi
"#;
    let news = json!({ "message": "Permission needed", "notification_type": "permission_prompt" });
    let command = format!("{IN_PROJECT}notify.sh");
    let (world, got) = run("Notification", "permission_prompt", "notify.sh", script, &command, &news).await;
    assert_eq!((got.ran[0].exit_code, world.text("home/notifications.log").as_str()), (Some(0), "Permission needed\n"));
}

#[tokio::test]
async fn a_formatter_on_one_line_of_settings() {
    let world = World::new();
    let file = world.write("project/src/a b.txt", "one  two");
    let command = r#"jq -r '.tool_input.file_path' | { read -r file; case "$file" in *.txt) tr -s ' ' < "$file" > "$CLAUDE_PROJECT_DIR/tidy" && mv "$CLAUDE_PROJECT_DIR/tidy" "$file" ;; esac; }"#;
    let group = json!({ "matcher": "Edit|Write", "hooks": [{ "type": "command", "command": command, "timeout": 30 }] });
    world.settings("project", &json!({ "hooks": { "PostToolUse": [group] } }));
    let edit = json!({ "hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": { "file_path": file } });
    let got = world.fire(&edit).await;
    assert_eq!((got.warnings.len(), fs::read_to_string(&file).expect("a file").as_str()), (0, "one two"));
}

#[tokio::test]
async fn a_plugin_in_python_that_imports_what_lies_beside_it() {
    let mut world = World::new();
    let hooks = json!({
        "description": "Rules in files",
        "hooks": { "PreToolUse": [{ "hooks": [{
            "type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/hooks/pretooluse.py", "timeout": 10,
        }] }] },
    });
    world.write("plugins/rules/hooks/hooks.json", &hooks.to_string());
    world.write("plugins/rules/core/__init__.py", "");
    world.write(
        "plugins/rules/core/engine.py",
        "def check(data):\n    return 'rm -rf' in data['tool_input'].get('command', '')\n",
    );
    let main = "import json, os, sys\nsys.path.insert(0, os.environ['CLAUDE_PLUGIN_ROOT'])\nfrom core.engine import check\n\
        data = json.load(sys.stdin)\nout = {}\nif check(data):\n    out = {'hookSpecificOutput': {'hookEventName': \
        data['hook_event_name'], 'permissionDecision': 'deny'}, 'systemMessage': 'dangerous'}\nprint(json.dumps(out))\n";
    world.write("plugins/rules/hooks/pretooluse.py", main);
    world.plugin(world.path("plugins/rules"));
    let got = world.fire(&bash("PreToolUse", "rm -rf build")).await;
    assert_eq!((got.decision, got.user_sees.as_deref()), (Some(Decision::Deny), Some("dangerous")));
    assert_eq!(world.fire(&bash("PreToolUse", "ls")).await.decision, None);
}
