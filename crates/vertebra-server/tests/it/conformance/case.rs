//! A case: hooks, an event, and what comes of it. Every runner brings the cases to life in its own way.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use vertebra::{FailurePolicy, POINT_TABLE, Role, point_named};

/// `conformance/cases/*.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "idea")]
    _idea: String,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) hooks: Vec<HookCase>,
    pub(crate) event: Value,
    pub(crate) expect: Value,
    /// The runners that cannot say this, and why not.
    #[serde(default)]
    pub(crate) not_in: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookCase {
    pub(crate) name: String,
    /// The event's own unless told otherwise.
    point: Option<String>,
    #[serde(default = "hook")]
    pub(crate) role: Role,
    #[serde(rename = "match")]
    pub(crate) matcher: Option<Map<String, Value>>,
    pub(crate) priority: Option<i32>,
    #[serde(default)]
    pub(crate) before: Vec<String>,
    #[serde(default)]
    pub(crate) after: Vec<String>,
    pub(crate) timeout_ms: Option<u32>,
    #[serde(default)]
    pub(crate) max_retries: u32,
    pub(crate) on_failure: Option<FailurePolicy>,
    #[serde(default)]
    pub(crate) shadow: bool,
    #[serde(default)]
    pub(crate) detached: bool,
    /// An answer in its wire form; without any of these it has no opinion.
    pub(crate) answers: Option<Value>,
    /// Text that is no answer.
    says: Option<String>,
    fails: Option<String>,
    #[serde(default)]
    hangs: bool,
    /// What it finds in its event, by JSON pointer.
    #[serde(default)]
    pub(crate) sees: Map<String, Value>,
}

/// What a hook does when it is asked.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Says(String),
    Fails(String),
    Hangs,
}

fn hook() -> Role {
    Role::Hook
}

impl HookCase {
    pub(crate) fn point<'a>(&'a self, case: &'a Case) -> &'a str {
        self.point.as_deref().or_else(|| case.event["point"].as_str()).expect("a point")
    }

    pub(crate) fn does(&self) -> Does {
        match (&self.answers, &self.says, &self.fails, self.hangs) {
            (None, None, None, true) => Does::Hangs,
            (None, None, Some(why), false) => Does::Fails(why.clone()),
            (None, Some(text), None, false) => Does::Says(text.clone()),
            (Some(answer), None, None, false) => Does::Says(answer.to_string()),
            (None, None, None, false) => Does::Says(String::new()),
            _ => panic!("{} does more than one thing", self.name),
        }
    }
}

/// What came of a case in one of the runners.
pub(crate) enum Outcome {
    /// The hooks cannot stand as they are written.
    Refused(String),
    Fired {
        record: Value,
        judgement: Value,
    },
}

/// The events that hooks saw last, by the hook.
#[derive(Clone, Default)]
pub(crate) struct Saw(Arc<Mutex<BTreeMap<String, Value>>>);

impl Saw {
    pub(crate) fn note(&self, hook: &str, event: Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(hook.to_owned(), event);
    }

    fn of(&self, hook: &str) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(hook).cloned()
    }
}

/// Every case, with the file it is in.
pub(crate) fn cases() -> Vec<(String, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/cases");
    let mut files: Vec<_> = fs::read_dir(folder).expect("cases").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a text");
        let file: File = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        all.extend(file.cases.into_iter().map(|case| (name.clone(), case)));
    }
    all
}

#[test]
fn every_point_and_every_verdict_has_a_case() {
    let cases = cases();
    let points: Vec<_> = cases.iter().filter_map(|(_, case)| point_named(case.event["point"].as_str()?)).collect();
    let lacks: Vec<_> = POINT_TABLE.iter().filter(|point| !points.contains(&point.name)).collect();
    assert!(lacks.is_empty(), "no case is about {lacks:?}");
    let traces = cases.iter().flat_map(|(_, case)| case.expect["hooks"].as_array().into_iter().flatten());
    let given: Vec<&str> =
        traces.filter(|trace| trace["ran"] == "answered").filter_map(|trace| trace["verdict"].as_str()).collect();
    // Nobody retries what is only tried: that is a failure, and a case of its own.
    let words = ["proceed", "skip", "allow", "replace", "recover", "hold", "ask", "stop", "go_on", "halt", "deny"];
    let lacks: Vec<_> = words.iter().filter(|word| !given.contains(word)).collect();
    assert!(lacks.is_empty(), "no hook of a case says {lacks:?}");
}

