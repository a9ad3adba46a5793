//! Tests of hooks in settings files: fields, defaults and errors.

use serde_json::json;
use vertebra::{BeforeToolUse, Matcher, POINT_TABLE, Test};

use super::*;
use crate::settings::{Level, parse};

fn hooks(text: &str) -> Vec<Arc<HookSettings>> {
    let sheet = parse(text, Level::Project, "vertebra.toml").unwrap_or_else(|error| panic!("{error}"));
    sheet.settings.hooks.into_iter().map(|said| said.value).collect()
}

/// A hook at a point with these lines.
fn told(lines: &str) -> String {
    let text = format!("[[hook]]\n{lines}\n");
    parse(&text, Level::Project, "vertebra.toml").expect_err(&text).to_string()
}

#[test]
fn every_field_of_a_hook_is_read() {
    let text = r#"
[[hook]]
name = "check"
point = "pre_tool_use"
role = "hook"
match = { tool = "bash|edit_file", path = ["src/**", "*.rs"], command = '\brm\b', session = "s", agent = "a", metadata = { "deploy/on" = { exists = false } }, args = { "/force" = true, "/n" = { equals = 3 }, "/name" = { matches = "^x" } }, not = { any = [{ tool = "read_file" }, { tool = "grep" }] } }
priority = 5
before = "other"
after = ["first"]
timeout = "500ms"
max_retries = 2
on_failure = "ask"
enabled = false
shadow = true
run = { command = ["python3", "check.py"], contract = "claude-code", if = "Bash(git *)", env = ["TOKEN"] }

[[hook]]
point = "AfterStep"
role = "watch"
detached = true
match = { step = "tool_execution" }
run = { worker = "./watch", timeout = "2m" }
"#;
    let read = hooks(text);
    let args = |at: &str, is| Matcher::inside("args", at, is);
    let tool = |name: &str| Matcher::attribute("tool", name);
    let stand = Stand {
        name: "check".to_owned(),
        point: AnyPoint::new(&BeforeToolUse),
        role: Role::Hook,
        matcher: Some(Matcher::All(vec![
            tool("bash|edit_file"),
            Matcher::Any(vec![Matcher::attribute("path", "src/**"), Matcher::attribute("path", "*.rs")]),
            Matcher::attribute("command", r"\brm\b"),
            Matcher::attribute("session", "s"),
            Matcher::attribute("agent", "a"),
            Matcher::Metadata { key: "deploy/on".to_owned(), is: Test::Exists }.negated(),
            args("/force", Test::Equals(json!(true))),
            args("/n", Test::Equals(json!(3))),
            args("/name", Test::Matches("^x".to_owned())),
            Matcher::Any(vec![tool("read_file"), tool("grep")]).negated(),
        ])),
        priority: 5,
        before: vec!["other".to_owned()],
        after: vec!["first".to_owned()],
        timeout: Some(Duration::from_millis(500)),
        max_retries: 2,
        on_failure: Some(FailurePolicy::Ask),
        shadow: true,
        detached: false,
    };
    let expected = HookSettings {
        stand,
        enabled: false,
        action: Action::Run(RunSettings::Command {
            command: Words::List(vec!["python3".to_owned(), "check.py".to_owned()]),
            contract: Contract::ClaudeCode { only_if: Some("Bash(git *)".to_owned()) },
            env: vec!["TOKEN".to_owned()],
        }),
    };
    assert_eq!(*read[0], expected);
    assert_eq!(read[1].stand.name, "project:17", "without a name: the level and the line");
    assert_eq!(
        (read[1].stand.point.row().name, read[1].stand.role, read[1].stand.detached),
        ("AfterStep", Role::Watch, true)
    );
    assert_eq!(read[1].stand.matcher, Some(Matcher::attribute("step", "tool_execution")));
    assert_eq!(read[1].stand.timeout, Some(Duration::from_mins(2)));
}

