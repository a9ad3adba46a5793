//! `vertebra hooks import`: hooks and permissions of Claude Code, as a `vertebra.toml` says them.

use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, Item, Table, value};
use vertebra::point_named;
use vertebra_bridge::{
    settings::{FILE_NAME, Level, parse},
    shown,
};

use super::file::{replace, text_of, with_block};
use crate::view::rows::{BOLD, DIM, GREEN, YELLOW};

/// How large a file of settings may be.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// How long a command has in Claude Code unless it says.
const USUAL_SECONDS: u64 = 600;

/// What to read, and where it goes.
#[derive(clap::Args)]
#[command(after_help = "\
Every hook becomes a [[hook]] with `contract = \"claude-code\"`: the script is not changed, and sees and says what it is used
to. Permissions become rules. What is in vertebra.toml stays. What cannot be carried over is told, line by line, and the exit
code is 0 all the same: nothing of it was lost where it was.

A project's .claude/settings.json works here as it is, once it is trusted; import it to have one policy for every agent.")]
pub(crate) struct Options {
    /// The settings of Claude Code
    #[arg(long, value_name = "FILE", default_value = ".claude/settings.json")]
    from: PathBuf,
    /// The file that they go to
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    to: PathBuf,
    /// Only show what would be written
    #[arg(long)]
    dry_run: bool,
}

