//! What each host can enforce, computed from test cases.
//!
//! `cases/` contains, for every host, events as the host sends them, the judgement of each, and the exact answer. The tests
//! check every case against the rows, and the tests of the command line check them against the program. The table in
//! `docs/hosts.md` is generated from the same cases.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{HOSTS, Host, HostAnswer, answer, read};
use crate::wire::{Decision, Judgement};

/// Something that a policy can ask of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// The name used in the cases and in JSON.
    pub cell: &'static str,
    /// The title shown to people.
    pub title: &'static str,
    /// The point at which it applies.
    pub point: &'static str,
}

const fn wish(cell: &'static str, title: &'static str, point: &'static str) -> Wish {
    Wish { cell, title, point }
}

/// Everything that a policy can ask of a host.
pub const WISHES: &[Wish] = &[
    wish("tool.deny", "deny a call", "BeforeToolUse"),
    wish("tool.ask", "ask a person about a call", "BeforeToolUse"),
    wish("tool.allow", "allow a call", "BeforeToolUse"),
    wish("tool.rewrite", "rewrite a call", "BeforeToolUse"),
    wish("tool.context", "add context to a call", "BeforeToolUse"),
    wish("result.context", "add context to a result", "AfterToolUse"),
    wish("result.replace", "replace a result", "AfterToolUse"),
    wish("result.stop", "end the run", "AfterToolUse"),
    wish("prompt.deny", "deny a prompt", "PromptSubmit"),
    wish("prompt.context", "add context to a prompt", "PromptSubmit"),
    wish("start.context", "add context at session start", "SessionStart"),
    wish("stop.go_on", "keep a run going", "ShouldContinue"),
];

/// Whether a host applies what a policy asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// It does.
    Yes,
    /// It cannot, so the call is denied.
    Denied,
    /// It cannot, so the reason is passed to the model.
    Told,
    /// It cannot.
    No,
    /// It calls no hook at this point.
    Uncalled,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Yes => "yes",
            Self::Denied => "denies",
            Self::Told => "tells",
            Self::No => "no",
            Self::Uncalled => "–",
        })
    }
}

/// The cases of one host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// The name of the host.
    pub host: String,
    /// The environment variables that the host sets.
    #[serde(default)]
    pub environment: Map<String, Value>,
    /// The fields that all its events share.
    pub common: Map<String, Value>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// One event and the expected answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The promise that this case checks.
    pub it: String,
    /// The entry of [`WISHES`] that this case shows.
    pub cell: Option<String>,
    /// The host named on the command line, if it is a different one.
    pub host: Option<String>,
    /// The moment named on the command line.
    pub moment: Option<String>,
    /// The expected result of reading the event.
    pub read: Option<Value>,
    /// The judgement of the policy.
    pub judged: Option<String>,
    /// The event, without the shared fields.
    pub event: Map<String, Value>,
    /// The expected answer.
    pub answer: Expected,
}

/// An expected answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The exit code.
    pub exit: u8,
    /// The whole of stdout, as JSON or text. Empty by default.
    pub stdout: Option<Value>,
    /// A part of stdout.
    pub stdout_has: Option<String>,
    /// A part of stderr.
    pub stderr: Option<String>,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(include_str!(concat!("cases/", $name, ".json"))),*]
    };
}

/// The hosts in the order of the table, the best-known first.
const FILES: &[&str] = files![
    "claude-code",
    "codex",
    "gemini",
    "cursor",
    "copilot",
    "vscode",
    "windsurf",
    "cline",
    "kiro",
    "qwen",
    "factory",
    "opencode",
    "amp",
];

/// Returns all cases.
pub fn cases() -> Result<Vec<Cases>, serde_json::Error> {
    FILES.iter().map(|text| serde_json::from_str(text)).collect()
}

/// What one host does with each entry of [`WISHES`].
#[derive(Debug)]
pub struct Row {
    /// The host.
    pub host: &'static Host,
    /// One cell for each entry of [`WISHES`], in the same order.
    pub held: Vec<Held>,
}

/// Computes the table from the cases.
pub fn rows() -> Result<Vec<Row>, serde_json::Error> {
    let row = |cases: &Cases| {
        let host = HOSTS.iter().find(|host| host.name == cases.host)?;
        let held = WISHES.iter().map(|wish| {
            let case = cases.cases.iter().find(|case| case.cell.as_deref() == Some(wish.cell));
            case.map_or(Held::Uncalled, |case| held(wish, case, &case.answered(cases)))
        });
        Some(Row { host, held: held.collect() })
    };
    Ok(cases()?.iter().filter_map(row).collect())
}

