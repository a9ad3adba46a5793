//! `run = { … }`: the handler of a hook.

use std::time::Duration;

use serde_json::Map;

use super::{
    super::{
        SettingsError,
        item::{Item, object},
        reader::Section,
        shape,
    },
    Contract, RunSettings, Words,
    reading::time,
};

/// The default limit of instructions of a module.
const FUEL: u64 = 1_000_000_000;

/// The default limit of memory of a module, in bytes.
const MEMORY: u64 = 64 * 1024 * 1024;

/// The kinds of handlers, and the options of each.
const KINDS: &[(&str, &[&str])] = &[
    ("command", &["contract", "env", "if"]),
    ("worker", &["env"]),
    ("http", &["headers", "env", "private", "contract", "if"]),
    ("prompt", &["model"]),
    ("mcp_tool", &["server", "input"]),
    ("wasm", &["fuel", "memory"]),
];

/// A handler and its timeout.
pub(super) struct Run {
    pub(super) settings: RunSettings,
    pub(super) timeout: Option<Duration>,
}

/// Reads `run`.
pub(super) fn read(section: &mut Section<'_>) -> Result<Option<Run>, SettingsError> {
    let (command, worker) = (words(section, "command")?, words(section, "worker")?);
    let (http, prompt) =
        (section.text("http", "https://policy.example.org/hooks")?, section.text("prompt", "Is this safe? $EVENT")?);
    let (mcp_tool, wasm) = (section.text("mcp_tool", "check")?, section.text("wasm", "policy.wasm")?);
    let of_claude_code = section.word("contract", &[("vertebra", false), ("claude-code", true)])?;
    let only_if = section.text("if", "Bash(git push *)")?.map(|said| said.value);
    let env = section.list("env", "GITHUB_TOKEN")?.into_iter().map(|said| said.value).collect();
    let header = || shape::text("Bearer $POLICY_TOKEN");
    let headers = section.map("headers", header, |name, item| {
        let text = item
            .as_str()
            .ok_or("a header must be a string: write `headers = { Authorization = \"Bearer $TOKEN\" }`")?;
        Ok((name.to_owned(), text.to_owned()))
    })?;
    let private = section.flag("private")?.is_some_and(|said| said.value);
    let (model, server) = (section.text("model", "PROVIDER:NAME")?, section.text("server", "checks")?);
    let input = section.value("input", shape::object, |item| {
        let fields = item.fields().ok_or("`input` must be a table: write `input = { path = \"${args.path}\" }`")?;
        object(fields)
    })?;
    let mut most = |key, usual: u64| -> Result<u64, SettingsError> {
        let said = section.whole(key, 1..=i64::MAX, i64::try_from(usual).unwrap_or(i64::MAX))?;
        Ok(said.map_or(usual, |said| said.value.unsigned_abs()))
    };
    let (fuel, memory) = (most("fuel", FUEL)?, most("memory", MEMORY)?);
    let timeout = section.value("timeout", || shape::duration("10s"), |item| time("timeout", item))?;
    if section.is_sketch() {
        return Ok(None);
    }
    section.finish()?;
    let kind = only_kind(section)?;
    let contract = match (of_claude_code.is_some_and(|said| said.value), only_if) {
        (true, only_if) => Contract::ClaudeCode { only_if },
        (false, None) => Contract::Vertebra,
        (false, Some(_)) => {
            let why = "`if` needs `contract = \"claude-code\"`: add that, or use the hook's `match` instead";
            return Err(section.wrong("if", why));
        }
    };
    let settings = match (kind, command, worker, http, prompt, mcp_tool, wasm) {
        ("command", Some(command), ..) => RunSettings::Command { command, contract, env },
        ("worker", _, Some(command), ..) => RunSettings::Worker { command, env },
        ("http", _, _, Some(url), ..) => {
            let headers = headers.into_iter().collect();
            RunSettings::Http { url: url.value, headers, env, private, contract }
        }
        ("prompt", _, _, _, Some(prompt), ..) => {
            RunSettings::Prompt { prompt: prompt.value, model: model.map(|said| said.value) }
        }
        ("mcp_tool", _, _, _, _, Some(tool), _) => {
            let server = server.ok_or_else(|| {
                section.wrong(
                    "mcp_tool",
                    "`mcp_tool` needs a server: write `{ mcp_tool = \"check\", server = \"checks\" }`",
                )
            })?;
            let input = input.map_or_else(Map::new, |said| said.value);
            RunSettings::McpTool { server: server.value, tool: tool.value, input }
        }
        (_, _, _, _, _, _, Some(file)) => RunSettings::Wasm { file: file.value, fuel, memory },
        _ => return Err(section.lacks(NOTHING)),
    };
    Ok(Some(Run { settings, timeout: timeout.map(|said| said.value) }))
}

const NOTHING: &str = "`run` has no handler: write `run = { command = \"./check.sh\" }`, or use `worker`, `http`, `prompt`, `mcp_tool`, `wasm`";

/// Returns the one kind of handler that is set. Options of another kind are errors.
fn only_kind(section: &Section<'_>) -> Result<&'static str, SettingsError> {
    let mut said = KINDS.iter().filter(|(kind, _)| section.has(kind));
    let (kind, options) = said.next().ok_or_else(|| section.lacks(NOTHING))?;
    if let Some((other, _)) = said.next() {
        return Err(section.wrong(other, format!("a hook has one handler: `{kind}` or `{other}`, not both")));
    }
    let foreign = KINDS.iter().flat_map(|(other, options)| options.iter().map(move |option| (other, option)));
    for (other, option) in foreign {
        if section.has(option) && !options.contains(option) {
            return Err(section.wrong(option, format!("`{option}` is an option of `{other}`, not of `{kind}`")));
        }
    }
    Ok(kind)
}

/// Reads a shell command line, or a list with a program and its arguments.
fn words(section: &mut Section<'_>, key: &'static str) -> Result<Option<Words>, SettingsError> {
    let shape = || shape::either([shape::text("./check.sh"), shape::list(&shape::text("python3"))]);
    let words = section.value(key, shape, |item: Item<'_>| {
        let wrong = || format!("`{key}` must be a shell command or a list: write `{key} = \"./check.sh\"` or `[\"python3\", \"check.py\"]`");
        if let Some(line) = item.as_str().filter(|line| !line.trim().is_empty()) {
            return Ok(Words::Line(line.to_owned()));
        }
        let list = item.as_array().filter(|list| list.len() > 0).ok_or_else(wrong)?;
        let texts: Option<Vec<String>> = list.map(|word| word.as_str().map(str::to_owned)).collect();
        texts.map(Words::List).ok_or_else(wrong)
    })?;
    Ok(words.map(|said| said.value))
}
