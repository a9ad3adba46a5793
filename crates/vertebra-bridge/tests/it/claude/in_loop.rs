//! Claude Code's hooks in whole runs of our own agents.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use vertebra::{
    AgentBuilder, AgentTool, ModelError, Record, RunReport, StopReason,
    prelude::*,
    testing::{FixedApprover, RecordingTool, Script},
};
use vertebra_bridge::claude::ClaudeHooks;
use vertebra_kit::{
    bash::{Bash, Sandbox},
    permissions::Permissions,
};

use super::world::World;

/// Handlers at events: `("PreToolUse", "Bash", "exit 2")`.
fn world(handlers: &[(&str, &str, &str)]) -> World {
    let world = World::new();
    let mut hooks = json!({});
    for (event, matcher, command) in handlers {
        let group = json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] });
        match hooks.get_mut(*event).and_then(Value::as_array_mut) {
            Some(groups) => groups.push(group),
            None => hooks[*event] = json!([group]),
        }
    }
    world.settings("project", &json!({ "hooks": hooks }));
    world
}

fn agent(world: &World, model: &Script) -> AgentBuilder {
    let mut builder = Agent::builder(model.clone());
    builder.working_directory(world.project().to_string_lossy());
    builder.with(ClaudeHooks::new(world.read(), world.session.clone(), world.path("transcripts")));
    builder
}

async fn run(builder: &mut AgentBuilder) -> RunReport {
    match builder.build().expect("an agent").run("go").await {
        Ok(report) => report,
        Err(failed) => *failed.0,
    }
}

/// What the model read last that is no call of its own: results and instructions.
fn read(model: &Script) -> Vec<String> {
    let request = model.requests().last().cloned().expect("a request");
    let text = |message: &Message| match message {
        Message::Tool { result, .. } => Some(format!("{}: {}", result.status, result.output)),
        Message::Instruction { text, .. } => Some(text.clone()),
        Message::User { .. } | Message::Assistant { .. } => None,
    };
    request.messages.iter().filter_map(text).collect()
}

fn answers(event: &str, more: &str) -> String {
    format!("cat > /dev/null; printf '%s' '{{\"hookSpecificOutput\":{{\"hookEventName\":\"{event}\",{more}}}}}'")
}

/// What a handler was given, the last time.
fn given(world: &World, name: &str) -> Value {
    serde_json::from_str(&world.text(&format!("project/{name}"))).expect("JSON")
}

fn keeps(name: &str) -> String {
    format!("cat > \"$CLAUDE_PROJECT_DIR/{name}\"")
}