/// Puts every case to a runner, and tells all differences at once. Answers with how many it could say.
pub(crate) async fn check_all(runner: &str, run: impl AsyncFn(&Case, &Saw) -> Outcome) -> usize {
    let (mut wrong, mut held) = (Vec::new(), 0);
    for (file, case) in &cases() {
        if case.not_in.contains_key(runner) {
            continue;
        }
        let saw = Saw::default();
        let outcome = run(case, &saw).await;
        match difference(case, outcome, &saw) {
            None => held += 1,
            Some(difference) => wrong.push(format!("{file}: {}\n{difference}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n\n{}", wrong.len(), wrong.len() + held, wrong.join("\n\n"));
    held
}

/// How what came of a case is not what it says.
fn difference(case: &Case, outcome: Outcome, saw: &Saw) -> Option<String> {
    let (found, why) = match outcome {
        Outcome::Refused(why) => (json!({ "refused": true }), format!(": {why}")),
        Outcome::Fired { record, judgement } => (plain(&record, &judgement), String::new()),
    };
    let other = (found != case.expect).then(|| format!("expected {:#}\nfound {found:#}{why}", case.expect));
    let mut wrong: Vec<String> = other.into_iter().collect();
    for hook in &case.hooks {
        let event = saw.of(&hook.name);
        for (at, expected) in &hook.sees {
            let seen = event.as_ref().and_then(|event| event.pointer(at));
            if seen != Some(expected) {
                wrong.push(format!("`{}` should see {expected} at {at}, and saw {seen:?}", hook.name));
            }
        }
    }
    (!wrong.is_empty()).then(|| wrong.join("\n"))
}

/// A record and what came of it in the form that cases are written in: without times, and without the words in which a
/// failure is told, which are each runner's own.
fn plain(record: &Value, judgement: &Value) -> Value {
    let hooks = record["hooks"].as_array().into_iter().flatten();
    let decider = hooks.clone().find(|trace| record.get("decided_by") == Some(&trace["hook"]));
    let by_failure = decider.is_some_and(|trace| trace["ran"]["ran"] == "failed");
    let mut plain = Map::new();
    plain.insert("hooks".to_owned(), hooks.map(trace).collect());
    for key in ["verdict", "decided_by", "reason"] {
        if let Some(value) = record.get(key).filter(|_| key != "reason" || !by_failure) {
            plain.insert(key.to_owned(), value.clone());
        }
    }
    let mut effects = judgement["effects"].as_object().cloned().unwrap_or_default();
    effects.remove("shadow");
    if by_failure {
        effects.remove("stop");
    }
    let came = [
        ("decision", judgement["decision"].clone()),
        ("args", judgement["tool_input"].clone()),
        ("context", Some(judgement["model_context"].clone()).filter(|texts| *texts != json!([])).unwrap_or_default()),
        ("continue", Some(judgement["continue"].clone()).filter(|goes_on| *goes_on == false).unwrap_or_default()),
        ("effects", Some(effects).filter(|effects| !effects.is_empty()).map(Value::Object).unwrap_or_default()),
    ];
    let came: Map<String, Value> =
        came.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.to_owned(), value)).collect();
    if !came.is_empty() {
        plain.insert("judgement".to_owned(), came.into());
    }
    plain.into()
}

fn trace(trace: &Value) -> Value {
    let ran = &trace["ran"];
    let mut plain = Map::new();
    let mut say = |key: &str, value: Option<&Value>| {
        if let Some(value) = value {
            plain.insert(key.to_owned(), value.clone());
        }
    };
    for key in ["hook", "role"] {
        say(key, trace.get(key));
    }
    for key in ["ran", "verdict", "reason", "policy", "attempts"] {
        say(key, ran.get(key));
    }
    for key in ["because", "by"] {
        say(key, ran["why"].get(key));
    }
    for key in ["changes", "shadow"] {
        say(key, trace.get(key));
    }
    plain.into()
}
