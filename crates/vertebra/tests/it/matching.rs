//! Matchers on whole agents: names, aliases, paths, commands, and that nothing evades them.

use serde_json::{Value, json};
use vertebra::{
    AgentBuilder, AgentTool, BuildError, Test,
    prelude::*,
    testing::{FixedApprover, RecordingTool, Script},
};

use super::support::*;

/// Whether a guard at this site stops this call.
async fn blocked(tool: &str, args: Value, guard: impl FnOnce(&mut AgentBuilder)) -> bool {
    let model = Script::new().call(tool, &args.to_string()).say("done");
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("bash"));
    builder.tool(RecordingTool::new("write_file").with(|spec| spec.alias("Write")));
    guard(&mut builder);
    run(&mut builder).await;
    read_by_model(&model)[0].starts_with("blocked")
}

#[tokio::test]
async fn a_tool_is_known_by_its_name_its_aliases_and_in_any_case_but_never_by_a_part() {
    let cases = [
        ("bash", "bash", true),
        ("BASH", "bash", true),
        ("bash", "Bash", true),
        ("bas", "bash", false),
        ("ash", "bash", false),
        ("ba*", "bash", true),
        ("bash|write_file", "write_file", true),
        ("Write", "write_file", true),
        ("write", "write_file", true),
        ("/w.*e/", "write_file", true),
        ("/rite/", "write_file", false),
        ("write_fil", "write_file", false),
    ];
    for (pattern, tool, expected) in cases {
        let guard = |b: &mut AgentBuilder| {
            b.guard(BeforeToolUse.tool(pattern).optional(), async |_| deny("no"));
        };
        assert_eq!(blocked(tool, json!({}), guard).await, expected, "{pattern} on {tool}");
    }
}

#[tokio::test]
async fn a_path_is_known_however_it_is_written() {
    let cases = [
        ("secrets/**", json!({"path": "secrets/key"}), true),
        ("secrets/**", json!({"path": "./a/../secrets/key"}), true),
        ("secrets/**", json!({"path": "/repo/secrets/key"}), true),
        ("secrets/**", json!({"file_path": "src//..//secrets/key"}), true),
        ("/repo/secrets/*", json!({"path": "secrets/key"}), true),
        ("secrets/**", json!({"edits": [{"path": "secrets/key"}]}), true),
        ("secrets/**", json!({"path": "secrets2/key"}), false),
        ("*.env", json!({"path": "deep/down/.env"}), true),
        ("/etc/**", json!({"path": "../etc/passwd"}), true),
        ("/etc/**", json!({"whatever": "/etc/passwd"}), true),
    ];
    for (glob, args, expected) in cases {
        let guard = |b: &mut AgentBuilder| {
            b.guard(BeforeToolUse.path(glob), async |_| deny("no"));
        };
        assert_eq!(blocked("write_file", args.clone(), guard).await, expected, "{glob} on {args}");
    }
}