fn held(wish: &Wish, case: &Case, answer: &HostAnswer) -> Held {
    let wants_no = matches!(case.judged.as_deref(), Some("deny" | "block"));
    let ends = answer.stdout.contains("\"continue\":false") || answer.stdout.contains("\"cancel\":true");
    match (answer.lost.is_empty(), answer.refuses) {
        (false, _) => Held::No,
        (true, true) if wish.cell == "result.stop" && !ends => Held::Told,
        (true, true) if !wants_no && wish.cell != "result.stop" => Held::Denied,
        (true, _) => Held::Yes,
    }
}

impl Case {
    /// Returns the complete event.
    pub fn event(&self, cases: &Cases) -> Value {
        let mut event = cases.common.clone();
        event.extend(self.event.clone());
        event.into()
    }

    /// Returns the actual answer to the event.
    pub fn answered(&self, cases: &Cases) -> HostAnswer {
        let host = self.host.as_deref().and_then(super::find);
        let variable = |name: &str| cases.environment.get(name).and_then(Value::as_str).map(str::to_owned);
        match read(&self.event(cases), host, self.moment.as_deref(), &variable) {
            Ok(event) => answer(&event, &judgement(self.judged.as_deref(), &event.happened.event)),
            Err(error) => error.answer(host.or_else(|| super::find(&cases.host)), self.named(cases).as_deref()),
        }
    }

    /// Returns the moment named by the event or by the command line.
    pub fn named(&self, cases: &Cases) -> Option<String> {
        let host = super::find(&cases.host)?;
        let event = self.event(cases);
        super::named(host, &event, self.moment.as_deref()).map(str::to_owned)
    }
}

