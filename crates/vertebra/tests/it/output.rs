//! `Output`: what of the final answer leaves a run, in its report, its stream, its conversation and its journal.

use vertebra::{
    AgentBuilder, AgentTool, AnswerEnd, Handle, HookableAgent, Likeness, MemoryJournal, News, RunStatus, What,
    prelude::*,
    testing::{RecordingTool, Script, fire, output},
};

use super::{
    streaming::{Out, stream},
    support::*,
};

fn no_secrets(builder: &mut AgentBuilder) -> &mut AgentBuilder {
    builder.guard(Output.named("no-secrets"), async |cx| {
        if cx.text.contains("SECRET") { deny("it names a secret") } else { proceed() }
    })
}

fn redacting(builder: &mut AgentBuilder) -> &mut AgentBuilder {
    builder.on(Output.named("redact"), async |cx| {
        cx.text = cx.text.replace("SECRET", "***");
        proceed()
    })
}

/// The pieces that were shown, one by one.
async fn pieces(model: &Script, hooks: impl FnOnce(&mut AgentBuilder)) -> Vec<String> {
    let mut builder = agent(model);
    hooks(&mut builder);
    let mut stream = builder.build().expect("an agent").stream("go");
    let mut pieces = Vec::new();
    while let Some(event) = stream.next().await {
        match event.news {
            News::Delta { text, .. } => pieces.push(text),
            News::ToolBegan { call } => pieces.push(format!("<{}>", call.tool)),
            _ => {}
        }
    }
    pieces
}

#[tokio::test]
async fn a_denied_answer_leaves_its_reason_and_no_text() {
    let model = Script::new().stream(["the code ", "is SECRET"]).thinking("SECRET indeed");
    let out = stream(&model, |b| _ = no_secrets(b)).await;
    assert_eq!((&*out.shown, &*out.report.text), ("", ""));
    assert_eq!(ending(&out.report), "stopped (requested) by no-secrets: the output was denied: it names a secret");
}

#[tokio::test]
async fn an_edited_answer_is_the_one_that_everybody_receives() {
    let log = Log::default();
    let told = log.clone();
    let Out { shown, report, .. } = stream(&Script::new().stream(["the code ", "is SECRET", "!"]), |b| {
        redacting(b).watch(ExecutionEnd, async move |cx| {
            told.add(&*cx.text);
            Ok(())
        });
    })
    .await;
    assert_eq!((&*shown, &*report.text), ("the code is ***!", "the code is ***!"));
    assert_eq!(report.status, RunStatus::Completed);
    log.check(&["the code is ***!"]);
}

#[tokio::test]
async fn hooks_at_output_can_be_fired_alone() {
    let mut set = HookSet::new();
    set.guard(Output.named("no-secrets"), async |cx| if cx.text.contains("SECRET") { deny("no") } else { proceed() });
    let hooks = Hooks::new(set).expect("hooks");
    assert_eq!(fire(&hooks, Output, output("a SECRET")).await.to_string(), "denied by no-secrets: no");
    assert_eq!(fire(&hooks, Output, output("hello")).await.to_string(), "proceeded");
}

#[tokio::test]
async fn a_guard_judges_what_hooks_left() {
    let model = Script::new().say("the code is SECRET");
    let report = run(redacting(no_secrets(&mut agent(&model)))).await;
    assert_eq!((&*report.text, report.status), ("the code is ***", RunStatus::Completed));
}

#[tokio::test]
async fn pieces_wait_for_a_decision_only_where_somebody_decides() {
    let model = || Script::new().stream(["a", "b"]).thinking("hm");
    let free = pieces(&model(), |b| _ = b.watch(Output, async |_| Ok(()))).await;
    assert_eq!(free, ["hm", "a", "b"]);
    // Accepted as it is, it comes in its pieces; they wait until a hook at the end of the run has run.
    let log = Log::default();
    let told = log.clone();
    let mut builder = agent(&model());
    builder.guard(Output, async move |_| {
        told.add("decided");
        proceed()
    });
    let mut stream = builder.build().expect("an agent").stream("go");
    while let Some(event) = stream.next().await {
        if let News::Delta { text, .. } = event.news {
            log.add(text);
        }
    }
    log.check(&["decided", "hm", "a", "b"]);
}