#[tokio::test]
async fn a_command_is_seen_inside_lists_pipelines_substitutions_and_shells() {
    let cases = [
        ("rm -rf /", true),
        ("cd /tmp && rm -r x", true),
        ("ls | xargs -n1 rm", true),
        ("echo $(rm x)", true),
        ("sh -c 'rm x'", true),
        (r#"bash -c "sh -c 'rm x'""#, true),
        ("echo 'rm'", false),
        ("rmdir x", false),
        ("echo farm", false),
    ];
    for (line, expected) in cases {
        let guard = |b: &mut AgentBuilder| {
            b.guard(BeforeToolUse.tool("bash").command(r"^rm\b"), async |_| deny("no"));
        };
        assert_eq!(blocked("bash", json!({"command": line}), guard).await, expected, "{line}");
    }
}

#[tokio::test]
async fn a_matcher_judges_the_call_as_earlier_hooks_left_it() {
    let hooks = |b: &mut AgentBuilder| {
        b.on(BeforeToolUse.priority(1), async |cx| {
            cx.args_mut().set("path", "secrets/key");
            proceed()
        });
        b.on(BeforeToolUse.path("secrets/**").priority(2), async |_| deny("no"));
    };
    assert!(blocked("write_file", json!({"path": "a"}), hooks).await);
}

#[tokio::test]
async fn questions_failures_and_results_carry_the_call_for_matchers() {
    let model = Script::new().call("bash", r#"{"command": "cd x && git push --force", "path": "src/a"}"#).say("done");
    let log = Log::default();
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("bash").failing("no luck")).approver(FixedApprover::yes());
    builder.on(BeforeToolUse, async |_| ask("sure?"));
    macro_rules! listen {
        ($($point:ident)*) => {$(
            for matches in [true, false] {
                let (tool, path, command) =
                    if matches { ("b?sh", "src/*", "^git push") } else { ("bash", "src/*", "^git pull") };
                let log = log.clone();
                builder.watch($point.tool(tool).path(path).command(command), async move |_| {
                    log.add(format!("{} {matches}", stringify!($point)));
                    Ok(())
                });
            }
        )*};
    }
    listen!(BeforeToolUse PermissionRequest ToolUseFailed AfterToolUse);
    run(&mut builder).await;
    log.check(&["BeforeToolUse true", "PermissionRequest true", "ToolUseFailed true", "AfterToolUse true"]);
}

#[tokio::test]
async fn hooks_can_be_bound_to_a_session_an_agent_a_kind_of_step_an_argument_or_metadata() {
    let log = Log::default();
    let mut builder = agent(&Script::new().call("bash", r#"{"deep": {"force": true}}"#).say("done"));
    builder.tool(RecordingTool::new("bash"));
    builder.on(SessionStart, async |cx| {
        cx.state_mut().metadata_mut().set("mode", "plan");
        proceed()
    });
    macro_rules! listen {
        ($($name:literal: $site:expr,)*) => {$(
            let told = log.clone();
            builder.watch($site, async move |_| {
                told.add($name);
                Ok(())
            });
        )*};
    }
    listen! {
        "session": ExecutionStart.session("session-1"),
        "no session": ExecutionStart.session("session-2"),
        "agent": ExecutionStart.agent("tester"),
        "no agent": ExecutionStart.agent("somebody"),
        "force": BeforeToolUse.arg("/deep/force", Test::Equals(true.into())),
        "no force": BeforeToolUse.arg("/force", Test::Exists),
        "mode": BeforeToolUse.metadata("mode", Test::Matches("^pl".into())),
        "no mode": BeforeToolUse.metadata("mood", Test::Exists),
        "tools": AfterStep.step("tool_execution"),
        "final": AfterStep.step("final_response"),
    }
    run(&mut builder).await;
    log.check(&["session", "agent", "force", "mode", "tools", "final"]);
}

#[tokio::test]
async fn a_matcher_for_a_tool_that_is_not_there_is_reported() {
    let mut builder = agent(&Script::new());
    builder.tool(RecordingTool::new("write_file").with(|spec| spec.alias("Write")));
    for (name, pattern) in [("good", "write"), ("also", "write_*"), ("bad", "wrote_file"), ("worse", "bash|exec")] {
        builder.guard(BeforeToolUse.tool(pattern).named(name).optional(), async |_| proceed());
    }
    let agent = builder.build().expect("an agent");
    assert_eq!(
        agent.unmatched_tools(),
        [
            "hook `bad` matches tool `wrote_file`, but no tool has that name",
            "hook `worse` matches tool `bash|exec`, but no tool has that name"
        ]
    );
}

/// Why an agent with the tools `bash` and `write_file` (alias `Write`) is not built with this hook.
fn refused(hook: impl FnOnce(&mut AgentBuilder)) -> Option<String> {
    let mut builder = agent(&Script::new());
    builder.tool(RecordingTool::new("bash"));
    builder.tool(RecordingTool::new("write_file").with(|spec| spec.alias("Write")));
    hook(&mut builder);
    match builder.build() {
        Ok(_) => None,
        Err(error @ BuildError::NoSuchTool { .. }) => Some(error.to_string()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_guard_for_a_tool_that_the_agent_lacks_is_an_error_that_names_the_nearest_tool() {
    let cases = [
        ("bsh", "no tool has that name (did you mean `bash`?); correct the name"),
        ("Wirte", "no tool has that name (did you mean `Write`?); correct the name"),
        ("delete|remove", "no tool has that name (there are `bash`, `write_file`, `Write`); correct the name"),
    ];
    for (pattern, expected) in cases {
        let error = refused(|builder| {
            builder.guard(BeforeToolUse.tool(pattern).command("x").named("careful"), async |_| deny("no"));
        });
        let error = error.unwrap_or_else(|| panic!("{pattern} was accepted"));
        assert!(error.starts_with(&format!("`careful` never runs: it matches tool `{pattern}`")), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let hook = refused(|builder| {
        builder.on(AfterToolUse.tool("bsh"), async |_| proceed());
    });
    let watch = refused(|builder| {
        builder.watch(ToolUseFailed.tool("bsh"), async |_| {});
    });
    assert!(hook.is_some() && watch.is_some());
}

#[test]
fn a_hook_that_may_run_or_is_optional_is_no_error() {
    let tool = |name: &str| Matcher::attribute("tool", name);
    let matchers = [
        tool("bsh|bash"),
        tool("BASH"),
        tool("mcp__*"),
        tool("/mcp__.+/"),
        tool("bsh").negated(),
        Matcher::Any(vec![tool("bsh"), Matcher::attribute("command", "x")]),
    ];
    for matcher in matchers {
        let error = refused(|builder| {
            builder.guard(BeforeToolUse.matching(matcher.clone()), async |_| deny("no"));
        });
        assert_eq!(error, None, "{matcher:?}");
    }
    let optional = refused(|builder| {
        builder.guard(BeforeToolUse.tool("bsh").optional(), async |_| deny("no"));
    });
    assert_eq!(optional, None);
}

#[test]
fn an_agent_without_tools_may_have_hooks_for_tools_of_another_loop() {
    let mut builder = agent(&Script::new());
    builder.guard(BeforeToolUse.tool("bash"), async |_| deny("no"));
    assert!(builder.build().is_ok());
}

#[tokio::test]
async fn a_parents_guard_on_a_tool_that_only_its_child_has_builds_and_holds() {
    let child_model = Script::new().call("deploy", "{}").say("not allowed");
    let mut child = agent(&child_model);
    let child = child.name("child").tool(RecordingTool::new("deploy")).build().expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "go"}"#).say("done");
    let mut builder = agent(&model);
    builder.tool(AgentTool::new("helper", "helps", child));
    builder.guard(BeforeToolUse.tool("deploy").named("people-deploy"), async |_| deny("people do that"));
    run(&mut builder).await;
    assert_eq!(read_by_model(&child_model), ["blocked: blocked by people-deploy: people do that"]);

    // What no child inherits cannot be for a tool of a child.
    let child = agent(&child_model).name("child").tool(RecordingTool::new("deploy")).build().expect("a child");
    let mut builder = agent(&model);
    builder.tool(AgentTool::new("helper", "helps", child));
    builder.on(BeforeToolUse.tool("deploy").own_agent_only(), async |_| proceed());
    assert!(matches!(builder.build(), Err(BuildError::NoSuchTool { .. })));
}
