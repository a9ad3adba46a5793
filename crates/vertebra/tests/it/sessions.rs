//! Sessions: one conversation, many runs, totals at the end, watches drained.

use std::{future::pending, sync::Arc};

use serde_json::Value;
use vertebra::{
    AgentBuilder, Capability, Deltas, Image, Kit, Lasting, ModelError, ModelId, News, Prompt, Request, Response,
    SharedModel, StopReason, ToolCall, ToolOutput, Usage,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};

use super::support::*;

#[tokio::test]
async fn many_prompts_are_one_conversation_and_the_totals_are_told() {
    let clock = FakeClock::new();
    let model = Script::new()
        .call("ls", "{}")
        .costing(10, 1)
        .say("one")
        .costing(20, 2)
        .say("two")
        .costing(30, 3)
        .taking(secs(4), &clock);
    let mut builder = agent_on(&model, &clock);
    let seen = watch_all(builder.tool(RecordingTool::new("ls")));
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    assert_eq!(session.id(), "session-1");
    let (one, two) = (report(session.prompt("a").await), report(session.prompt("b").await));
    assert_eq!((&*one.run_id, one.steps, one.tool_calls, one.usage.total_tokens()), ("run-1", 2, 1, 33));
    assert_eq!((&*two.run_id, two.steps, two.tool_calls, two.usage.total_tokens()), ("run-2", 1, 0, 33));
    assert_eq!(two.duration_ms, 4000);
    let told = conversation(session.state().await.messages());
    assert_eq!(told, ["user: a", "model: <ls>", "ls: ok", "model: one", "user: b", "model: two"]);
    assert_eq!(model.requests()[2].messages.len(), 5);
    let closed = session.close().await;
    let end = &seen.at("SessionEnd")[0].event;
    let totals = ["total_tokens", "total_tool_calls", "runs", "steps", "duration_ms"].map(|name| end[name].as_u64());
    assert_eq!(totals, [Some(66), Some(1), Some(2), Some(3), Some(4000)]);
    assert_eq!((closed.usage.total_tokens(), closed.tool_calls, closed.runs, closed.steps), (66, 1, 2, 3));
    assert_eq!((seen.count("SessionStart"), seen.count("ExecutionEnd"), seen.count("SessionEnd")), (1, 2, 1));
}

#[tokio::test]
async fn metadata_lasts_from_run_to_run_and_notes_as_long_as_they_say() {
    let log = Log::default();
    let told = log.clone();
    let model = Script::new().call("ls", "{}").say("one").say("two");
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("ls"));
    builder.on(BeforeStep, async move |cx| {
        let metadata = cx.state().metadata().get("n").and_then(serde_json::Value::as_u64).unwrap_or_default();
        let step: Option<u64> = cx.note_of("step")?;
        let run: Option<u64> = cx.note_of("run")?;
        told.add(format!("metadata {metadata}, step {step:?}, run {run:?}"));
        cx.state_mut().metadata_mut().set("n", metadata + 1);
        proceed()
    });
    builder.on(AfterInference.named("step"), async |cx| {
        cx.note(Lasting::Step, 7)?;
        proceed()
    });
    builder.on(AfterInference.named("run"), async |cx| {
        cx.note(Lasting::Run, 8)?;
        proceed()
    });
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    report(session.prompt("a").await);
    report(session.prompt("b").await);
    log.check(&[
        "metadata 0, step None, run None",
        "metadata 1, step None, run Some(8)",
        "metadata 2, step None, run None",
    ]);
}

#[tokio::test]
async fn detached_watches_are_drained_before_close_returns() {
    let log = Log::default();
    let told = log.clone();
    let mut builder = agent(&Script::new().say("done"));
    builder.watch(SessionEnd.detached(), async move |_| {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        told.add("late");
        Ok(())
    });
    run(&mut builder).await;
    log.check(&["late"]);
}