#[tokio::test]
async fn text_beside_calls_is_shown_when_the_calls_begin() {
    let model = Script::new().call("ls", "{}").saying("Let me look.").say("SECRET found");
    let shown = pieces(&model, |b| _ = no_secrets(b.tool(RecordingTool::new("ls")))).await;
    assert_eq!(shown, ["Let me look.", "<ls>"]);
}

#[tokio::test]
async fn a_draft_that_a_hook_sent_back_is_not_shown() {
    let model = Script::new().say("SECRET draft").say("fine");
    let out = stream(&model, |b| {
        no_secrets(b);
        b.on(ShouldContinue, async |cx| if cx.at.step == 1 { go_on("again") } else { proceed() });
    })
    .await;
    assert_eq!((&*out.shown, &*out.report.text), ("fine", "fine"));
}

#[tokio::test]
async fn what_after_inference_made_of_an_answer_is_what_is_shown_once_it_is_judged() {
    let out = stream(&Script::new().stream(["SEC", "RET"]), |b| {
        no_secrets(b);
        b.on(AfterInference, async |cx| {
            cx.response.text = "clean".to_owned();
            proceed()
        });
    })
    .await;
    assert_eq!((&*out.shown, &*out.report.text), ("clean", "clean"));
}

#[tokio::test]
async fn records_that_front_ends_see_do_not_carry_a_denied_text() {
    let mut builder = agent(&Script::new().stream(["a SECRET", " code"]));
    no_secrets(&mut builder).on(InferenceDelta, async |cx| {
        cx.text = cx.text.to_uppercase();
        proceed()
    });
    let mut stream = builder.build().expect("an agent").stream("go");
    let mut told = String::new();
    while let Some(event) = stream.next().await {
        told.push_str(&serde_json::to_string(&event).expect("an event"));
    }
    assert!(told.contains("InferenceDelta") && told.contains("no-secrets"), "{told}");
    assert!(!told.contains("SECRET"), "{told}");
}

#[tokio::test]
async fn the_conversation_says_what_left_the_run() {
    let model = Script::new().say("it is SECRET").say("it is SECRET").say("never mind");
    let mut builder = agent(&model);
    no_secrets(&mut builder).on(Output.named("second").priority(1), async |cx| {
        if cx.at.run.run_id.ends_with('2') {
            cx.text = cx.text.replace("SECRET", "***");
        }
        proceed()
    });
    let agent = builder.build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    for prompt in ["a", "b", "c"] {
        report(session.prompt(prompt).await);
    }
    let expected = [
        "user: a",
        "model: [the output was denied: it names a secret]",
        "user: b",
        "model: it is ***",
        "user: c",
        "model: never mind",
    ];
    assert_eq!(conversation(session.state().await.messages()), expected);
}

#[tokio::test]
async fn output_fires_once_for_a_run_that_says_something() {
    let cases = [
        ("an answer", Script::new().say("hi"), 1),
        ("an answer after tools", Script::new().call("ls", "{}").say("hi"), 1),
        ("nothing but calls, to the limit", Script::new().call("ls", "{}").call("ls", "{}"), 0),
        ("an error", Script::new().fail(rejected()), 0),
    ];
    for (case, model, times) in cases {
        let mut builder = agent(&model);
        builder.tool(RecordingTool::new("ls")).max_steps(2);
        let seen = watch_all(&mut builder);
        run(&mut builder).await;
        assert_eq!(seen.count("Output"), times, "{case}");
        let order: Vec<&str> = seen.seen().iter().map(|one| one.point).collect();
        assert!(order.ends_with(&["ExecutionEnd", "SessionEnd"]), "{case}: {order:?}");
    }
}

#[tokio::test]
async fn an_answer_that_a_limit_cut_short_passes_too() {
    let model = Script::new().call("ls", "{}").saying("SECRET so far");
    let report = run(no_secrets(agent(&model).tool(RecordingTool::new("ls")).max_steps(1))).await;
    assert_eq!(report.text, "");
    // The denial of what it said is a stronger reason than the limit.
    assert_eq!(ending(&report), "stopped (requested) by no-secrets: the output was denied: it names a secret");
}

#[tokio::test]
async fn a_hook_that_fails_withholds_the_answer_unless_it_fails_open() {
    for (open, text) in [(false, ""), (true, "hi")] {
        let mut builder = agent(&Script::new().say("hi"));
        let point = Output.named("shaky");
        let fails = async |_: &mut OutputCx<'_>| -> Answer<Output> { Err(HookError::new("no network")) };
        if open {
            builder.on(point.fail_open(), fails)
        } else {
            builder.on(point, fails)
        };
        let report = run(&mut builder).await;
        assert_eq!(report.text, text);
        if !open {
            assert_eq!(report.stop.message, "the output was denied: `shaky` failed: no network");
        }
    }
}

