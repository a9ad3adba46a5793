//! What settings of Claude Code say that a policy can say, and what it cannot.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use toml_edit::{Array, InlineTable};
use vertebra::point_named;
use vertebra_bridge::{
    handler::Services,
    policy::{Policy, permissions},
    settings::{Level, parse},
};

use super::{
    command::{self, Plugin},
    matcher::as_pattern,
};

/// How long a command has in Claude Code unless it says, where that is not as usual. A second and a half is the shortest.
const SECONDS: &[(&str, u64)] = &[("UserPromptSubmit", 30), ("SessionEnd", 2)];

/// How long it has everywhere else.
const USUAL_SECONDS: u64 = 600;

/// What is carried over, and what is not.
pub(super) struct Import {
    pub(super) hooks: Vec<Hook>,
    pub(super) rules: Vec<(&'static str, String)>,
    pub(super) mode: Option<&'static str>,
    pub(super) left: Vec<String>,
    taken: Vec<String>,
    plugin: Option<Plugin>,
}

/// A hook that is carried over.
pub(super) struct Hook {
    pub(super) name: String,
    /// Its entry.
    pub(super) block: String,
    /// What it runs, in a line.
    pub(super) shown: String,
}

/// Where a handler is declared.
#[derive(Clone, Copy)]
struct Spot<'s> {
    event: &'s str,
    point: &'static str,
    matcher: Option<&'s str>,
}

impl Import {
    /// What these settings say, beside hooks of these names.
    pub(super) fn of(settings: &Value, plugin: Option<Plugin>, taken: Vec<String>) -> Self {
        let mut import = Self { hooks: Vec::new(), rules: Vec::new(), mode: None, left: Vec::new(), taken, plugin };
        import.settings(settings);
        import
    }

    fn settings(&mut self, settings: &Value) {
        let Some(settings) = settings.as_object() else {
            self.left.push("settings are an object: nothing of this can be read".to_owned());
            return;
        };
        for (key, value) in settings {
            match (key.as_str(), value) {
                ("hooks", Value::Object(events)) => events.iter().for_each(|(event, groups)| self.event(event, groups)),
                ("permissions", Value::Object(permissions)) => self.permissions(permissions),
                ("$schema", _) => {}
                ("description", _) if self.plugin.is_some() => {}
                ("disableAllHooks", Value::Bool(true)) => {
                    self.left.push("disableAllHooks: hooks are switched off there; here each has `enabled`".to_owned());
                }
                (key, _) => self.left.push(format!("{key}: has no place in a policy")),
            }
        }
    }

    fn permissions(&mut self, permissions: &Map<String, Value>) {
        for (key, value) in permissions {
            let list = ["allow", "ask", "deny"].into_iter().find(|list| list == key);
            match (list, value) {
                (Some(list), Value::Array(rules)) => rules.iter().for_each(|rule| self.rule(list, rule)),
                (None, Value::String(mode)) if key == "defaultMode" => match &**mode {
                    "default" => self.mode = Some("ask"),
                    "acceptEdits" => self.mode = Some("accept_edits"),
                    "plan" => self.mode = Some("plan"),
                    other => self.left.push(format!("permissions.defaultMode: no file here can say `{other}`")),
                },
                _ => self.left.push(format!("permissions.{key}: has no counterpart")),
            }
        }
    }

    /// One rule that cannot be used would keep the whole file from being read.
    fn rule(&mut self, list: &'static str, rule: &Value) {
        let Some(text) = rule.as_str() else {
            self.left.push(format!("permissions.{list}: {rule} is no rule: a rule is a text"));
            return;
        };
        match rule_is_usable(list, text) {
            Ok(()) => self.rules.push((list, text.to_owned())),
            Err(why) => {
                let what = if list == "allow" { "" } else { ", and nothing here stands for it: say it as a hook" };
                self.left.push(format!("permissions.{list}: `{text}` is left out{what} ({why})"));
            }
        }
    }

