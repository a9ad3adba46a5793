//! The shared cases: what a person or a model must observe of Claude Code's hooks.

use std::{fs, sync::Arc};

use serde_json::{Map, Value, json};
use vertebra_bridge::wire::{Decision, Judgement};

use super::world::{Says, World, mcp, serve};

/// Cases of low confidence in which we differ, and why; `docs/claude-code.md` has the same list.
const DIFFERENT: &[(&str, &str)] = &[];

#[tokio::test]
#[cfg_attr(not(shared_cases), ignore = "claude-code-cases.json is not beside this repository")]
async fn what_is_observed_of_claude_codes_hooks_is_observed_of_ours() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/claude-code-cases.json");
    let cases: Value = serde_json::from_str(&fs::read_to_string(path).expect("cases")).expect("JSON");
    let cases = cases["cases"].as_array().expect("a list");
    let mut wrong = Vec::new();
    let checked = futures_util::future::join_all(cases.iter().map(check)).await;
    for (case, problems) in cases.iter().zip(checked) {
        let id = case["id"].as_str().expect("an id");
        let differs = DIFFERENT.iter().any(|(of, _)| *of == id);
        if problems.is_empty() == differs {
            wrong
                .push(format!("{id}: {}", if differs { "it does not differ".to_owned() } else { problems.join("; ") }));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

async fn check(case: &Value) -> Vec<String> {
    let mut scene = Scene::new(case);
    scene.set_up().await;
    let judgement = scene.world.fire(&scene.event()).await;
    let mut problems = Vec::new();
    for (key, expected) in case["expect"].as_object().expect("an object") {
        if let Err(problem) = scene.holds(key, expected, &judgement).await {
            problems.push(format!("{key}: {problem}"));
        }
    }
    problems
}

struct Scene<'c> {
    case: &'c Value,
    config: &'c Map<String, Value>,
    world: World,
}

/// Fields of a handler; of the others, `matcher` is the group's, and the rest is about the scene.
const HANDLER: &[&str] = &[
    "type",
    "if",
    "timeout",
    "onFailure",
    "async",
    "asyncRewake",
    "once",
    "server",
    "tool",
    "input",
    "prompt",
    "continueOnBlock",
    "shell",
    "args",
    "url",
];

impl<'c> Scene<'c> {
    fn new(case: &'c Value) -> Self {
        let config = case["config"].as_object().expect("an object");
        Self { case, config, world: World::new() }
    }

    fn name(&self) -> &'c str {
        match self.case["event"].as_str().expect("a name") {
            "(config)" | "(permission rule)" => "PreToolUse",
            name => name,
        }
    }

    async fn set_up(&mut self) {
        let behaviour = self.case["behaviour"].as_array().expect("a list");
        let mut handlers = Vec::new();
        for (at, behaviour) in behaviour.iter().enumerate() {
            handlers.push(self.handler(at, behaviour).await);
        }
        if behaviour.is_empty() && self.config.contains_key("type") {
            handlers.push(self.handler(0, &json!({ "http": { "status": 200, "body": "" } })).await);
        }
        let mut group = json!({ "hooks": handlers });
        if let Some(matcher) = self.config.get("matcher") {
            group["matcher"] = matcher.clone();
        }
        let mut settings = json!({ "hooks": { self.name(): [group] } });
        if let Some(permissions) = self.config.get("permissions") {
            settings["permissions"] = permissions.clone();
        }
        if let Some(rules) = self.config.get("rule").and_then(Value::as_str) {
            settings["permissions"] = rules_of(rules);
        }
        for level in ["user", "project"] {
            if let Some(of_level) = self.config.get(level) {
                self.world.settings(level, of_level);
            }
        }
        if let Some(levels) = self.config.get("same handler in").and_then(Value::as_array) {
            for level in levels {
                self.world.settings(level.as_str().expect("a level"), &settings);
            }
        } else {
            self.world.settings("local", &settings);
        }
    }

    async fn handler(&mut self, at: usize, behaviour: &Value) -> Value {
        let mut handler = json!({ "type": "command" });
        for key in HANDLER {
            if let Some(value) = self.config.get(*key) {
                handler[*key] = value.clone();
            }
        }
        if let Some(said) = behaviour.get("mcp") {
            self.world.session.servers = mcp(&self.world, said["text"].as_str().expect("a text"), "").await;
        } else if let Some(said) = behaviour.get("llm") {
            self.world.session.model = Some(Arc::new(Says(said.to_string(), std::sync::Mutex::default())));
        } else if handler["type"] == "http" {
            let http = &behaviour["http"];
            let status = u16::try_from(http["status"].as_u64().expect("a status")).expect("a status");
            handler["url"] = serve(status, http["body"].as_str().unwrap_or_default()).0.into();
        } else if handler["type"] == "command" {
            handler["command"] = self.script(at, behaviour).into();
        }
        handler
    }

    /// A script that keeps what it was given and behaves as the case says.
    fn script(&self, at: usize, behaviour: &Value) -> String {
        let text = |key: &str| behaviour[key].as_str().unwrap_or_default();
        let (out, err) = (format!("out.{at}"), format!("err.{at}"));
        self.world.write(&out, text("stdout"));
        self.world.write(&err, text("stderr"));
        let folder = self.world.path("");
        let folder = folder.display();
        let side_effect = match text("side_effect") {
            "log" => format!("echo ran > {folder}/log"),
            other => other.to_owned(),
        };
        let lines = [
            "#!/bin/sh".to_owned(),
            format!("cat > {folder}/stdin.{at}"),
            format!("env > {folder}/env.{at}; pwd > {folder}/cwd.{at}"),
            format!("if [ -t 0 ] || [ -t 1 ] || [ -t 2 ]; then echo yes > {folder}/tty.{at}; fi"),
            format!("sleep {}", behaviour["sleep_s"].as_f64().unwrap_or_default()),
            side_effect,
            format!("cat {folder}/{out}; cat {folder}/{err} >&2"),
            format!("exit {}", behaviour["exit"]),
        ];
        self.world.script(&format!("hook{at}.sh"), &lines.join("\n")).display().to_string()
    }

    fn event(&self) -> Value {
        let text = self.case["input"].to_string().replace("${cwd}", &self.world.project().to_string_lossy());
        let mut event: Value = serde_json::from_str(&text).expect("an object");
        event["hook_event_name"] = self.name().into();
        if let Some(mode) = self.config.get("permission_mode") {
            event["permission_mode"] = mode.clone();
        }
        if let Some(agent) = self.config.get("in").and_then(Value::as_str) {
            event["agent_id"] = "agent-1".into();
            event["agent_type"] = agent.trim_start_matches("subagent ").into();
        }
        event
    }

    async fn holds(&self, key: &str, expected: &Value, got: &Judgement) -> Result<(), String> {
        let same = |got: Value| {
            if got == *expected { Ok(()) } else { Err(format!("expected {expected}, got {got}")) }
        };
        let yes = |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("{what}: {got:?}")) };
        let word = expected.as_str().unwrap_or_default();
        let stdin = || serde_json::from_str::<Value>(&self.world.text("stdin.0")).unwrap_or_default();
        let effect = |key: &str| got.effects.get(key).cloned().unwrap_or_default();
        match key {
            "ran" => same(got.ran.len().into()),
            "decision" | "result" => same(decision(got)),
            "match" | "blocks" => same(got.decision.is_some().into()),
            "reason" => same(got.reason.clone().into()),
            "reason_contains" => yes(got.reason.as_deref().is_some_and(|reason| reason.contains(word)), "reason"),
            "reason_to" => yes(got.model_sees == got.reason && got.reason.is_some(), "the model does not read it"),
            "by" => yes(got.decided_by.as_deref().is_some_and(|by| by.contains(word)), "decided by"),
            "tool_input" => same(got.tool_input.clone().unwrap_or_default()),
            "user_sees" => same(got.user_sees.clone().into()),
            "model_sees" => same(got.model_sees.clone().into()),
            "model_context" if word == "preview plus a file path" => {
                let text = got.model_context.first().ok_or("no context")?;
                let path = text.rsplit(" in ").next().unwrap_or_default().trim_end_matches(')');
                let whole = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
                fs::remove_file(path).map_err(|error| error.to_string())?;
                yes(text.chars().count() < 10_000 && whole.len() == 10_001, "not cut")
            }
            "model_context" => same(got.model_context.clone().into()),
            "warning" => yes(!got.warnings.is_empty(), "no warning"),
            "notice" if expected.is_boolean() => yes(!got.warnings.is_empty(), "no notice"),
            "notice" => yes(got.warnings.iter().any(|warning| warning.contains(word)), "no such notice"),
            "config" => {
                yes(self.world.read().warnings.iter().any(|warning| warning.contains("not supported for")), "told")
            }
            "reported_as_error" => yes(got.warnings.is_empty(), "reported"),
            "agent" => yes(!got.goes_on && effect("agent") == "stopped", "not stopped"),
            "tool" if word == "proceeds" => yes(got.decision.is_none() && got.goes_on, "it does not proceed"),
            "continue:false" => yes(got.goes_on, "stopped"),
            "hook" => yes(got.ran[0].exit_code == Some(0), "it did not complete"),
            "effect" => yes(
                got.decision.is_none() && got.goes_on && got.user_sees.is_none() && got.model_context.is_empty(),
                "some",
            ),
            "turn" if word == "ends" => yes(!got.goes_on && effect("turn") == "ends", "goes on"),
            "turn" => yes(got.goes_on && effect("turn") == "continues", "ends"),
            "later Bash" => {
                let left = effect("environment");
                let (name, value) = word.split_once('=').expect("a variable");
                yes(left[name] == value, "nothing is left")
            }
            "second_call_ran" => same(self.world.fire(&self.event()).await.ran.len().into()),
            "stdin_has" => {
                let has = |name: &Value| stdin().get(name.as_str().unwrap_or_default()).is_some();
                yes(expected.as_array().is_some_and(|names| names.iter().all(has)), &stdin().to_string())
            }
            "stdin_keys" => {
                let keys: Vec<String> = stdin().as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
                let known: Vec<String> = keys.into_iter().filter(|key| key != "note").collect();
                let sorted = |mut list: Vec<String>| {
                    list.sort();
                    list
                };
                let wanted = expected.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
                let (known, wanted) = (sorted(known), sorted(wanted.collect()));
                yes(known == wanted, &format!("{known:?}"))
            }
            "env" => {
                let line = format!("CLAUDE_PROJECT_DIR={}\n", self.world.project().display());
                yes(self.world.text("env.0").contains(&line), "not there")
            }
            "env_absent" => yes(!self.world.text("env.0").contains("OTEL_"), "there"),
            "cwd" => yes(self.world.text("cwd.0").trim() == self.world.project().to_string_lossy(), "elsewhere"),
            "tty" => yes(self.world.text("tty.0").is_empty(), "there is one"),
            "mcp_args" => same(serde_json::from_str(&self.world.text("mcp-args.json")).unwrap_or_default()),
            "tool" | "prompt" | "stop" | "model_next" | "label" | "tool_result" | "agent_loop" | "subagent"
            | "subagent_next" | "permission" | "session_rules" | "denial" | "model_told" | "session" | "change"
            | "worktree" | "task" | "subagent_context" | "screen" | "transcript" | "expansion" | "wakes_model_with"
            | "StopFailure" => same(effect(key)),
            other => Err(format!("nobody checks `{other}`")),
        }
    }
}

fn decision(got: &Judgement) -> Value {
    match got.decision {
        None => Value::Null,
        Some(Decision::Allow) => "allow".into(),
        Some(Decision::Ask) => "ask".into(),
        Some(Decision::Block) => "block".into(),
        Some(Decision::Deny) => "deny".into(),
    }
}

/// `deny Bash(aws *) and allow Bash(aws s3 ls)`, as settings have them.
fn rules_of(text: &str) -> Value {
    let mut rules = json!({ "allow": [], "ask": [], "deny": [] });
    for rule in text.split(" and ") {
        let (effect, rule) = rule.split_once(' ').expect("an effect");
        let rule = rule.trim_end_matches(" + hook none");
        rules[effect].as_array_mut().expect("a list").push(rule.into());
    }
    rules
}