#[tokio::test]
async fn a_cancelled_run_gives_no_text_that_nobody_judged() {
    let cancels = |builder: &mut AgentBuilder| {
        builder.on(ShouldContinue, async |cx| {
            cx.scope().cancel();
            proceed()
        });
    };
    let mut builder = agent(&Script::new().say("SECRET"));
    cancels(no_secrets(&mut builder));
    let judged = run(&mut builder).await;
    assert_eq!((judged.status, &*judged.text), (RunStatus::Cancelled, ""));
    let mut builder = agent(&Script::new().say("hi"));
    cancels(&mut builder);
    assert_eq!(run(&mut builder).await.text, "hi", "no hook listens");
}

#[tokio::test]
async fn guards_of_a_parent_decide_what_leaves_its_children() {
    let child = agent(&Script::new().say("a SECRET")).name("child").build().expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "look"}"#).say("done");
    let mut builder = agent(&model);
    let seen = watch_all(no_secrets(builder.tool(AgentTool::new("helper", "helps", child))));
    let report = run(&mut builder).await;
    assert_eq!(report.text, "done");
    let read = read_by_model(&model);
    let denied = "[stopped: the output was denied: it names a secret (no-secrets)]";
    assert_eq!(read, [format!("done: {denied}\n[`child` said nothing]")]);
    assert_eq!(seen.at("SubagentStop")[0].text("text"), "");
    assert_eq!(seen.count("Output"), 2);
}

#[tokio::test]
async fn the_answer_of_a_foreign_loop_passes_too() {
    let mut builder = agent(&Script::new());
    let loops = HookableAgent::new(redacting(&mut builder).build().expect("an agent"));
    let answer = loops.run("go", async |_: Handle| Ok("SECRET".to_owned())).await.expect("a run");
    assert_eq!(answer.text, "***");
    let mut builder = agent(&Script::new());
    let loops = HookableAgent::new(no_secrets(&mut builder).build().expect("an agent"));
    let answer = loops.run("go", async |_: Handle| Ok("SECRET".to_owned())).await.expect("a run");
    assert_eq!((&*answer.text, answer.status), ("", RunStatus::Stopped));
}

#[tokio::test]
async fn the_journal_says_who_decided_and_a_replay_decides_the_same() {
    for deny in [true, false] {
        let journal = MemoryJournal::default();
        let mut builder = agent(&Script::new().say("a SECRET").may_end_early());
        let hooks = if deny { no_secrets } else { redacting };
        let agent = hooks(builder.journal(journal.clone())).build().expect("an agent");
        report(agent.run("go").await);
        let lines = journal.entries();
        let answered = lines.iter().find_map(|line| match &line.what {
            What::ModelAnswered { undecided, .. } => Some(*undecided),
            _ => None,
        });
        assert_eq!(answered, Some(true), "readers do not show this text");
        // Behind the model's answer, which a replay needs, the text is nowhere.
        let at = lines.iter().position(|line| matches!(line.what, What::ModelAnswered { .. })).expect("an answer");
        let behind = serde_json::to_string(&lines[at + 1..]).expect("lines");
        assert!(!behind.contains("SECRET"), "{behind}");
        assert!(behind.contains(if deny { "it names a secret" } else { "a ***" }), "{behind}");
        let replay = agent.replay(lines, Likeness::Hooks).await.expect("a recording");
        assert_eq!((replay.runs, replay.divergence), (1, None));
    }
}

#[tokio::test]
async fn hooks_that_watch_pieces_still_see_them_as_they_come() {
    let log = Log::default();
    let (told, decided) = (log.clone(), log.clone());
    let mut builder = agent(&Script::new().stream(["a", "b"]));
    builder.watch(InferenceDelta, async move |cx| {
        let end = matches!(cx.end.as_deref(), Some(AnswerEnd::Finished { .. }));
        told.add(format!("{:?} {end}", cx.text));
        Ok(())
    });
    builder.guard(Output, async move |_| {
        decided.add("decided");
        proceed()
    });
    run(&mut builder).await;
    log.check(&[r#""a" false"#, r#""b" false"#, r#""" true"#, "decided"]);
}