#[test]
fn each_fixed_answer_has_its_default_role() {
    let cases = [
        ("point = \"BeforeToolUse\"\ndeny = \"no\"", Role::Guard, json!({ "verdict": "deny", "reason": "no" })),
        ("point = \"BeforeToolUse\"\nask = \"sure?\"", Role::Guard, json!({ "verdict": "ask", "reason": "sure?" })),
        ("point = \"BeforeToolUse\"\nallow = true", Role::Hook, json!({ "verdict": "allow" })),
        ("point = \"AfterInference\"\nretry = \"2s\"", Role::Hook, json!({ "verdict": "retry", "after_ms": 2000 })),
        ("point = \"BeforeStep\"\nstop = \"enough\"", Role::Guard, json!({ "verdict": "stop", "reason": "enough" })),
        (
            "point = \"InferenceDelta\"\nhalt = \"enough\"",
            Role::Guard,
            json!({ "verdict": "halt", "reason": "enough" }),
        ),
        ("point = \"Stop\"\ncontinue = \"test\"", Role::Guard, json!({ "verdict": "go_on", "instruction": "test" })),
    ];
    for (lines, role, verdict) in cases {
        let read = hooks(&format!("[[hook]]\n{lines}\n"));
        let Action::Say(reply) = &read[0].action else { panic!("{lines}") };
        assert_eq!(reply.verdict.clone().map(serde_json::Value::Object), Some(verdict), "{lines}");
        assert_eq!(read[0].stand.role, role, "{lines}");
    }
    let read = hooks("[[hook]]\npoint = \"BeforeToolUse\"\nset = { timeout = 30, deep = { a = [1.5, \"x\"] } }\n");
    let Action::Say(reply) = &read[0].action else { panic!("an answer") };
    assert_eq!(reply.set, Some(json!({ "timeout": 30, "deep": { "a": [1.5, "x"] } })));
    let read =
        hooks("[[hook]]\npoint = \"PromptSubmit\"\nadd_context = [\"one\", \"two\"]\npatch = { prompt = \"x\" }\n");
    let Action::Say(reply) = &read[0].action else { panic!("an answer") };
    assert_eq!((reply.context.len(), &reply.patch), (2, &Some(json!({ "prompt": "x" }))));
}

#[test]
fn every_verdict_that_a_file_may_give_at_a_point_can_be_given_there() {
    let verdicts = [
        "deny = \"no\"",
        "ask = \"no\"",
        "stop = \"no\"",
        "halt = \"no\"",
        "continue = \"no\"",
        "allow = true",
        "retry = \"2s\"",
    ];
    let mut given = 0;
    for point in POINT_TABLE {
        for verdict in verdicts {
            let text = format!("[[hook]]\npoint = \"{point}\"\n{verdict}\n");
            let Ok(sheet) = parse(&text, Level::Project, "vertebra.toml") else { continue };
            let Action::Say(reply) = &sheet.settings.hooks[0].value.action else { panic!("{text}") };
            assert!(reply.verdict_at(*point).is_ok(), "{text}");
            given += 1;
        }
    }
    assert!(given > POINT_TABLE.len(), "most points decide something: {given}");
}

#[test]
fn every_kind_of_handler_is_read() {
    let runs = [
        ("{ http = \"https://example.org\", headers = { A = \"$T\" }, env = [\"T\"], private = true }", "Http"),
        ("{ prompt = \"Is it safe? $EVENT\", model = \"a:b\" }", "Prompt"),
        ("{ mcp_tool = \"check\", server = \"lint\", input = { path = \"${args.path}\" } }", "McpTool"),
        ("{ wasm = \"policy.wasm\", fuel = 1000 }", "Wasm"),
        ("{ worker = [\"./w\", \"-x\"] }", "Worker"),
    ];
    for (run, kind) in runs {
        let read = hooks(&format!("[[hook]]\npoint = \"BeforeToolUse\"\nrun = {run}\n"));
        assert!(format!("{:?}", read[0].action).contains(kind), "{:?}", read[0].action);
    }
}

