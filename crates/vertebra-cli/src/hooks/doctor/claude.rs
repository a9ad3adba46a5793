//! Settings of Claude Code: what of them is not understood, and matchers that no tool meets.

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

/// Adds what a project's files say, to be looked at: nothing of it runs.
pub(super) fn add(settings: &mut Settings, project: &Project) {
    for file in project.of(Kind::Claude) {
        let level = if file.name.ends_with("settings.local.json") { Level::Local } else { Level::Project };
        settings.add_text(&file.text, &project.root.join(&file.name), level);
    }
}

/// What is found of these settings.
pub(super) fn all(settings: Settings, folder: &Path, world: &World) -> Vec<Finding> {
    let mut findings = matchers(&settings);
    let hooks = Hooks::new(settings, session(folder, world));
    findings.extend(hooks.warnings().map(|warning| {
        Finding::lacking("claude code", shown(warning), "mend it there; until then it does not count, here as there")
    }));
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

/// What keeps a matcher from meeting the tool that is meant, where that is certain; and what to write.
fn wrong_with(matcher: &str) -> Option<(String, String)> {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if let Some((tool, inside)) = matcher.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?)))
        && TOOLS.contains(&tool)
        // An expression may have brackets; that of a tool's name has no blank and no colon in them.
        && inside.contains([' ', ':', '/', '~'])
        && !inside.starts_with('?')
        && !inside.contains(['|', '(', ')', '['])
    {
        let found = format!("no tool is called `{}`: a matcher is about names, and this is a rule", shown(matcher));
        let advice = format!("\"matcher\": \"{tool}\", and in the handler \"if\": \"{}\"", shown(matcher));
        return Some((found, advice));
    }
    if !matcher.chars().all(|letter| is_of_a_name(letter) || letter == '|') {
        return None;
    }
    let meant = |name: &str| TOOLS.iter().find(|tool| tool.eq_ignore_ascii_case(name)).filter(|tool| **tool != name);
    let (name, tool) = matcher.split('|').find_map(|name| Some((name, *meant(name)?)))?;
    Some((format!("no tool is called `{name}`: small letters are not capitals"), format!("write `{tool}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_is_found_wrong_only_where_that_is_certain() {
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