    fn event(&mut self, event: &str, groups: &Value) {
        let Some(point) = point_named(event) else {
            self.left.push(format!("hooks.{event}: there is no such point in our loop"));
            return;
        };
        for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
            let place = format!("hooks.{event}[{at}]");
            let matcher = group["matcher"].as_str().filter(|text| !matches!(*text, "" | "*"));
            let about_tools = matches!(point, "BeforeToolUse" | "PermissionRequest" | "AfterToolUse" | "ToolUseFailed");
            if let Some(matcher) = matcher.filter(|_| !about_tools) {
                let told = format!(
                    "{place}: the matcher `{matcher}` is not about a tool and cannot be said here; it is left out"
                );
                self.left.push(told);
                continue;
            }
            for (number, handler) in group["hooks"].as_array().into_iter().flatten().enumerate() {
                let place = format!("{place}.hooks[{number}]");
                match self.handler(Spot { event, point, matcher }, handler) {
                    Ok(hook) => self.hooks.push(hook),
                    Err(why) => self.left.push(format!("{place}: {why}")),
                }
            }
        }
    }

    /// A handler as an entry, or why it cannot be one.
    fn handler(&mut self, spot: Spot<'_>, handler: &Value) -> Result<Hook, String> {
        if handler["asyncRewake"] == true {
            return Err("`asyncRewake` wakes a model that has stopped, which no hook does here".to_owned());
        }
        let (run, shown) = self.run(handler)?;
        let name = self.free_name(spot.event);
        let block = entry(&name, spot, handler, run);
        // What one hook has wrong must not keep the others from being read.
        let settings = parse(&block, Level::User, "the new hook").map_err(|error| error.to_string())?.settings;
        Policy::new(&settings, &Services::default()).map_err(|error| error.to_string())?;
        self.taken.push(name.clone());
        Ok(Hook { name, block, shown })
    }

    /// What a handler runs, and how that is shown.
    fn run(&self, handler: &Value) -> Result<(InlineTable, String), String> {
        let text = |key: &str| handler[key].as_str();
        let mut run = InlineTable::new();
        let shown = match (text("type"), text("command"), text("url")) {
            (Some("command"), Some(line), _) => {
                run.insert("command", command::of(line, handler, self.plugin.as_ref())?);
                let args = handler["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
                std::iter::once(line).chain(args).collect::<Vec<_>>().join(" ")
            }
            (Some("http"), _, Some(url)) => {
                http(&mut run, url, handler);
                url.to_owned()
            }
            (Some(kind @ ("prompt" | "agent" | "mcp_tool")), ..) => {
                return Err(format!(
                    "a handler of type `{kind}` answers in words of its own: write it as `run` by hand"
                ));
            }
            (kind, ..) => return Err(format!("`{}` is no handler that is known", kind.unwrap_or_default())),
        };
        run.insert("contract", "claude-code".into());
        if let Some(rule) = text("if") {
            run.insert("if", rule.into());
        }
        let first = shown.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let more = if shown.trim().lines().nth(1).is_some() { " …" } else { "" };
        Ok((run, format!("{first}{more}")))
    }

    /// A name that is not taken yet.
    fn free_name(&self, event: &str) -> String {
        let mut words = String::from("claude");
        for letter in event.chars() {
            if letter.is_ascii_uppercase() {
                words.push('-');
            }
            words.push(letter.to_ascii_lowercase());
        }
        // One more than are taken is enough to find one that is not.
        let numbers = 1..=self.taken.len() + 1;
        let mut names = numbers.map(|number| format!("{words}-{number}"));
        names.find(|name| !self.taken.contains(name)).unwrap_or(words)
    }
}

/// Whether a rule can be used, as whoever loads the file would find.
fn rule_is_usable(list: &str, rule: &str) -> Result<(), String> {
    let text = format!("[permissions]\n{list} = {}\n", toml_edit::Value::from(Array::from_iter([rule])));
    let settings = parse(&text, Level::User, "the new rule").map_err(|error| error.to_string())?.settings;
    permissions(&settings, None).map(drop).map_err(|error| error.to_string())
}

fn http(run: &mut InlineTable, url: &str, handler: &Value) {
    run.insert("http", url.into());
    let headers = handler["headers"].as_object().into_iter().flatten();
    let headers: InlineTable = headers.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect();
    if !headers.is_empty() {
        run.insert("headers", headers.into());
    }
    let env = handler["allowedEnvVars"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let env: Array = env.collect();
    if !env.is_empty() {
        run.insert("env", env.into());
    }
    run.insert("private", true.into());
}

/// The text of a hook.
fn entry(name: &str, spot: Spot<'_>, handler: &Value, run: InlineTable) -> String {
    let mut block = String::from("[[hook]]\n");
    let mut line = |key: &str, value: toml_edit::Value| {
        let _ = writeln!(block, "{key} = {value}");
    };
    line("name", name.into());
    line("point", spot.point.into());
    let is_beside = handler["async"] == true;
    if is_beside {
        line("role", "watch".into());
        line("detached", true.into());
    } else {
        line("role", "hook".into());
    }
    if let Some(matcher) = spot.matcher.map(as_pattern) {
        line("match", [("tool", matcher.as_str())].into_iter().collect::<InlineTable>().into());
    }
    if spot.event == "Stop" {
        // Our point is also where a run goes on after a step; there the agent is not about to stop.
        line("match", [("step", "final_response")].into_iter().collect::<InlineTable>().into());
    }
    line("run", run.into());
    line("timeout", format!("{}s", seconds(spot.event, handler)).into());
    if !is_beside {
        // There a hook that fails lets things pass, unless it says otherwise.
        line("on_failure", if handler["onFailure"] == "block" { "closed" } else { "open" }.into());
    }
    block
}

/// How long a handler has.
fn seconds(event: &str, handler: &Value) -> u64 {
    let said = handler["timeout"].as_f64().filter(|seconds| *seconds > 0.0);
    let usual = SECONDS.iter().find(|(name, _)| *name == event).map_or(USUAL_SECONDS, |(_, seconds)| *seconds);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a timeout is a small number")]
    said.map_or(usual, |seconds| seconds.ceil().min(86_400.0) as u64)
}
