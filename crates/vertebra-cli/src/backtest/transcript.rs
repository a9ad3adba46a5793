//! Reads a transcript of Claude Code as the events that its hooks would receive.
//!
//! Each line is converted to Claude Code's hook input, which is then read as `vertebra hook` reads it.

use std::{
    collections::VecDeque,
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use vertebra::RECENT_TOOLS;
use vertebra_bridge::host::{self, Host};
use vertebra_journal::{
    backtest::{Opinion, Said},
    past::{Line, Lines},
};

use super::{LONGEST_LINE, event::Theirs, named, sources::Reading};

/// The largest number of calls without a result.
const MAX_OPEN: usize = 4096;

const OTHER: &str = "transcript lines that are not prompts, answers or results";
const BROKEN: &str = "unreadable transcript lines";
const TOO_LONG: &str = "transcript lines that are too long";
const NO_RESULT: &str = "calls in transcripts without a result, which may or may not have run";
const UNREADABLE: &str = "events in transcripts that are not valid hook input";
const BEFORE_HOOKS: &str = "calls in transcripts that failed before hooks ran";

/// The beginnings of results of calls that did not run: the text, who decided, and the decision.
const REFUSALS: &[(&str, &str, Said)] = &[
    ("The user doesn't want to proceed with this tool use", "the user", Said::Asked),
    ("The user doesn't want to take this action", "the user", Said::Asked),
    ("This command requires approval", "Claude Code", Said::Asked),
    ("Claude requested permissions to", "Claude Code", Said::Asked),
    ("Permission to use", "its permission rules", Said::Refused),
    ("Permission for this", "its permission rules", Said::Refused),
    ("PreToolUse:", "a hook", Said::Refused),
    ("Hook PreToolUse:", "a hook", Said::Refused),
];

/// The message about a denied prompt, and the text before the prompt in it.
const PROMPT_REFUSED: (&str, &str) = ("UserPromptSubmit operation blocked by hook", "Original prompt: ");

/// Beginnings of user messages that no person typed.
const NOT_TYPED: &[&str] =
    &["<command-name>", "<local-command-", "<command-message>", "[Request interrupted", "Caveat: "];

/// Reads a transcript.
pub(super) struct Reader {
    path: PathBuf,
    host: &'static Host,
    lines: Lines<BufReader<File>>,
    reading: Arc<Reading>,
    open: VecDeque<Call>,
    ready: VecDeque<(Theirs, Option<Timestamp>)>,
    run: String,
    answer: String,
    step: u32,
    events: u64,
    recent: VecDeque<String>,
}

/// A call without a result yet.
struct Call {
    id: String,
    asked: Map<String, Value>,
    spot: Spot,
    /// The tools called before it.
    recent: Vec<String>,
}

/// The session and time of a line.
#[derive(Clone)]
struct Spot {
    common: Map<String, Value>,
    time: Option<Timestamp>,
    run: String,
    step: u32,
}

impl Reader {
    pub(super) fn open(path: &Path, reading: Arc<Reading>) -> anyhow::Result<Self> {
        let file = named(File::open(path), path)?;
        Ok(Self {
            path: path.to_owned(),
            host: host::find("claude-code").context("Claude Code is missing in the table of hosts")?,
            lines: Lines::new(BufReader::with_capacity(256 * 1024, file), LONGEST_LINE),
            reading,
            open: VecDeque::new(),
            ready: VecDeque::new(),
            run: String::new(),
            answer: String::new(),
            step: 0,
            events: 0,
            recent: VecDeque::new(),
        })
    }

    /// Returns the number of bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn take(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("assistant") => self.assistant(line),
            Some("user")
                if line["message"]["content"].as_array().is_some_and(|blocks| blocks.iter().any(is_result)) =>
            {
                self.results(line);
            }
            Some("user") => self.prompt(line),
            Some("system") if line["content"].as_str().is_some_and(|text| text.starts_with(PROMPT_REFUSED.0)) => {
                self.refused_prompt(line);
            }
            _ => self.reading.unknown(OTHER, 1),
        }
    }

    fn spot(&self, line: &Value) -> Spot {
        let mut common = Map::new();
        for (ours, theirs) in [("session_id", "sessionId"), ("cwd", "cwd"), ("agent_id", "agentId")] {
            if let Some(text) = line[theirs].as_str() {
                common.insert(ours.to_owned(), text.into());
            }
        }
        if line["isSidechain"] == true && !common.contains_key("agent_id") {
            common.insert("agent_id".to_owned(), "sidechain".into());
        }
        common.insert("transcript_path".to_owned(), self.path.to_string_lossy().into());
        let time = line["timestamp"].as_str().and_then(|time| time.parse().ok());
        Spot { common, time, run: self.run.clone(), step: self.step }
    }

    fn prompt(&mut self, line: &Value) {
        let content = &line["message"]["content"];
        let text = content.as_str().map_or_else(|| texts(content), str::to_owned);
        let typed = !text.is_empty() && !NOT_TYPED.iter().any(|start| text.trim_start().starts_with(start));
        if line["isMeta"] == true || line["isCompactSummary"] == true || !typed {
            self.reading.unknown(OTHER, 1);
            return;
        }
        line["uuid"].as_str().unwrap_or_default().clone_into(&mut self.run);
        self.step = 0;
        // The task of a subagent is not a prompt of a person.
        if line["isSidechain"] != true {
            let spot = self.spot(line);
            let fields = json!({ "hook_event_name": "UserPromptSubmit", "prompt": text });
            self.tell(fields, &spot, &[], went_on());
        }
    }

    fn refused_prompt(&mut self, line: &Value) {
        let said = line["content"].as_str().unwrap_or_default();
        let Some((reason, prompt)) = said.split_once(PROMPT_REFUSED.1) else { return };
        let reason = reason.split_once('\n').map_or("", |(_, reason)| reason.trim()).to_owned();
        let then = Opinion { by: Some("a hook".to_owned()), reason: Some(reason), ..Opinion::of(Said::Refused) };
        let fields = json!({ "hook_event_name": "UserPromptSubmit", "prompt": prompt });
        self.tell(fields, &self.spot(line), &[], then);
    }

    fn assistant(&mut self, line: &Value) {
        let message = &line["message"];
        // One answer may span several lines.
        let id = message["id"].as_str().unwrap_or_default();
        if id != self.answer || id.is_empty() {
            id.clone_into(&mut self.answer);
            self.step += 1;
        }
        let spot = self.spot(line);
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let (Some(id), Some(tool)) = (block["id"].as_str(), block["name"].as_str()) else {
                self.reading.unknown(BROKEN, 1);
                continue;
            };
            let asked = json!({ "tool_name": tool, "tool_input": block["input"], "tool_use_id": id });
            let Value::Object(asked) = asked else { continue };
            let recent = self.recent.iter().cloned().collect();
            self.open.push_back(Call { id: id.to_owned(), asked, spot: spot.clone(), recent });
            self.recent.push_back(tool.to_owned());
            if self.recent.len() > RECENT_TOOLS {
                self.recent.pop_front();
            }
            if self.open.len() > MAX_OPEN
                && let Some(lost) = self.open.pop_front()
            {
                self.without_result(&lost);
            }
        }
        let text = texts(&message["content"]);
        if message["stop_reason"] == "end_turn" && !text.is_empty() {
            let child = line["isSidechain"] == true;
            let name = if child { "SubagentStop" } else { "Stop" };
            let fields = json!({
                "hook_event_name": name, "last_assistant_message": text, "stop_hook_active": false,
                "agent_type": line["agentName"].as_str().unwrap_or_default(),
            });
            self.tell(fields, &spot, &[], went_on());
        }
    }

    fn results(&mut self, line: &Value) {
        let blocks = line["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        for block in blocks.iter().filter(|block| is_result(block)) {
            let id = block["tool_use_id"].as_str().unwrap_or_default();
            let Some(index) = self.open.iter().position(|call| call.id == id) else {
                self.reading.unknown(OTHER, 1);
                continue;
            };
            let Some(call) = self.open.remove(index) else { continue };
            let content = &block["content"];
            let text = content.as_str().map_or_else(|| texts(content), str::to_owned);
            let failed = block["is_error"] == true;
            if failed && text.starts_with("<tool_use_error>") {
                self.reading.unknown(BEFORE_HOOKS, 1);
                continue;
            }
            let refusal = REFUSALS.iter().find(|(start, _, _)| failed && text.starts_with(start));
            let then = refusal.map_or_else(went_on, |(_, by, said)| {
                let reason = text.lines().next().unwrap_or_default().to_owned();
                Opinion { by: Some((*by).to_owned()), reason: Some(reason), ..Opinion::of(*said) }
            });
            self.call(&call, "PreToolUse", json!({}), then);
            if refusal.is_some() {
                continue;
            }
            let at = Spot { time: self.spot(line).time, ..call.spot.clone() };
            let call = Call { spot: at, ..call };
            if failed {
                self.call(&call, "PostToolUseFailure", json!({ "error": text }), went_on());
            } else {
                let result = Some(&line["toolUseResult"]).filter(|result| result.is_object() && blocks.len() == 1);
                let response = result.cloned().unwrap_or_else(|| text.into());
                self.call(&call, "PostToolUse", json!({ "tool_response": response }), went_on());
            }
        }
    }

    fn without_result(&mut self, call: &Call) {
        self.reading.unknown(NO_RESULT, 1);
        self.call(call, "PreToolUse", json!({}), went_on());
    }

    fn call(&mut self, call: &Call, name: &str, more: Value, then: Opinion) {
        let mut fields = Value::Object(call.asked.clone());
        fields["hook_event_name"] = name.into();
        if let (Value::Object(fields), Value::Object(more)) = (&mut fields, more) {
            fields.extend(more);
        }
        self.tell(fields, &call.spot, &call.recent, then);
    }

    /// Converts hook input of Claude Code to our event.
    fn tell(&mut self, mut fields: Value, spot: &Spot, recent: &[String], then: Opinion) {
        if let Value::Object(fields) = &mut fields {
            fields.extend(spot.common.clone());
        }
        let Ok(read) = host::read(&fields, Some(self.host), None, &|_| None) else {
            self.reading.unknown(UNREADABLE, 1);
            return;
        };
        self.events += 1;
        let mut happened = read.happened;
        let event = &mut happened.event;
        event["run_id"] = spot.run.as_str().into();
        event["event_id"] = format!("{}.{}", spot.run, self.events).into();
        event["step"] = spot.step.into();
        if let Some(time) = spot.time {
            event["timestamp"] = time.to_string().into();
        }
        if event.get("recent_tools").is_some() {
            let ours = recent.iter().map(|tool| Value::from(self.host.our_name(tool)));
            event["recent_tools"] = ours.collect();
        }
        self.ready.push_back((Theirs { source: "claude-code", happened, then }, spot.time));
    }
}

fn went_on() -> Opinion {
    // A transcript has no changes of hooks: its text is taken as final.
    Opinion { changes: Some(std::collections::BTreeMap::new()), ..Opinion::of(Said::WentOn) }
}

fn is_result(block: &Value) -> bool {
    block["type"] == "tool_result"
}

/// Joins the texts of a list of blocks.
fn texts(content: &Value) -> String {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

impl Iterator for Reader {
    type Item = (Theirs, Option<Timestamp>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            match self.lines.next() {
                Some(Ok(Line::Bytes(bytes))) if bytes.trim_ascii().is_empty() => {}
                Some(Ok(Line::Bytes(bytes))) => match serde_json::from_slice::<Value>(&bytes) {
                    Ok(line) if line.is_object() => self.take(&line),
                    Ok(_) | Err(_) => self.reading.unknown(BROKEN, 1),
                },
                Some(Ok(Line::TooLong(_))) => self.reading.unknown(TOO_LONG, 1),
                Some(Err(error)) => {
                    self.reading.problem(format!("{}: {error}", self.path.display()));
                    return None;
                }
                None => {
                    let lost = self.open.pop_front()?;
                    self.without_result(&lost);
                }
            }
        }
        self.ready.pop_front()
    }
}
