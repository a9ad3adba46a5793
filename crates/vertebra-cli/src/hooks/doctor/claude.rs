//! Checks settings of Claude Code: parts that are not understood, and matchers that match no tool.

use std::path::{Path, PathBuf};

use vertebra_bridge::{
    claude::{Hooks, Level, Session, Settings},
    shown,
    trust::{Kind, Project, Seals},
};
use vertebra_kit::mcp::Servers;

use crate::{assembly::World, doctor::Finding};

/// Claude Code's tools.
const TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "ListMcpResourcesTool",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadMcpResourceTool",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskOutput",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// The events whose matchers are about tools.
const ABOUT_TOOLS: &[&str] =
    &["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"];

/// Adds the settings of an untrusted project for checking. Nothing of them runs.
pub(super) fn add(settings: &mut Settings, project: &Project) {
    for file in project.of(Kind::Claude) {
        let level = if file.name.ends_with("settings.local.json") { Level::Local } else { Level::Project };
        settings.add_text(&file.text, &project.root.join(&file.name), level);
    }
}

/// Checks these settings.
pub(super) fn all(settings: Settings, folder: &Path, world: &World) -> Vec<Finding> {
    let mut findings = matchers(&settings);
    let hooks = Hooks::new(settings, session(folder, world));
    findings.extend(
        hooks
            .warnings()
            .map(|warning| Finding::lacking("claude code", shown(warning), "fix it there; until then it is ignored")),
    );
    findings
}

/// A session in which nothing runs.
fn session(folder: &Path, world: &World) -> Session {
    Session {
        project: folder.to_owned(),
        home: world.variables.get("HOME").map(PathBuf::from),
        variables: Vec::new(),
        is_attended: false,
        servers: Servers::default(),
        model: None,
        env_file: None,
        seals: Seals::default(),
    }
}

fn matchers(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for listed in settings.listed().into_iter().filter(|listed| ABOUT_TOOLS.contains(&listed.event)) {
        let Some((found, advice)) = wrong_with(&listed.matcher) else { continue };
        let what = format!("hook {} ({})", listed.event, shown(&listed.matcher));
        let file = shown(&listed.origin.file.to_string_lossy());
        findings.push(Finding::lacking(what, format!("{file}: {found}"), advice));
    }
    findings
}

/// Returns why a matcher certainly misses the intended tool, and what to write instead.
fn wrong_with(matcher: &str) -> Option<(String, String)> {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if let Some((tool, inside)) = matcher.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?)))
        && TOOLS.contains(&tool)
        // A regex may have brackets, but a regex for a tool name has no blank and no colon in them.
        && inside.contains([' ', ':', '/', '~'])
        && !inside.starts_with('?')
        && !inside.contains(['|', '(', ')', '['])
    {
        let found =
            format!("`{}` matches no tool: it is a permission rule, and a matcher takes tool names", shown(matcher));
        let advice = format!("write \"matcher\": \"{tool}\", and in the handler \"if\": \"{}\"", shown(matcher));
        return Some((found, advice));
    }
    if !matcher.chars().all(|letter| is_of_a_name(letter) || letter == '|') {
        return None;
    }
    let meant = |name: &str| TOOLS.iter().find(|tool| tool.eq_ignore_ascii_case(name)).filter(|tool| **tool != name);
    let (name, tool) = matcher.split('|').find_map(|name| Some((name, *meant(name)?)))?;
    Some((format!("unknown tool `{name}`: tool names are case-sensitive"), format!("write `{tool}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_is_reported_only_if_it_certainly_misses_its_tool() {
        for (matcher, wrong) in [
            ("bash", true),
            ("Edit|write", true),
            ("Bash(git *)", true),
            ("Bash(npm run:test)", true),
            ("Bash", false),
            ("Edit|MultiEdit|Write", false),
            ("my_tool", false),
            ("mcp__x__read", false),
            ("Bash(Output)?", false),
            ("Bash(Output)", false),
            ("Notebook(?:Edit|Read)", false),
            ("bash.*", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(wrong_with(matcher).is_some(), wrong, "{matcher}");
        }
    }
}
