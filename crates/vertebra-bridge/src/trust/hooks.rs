//! The hooks of a project: what each one would do, and which of its words may name files.

use std::{path::Path, sync::Arc};

use serde_json::Value;
use vertebra_kit::hooks_in;

use crate::settings::{Action, HookSettings, RunSettings, Said, Words};

/// How deeply nested values of a hook may be.
const MAX_DEPTH: usize = 16;

/// A hook of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectHook {
    /// The file that defines it, below the project's root.
    pub file: String,
    /// The line, if it is known.
    pub line: Option<usize>,
    /// Its name; in the settings of Claude Code, its event and matcher.
    pub name: String,
    /// Its point.
    pub point: String,
    /// What it does, in words.
    pub does: String,
    /// The scripts of the project that it names, as paths below the root.
    pub scripts: Vec<String>,
    /// The folders that hold the scripts which it starts, as paths below the root.
    pub folders: Vec<String>,
    /// Why it loads more than can be known, if it does.
    pub open: Vec<String>,
    /// Its words that may name scripts.
    pub words: Vec<String>,
    /// The program that it starts, if it starts one.
    pub starts: Option<Words>,
}

/// A hook of `vertebra.toml`.
pub(super) fn of_settings(file: &str, hook: &Said<Arc<HookSettings>>) -> ProjectHook {
    let Said { value, origin } = hook;
    let (does, words) = match &value.action {
        Action::Say(reply) => {
            let said = |key: &str| reply.verdict.as_ref()?.get(key)?.as_str();
            let verdict = said("verdict").unwrap_or("changes the event");
            (
                said("reason").or(said("instruction")).map_or(verdict.to_owned(), |why| format!("{verdict}: {why}")),
                vec![],
            )
        }
        Action::Run(run) => does(run),
    };
    let starts = match &value.action {
        Action::Run(RunSettings::Command { command, .. } | RunSettings::Worker { command, .. }) => {
            Some(command.clone())
        }
        Action::Run(_) | Action::Say(_) => None,
    };
    let (name, point) = (value.stand.name.clone(), value.stand.point.name.to_owned());
    ProjectHook {
        file: file.to_owned(),
        line: origin.line,
        name,
        point,
        does,
        scripts: Vec::new(),
        folders: Vec::new(),
        open: Vec::new(),
        words,
        starts,
    }
}

/// Returns what a handler would do, and its words that may name files.
pub(crate) fn does(run: &RunSettings) -> (String, Vec<String>) {
    let of_words = |words: &Words| match words {
        Words::Line(line) => vec![line.clone()],
        Words::List(list) => list.clone(),
    };
    match run {
        RunSettings::Command { command, .. } => {
            let words = of_words(command);
            (format!("runs `{}`", words.join(" ")), words)
        }
        RunSettings::Worker { command, .. } => {
            let words = of_words(command);
            (format!("keeps `{}` running", words.join(" ")), words)
        }
        RunSettings::Http { url, .. } => (format!("posts the event to {url}"), Vec::new()),
        RunSettings::Prompt { .. } => ("asks a model".to_owned(), Vec::new()),
        RunSettings::McpTool { server, tool, .. } => (format!("calls `{tool}` of the server `{server}`"), Vec::new()),
        RunSettings::Wasm { file, .. } => (format!("runs the module {file}"), vec![file.clone()]),
    }
}

/// Returns the hooks of a `.claude/settings.json`. If it is not valid JSON, a more tolerant reader might still read it, so all
/// of its text may name files.
pub(super) fn of_claude(file: &str, text: &str) -> Vec<ProjectHook> {
    match serde_json::from_str::<Value>(text) {
        Ok(settings) => of_groups(file, &settings["hooks"]),
        Err(_) => vec![hook(file, "hooks", "", "cannot be read as JSON".to_owned(), vec![text.to_owned()], None)],
    }
}

/// Returns the hooks in the front matter of a skill or an agent.
pub(super) fn of_front_matter(file: &str, text: &str) -> Vec<ProjectHook> {
    hooks_in(Path::new(file), text).map(|brought| of_groups(file, &brought.hooks)).unwrap_or_default()
}

fn hook(
    file: &str,
    event: &str,
    matcher: &str,
    does: String,
    words: Vec<String>,
    starts: Option<Words>,
) -> ProjectHook {
    ProjectHook {
        file: file.to_owned(),
        line: None,
        name: if matcher.is_empty() { event.to_owned() } else { format!("{event} ({matcher})") },
        point: event.to_owned(),
        does,
        scripts: Vec::new(),
        folders: Vec::new(),
        open: Vec::new(),
        words,
        starts,
    }
}

/// Returns the hooks of a value in the format of Claude Code's settings.
fn of_groups(file: &str, groups: &Value) -> Vec<ProjectHook> {
    let mut hooks = Vec::new();
    for (event, groups) in groups.as_object().into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let matcher = group["matcher"].as_str().unwrap_or_default();
            for handler in group["hooks"].as_array().into_iter().flatten() {
                let mut words = Vec::new();
                strings(handler, MAX_DEPTH, &mut words);
                hooks.push(hook(file, event, matcher, of_handler(handler), words, started(handler)));
            }
        }
    }
    hooks
}

/// The program that a handler starts.
fn started(handler: &Value) -> Option<Words> {
    let command = handler["command"].as_str()?.to_owned();
    Some(match handler["args"].as_array() {
        None => Words::Line(command),
        Some(args) => {
            let args = args.iter().filter_map(Value::as_str).map(str::to_owned);
            Words::List(std::iter::once(command).chain(args).collect())
        }
    })
}

fn of_handler(handler: &Value) -> String {
    let text = |key: &str| handler[key].as_str();
    match (text("command"), text("url"), text("tool"), text("prompt")) {
        (Some(command), ..) => {
            let arguments = handler["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
            format!("runs `{}`", std::iter::once(command).chain(arguments).collect::<Vec<_>>().join(" "))
        }
        (None, Some(url), ..) => format!("posts the event to {url}"),
        (None, None, Some(tool), _) => format!("calls `{tool}` of the server `{}`", text("server").unwrap_or_default()),
        (None, None, None, Some(_)) => "asks a model".to_owned(),
        (None, None, None, None) => format!("is a handler of type `{}`", text("type").unwrap_or_default()),
    }
}

fn strings(value: &Value, depth: usize, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(list) if depth > 0 => list.iter().for_each(|value| strings(value, depth - 1, into)),
        Value::Object(map) if depth > 0 => map.values().for_each(|value| strings(value, depth - 1, into)),
        Value::Array(_) | Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