#[tokio::test]
async fn detached_watches_of_a_child_are_drained_too() {
    let log = Log::default();
    let told = log.clone();
    let mut child = agent(&Script::new().say("seen"));
    child.name("child").watch(ExecutionEnd.detached(), async move |_| {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        told.add("late");
        Ok(())
    });
    let child = child.build().expect("a child");
    let mut builder = agent(&Script::new().call("helper", r#"{"prompt": "look"}"#).say("done"));
    run(builder.tool(vertebra::AgentTool::new("helper", "helps", child))).await;
    log.check(&["late"]);
}

#[tokio::test(start_paused = true)]
async fn what_detached_watches_missed_is_counted() {
    let pieces = vec!["x"; 1100];
    let mut builder = agent(&Script::new().stream(pieces));
    builder.limits(vertebra::Limits::none()).drain_time(secs(2));
    builder.watch(InferenceDelta.detached().no_timeout(), async |_| pending::<()>().await);
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    report(session.prompt("go").await);
    let watches = session.close().await.watches;
    // One is being looked at, 1024 wait, and the rest of 1101 found no room.
    assert_eq!((watches.dropped + watches.unfinished, watches.dropped > 0), (1101, true), "{watches:?}");
}

struct Polite;

impl Capability for Polite {
    fn install(self, kit: &mut Kit) {
        kit.instruct("Say please.").tool(RecordingTool::new("bow"));
        kit.on(BeforeToolUse.tool("bow"), async |_| replace("bowed"));
    }
}

#[tokio::test]
async fn a_capability_brings_its_tools_hooks_and_words() {
    let model = Script::new().call("bow", "{}").say("done");
    let told = story(&model, |b| {
        b.with(Polite);
    })
    .await;
    assert_eq!(told[2], "bow: bowed");
    assert_eq!(&*model.requests()[0].system_prompt, "be brief\n\nSay please.");
}

#[tokio::test]
async fn hooks_added_and_removed_between_prompts_hold_from_the_next_one() {
    let model = Script::new().call("ls", "{}").say("1").call("ls", "{}").say("2").call("ls", "{}").say("3");
    let mut builder = agent(&model);
    let agent = builder.tool(RecordingTool::new("ls")).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    report(session.prompt("a").await);
    let mut set = HookSet::new();
    set.guard(BeforeToolUse.named("door"), async |_| deny("closed"));
    agent.hooks().install(set).expect("fits");
    report(session.prompt("b").await);
    agent.hooks().remove("door").expect("is there");
    report(session.prompt("c").await);
    let results = results_in(session.state().await.messages());
    assert_eq!(results, ["done: ok", "blocked: blocked by door: closed", "done: ok"]);
}

#[tokio::test]
async fn what_does_not_fit_together_is_refused_when_it_is_built() {
    let error = |builder: &mut vertebra::AgentBuilder| builder.build().map(drop).expect_err("a mistake").to_string();
    let twice = error(agent(&Script::new()).tool(RecordingTool::new("ls")).tool(RecordingTool::new("ls")));
    assert_eq!(twice, "two tools are called `ls`: rename one, or drop the alias");
    let name = error(agent(&Script::new()).tool(RecordingTool::new("l s")));
    assert_eq!(name, "`l s` cannot be a tool's name: use 1 to 64 letters, digits, `_` or `-`");
    let schema = serde_json::json!({"type": "objekt"});
    let schema = error(agent(&Script::new()).tool(RecordingTool::new("ls").with(|spec| spec.schema(schema))));
    assert!(schema.starts_with("the schema of tool `ls` is not valid"), "{schema}");
    let mut builder = agent(&Script::new());
    builder.on(BeforeStep.named("a").before("b"), async |_| proceed());
    assert!(error(&mut builder).contains("no hook of that name"));
}

#[tokio::test]
async fn the_system_prompt_edited_at_the_start_is_what_the_model_gets() {
    let model = Script::new().call("ls", "{}").say("done");
    story(&model, |b| {
        b.on(SessionStart, async |cx| {
            cx.system_prompt = "be kind".into();
            proceed()
        });
    })
    .await;
    assert!(model.requests().iter().all(|request| &*request.system_prompt == "be kind"));
}

#[tokio::test]
async fn hooks_may_stand_beside_the_agents_own_for_one_run_alone() {
    let log = Log::default();
    let (own, once) = (log.clone(), log.clone());
    let model = Script::new().say("one").say("two");
    let mut builder = agent(&model);
    builder.on(BeforeStep.named("own").own_agent_only(), async move |_cx| {
        own.add("own");
        proceed()
    });
    let agent = builder.build().expect("an agent");
    let mut more = HookSet::new();
    more.on(BeforeStep, async move |_cx| {
        once.add("once");
        proceed()
    });
    let more = Hooks::new(more).expect("hooks");
    let mut session = agent.session().await.expect("a session");
    report(session.prompt_with("a", &more).await);
    log.add("-");
    report(session.prompt("b").await);
    log.check(&["own", "once", "-", "own"]);
    assert_eq!(agent.hooks().count(), 1);
}

#[tokio::test]
async fn a_state_that_was_written_and_read_again_has_lost_nothing_and_goes_on() {
    let model = Script::new()
        .calls([("ls", "{}"), ("rm", "{}"), ("burn", "{}"), ("gone", "{}")])
        .saying("Let me see.")
        .say("done")
        .say("more");
    let work = |builder: &mut AgentBuilder| {
        let listing =
            ToolOutput { text: "a".to_owned(), exit_code: Some(3), data: serde_json::json!({"files": ["a"]}) };
        builder.tool(RecordingTool::new("ls").by(move |_| Ok(listing.clone()))).tool(RecordingTool::new("rm"));
        builder.tool(RecordingTool::new("burn").by(|_| Err(ToolError::new("disk full"))));
        builder.guard(BeforeToolUse.tool("rm").named("no-rm"), async |_| deny("no"));
    };
    let mut builder = agent(&model);
    work(&mut builder);
    builder.on(AfterStep, async |cx| {
        cx.state_mut().metadata_mut().set("kept", true);
        proceed()
    });
    let built = builder.build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    session.prompt("a").await.expect("a run");
    let state = session.state().await;
    let written = serde_json::to_string(&state).expect("a state can be written");
    let read: AgentState = serde_json::from_str(&written).expect("and read");
    assert_eq!(serde_json::to_string(&read).expect("and written again"), written);
    assert!(state.messages().iter().eq(read.messages().iter()));
    let told = ["user: a", "model: Let me see.<ls><rm><burn><gone>", "ls: a", "rm: blocked by no-rm: no"];
    assert_eq!(conversation(read.messages())[..4], told);
    let results = results_in(read.messages());
    assert_eq!(results[2..], ["failed: disk full", "failed: unknown tool `gone`. Known: burn, ls, rm"]);

    let mut builder = agent(&model);
    work(&mut builder);
    builder.on(SessionStart, async move |cx| {
        *cx.state_mut() = serde_json::from_str(&written)?;
        proceed()
    });
    let built = builder.build().expect("an agent");
    built.run("b").await.expect("a run");
    let request = model.requests().pop().expect("a request");
    let before = request.messages.iter().take(state.messages().len());
    assert!(before.eq(state.messages().iter()));
    assert_eq!(request.messages.last(), Some(&Message::user("b")));
}

#[tokio::test]
async fn a_session_streams_and_a_cancelled_run_leaves_it_open() {
    let model = Script::new().stream(["one ", "two"]).call("wait", "{}").say("still here");
    let mut builder = agent(&model);
    builder.tool(tool("wait", "waits", async |_: Value, _| pending::<Result<String, _>>().await));
    let built = builder.build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    let mut stream = session.stream("a");
    let mut said = String::new();
    while let Some(event) = stream.next().await {
        if let News::Delta { text, .. } = event.news {
            said.push_str(&text);
        }
    }
    assert_eq!(said, "one two");

    let mut stream = session.stream("b");
    let mut last = None;
    while let Some(event) = stream.next().await {
        if let News::ToolBegan { .. } = event.news {
            stream.cancel();
        }
        last = Some(event.news);
    }
    assert!(matches!(last, Some(News::Ended { report }) if report.stop.reason == StopReason::Cancelled));

    let report = session.prompt("c").await.expect("the session goes on");
    assert_eq!(report.text, "still here");
    assert_eq!(session.close().await.runs, 3);
}

#[tokio::test]
async fn pictures_pass_the_hooks_of_the_prompt_and_reach_the_model() {
    let picture = |data: &str| Image { media_type: "image/png".into(), data: data.into() };
    let model = Script::new().say("a cat");
    let mut builder = agent(&model);
    builder.on(PromptSubmit, async |cx| {
        cx.images.retain(|image| &*image.data != "c2VjcmV0");
        proceed()
    });
    let prompt = Prompt::from("what is it?").image(picture("Y2F0")).image(picture("c2VjcmV0"));
    builder.build().expect("an agent").run(prompt).await.expect("a run");
    let request = model.requests().pop().expect("a request");
    let wanted = Message::User { text: "what is it?".to_owned(), images: vec![picture("Y2F0")] };
    assert_eq!(request.messages.last(), Some(&wanted));
}

#[tokio::test]
async fn what_a_provider_wants_back_stays_with_the_answer() {
    let carry = Some(Arc::new(serde_json::json!({"signature": "abc"})));
    let call = ToolCall::from_text("1", "ls", "{}");
    let model =
        Script::new().turn(Response { calls: vec![call], carry: carry.clone(), ..Response::default() }).say("ok");
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("ls"));
    builder.build().expect("an agent").run("go").await.expect("a run");
    let request = model.requests().pop().expect("a request");
    assert!(matches!(request.messages.get(1), Some(Message::Assistant { carry: kept, .. }) if *kept == carry));
}

/// Pays, and then fails or never answers.
struct Spender {
    answers: bool,
}

impl Model for Spender {
    fn id(&self) -> ModelId {
        ModelId::new("test", "spender")
    }

    async fn infer(&self, _request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        out.spend(Usage::tokens(7, 0));
        let _ = out.text("well").await;
        if !self.answers {
            pending::<()>().await;
        }
        Err(ModelError::Rejected { message: "no".to_owned() })
    }
}

#[tokio::test]
async fn a_call_that_fails_or_is_cancelled_is_paid_for() {
    for answers in [true, false] {
        let built = Agent::builder(Spender { answers }).build().expect("an agent");
        let mut stream = built.stream("go");
        let mut last = None;
        while let Some(event) = stream.next().await {
            if let News::Delta { .. } = event.news {
                stream.cancel();
            }
            last = Some(event.news);
        }
        let Some(News::Ended { report }) = last else { panic!("no end: {last:?}") };
        assert!(answers || report.stop.reason == StopReason::Cancelled, "{report:?}");
        assert_eq!(report.usage.total_tokens(), 7, "{report:?}");
    }
}

#[tokio::test]
async fn a_person_can_have_the_conversation_made_shorter() {
    let model = Script::new().say("one").say("two").say("three");
    let mut builder = agent(&model);
    let seen = watch_all(builder.compactor(KeepLast { over: 1000 }));
    let built = builder.build().expect("an agent");
    let mut session = built.session().await.expect("a session");
    for prompt in ["a", "b"] {
        session.prompt(prompt).await.expect("a run");
    }
    assert!(session.compact("names matter").await.expect("it can be done"));
    session.prompt("c").await.expect("a run");
    let request = model.requests().pop().expect("a request");
    assert_eq!(conversation(&request.messages)[0], "compactor instructs: summary (names matter)");
    assert_eq!((seen.count("BeforeCompact"), seen.count("AfterCompact")), (1, 1));

    let mut against = HookSet::new();
    against.guard(BeforeCompact, async |_| deny("keep it all"));
    built.hooks().install(against).expect("a guard");
    assert!(!session.compact("").await.expect("it can be refused"));
}

#[tokio::test]
async fn an_agent_apart_has_hooks_that_nobody_else_has_and_all_that_the_first_one_has() {
    let tool = RecordingTool::new("bash");
    let script = || Script::new().call("bash", "{}").say("done");
    let mut builder = Agent::builder(script());
    builder.tool(tool.clone());
    let agent = builder.build().expect("an agent");
    let denying = |reason: &'static str| {
        let mut set = HookSet::new();
        set.guard(BeforeToolUse.named(reason), async move |_| deny(reason));
        set
    };
    let strict = agent.apart().asking(script());
    strict.hooks().install(denying("not here")).expect("it stands");
    strict.run("go").await.expect("it runs");
    assert!(tool.calls().is_empty(), "the guard holds where it was added");
    agent.run("go").await.expect("it runs");
    assert_eq!(tool.calls().len(), 1, "and nowhere else");
    let late = agent.apart().asking(script());
    agent.hooks().install(denying("nowhere")).expect("it stands");
    late.run("go").await.expect("it runs");
    assert_eq!(tool.calls().len(), 1, "what is added to the first one holds apart from it too");
}

#[tokio::test]
async fn an_agent_that_is_told_more_is_told_the_rest_too() {
    let model = Script::new().say("done");
    let mut builder = Agent::builder(Script::new());
    builder.system_prompt("Be brief.");
    let agent = builder.build().expect("an agent").asking(model.clone()).also_told("Be kind.");
    agent.run("go").await.expect("it runs");
    assert_eq!(&*model.requests()[0].system_prompt, "Be brief.\n\nBe kind.");
}

/// A capability that changes what the model says.
struct Shouting;

impl Capability for Shouting {
    fn install(self, kit: &mut Kit) {
        kit.model(Shout);
    }
}

/// The answers of another model in capitals.
struct Shout(SharedModel);

impl Model for Shout {
    fn id(&self) -> ModelId {
        self.0.id()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let response = self.0.infer(request, out).await?;
        Ok(Response { text: response.text.to_uppercase(), ..response })
    }
}

#[tokio::test]
async fn a_capability_can_put_another_model_around_the_agents_own() {
    let mut builder = Agent::builder(Script::new().say("done"));
    let agent = builder.with(Shouting).build().expect("an agent");
    assert_eq!(agent.run("go").await.expect("a run").text, "DONE");
}
