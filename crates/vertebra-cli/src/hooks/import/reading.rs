//! Reads settings of Claude Code and separates what can be imported from what cannot.

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

/// Events whose default timeout in Claude Code is unusual, in seconds (rounded up).
const SECONDS: &[(&str, u64)] = &[("UserPromptSubmit", 30), ("SessionEnd", 2)];

/// The default timeout of all other events, in seconds.
const USUAL_SECONDS: u64 = 600;

/// The imported parts, and the parts that are left out.
pub(super) struct Import {
    pub(super) hooks: Vec<Hook>,
    pub(super) rules: Vec<(&'static str, String)>,
    pub(super) mode: Option<&'static str>,
    pub(super) left: Vec<String>,
    taken: Vec<String>,
    plugin: Option<Plugin>,
}

/// An imported hook.
pub(super) struct Hook {
    pub(super) name: String,
    /// Its entry.
    pub(super) block: String,
    /// What it runs, on one line.
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
    /// Reads settings; `taken` has the names of existing hooks.
    pub(super) fn of(settings: &Value, plugin: Option<Plugin>, taken: Vec<String>) -> Self {
        let mut import = Self { hooks: Vec::new(), rules: Vec::new(), mode: None, left: Vec::new(), taken, plugin };
        import.settings(settings);
        import
    }

    fn settings(&mut self, settings: &Value) {
        let Some(settings) = settings.as_object() else {
            self.left.push("the settings must be a JSON object; nothing was imported".to_owned());
            return;
        };
        for (key, value) in settings {
            match (key.as_str(), value) {
                ("hooks", Value::Object(events)) => events.iter().for_each(|(event, groups)| self.event(event, groups)),
                ("permissions", Value::Object(permissions)) => self.permissions(permissions),
                ("$schema", _) => {}
                ("description", _) if self.plugin.is_some() => {}
                ("disableAllHooks", Value::Bool(true)) => {
                    self.left.push(
                        "disableAllHooks: not imported; set `enabled = false` in each [[hook]] instead".to_owned(),
                    );
                }
                (key, _) => self.left.push(format!("{key}: not part of a policy")),
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
                    other => self.left.push(format!("permissions.defaultMode: `{other}` cannot be set in a file")),
                },
                _ => self.left.push(format!("permissions.{key}: no equivalent")),
            }
        }
    }

    /// Imports a rule if it is valid. One invalid rule would make the whole file unreadable.
    fn rule(&mut self, list: &'static str, rule: &Value) {
        let Some(text) = rule.as_str() else {
            self.left.push(format!("permissions.{list}: invalid rule {rule}: a rule must be a string"));
            return;
        };
        match rule_is_usable(list, text) {
            Ok(()) => self.rules.push((list, text.to_owned())),
            Err(why) => {
                let what = if list == "allow" { "" } else { "; write a hook instead" };
                self.left.push(format!("permissions.{list}: `{text}` is not imported ({why}){what}"));
            }
        }
    }

    fn event(&mut self, event: &str, groups: &Value) {
        let Some(point) = point_named(event) else {
            self.left.push(format!("hooks.{event}: Vertebra has no such event"));
            return;
        };
        for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
            let place = format!("hooks.{event}[{at}]");
            let matcher = group["matcher"].as_str().filter(|text| !matches!(*text, "" | "*"));
            let about_tools = matches!(point, "BeforeToolUse" | "PermissionRequest" | "AfterToolUse" | "ToolUseFailed");
            if let Some(matcher) = matcher.filter(|_| !about_tools) {
                let told = format!("{place}: the matcher `{matcher}` does not match tools and cannot be imported");
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

    /// Converts a handler to a [[hook]] entry, or returns the reason it cannot be.
    fn handler(&mut self, spot: Spot<'_>, handler: &Value) -> Result<Hook, String> {
        if handler["asyncRewake"] == true {
            return Err("`asyncRewake` wakes a stopped model, which hooks cannot do here".to_owned());
        }
        let (run, shown) = self.run(handler)?;
        let name = self.free_name(spot.event);
        let block = entry(&name, spot, handler, run);
        // An invalid hook must not prevent the import of the others.
        let settings = parse(&block, Level::User, "the new hook").map_err(|error| error.to_string())?.settings;
        Policy::new(&settings, &Services::default()).map_err(|error| error.to_string())?;
        self.taken.push(name.clone());
        Ok(Hook { name, block, shown })
    }

    /// Returns the `run` table of a handler, and how to show it.
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
                return Err(format!("handlers of type `{kind}` cannot be imported: write a `run` by hand"));
            }
            (kind, ..) => return Err(format!("unknown handler type `{}`", kind.unwrap_or_default())),
        };
        run.insert("contract", "claude-code".into());
        if let Some(rule) = text("if") {
            run.insert("if", rule.into());
        }
        let first = shown.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let more = if shown.trim().lines().nth(1).is_some() { " …" } else { "" };
        Ok((run, format!("{first}{more}")))
    }

    /// Returns an unused name.
    fn free_name(&self, event: &str) -> String {
        let mut words = String::from("claude");
        for letter in event.chars() {
            if letter.is_ascii_uppercase() {
                words.push('-');
            }
            words.push(letter.to_ascii_lowercase());
        }
        // One more candidate than taken names always contains an unused one.
        let numbers = 1..=self.taken.len() + 1;
        let mut names = numbers.map(|number| format!("{words}-{number}"));
        names.find(|name| !self.taken.contains(name)).unwrap_or(words)
    }
}

/// Checks that a rule is valid, with the code that loads the file.
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

/// Returns the text of a [[hook]] entry.
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
        // Our point also fires after a step with tool calls, when the agent is not about to stop.
        line("match", [("step", "final_response")].into_iter().collect::<InlineTable>().into());
    }
    line("run", run.into());
    line("timeout", format!("{}s", seconds(spot.event, handler)).into());
    if !is_beside {
        // In Claude Code a failing hook fails open unless it says otherwise.
        line("on_failure", if handler["onFailure"] == "block" { "closed" } else { "open" }.into());
    }
    block
}

/// Returns the timeout of a handler.
fn seconds(event: &str, handler: &Value) -> u64 {
    let said = handler["timeout"].as_f64().filter(|seconds| *seconds > 0.0);
    let usual = SECONDS.iter().find(|(name, _)| *name == event).map_or(USUAL_SECONDS, |(_, seconds)| *seconds);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a timeout is a small number")]
    said.map_or(usual, |seconds| seconds.ceil().min(86_400.0) as u64)
}