/// What was carried over, and what was not.
#[derive(Default)]
struct Import {
    hooks: Vec<String>,
    rules: Vec<(&'static str, String)>,
    mode: Option<&'static str>,
    left: Vec<String>,
    taken: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let about = options.from.metadata().with_context(|| options.from.display().to_string())?;
    if about.len() > MAX_BYTES {
        bail!("{}: settings have at most {MAX_BYTES} bytes", options.from.display());
    }
    let text = std::fs::read_to_string(&options.from).with_context(|| options.from.display().to_string())?;
    let settings: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .with_context(|| format!("{} is not JSON", options.from.display()))?;
    let written = text_of(&options.to)?;
    let mut import = Import::default();
    let place = options.to.display().to_string();
    let known = parse(&written, Level::User, &place)?;
    import.taken = known.settings.hooks.iter().map(|hook| hook.value.stand.name.clone()).collect();
    import.settings(&settings);
    let made = import.into_text(&written)?;
    parse(&made.text, Level::User, &place).context("what would be written is not valid; nothing was changed")?;
    for line in &made.carried {
        anstream::eprintln!("{GREEN}✓{GREEN:#} {}", shown(line));
    }
    for line in &made.left {
        anstream::eprintln!("{YELLOW}!{YELLOW:#} {}", shown(line));
    }
    if options.dry_run {
        print!("{}", made.text);
        return Ok(ExitCode::SUCCESS);
    }
    if made.carried.is_empty() {
        anstream::eprintln!("{DIM}Nothing to carry over.{DIM:#}");
        return Ok(ExitCode::SUCCESS);
    }
    replace(&options.to, &made.text)?;
    anstream::eprintln!("{BOLD}{}{BOLD:#} has them now. See: vertebra hooks list", shown(&place));
    anstream::eprintln!(
        "{DIM}What stays in {} runs from there, too: take out there what is to run once.{DIM:#}",
        shown(&options.from.display().to_string())
    );
    Ok(ExitCode::SUCCESS)
}

/// A matcher of Claude Code as a pattern of ours: there a list of names has commas too, and all else is an expression.
fn as_pattern(matcher: &str) -> String {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || "_- ,|".contains(letter);
    if !matcher.chars().all(is_of_a_name) {
        // There it may hold anywhere in a name, here it is about all of it.
        return format!("/.*(?:{matcher}).*/");
    }
    let names = matcher.split([',', '|']).map(str::trim).filter(|name| !name.is_empty());
    names.collect::<Vec<_>>().join("|")
}

/// The new text of the file, and what became of each thing.
struct Made {
    text: String,
    carried: Vec<String>,
    left: Vec<String>,
}

impl Import {
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
                (Some(list), Value::Array(rules)) => {
                    self.rules.extend(rules.iter().filter_map(|rule| Some((list, rule.as_str()?.to_owned()))));
                }
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
                match self.handler(point, event, matcher, handler) {
                    Ok(block) => self.hooks.push(block),
                    Err(why) => self.left.push(format!("{place}: {why}")),
                }
            }
        }
    }

    /// A handler as an entry, or why it cannot be one.
    fn handler(&mut self, point: &str, event: &str, matcher: Option<&str>, handler: &Value) -> Result<String, String> {
        let text = |key: &str| handler[key].as_str();
        if let Some(rule) = text("if") {
            return Err(format!("`if = \"{rule}\"` has no counterpart: write it as `match`, and add the hook by hand"));
        }
        if handler["asyncRewake"] == true {
            return Err("`asyncRewake` wakes a model that has stopped, which no hook does here".to_owned());
        }
        let mut run = toml_edit::InlineTable::new();
        match (text("type"), text("command"), text("url")) {
            (Some("command"), Some(command), _) => match handler["args"].as_array() {
                None => drop(run.insert("command", command.into())),
                Some(args) => {
                    let words = std::iter::once(command).chain(args.iter().filter_map(Value::as_str));
                    run.insert("command", words.collect::<Array>().into());
                }
            },
            (Some("http"), _, Some(url)) => {
                run.insert("http", url.into());
                let headers = handler["headers"].as_object().into_iter().flatten();
                let headers: toml_edit::InlineTable =
                    headers.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect();
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
            (Some(kind @ ("prompt" | "agent" | "mcp_tool")), ..) => {
                return Err(format!(
                    "a handler of type `{kind}` answers in words of its own: write it as `run` by hand"
                ));
            }
            (kind, ..) => return Err(format!("`{}` is no handler that is known", kind.unwrap_or_default())),
        }
        run.insert("contract", "claude-code".into());
        let name = self.name(event);
        let mut block = String::from("[[hook]]\n");
        let mut line = |key: &str, value: toml_edit::Value| {
            let _ = writeln!(block, "{key} = {value}");
        };
        line("name", name.as_str().into());
        line("point", point.into());
        if handler["async"] == true {
            line("role", "watch".into());
            line("detached", true.into());
        } else {
            line("role", "hook".into());
        }
        if let Some(matcher) = matcher.map(as_pattern) {
            line("match", [("tool", matcher.as_str())].into_iter().collect::<toml_edit::InlineTable>().into());
        }
        line("run", run.into());
        if handler["async"] != true {
            let seconds = handler["timeout"].as_f64().filter(|seconds| *seconds > 0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a timeout is a small number")]
            let seconds = seconds.map_or(USUAL_SECONDS, |seconds| seconds.ceil().min(86_400.0) as u64);
            line("timeout", format!("{seconds}s").into());
            // There a hook that fails lets things pass, unless it says otherwise.
            line("on_failure", if text("onFailure") == Some("block") { "closed" } else { "open" }.into());
        }
        // What one hook has wrong must not keep the others from being read.
        parse(&block, Level::User, "the new hook").map_err(|error| format!("{error}"))?;
        Ok(block)
    }

    /// A name that is not taken yet.
    fn name(&mut self, event: &str) -> String {
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
        let name = names.find(|name| !self.taken.contains(name)).unwrap_or(words);
        self.taken.push(name.clone());
        name
    }

    fn into_text(self, written: &str) -> anyhow::Result<Made> {
        let mut carried = Vec::new();
        let mut document: DocumentMut = written.parse().context("vertebra.toml")?;
        if !self.rules.is_empty() || self.mode.is_some() {
            let permissions = document.entry("permissions").or_insert(Item::Table(Table::new()));
            for (list, rule) in &self.rules {
                let item =
                    permissions.as_table_like_mut().map(|table| table.entry(list).or_insert(value(Array::new())));
                let Some(rules) = item.and_then(|item| item.as_array_mut()) else { continue };
                if !rules.iter().any(|known| known.as_str() == Some(rule)) {
                    rules.push(rule.as_str());
                    carried.push(format!("permissions.{list}: {rule}"));
                }
            }
            if let (Some(mode), Some(table)) = (self.mode, permissions.as_table_like_mut())
                && !table.contains_key("mode")
            {
                table.insert("mode", value(mode));
                carried.push(format!("permissions.mode: {mode}"));
            }
        }
        let mut text = document.to_string();
        for block in &self.hooks {
            // The same handler twice is one handler: whoever imports again adds nothing.
            let rest =
                |block: &str| block.lines().filter(|line| !line.starts_with("name = ")).collect::<Vec<_>>().join("\n");
            if text.split("[[hook]]").any(|known| rest(&format!("[[hook]]{known}")).trim() == rest(block).trim()) {
                continue;
            }
            text = with_block(&text, block);
            let of = |key: &str| block.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
            carried.push(format!("{}: {}", of("name = ").trim_matches('"'), of("run = ")));
        }
        Ok(Made { text, carried, left: self.left })
    }
}
