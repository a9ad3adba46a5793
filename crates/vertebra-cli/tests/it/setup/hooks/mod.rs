//! What people type to try a policy, through the real program: real files, real processes.

mod cases;
mod doctor;
mod importing;
mod list;
mod loading;
mod making;
mod trusting;
mod trying;

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::Value;

use super::{Machine, Told};

/// A policy with a verdict, a script and a shadow.
const POLICY: &str = r#"
[[hook]]
name = "no-force-push"
point = "BeforeToolUse"
match = { tool = "bash", command = 'git\s+push\b.*--force' }
deny = "force is for humans"

[[hook]]
name = "gap"
point = "BeforeToolUse"
match = { tool = "bash" }
run = { command = "./hooks/gap.sh" }

[[hook]]
name = "maybe"
point = "BeforeToolUse"
match = { tool = "bash" }
shadow = true
ask = "sure?"

[[hook]]
name = "elsewhere"
point = "BeforeToolUse"
match = { tool = "write_file" }
deny = "no files"
"#;

const PUSH: &str = r#"{"point": "BeforeToolUse", "tool": "bash", "args": {"command": "git push --force"}}"#;

/// The same as Claude Code tells it.
const CLAUDE_PUSH: &str = r#"{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/tmp", "permission_mode": "default",
  "transcript_path": "/tmp/t.jsonl", "tool_name": "Bash", "tool_input": {"command": "git push --force"}}"#;

fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", POLICY);
    machine.write("event.json", PUSH);
    machine.script("project/hooks/gap.sh", "touch ran; cat >/dev/null; echo '{\"context\": \"mind the gap\"}'");
    machine
}

impl Machine {
    fn script(&self, name: &str, body: &str) {
        self.write(name, &format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn event(&self) -> String {
        self.path("event.json").display().to_string()
    }
}

impl Told {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}