#[tokio::test]
async fn a_denial_is_read_by_the_model_and_the_tool_does_not_run() {
    let world = world(&[("PreToolUse", "Bash", "echo 'not here' >&2; exit 2")]);
    let model = Script::new().call("bash", r#"{"command":"ls"}"#).call("other", "{}").say("done");
    let (bash, other) = (RecordingTool::new("bash"), RecordingTool::new("other").replying("fine"));
    run(agent(&world, &model).tool(bash.clone()).tool(other.clone())).await;
    assert_eq!(read(&model), ["blocked: blocked by claude-code/PreToolUse: not here", "done: fine"]);
    assert_eq!((bash.calls().len(), other.calls().len()), (0, 1));
}

/// What the hooks of a dispatch left in its record.
fn keep(kept: &Mutex<Vec<Value>>, record: &Record) {
    let accounts = record.hooks.iter().filter_map(|trace| trace.account.as_deref().cloned());
    kept.lock().expect("nobody panics").extend(accounts);
}

#[tokio::test]
async fn the_record_tells_how_handlers_ended_and_stays_small_however_much_they_write() {
    let world = world(&[("PreToolUse", "Bash", "head -c 500000 /dev/zero | tr '\\0' x >&2; exit 1")]);
    let model = Script::new().call("bash", r#"{"command":"ls"}"#).say("done");
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    let mut builder = agent(&world, &model);
    builder.watch(BeforeToolUse, async move |cx| {
        keep(&seen, &cx.record().to_record());
        Ok(())
    });
    run(builder.tool(RecordingTool::new("bash"))).await;
    let told = told.lock().expect("nobody panics");
    assert_eq!((told.len(), &told[0]["ran"][0]["exit_code"]), (1, &json!(1)), "{told:?}");
    assert!(told[0].to_string().len() < 100_000, "{} bytes", told[0].to_string().len());
}

#[tokio::test]
async fn a_changed_input_is_what_the_tool_gets_and_what_guards_see() {
    let more = r#""permissionDecision":"allow","updatedInput":{"command":"safe","timeout":5}"#;
    let world = world(&[("PreToolUse", "Bash", &answers("PreToolUse", more))]);
    let model = Script::new().call("bash", r#"{"command":"risky"}"#).say("done");
    let bash = RecordingTool::new("bash").with(|spec| spec.alias("Bash"));
    let mut builder = agent(&world, &model);
    builder.guard(BeforeToolUse, async |cx| {
        if cx.args.text("command") == Some("risky") { deny("seen too early") } else { proceed() }
    });
    run(builder.tool(bash.clone())).await;
    let calls: Vec<Value> = bash.calls().iter().map(vertebra::Args::to_value).collect();
    assert_eq!(calls, [json!({ "command": "safe", "timeout_ms": 5 })]);
}

#[tokio::test]
async fn rules_are_held_against_what_goes_on_whoever_wrote_it() {
    let world = World::new();
    world.settings("project", &json!({ "permissions": { "deny": ["Bash(rm *)"] } }));
    let model = Script::new().call("bash", r#"{"command":"ls"}"#).say("done");
    let bash = RecordingTool::new("bash");
    let mut builder = agent(&world, &model);
    builder.on(BeforeToolUse.priority(900), async |cx| {
        cx.args_mut().set("command", "rm x");
        proceed()
    });
    run(builder.tool(bash.clone())).await;
    assert!(read(&model)[0].contains("permission rule `Bash(rm *)`"), "{:?}", read(&model));
    assert!(bash.calls().is_empty());
}

#[tokio::test]
async fn handlers_read_claude_codes_names_and_are_heard_in_ours() {
    let world = world(&[("PreToolUse", "Write|Edit", &keeps("pre")), ("PostToolUse", "Edit", &keeps("post"))]);
    let model = Script::new().call("edit_file", r#"{"path":"a.rs","old_string":"x","new_string":"y"}"#).say("done");
    run(agent(&world, &model).tool(RecordingTool::new("edit_file").replying("edited"))).await;
    let (pre, post) = (given(&world, "pre"), given(&world, "post"));
    assert_eq!(pre["tool_name"], "Edit");
    assert_eq!(pre["tool_input"]["file_path"], format!("{}/a.rs", world.project().display()));
    assert_eq!(post["tool_response"]["oldString"], "x");
    assert_eq!(pre["tool_use_id"], post["tool_use_id"]);
    let wanted = ["session_id", "prompt_id", "transcript_path", "cwd", "permission_mode", "hook_event_name"];
    assert!(wanted.iter().all(|key| pre.get(key).is_some()), "{pre}");
}

#[tokio::test]
async fn every_call_of_a_parallel_batch_is_seen_and_one_denial_touches_no_other() {
    let deny = "jq -e '.tool_input.command == \"b\"' > /dev/null && exit 2; exit 0";
    let world = world(&[("PreToolUse", "Bash", deny), ("PostToolBatch", "", &keeps("batch"))]);
    let calls = [("bash", r#"{"command":"a"}"#), ("bash", r#"{"command":"b"}"#), ("bash", r#"{"command":"c"}"#)];
    let model = Script::new().calls(calls).say("done");
    let bash = RecordingTool::new("bash").replying("ran");
    run(agent(&world, &model).tool(bash.clone())).await;
    let made: Vec<String> = bash.calls().iter().filter_map(|args| args.text("command").map(str::to_owned)).collect();
    assert_eq!(made, ["a", "c"]);
    let batch = given(&world, "batch");
    let names: Vec<&Value> =
        batch["tool_calls"].as_array().expect("calls").iter().map(|call| &call["tool_name"]).collect();
    assert_eq!(names, ["Bash", "Bash", "Bash"]);
    assert_eq!(batch["tool_calls"][0]["tool_response"], "ran");
}

#[tokio::test]
async fn a_child_is_under_the_same_hooks_and_is_named_in_them() {
    let world = world(&[
        ("PreToolUse", "Bash", &format!("{}; exit 2", keeps("pre"))),
        ("SubagentStart", "child", &answers("SubagentStart", r#""additionalContext":"be kind""#)),
        ("SubagentStop", "child", &keeps("stop")),
        ("Stop", "", &keeps("parent-stop")),
        ("UserPromptSubmit", "", &format!("{}; echo >> \"$CLAUDE_PROJECT_DIR/prompts\"", keeps("prompt"))),
    ]);
    let child_model = Script::new().call("bash", r#"{"command":"ls"}"#).say("found nothing");
    let bash = RecordingTool::new("bash");
    let child = Agent::builder(child_model.clone()).name("child").tool(bash.clone()).build().expect("a child");
    let model = Script::new().call("helper", r#"{"prompt":"look"}"#).say("done");
    run(agent(&world, &model).tool(AgentTool::new("helper", "helps", child))).await;
    assert!(bash.calls().is_empty());
    let (pre, stop) = (given(&world, "pre"), given(&world, "stop"));
    assert_eq!((pre["agent_type"].as_str(), stop["agent_type"].as_str()), (Some("child"), Some("child")));
    assert_eq!(pre["agent_id"], stop["agent_id"]);
    assert_eq!(stop["last_assistant_message"], "found nothing");
    let transcript = fs::read_to_string(stop["agent_transcript_path"].as_str().expect("a path")).expect("a transcript");
    assert!(transcript.contains("\"isSidechain\":true") && transcript.contains("found nothing"), "{transcript}");
    let first = child_model.requests()[0].messages.iter().map(|message| message.text().to_owned()).collect::<String>();
    assert!(first.contains("be kind"), "{first}");
    assert_eq!(given(&world, "parent-stop").get("agent_id"), None);
    assert_eq!(world.text("project/prompts").lines().count(), 1, "a child's task is no prompt of a person");
}

#[tokio::test]
async fn a_prevented_stop_goes_on_with_the_reason_until_the_hook_is_content() {
    let once = "grep -q '\"stop_hook_active\":true' || { echo 'run the tests' >&2; exit 2; }";
    let world = world(&[("Stop", "", once)]);
    let model = Script::new().say("done?").say("really done");
    let report = run(&mut agent(&world, &model)).await;
    assert_eq!(report.text, "really done");
    assert_eq!(read(&model), ["run the tests"]);
}

#[tokio::test]
async fn endless_objections_end_after_eight_in_a_row() {
    let count = "echo >> \"$CLAUDE_PROJECT_DIR/count\"; echo again >&2; exit 2";
    for (cap, expected) in [(None, 9), (Some("2"), 3)] {
        let mut world = world(&[("Stop", "", count)]);
        world.session.variables.extend(cap.map(|cap| ("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP".into(), cap.into())));
        let model = (0..expected).fold(Script::new(), |script, _| script.say("done"));
        let report = run(agent(&world, &model).max_steps(50)).await;
        assert_eq!(report.stop.reason, StopReason::Finished);
        assert_eq!(world.text("project/count").lines().count(), expected, "{cap:?}");
    }
}

#[tokio::test]
async fn a_refused_prompt_is_not_answered_and_context_comes_with_the_one_that_is() {
    let hook = "jq -e '.prompt == \"go\"' > /dev/null && echo 'branch: main' || exit 2";
    let world = world(&[("UserPromptSubmit", "", hook), ("SessionStart", "startup", "echo started")]);
    let model = Script::new().say("done");
    let agent = agent(&world, &model).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    assert!(session.prompt("other").await.is_ok_and(|report| report.stop.source.contains("claude-code")));
    session.prompt("go").await.expect("a run");
    session.close().await;
    let texts: Vec<String> = model.requests()[0].messages.iter().map(|message| message.text().to_owned()).collect();
    let all = texts.join("\n");
    assert!(all.contains("branch: main") && all.contains("started") && !all.contains("other"), "{texts:?}");
}

#[tokio::test]
async fn what_a_hook_says_after_a_call_is_read_with_its_result() {
    let world = world(&[
        ("PostToolUse", "Bash", "echo 'lint: 3 errors' >&2; exit 2"),
        ("PostToolUse", "mcp__.*", &answers("PostToolUse", r#""updatedMCPToolOutput":"[redacted]""#)),
        ("PostToolUseFailure", "Read", &answers("PostToolUseFailure", r#""additionalContext":"try ls""#)),
    ]);
    let calls = [("bash", "{}"), ("mcp__x__y", "{}"), ("read_file", "{}")];
    let model = Script::new().calls(calls).say("done");
    let failing = RecordingTool::new("read_file").failing("no such file");
    run(agent(&world, &model)
        .tool(RecordingTool::new("bash").replying("ok"))
        .tool(RecordingTool::new("mcp__x__y").replying("secret"))
        .tool(failing))
    .await;
    let texts = read(&model);
    assert_eq!(texts[..3], ["done: ok", "done: [redacted]", "failed: no such file"]);
    assert_eq!(texts[3..], ["PostToolUse hook: lint: 3 errors", "try ls"]);
}

#[tokio::test]
async fn a_hook_that_ends_everything_ends_the_run() {
    let halt = "printf '{\"continue\":false,\"stopReason\":\"halt\"}'";
    for event in ["PreToolUse", "PostToolUse", "PostToolBatch", "Stop"] {
        let world = world(&[(event, "", halt)]);
        let model = if event == "Stop" { Script::new().say("x") } else { Script::new().call("bash", "{}") };
        let bash = RecordingTool::new("bash");
        let report = run(agent(&world, &model).tool(bash.clone())).await;
        assert_eq!((report.stop.reason, report.stop.message.as_str()), (StopReason::Requested, "halt"), "{event}");
        assert_eq!(bash.calls().len(), usize::from(event.starts_with("Post")), "{event}");
    }
}

#[tokio::test]
async fn a_question_is_answered_by_a_hook_and_the_answer_is_learned() {
    let update = r#""updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make"}],"behavior":"allow","destination":"session"}]"#;
    let yes = answers("PermissionRequest", &format!(r#""decision":{{"behavior":"allow",{update}}}"#));
    let world = world(&[("PermissionRequest", "Bash", &format!("echo >> \"$CLAUDE_PROJECT_DIR/asked\"; {yes}"))]);
    let model = Script::new().call("bash", r#"{"command":"make"}"#).call("bash", r#"{"command":"make"}"#).say("done");
    let permissions = Permissions::default();
    let rules = permissions.rules();
    let bash = RecordingTool::new("bash").with(|spec| spec.alias("Bash"));
    let mut builder = Agent::builder(model.clone());
    builder.working_directory(world.project().to_string_lossy());
    let hooks = ClaudeHooks::new(world.read(), world.session.clone(), world.path("transcripts")).permissions(rules);
    run(builder.with(hooks).with(permissions).tool(bash.clone())).await;
    assert_eq!(bash.calls().len(), 2);
    assert_eq!(world.text("project/asked").lines().count(), 1, "the second time nobody asks");
}

#[tokio::test]
async fn a_yes_to_other_arguments_is_none_to_these() {
    let other = r#""decision":{"behavior":"allow","updatedInput":{"command":"ls"}}"#;
    let world = world(&[("PermissionRequest", "Bash", &answers("PermissionRequest", other))]);
    let model = Script::new().call("bash", r#"{"command":"make"}"#).say("done");
    let bash = RecordingTool::new("bash").with(|spec| spec.alias("Bash"));
    run(agent(&world, &model).with(Permissions::default()).tool(bash.clone())).await;
    assert!(bash.calls().is_empty());
}

#[tokio::test]
async fn a_hooks_yes_answers_an_open_question_and_an_ask_puts_one() {
    for (word, approver, calls) in
        [("allow", FixedApprover::no("no"), 1), ("ask", FixedApprover::yes(), 1), ("ask", FixedApprover::no("no"), 0)]
    {
        let world = world(&[("PreToolUse", "", &answers("PreToolUse", &format!(r#""permissionDecision":"{word}""#)))]);
        let model = Script::new().call("bash", r#"{"command":"make"}"#).say("done");
        let bash = RecordingTool::new("bash").with(|spec| spec.alias("Bash"));
        run(agent(&world, &model).with(Permissions::default()).approver(approver).tool(bash.clone())).await;
        assert_eq!(bash.calls().len(), calls, "{word}");
    }
}

#[tokio::test]
async fn the_transcript_is_up_to_date_before_a_hook_reads_it() {
    // As a loop of a well-known plugin reads it: by the letter.
    let last = r#"
        transcript=$(jq -r .transcript_path)
        grep '"role":"assistant"' "$transcript" | tail -1 |
            jq -r '.message.content | map(select(.type == "text")) | map(.text) | join("\n")' > "$CLAUDE_PROJECT_DIR/last"
        grep -c . "$transcript" > "$CLAUDE_PROJECT_DIR/lines"
    "#;
    let world = world(&[("Stop", "", last), ("PreToolUse", "", &keeps("pre"))]);
    let model = Script::new().call("bash", r#"{"command":"ls"}"#).say("the last word");
    run(agent(&world, &model).tool(RecordingTool::new("bash").replying("out"))).await;
    assert_eq!(world.text("project/last"), "the last word\n");
    assert_eq!(world.text("project/lines"), "4\n", "the prompt, the call, its result, the end");
    let path = PathBuf::from(given(&world, "pre")["transcript_path"].as_str().expect("a path"));
    let lines: Vec<Value> = fs::read_to_string(path)
        .expect("a file")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines[1]["message"]["content"][0]["name"], "Bash");
    assert_eq!(lines[2]["message"]["content"][0]["content"], "out");
    assert_eq!(lines[3]["type"], "assistant");
}

#[tokio::test]
async fn variables_that_a_start_leaves_reach_later_commands_of_children_too() {
    let world = world(&[("SessionStart", "", "echo 'export GREETING=\"hello $USER_NAME\"' >> \"$CLAUDE_ENV_FILE\"")]);
    let mut world = world;
    world.session.variables.push(("USER_NAME".into(), "Ada".into()));
    let bash = || Bash { sandbox: Sandbox::off(), ..Bash::in_dir(world.project()) };
    let echo = r#"{"command":"echo \"$GREETING\""}"#;
    let child_model = Script::new().call("bash", echo).say("child");
    let child = Agent::builder(child_model.clone()).name("child").with(bash()).build().expect("a child");
    let model = Script::new().call("bash", echo).call("helper", r#"{"prompt":"p"}"#).say("done");
    run(agent(&world, &model).with(bash()).tool(AgentTool::new("helper", "helps", child))).await;
    assert!(read(&model)[0].contains("hello Ada"), "{:?}", read(&model));
    assert!(read(&child_model)[0].contains("hello Ada"), "{:?}", read(&child_model));
}

/// An agent with a handler beside it that writes to stderr, and steps enough after it has ended to hear of it.
fn beside(world: &World, model: &Script, handler: &Value) -> AgentBuilder {
    world.settings("project", &json!({ "hooks": { "PostToolUse": [{ "matcher": "Bash", "hooks": [handler] }] } }));
    let begun = world.project().join("begun");
    let wait = tool("wait", "Waits", async move |_: Value, _| {
        while !reaped(&begun) {
            tokio::task::yield_now().await;
        }
        Ok("waited")
    });
    let mut builder = agent(world, model);
    builder.tool(RecordingTool::new("bash")).tool(wait).max_steps(200);
    builder
}

/// Whether the process that left its number there is over, and somebody has asked how it ended.
fn reaped(begun: &Path) -> bool {
    let process = fs::read_to_string(begun).ok().and_then(|text| text.trim().parse::<u32>().ok());
    process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists())
}

/// The handler is over when the first wait is: what is left takes no time but this thread's.
fn waiting() -> Script {
    let model = (0..100).fold(Script::new().call("bash", "{}"), |script, _| script.call("wait", "{}"));
    model.say("done").may_end_early()
}

#[tokio::test]
async fn what_runs_beside_wakes_the_model_before_it_stops() {
    let (world, model) = (World::new(), waiting());
    let command = "echo 'tests failed' >&2; echo $$ >\"$CLAUDE_PROJECT_DIR/begun\"; exit 2";
    let handler = json!({ "type": "command", "command": command, "asyncRewake": true });
    run(&mut beside(&world, &model, &handler)).await;
    assert!(read(&model).contains(&"tests failed".to_owned()), "{:?}", read(&model));
}

#[tokio::test]
async fn how_a_handler_beside_the_agent_ended_is_told_to_people_and_to_the_record() {
    let (world, model) = (World::new(), waiting());
    let command = "echo 'no such linter' >&2; echo $$ >\"$CLAUDE_PROJECT_DIR/begun\"; exit 1";
    let handler = json!({ "type": "command", "command": command, "async": true });
    let (told, accounts) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let seen = told.clone();
    let mut builder = beside(&world, &model, &handler);
    builder.watch(Notification, async move |cx| {
        seen.lock().expect("nobody panics").push(cx.message.clone());
        Ok(())
    });
    // Whichever dispatch comes first after its end has it.
    let (after, before) = (accounts.clone(), accounts.clone());
    builder.watch(AfterToolUse, async move |cx| {
        keep(&after, &cx.record().to_record());
        Ok(())
    });
    builder.watch(BeforeStep, async move |cx| {
        keep(&before, &cx.record().to_record());
        Ok(())
    });
    run(&mut builder).await;
    let (told, accounts) = (told.lock().expect("nobody panics"), accounts.lock().expect("nobody panics"));
    assert!(told.iter().any(|text| text.contains("no such linter")), "{told:?}");
    assert!(accounts.iter().any(|account| account["ran"][0]["exit_code"] == 1), "{accounts:?}");
}

#[tokio::test]
async fn a_handler_beside_the_agent_that_is_ended_with_the_session_is_in_the_record() {
    let world = World::new();
    let handler = json!({ "type": "command", "command": "exec tail -f /dev/null", "async": true });
    world.settings("project", &json!({ "hooks": { "PostToolUse": [{ "hooks": [handler] }] } }));
    let model = Script::new().call("bash", "{}").say("done");
    let accounts = Arc::new(Mutex::new(Vec::new()));
    let seen = accounts.clone();
    let mut builder = agent(&world, &model);
    builder.tool(RecordingTool::new("bash")).watch(SessionEnd, async move |cx| {
        keep(&seen, &cx.record().to_record());
        Ok(())
    });
    let mut session = builder.build().expect("an agent").session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    session.close().await;
    let accounts = accounts.lock().expect("nobody panics");
    let told = accounts.iter().filter_map(|account| account["warnings"][0].as_str()).collect::<Vec<_>>();
    assert_eq!(told, ["`exec tail -f /dev/null` ran beside the agent, and was ended with the session"]);
}

#[tokio::test]
async fn a_model_that_judges_is_the_runs_own() {
    let world = World::new();
    let prompt = json!([{ "type": "prompt", "prompt": "Is this fine? $ARGUMENTS", "continueOnBlock": true }]);
    world.settings("project", &json!({ "hooks": { "PreToolUse": [{ "hooks": prompt }] } }));
    let model =
        Script::new().call("bash", r#"{"command":"ls"}"#).say(r#"{"ok":false,"reason":"not today"}"#).say("done");
    let bash = RecordingTool::new("bash");
    run(agent(&world, &model).tool(bash.clone())).await;
    assert_eq!(read(&model), ["blocked: blocked by claude-code/PreToolUse: not today"]);
    assert!(bash.calls().is_empty());
}

#[tokio::test]
async fn a_failed_turn_and_the_end_of_a_session_are_told() {
    let world = world(&[
        ("StopFailure", "authentication_failed", &keeps("failure")),
        ("SessionEnd", "", &keeps("end")),
        ("Stop", "", &keeps("stop")),
    ]);
    let model = Script::new().fail(ModelError::Unauthorised { message: "who are you".into() });
    run(&mut agent(&world, &model)).await;
    assert_eq!(given(&world, "failure")["error"], "authentication_failed");
    assert_eq!(given(&world, "end")["reason"], "other");
    assert_eq!(world.text("project/stop"), "", "an error is no stop");
}

#[tokio::test]
async fn nothing_stands_in_the_loop_that_nothing_is_declared_for() {
    let world = World::new();
    let model = Script::new().say("done");
    let agent = agent(&world, &model).build().expect("an agent");
    let names: Vec<String> = agent.hooks().list().iter().map(|hook| hook.name.to_string()).collect();
    assert!(!names.iter().any(|name| name.contains("PreToolUse") || name.contains("rules")), "{names:?}");
    agent.run("go").await.expect("a run");
}

#[tokio::test]
async fn a_start_that_does_not_continue_keeps_the_session_closed_and_one_that_fails_does_not() {
    let stops = "cat > /dev/null; echo '{\"continue\": false, \"stopReason\": \"closed on Sundays\"}'";
    for (hook, why) in
        [(stops, Some("the session was denied by claude-code/SessionStart: closed on Sundays")), ("exit 1", None)]
    {
        let world = world(&[("SessionStart", "", hook)]);
        let agent = agent(&world, &Script::new()).build().expect("an agent");
        let error = agent.session().await.err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), why, "{hook}");
    }
}

#[tokio::test]
async fn what_a_start_tells_a_person_is_told_when_somebody_follows() {
    let message = "cat > /dev/null; echo '{\"systemMessage\": \"welcome\"}'";
    let world = world(&[("SessionStart", "", message)]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let mut builder = agent(&world, &Script::new().say("done"));
    builder.watch(Notification, async move |cx| {
        heard.lock().expect("a list").push(cx.message.clone());
        Ok(())
    });
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    assert!(told.lock().expect("a list").is_empty(), "nobody follows it yet");
    session.prompt("go").await.expect("a run");
    assert_eq!(*told.lock().expect("a list"), ["SessionStart: welcome"]);
    session.close().await;
}

#[tokio::test]
async fn what_a_command_wrote_to_each_output_is_told_apart() {
    let world = world(&[("PostToolUse", "Bash", &keeps("after"))]);
    let model = Script::new().call("bash", r#"{"command": "echo one; echo two >&2"}"#).say("done");
    let mut builder = agent(&world, &model);
    builder.with(Bash { sandbox: Sandbox::off(), ..Bash::in_dir(world.project()) });
    let outputs = |name: &str| {
        let response = given(&world, name)["tool_response"].clone();
        (response["stdout"].clone(), response["stderr"].clone())
    };
    run(&mut builder).await;
    assert_eq!(outputs("after"), (json!("one"), json!("two")));
}

#[tokio::test]
async fn a_hook_is_told_where_the_agent_has_gone_and_runs_where_the_session_works() {
    let here = "cat > \"$CLAUDE_PROJECT_DIR/last\"; ./own.sh";
    let world = world(&[("PreToolUse", "Bash", here)]);
    fs::create_dir_all(world.project().join("sub")).expect("a folder");
    for (folder, text) in [("", "the session's"), ("sub", "the agent's")] {
        let script = world.project().join(folder).join("own.sh");
        fs::write(&script, format!("#!/bin/sh\necho \"{text} $PWD\" >> \"$CLAUDE_PROJECT_DIR/ran\"\n"))
            .expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&script, mode).expect("it can be started");
    }
    let model = Script::new().call("bash", r#"{"command":"cd sub"}"#).call("bash", r#"{"command":"pwd"}"#).say("done");
    let sandbox = Sandbox { need: vertebra_kit::bash::sandbox::Need::Off, ..Sandbox::default() };
    let bash = Bash { sandbox, judged: false, ..Bash::in_dir(world.project()) };
    run(agent(&world, &model).with(bash)).await;
    let project = world.project().canonicalize().expect("a folder");
    assert_eq!(given(&world, "last")["cwd"], json!(project.join("sub").to_string_lossy()));
    let ran = world.text("project/ran");
    assert_eq!(ran.matches("the session's").count(), 2, "{ran}");
    assert!(!ran.contains("the agent's"), "{ran}");
}