/// Returns the judgement that a case names.
fn judgement(word: Option<&str>, event: &Value) -> Judgement {
    let judged = Judgement { goes_on: true, ..Judgement::default() };
    let decided = |decision, reason: &str| Judgement {
        decision: Some(decision),
        reason: Some(reason.to_owned()),
        ..judged.clone()
    };
    match word {
        Some("deny") => decided(Decision::Deny, "not here"),
        Some("block") => decided(Decision::Block, "not here"),
        Some("ask") => decided(Decision::Ask, "a person decides"),
        Some("allow") => Judgement { decision: Some(Decision::Allow), ..judged },
        Some("stop") => Judgement { goes_on: false, reason: Some("enough".to_owned()), ..judged },
        Some("context") => Judgement { model_context: vec!["mind the gap".to_owned()], ..judged },
        Some("replace") => {
            let effects = [("tool_result".to_owned(), json!({ "output": "[hidden]" }))];
            Judgement { effects: effects.into_iter().collect(), ..judged }
        }
        Some("rewrite") => {
            let mut args = event["args"].clone();
            args["command"] = "echo safe".into();
            Judgement { tool_input: Some(args), ..judged }
        }
        _ => judged,
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, fs, path::PathBuf};

    use super::*;

    #[test]
    fn every_host_gets_the_exact_answer_that_its_contract_requires() {
        let all = cases().expect("cases");
        assert_eq!(all.len(), HOSTS.len());
        for cases in &all {
            for case in &cases.cases {
                let (answer, expected) = (case.answered(cases), &case.answer);
                let at = format!("{}: {}: {answer:?}", cases.host, case.it);
                assert_eq!(answer.exit_code, expected.exit, "{at}");
                let stdout =
                    serde_json::from_str(&answer.stdout).unwrap_or_else(|_| Value::from(answer.stdout.clone()));
                match &expected.stdout_has {
                    Some(part) => assert!(answer.stdout.contains(part), "{at}"),
                    None => assert_eq!(stdout, expected.stdout.clone().unwrap_or_else(|| "".into()), "{at}"),
                }
                assert!(expected.stderr.as_ref().is_none_or(|part| answer.stderr.contains(part)), "{at}");
                assert!(answer.exit_code == 0 || !answer.stderr.trim().is_empty(), "{at}");
            }
        }
    }

    #[test]
    fn every_host_is_detected_from_its_events_and_its_tools_get_our_names() {
        for cases in &cases().expect("cases") {
            let variable = |name: &str| cases.environment.get(name).and_then(Value::as_str).map(str::to_owned);
            for case in cases.cases.iter().filter(|case| case.read.is_some() && case.host.is_none()) {
                let read = read(&case.event(cases), None, case.moment.as_deref(), &variable);
                let read = read.unwrap_or_else(|error| panic!("{}: {}: {error}", cases.host, case.it));
                assert_eq!(read.host.name, cases.host, "{}", case.it);
                let expected = case.read.as_ref().expect("it is there");
                assert_eq!(read.happened.point.name, expected["point"], "{}: {}", cases.host, case.it);
                if let Some(tool) = expected.get("tool") {
                    assert_eq!(&read.happened.event["tool"], tool, "{}: {}", cases.host, case.it);
                }
                if let Some(session) = case.event(cases).get("cwd") {
                    assert_eq!(&read.happened.event["working_directory"], session, "{}: {}", cases.host, case.it);
                }
            }
        }
    }

    #[test]
    fn every_capability_of_a_host_has_a_case() {
        for cases in &cases().expect("cases") {
            let host = super::super::find(&cases.host).expect("a host");
            assert!(cases.cases.len() >= 8, "{}", cases.host);
            for wish in WISHES {
                let called = host.moments.iter().any(|moment| moment.point == wish.point && moment.installed);
                let shown = cases.cases.iter().any(|case| case.cell.as_deref() == Some(wish.cell));
                assert_eq!(called, shown, "{}: {}", cases.host, wish.cell);
            }
        }
    }

    #[test]
    fn every_answer_form_is_valid_json() {
        for host in HOSTS {
            for moment in host.moments {
                let takes = &moment.takes;
                let refusal = match takes.refusal {
                    super::super::Refusal::Say(form) => Some(form),
                    super::super::Refusal::No | super::super::Refusal::Exit2 => None,
                };
                let ask = match takes.ask {
                    super::super::Ask::Say(form) => Some(form),
                    super::super::Ask::No | super::super::Ask::Anyway | super::super::Ask::Later(_) => None,
                };
                let rewrite = takes.rewrite.map(|rewrite| rewrite.form);
                let rest = [takes.allow, takes.context, takes.stop, takes.result, takes.message];
                for form in rest.into_iter().chain([refusal, ask, rewrite]).flatten() {
                    assert!(serde_json::from_str::<Value>(form).is_ok(), "{}: {}: {form}", host.name, moment.name);
                }
                assert!(vertebra::point_named(moment.point) == Some(moment.point), "{}: {}", host.name, moment.name);
            }
        }
    }

    const BEGIN: &str = "<!-- begin: generated by host/matrix.rs -->\n";
    const END: &str = "<!-- end -->";

    #[test]
    fn the_table_in_the_hosts_page_matches_the_cases() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts.md");
        let page = fs::read_to_string(&path).expect("docs/hosts.md");
        let (head, rest) = page.split_once(BEGIN).expect("the page marks where its table begins");
        let (_, tail) = rest.split_once(END).expect("the page marks where its table ends");
        let wanted = format!("{head}{BEGIN}{}{END}{tail}", made());
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&path, &wanted).expect("docs/hosts.md can be written");
            return;
        }
        assert_eq!(page, wanted, "docs/hosts.md differs from the cases; run with UPDATE_EXPECTED=1 to regenerate it");
    }

    fn made() -> String {
        let rows = rows().expect("cases");
        let titles = rows.iter().map(|row| row.host.title).collect::<Vec<_>>().join(" | ");
        let mut page = format!("| | {titles} |\n|{}\n", " --- |".repeat(rows.len() + 1));
        for (at, wish) in WISHES.iter().enumerate() {
            let cells = rows.iter().map(|row| row.held[at].to_string()).collect::<Vec<_>>().join(" | ");
            writeln!(page, "| {} | {cells} |", wish.title).expect("text");
        }
        page.push_str("\n| agent | `--host` | if a hook fails | cases | notes |\n|");
        page.push_str(&" --- |".repeat(5));
        page.push('\n');
        for (row, cases) in rows.iter().zip(cases().expect("cases")) {
            let Host { title, name, failing, remark, .. } = row.host;
            writeln!(page, "| {title} | `{name}` | {failing} | {} | {remark} |", cases.cases.len()).expect("text");
        }
        page
    }
}
