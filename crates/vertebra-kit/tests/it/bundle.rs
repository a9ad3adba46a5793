//! Hooks that travel together.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use vertebra::{
    AgentTool, ModelError, StepKind, Test,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};
use vertebra_kit::{
    bundle::{UseHooks, events},
    planning::TaskPlanning,
};

use crate::{
    sheet::Sheet,
    support::{built, read_by_model, run},
};

pub(crate) fn sheet() -> Sheet {
    Sheet {
        name: "UseHooks",
        purpose: "Installs a bundle of hooks, such as a policy from a crate, that is enabled, disabled and removed as one.",
        install: |builder| {
            builder.with(UseHooks::new("empty"));
        },
        knobs: vec![("name", "given to `new`".to_owned())],
    }
}

/// Lines in the order they were written. A clone is another handle to the same lines.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().expect("a log").push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("a log"))
    }
}

/// A bundle that tells of each of the seven events.
fn telltale(log: &Log) -> UseHooks {
    let mut tell = UseHooks::new("telltale");
    let out = log.clone();
    tell.on(events::ExecutionStart, async move |cx| {
        out.add(format!("ExecutionStart {}", cx.prompt));
        proceed()
    });
    let out = log.clone();
    tell.on(events::StepStart, async move |cx| {
        out.add(format!("StepStart {}", cx.at.step));
        proceed()
    });
    let out = log.clone();
    tell.on(events::StepEnd, async move |cx| {
        out.add(format!("StepEnd {} {:?}", cx.at.step, cx.kind));
        proceed()
    });
    let out = log.clone();
    tell.on(events::PreToolUse, async move |cx| {
        out.add(format!("PreToolUse {} {}", cx.tool, cx.args.to_value()));
        proceed()
    });
    let out = log.clone();
    tell.on(events::PostToolUse, async move |cx| {
        out.add(format!("PostToolUse {} {}", cx.tool, cx.result.output));
        proceed()
    });
    let out = log.clone();
    tell.on(events::Stop, async move |cx| {
        out.add(format!("Stop {}", cx.stops.len()));
        proceed()
    });
    let out = log.clone();
    tell.on(events::AgentFailed, async move |cx| {
        out.add(format!("AgentFailed {}", cx.message));
        proceed()
    });
    tell
}