#[test]
fn an_invalid_hook_is_an_error_with_the_line_and_what_to_write() {
    let cases = [
        "deny = \"no\"",
        "point = \"BeforeToolUze\"\ndeny = \"no\"",
        "point = \"PreToolUse\"\ndenny = \"no\"",
        "point = \"PreToolUse\"\ncommand = \"./check.sh\"",
        "point = \"PreToolUse\"\nrun = \"./check.sh\"",
        "point = \"PreToolUse\"\ntool = \"bash\"\ndeny = \"no\"",
        "point = \"PreToolUse\"",
        "point = \"PostToolUse\"\ndeny = \"no\"",
        "point = \"SessionEnd\"\nstop = \"no\"",
        "point = \"BeforeToolUse\"\ndeny = \"no\"\nask = \"?\"",
        "point = \"BeforeToolUse\"\nallow = false",
        "point = \"BeforeToolUse\"\nrole = \"guard\"\nset = { a = 1 }",
        "point = \"BeforeToolUse\"\nrole = \"gaurd\"\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nrole = \"watch\"\ndeny = \"no\"",
        "point = \"ExecutionEnd\"\nrole = \"guard\"\nrun = { command = \"x\" }",
        "point = \"BeforeStep\"\nset = { a = 1 }",
        "point = \"PromptSubmit\"\nset = { promt = \"x\" }",
        "point = \"PromptSubmit\"\nset = { prompt = 3 }",
        "point = \"PromptSubmit\"\nmatch = { tool = \"bash\" }\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nmatch = { step = \"final_response\" }\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nmatch = { comand = \"x\" }\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nmatch = { tool = \"bash\", command = \"(\" }\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nmatch = { path = \"[a\" }\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nmatch = { args = { command = \"x\" } }\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nmatch = { args = { \"/a\" = { equal = 1 } } }\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nmatch = { any = [{}] }\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nmatch = \"bash\"\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\ntimeout = \"1 day\"\nrun = { command = \"x\" }",
        "point = \"BeforeToolUse\"\ntimeout = \"1s\"\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\non_failure = \"open\"\ndeny = \"no\"",
        "point = \"ExecutionEnd\"\non_failure = \"closed\"\nrun = { command = \"x\" }",
        "point = \"BeforeToolUse\"\ndetached = true\nrun = { command = \"x\" }",
        "point = \"BeforeToolUse\"\npriority = \"high\"\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\ndeny = \"no\"\nrun = { command = \"x\" }",
        "point = \"BeforeToolUse\"\nrun = { command = \"x\", http = \"https://a\" }",
        "point = \"BeforeToolUse\"\nrun = { command = \"x\", headers = { a = \"b\" } }",
        "point = \"BeforeToolUse\"\nrun = { timeout = \"1s\" }",
        "point = \"BeforeInference\"\nrun = { prompt = \"safe?\" }",
        "point = \"BeforeToolUse\"\nname = \"a/b\"\ndeny = \"no\"",
        "point = \"BeforeToolUse\"\nname = \"a\"\ndeny = \"no\"\n[[hook]]\npoint = \"Stop\"\nname = \"a\"\nstop = \"no\"",
        "point = \"BeforeToolUse\"\ndeny = \"no\"\n[hooks]\nproject = false",
    ];
    insta::assert_snapshot!(cases.map(told).join("\n"));
}

#[test]
fn an_empty_reason_is_an_error() {
    for key in ["deny", "ask", "stop"] {
        let told = told(&format!("point = \"BeforeToolUse\"\n{key} = \" \""));
        assert!(told.contains("line 3") && told.contains(&format!("write `{key} = \"why\"`")), "{told}");
    }
}

#[test]
fn a_matcher_that_would_match_everything_or_cannot_be_used_is_an_error() {
    for key in ["tool", "path", "command", "session", "agent"] {
        let told = told(&format!("point = \"BeforeToolUse\"\nmatch = {{ {key} = [] }}\nallow = true"));
        assert!(told.contains("line 3") && told.contains("an empty list matches nothing"), "{told}");
    }
    for inner in ["any = [{ tol = \"bash\" }]", "not = { tol = \"bash\" }"] {
        let told = told(&format!("point = \"BeforeToolUse\"\nmatch = {{ {inner} }}\ndeny = \"no\""));
        assert!(told.contains("did you mean `tool`?"), "{told}");
    }
    let deep = format!("{}b{}", "{a,".repeat(126), "}".repeat(126));
    for (key, pattern, why) in [
        ("command", r"^git tag [\w.-]{1,2550}$", "more than 1024 KiB"),
        ("tool", r"/[\w.-]{1,2550}/", "more than 1024 KiB"),
        ("path", deep.as_str(), "16 deep"),
        ("path", &*"?".repeat(5000), "longer than 4096"),
    ] {
        let told = told(&format!("point = \"BeforeToolUse\"\nmatch = {{ {key} = '{pattern}' }}\ndeny = \"no\""));
        assert!(told.contains("line 3") && told.contains(why), "{told}");
    }
}
