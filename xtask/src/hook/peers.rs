//! Hooks that make the same check: each of so many patterns is held against the command, and the first that fits denies.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// Whether it judges at all.
    pub(crate) judges: bool,
}

/// A pattern that all of them understand.
fn pattern(rule: usize) -> String {
    format!("program{rule} +(deploy|destroy) .*--force")
}

/// A command that this rule denies.
pub(crate) fn denied(rule: usize) -> String {
    format!("cd app && program{rule} destroy staging --force")
}

/// The event as Claude Code sends it.
pub(crate) fn event(command: &str, place: &Path) -> String {
    serde_json::json!({
        "session_id": "0198", "transcript_path": "/dev/null", "cwd": place.join("work"), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "u",
    })
    .to_string()
}

/// Ours is first; the last does nothing but start.
pub(crate) fn all(vertebra: &Path, place: &Path, rules: usize) -> anyhow::Result<Vec<Peer>> {
    let write = |name: &str, text: &str| -> anyhow::Result<String> {
        let path = place.join(name);
        fs::create_dir_all(path.parent().unwrap_or(place))?;
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        Ok(path.display().to_string())
    };
    fs::create_dir_all(place.join("work"))?;
    let mut policy = String::new();
    for rule in 0..rules {
        let pattern = pattern(rule);
        write!(policy, "[[hook]]\nname = \"rule-{rule}\"\npoint = \"BeforeToolUse\"\n")?;
        write!(policy, "match = {{ tool = \"bash\", command = '{pattern}' }}\ndeny = \"rule {rule} says no\"\n\n")?;
    }
    write("home/.config/vertebra/vertebra.toml", &policy)?;
    let patterns: Vec<String> = (0..rules).map(pattern).collect();
    let list = serde_json::to_string(&patterns)?;
    let python = write("hook.py", &include_str!("hook.py").replace("$patterns", &list))?;
    let node = write("hook.js", &include_str!("hook.js").replace("$patterns", &list))?;
    let lines = patterns.iter().map(|pattern| format!("'{pattern}'")).collect::<Vec<_>>().join("\n");
    let bash = write("hook.sh", &include_str!("hook.sh").replace("$patterns", &lines))?;
    // What `python3` names may be a script that looks for the interpreter; that is nobody's hook.
    let found = std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()?;
    let interpreter = String::from_utf8(found.stdout)?;
    let peer = |name, program: &str, arguments: &[&str], judges| Peer {
        name,
        program: program.into(),
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        judges,
    };
    let ours = ["hook", "--host", "claude-code", "--event", "PreToolUse"];
    Ok(vec![
        peer("`vertebra hook`", vertebra.to_str().context("a path")?, &ours, true),
        peer("Python", interpreter.trim(), &[&python], true),
        peer("Node", "node", &[&node], true),
        peer("bash and jq", "bash", &[&bash], true),
        peer("`true`", "true", &[], false),
    ])
}