#[tokio::test]
async fn the_seven_events_fire_in_the_order_of_a_run() {
    let log = Log::default();
    let model = Script::new().call("ls", r#"{"path": "src"}"#).say("done");
    built(Agent::builder(model).tool(RecordingTool::new("ls")).with(telltale(&log))).run("go").await.expect("a run");
    assert_eq!(
        log.take(),
        [
            "ExecutionStart go",
            "StepStart 1",
            r#"PreToolUse ls {"path":"src"}"#,
            "PostToolUse ls ok",
            "StepEnd 1 ToolExecution",
            "Stop 0",
            "StepStart 2",
            "StepEnd 2 FinalResponse",
            "Stop 1",
        ]
    );
}

#[tokio::test]
async fn a_failure_is_told_with_what_went_wrong() {
    let log = Log::default();
    let model = Script::new().fail(ModelError::Rejected { message: "too rude".to_owned() });
    let report = run(&built(Agent::builder(model).with(telltale(&log))), "go").await;
    assert!(log.take().contains(&"AgentFailed the model rejected the request: too rude".to_owned()));
    assert_eq!(report.status, vertebra::RunStatus::Failed);
}

#[test]
fn the_names_of_the_events_are_understood_wherever_points_are_named() {
    let names = ["ExecutionStart", "StepStart", "StepEnd", "PreToolUse", "PostToolUse", "Stop", "AgentFailed"];
    let points =
        ["ExecutionStart", "BeforeStep", "AfterStep", "BeforeToolUse", "AfterToolUse", "ShouldContinue", "OnError"];
    assert_eq!(names.map(vertebra::point_named), points.map(Some));
    assert_eq!(vertebra::point_named("InputSubmitted"), Some("PromptSubmit"));
}

#[tokio::test]
async fn a_hook_allows_with_other_arguments_and_the_first_deny_wins() {
    let ls = RecordingTool::new("ls");
    let model = Script::new().calls([("ls", r#"{"n": 1}"#), ("ls", r#"{"n": 2}"#)]).say("done");
    let mut rules = UseHooks::new("rules");
    rules.on(events::PreToolUse, async |cx| {
        cx.args_mut().set("safe", true);
        allow()
    });
    rules.on(events::PreToolUse.arg("/n", Test::Equals(json!(2))).named("first"), async |_| deny("not two"));
    rules.on(events::PreToolUse.arg("/n", Test::Equals(json!(2))).named("second"), async |_| deny("never two"));
    built(Agent::builder(model.clone()).tool(ls.clone()).with(rules)).run("go").await.expect("a run");
    assert_eq!(read_by_model(&model), ["done: ok", "blocked: blocked by rules/first: not two"]);
    let ran: Vec<_> = ls.calls().iter().map(Args::to_value).collect();
    assert_eq!(ran, [json!({"n": 1, "safe": true})]);
}

#[tokio::test]
async fn a_stop_hook_makes_a_run_go_on_and_another_ends_it() {
    let model = Script::new().say("one").say("two").may_end_early().say("three");
    let mut rules = UseHooks::new("rules");
    rules.on(events::Stop.step(StepKind::FinalResponse).named("more"), async |cx| {
        if cx.continuations == 0 { go_on("say more") } else { proceed() }
    });
    let report = run(&built(Agent::builder(model).with(rules)), "go").await;
    assert_eq!((&*report.text, report.steps), ("two", 2));

    let model = Script::new().call("ls", "{}").may_end_early().say("never said");
    let mut rules = UseHooks::new("rules");
    rules.on(events::Stop.named("enough"), async |_| stop("enough"));
    let report = run(&built(Agent::builder(model).tool(RecordingTool::new("ls")).with(rules)), "go").await;
    assert_eq!((&*report.stop.source, &*report.stop.message, report.steps), ("rules/enough", "enough", 1));
}

#[tokio::test]
async fn hooks_change_state_and_messages_for_the_steps_that_follow() {
    let model = Script::new().call("ls", "{}").say("done");
    let mut rules = UseHooks::new("rules");
    rules.on(events::StepStart, async |cx| {
        cx.state_mut().push(Message::instruction("be brief", "rules"));
        proceed()
    });
    rules.on(events::PostToolUse, async |cx| {
        cx.state_mut().metadata_mut().set("rules/seen", true);
        proceed()
    });
    let mut session = built(Agent::builder(model.clone()).tool(RecordingTool::new("ls")).with(rules))
        .session()
        .await
        .expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(model.requests()[0].messages.last().map(Message::text), Some("be brief"));
    assert_eq!(session.state().await.metadata().get("rules/seen"), Some(&json!(true)));
}

#[tokio::test]
async fn matchers_by_exact_name_expression_kind_of_step_and_metadata_say_when_a_hook_runs() {
    let log = Log::default();
    let tell = |what: &'static str| {
        let out = log.clone();
        move || -> Seen {
            out.add(what);
            Ok(())
        }
    };
    let (exact, regex, tools, last, marked) =
        (tell("exact"), tell("regex"), tell("tools"), tell("final"), tell("marked"));
    let model = Script::new().call("read_file", "{}").call("write_file", "{}").say("done");
    let mut rules = UseHooks::new("rules");
    rules.watch(events::PreToolUse.tool("read_file"), async move |_| exact());
    rules.watch(events::PostToolUse.tool("/(read|write)_.+/"), async move |_| regex());
    rules.watch(events::StepEnd.step(StepKind::ToolExecution), async move |_| tools());
    rules.watch(events::StepEnd.step(StepKind::FinalResponse), async move |_| last());
    rules.watch(events::StepStart.metadata("rules/marked", Test::Exists), async move |_| marked());
    rules.on(events::PostToolUse.tool("write_file"), async |cx| {
        cx.state_mut().metadata_mut().set("rules/marked", 1);
        proceed()
    });
    let mut builder = Agent::builder(model);
    builder.tool(RecordingTool::new("read_file")).tool(RecordingTool::new("write_file")).with(rules);
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(log.take(), ["exact", "regex", "tools", "regex", "tools", "marked", "final"]);
}

#[tokio::test]
async fn a_failing_hook_is_ignored_or_refuses_as_it_was_told_and_leaves_no_trace() {
    let broken = |open: bool| {
        let mut rules = UseHooks::new("rules");
        let site = events::PreToolUse.named("broken");
        rules.on(if open { site.fail_open() } else { site.fail_closed() }, async |cx| {
            cx.args_mut().set("half", true);
            cx.state_mut().metadata_mut().set("rules/half", true);
            Err(HookError::new("no luck"))
        });
        rules
    };
    for (open, expected) in [(true, "done: ok"), (false, "blocked: blocked: hook `rules/broken` failed: no luck")] {
        let ls = RecordingTool::new("ls");
        let model = Script::new().call("ls", "{}").say("done");
        let agent = built(Agent::builder(model.clone()).tool(ls.clone()).with(broken(open)));
        let mut session = agent.session().await.expect("a session");
        session.prompt("go").await.expect("a run");
        assert_eq!(read_by_model(&model), [expected]);
        assert!(ls.calls().iter().all(Args::is_empty), "half a change reached the tool");
        assert_eq!(session.state().await.metadata().get("rules/half"), None);
    }
}

#[tokio::test]
async fn a_failing_hook_at_a_step_stops_the_run_if_it_is_closed() {
    let model = Script::new().may_end_early().say("never said");
    let mut rules = UseHooks::new("rules");
    rules.on(events::StepStart.named("broken").fail_closed(), async |_| Err(HookError::new("no luck")));
    let report = run(&built(Agent::builder(model.clone()).with(rules)), "go").await;
    assert_eq!((&*report.stop.source, model.requests().len()), ("rules/broken", 0));
}

/// The example that made people ask for bundles: a fence, a memory, a stopwatch.
fn house_rules(base: &'static str, telemetry: &Log) -> UseHooks {
    let mut rules = UseHooks::new("house");
    rules.guard(events::PreToolUse.tool("bash").named("inside"), async move |cx| {
        let words = cx.command().unwrap_or_default().split_whitespace();
        let mut paths = words.filter(|word| word.starts_with('/'));
        match paths.find(|path| !path.starts_with(base)) {
            Some(path) => deny(format!("{path} is outside of {base}")),
            None => proceed(),
        }
    });
    rules.on(events::PostToolUse.when(|used| used.result.success).named("remember"), async |cx| {
        let output = cx.result.output.clone();
        cx.state_mut().metadata_mut().set("house/output", output);
        proceed()
    });
    let telemetry = telemetry.clone();
    rules.watch(events::StepEnd.named("stopwatch"), async move |cx| {
        telemetry.add(format!("step {} took {} ms", cx.at.step, cx.duration_ms));
        Ok(())
    });
    rules
}

#[tokio::test]
async fn a_fence_a_memory_and_a_stopwatch_in_one_bundle() {
    let (telemetry, clock) = (Log::default(), FakeClock::new());
    let bash = RecordingTool::new("bash").replying("a.rs").taking(Duration::from_millis(100), &clock);
    let model = Script::new()
        .call("bash", r#"{"command": "ls /repo/src"}"#)
        .call("bash", r#"{"command": "cat /etc/passwd"}"#)
        .say("done");
    let mut builder = Agent::builder(model.clone());
    let agent = built(builder.clock(clock).tool(bash.clone()).with(house_rules("/repo", &telemetry)));
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(
        read_by_model(&model),
        ["done: a.rs", "blocked: blocked by house/inside: /etc/passwd is outside of /repo"]
    );
    assert_eq!(bash.calls().len(), 1);
    assert_eq!(session.state().await.metadata().get("house/output"), Some(&json!("a.rs")));
    assert_eq!(telemetry.take(), ["step 1 took 100 ms", "step 2 took 0 ms", "step 3 took 0 ms"]);
}

#[tokio::test]
async fn the_guards_of_a_bundle_hold_in_children() {
    let bash = RecordingTool::new("bash");
    let helper = Script::new().call("bash", r#"{"command": "cat /etc/passwd"}"#).say("no");
    let child = built(Agent::builder(helper.clone()).tool(bash.clone()));
    let model = Script::new().call("helper", r#"{"prompt": "look"}"#).say("done");
    let mut builder = Agent::builder(model);
    builder.tool(AgentTool::new("helper", "Helps", child)).with(house_rules("/repo", &Log::default()));
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(read_by_model(&helper), ["blocked: blocked by house/inside: /etc/passwd is outside of /repo"]);
    assert!(bash.calls().is_empty());
}

#[tokio::test]
async fn a_bundle_stands_beside_other_capabilities() {
    let model = Script::new().call("todo_write", r#"{"todos": [{"content": "a"}]}"#).say("done");
    let log = Log::default();
    built(Agent::builder(model.clone()).with(TaskPlanning::default()).with(telltale(&log)))
        .run("go")
        .await
        .expect("a run");
    assert!(log.take().iter().any(|line| line.starts_with("PostToolUse todo_write [ ] a")));
}

#[test]
fn hooks_of_a_bundle_are_listed_by_event_under_its_name() {
    let agent = built(Agent::builder(Script::new()).with(house_rules("/repo", &Log::default())));
    let hooks = agent.hooks().list();
    let at = |point: &str| -> Vec<&str> {
        hooks.iter().filter(|hook| hook.point == point).map(|hook| &*hook.name).collect()
    };
    assert_eq!(
        (at("BeforeToolUse"), at("AfterToolUse"), at("AfterStep")),
        (vec!["house/inside"], vec!["house/remember"], vec!["house/stopwatch"])
    );
}

#[test]
fn two_bundles_may_have_hooks_of_one_name_but_one_bundle_is_installed_once() {
    let rule = |bundle: &'static str| {
        let mut rules = UseHooks::new(bundle);
        rules.guard(events::PreToolUse.named("rule"), async |_| deny("no"));
        rules
    };
    let agent = built(Agent::builder(Script::new()).with(rule("a")).with(rule("b")));
    assert_eq!(agent.hooks().count(), 2);
    let twice = Agent::builder(Script::new()).with(rule("a")).with(rule("a")).build().map(drop).expect_err("twice");
    let expected = "a bundle named `a` is installed already: remove it first, or give one another name";
    assert_eq!(twice.to_string(), expected);
    assert_eq!(agent.hooks().install(rule("b").into()).expect_err("twice").to_string(), expected.replace("`a`", "`b`"));
}

#[tokio::test]
async fn a_bundle_is_switched_off_and_on_and_removed_as_one_while_the_session_is_open() {
    let bash = RecordingTool::new("bash");
    let call = r#"{"command": "cat /etc/passwd"}"#;
    let model = (0..4).fold(Script::new(), |model, _| model.call("bash", call).say("done"));
    let telemetry = Log::default();
    let agent = built(Agent::builder(model.clone()).tool(bash.clone()).with(house_rules("/repo", &telemetry)));
    let mut session = agent.session().await.expect("a session");
    let mut ran = Vec::new();
    let hooks = agent.hooks();
    session.prompt("guarded").await.expect("a run");
    ran.push((bash.calls().len(), telemetry.take().len()));
    hooks.disable("house").expect("the bundle is there");
    session.prompt("off").await.expect("a run");
    ran.push((bash.calls().len(), telemetry.take().len()));
    hooks.enable("house").expect("the bundle is there");
    session.prompt("on").await.expect("a run");
    ran.push((bash.calls().len(), telemetry.take().len()));
    hooks.remove("house").expect("the bundle is there");
    session.prompt("gone").await.expect("a run");
    ran.push((bash.calls().len(), telemetry.take().len()));
    assert_eq!(ran, [(0, 2), (1, 0), (1, 2), (2, 0)]);
    assert_eq!(hooks.count(), 0);
}
