//! Streams: what a hook withholds is nowhere, and a slow front end never holds up a run.

use std::future::pending;

use vertebra::{
    AgentBuilder, AnswerEnd, CallInSight, Channel, DeltaReader, Deltas, Halted, MemoryJournal, ModelError, ModelId,
    News, Request, Response, RunEvent, RunReport,
    prelude::*,
    testing::{RecordingTool, Script},
};

use super::support::*;

/// Everything that leaves a run: the pieces shown, the whole stream as text, and the report.
pub(crate) struct Out {
    pub(crate) shown: String,
    pub(crate) everything: String,
    pub(crate) report: RunReport,
}

pub(crate) async fn stream(model: &Script, hooks: impl FnOnce(&mut AgentBuilder)) -> Out {
    let journal = MemoryJournal::default();
    let mut builder = agent(model);
    builder.journal(journal.clone());
    hooks(&mut builder);
    let agent = builder.build().expect("an agent");
    let mut stream = agent.stream("go");
    let (mut shown, mut everything, mut last) = (String::new(), String::new(), None);
    while let Some(event) = stream.next().await {
        everything.push_str(&serde_json::to_string(&event).expect("an event"));
        match event.news {
            News::Delta { text, channel: Channel::Text, .. } => shown.push_str(&text),
            News::Ended { report } => last = Some(*report),
            _ => {}
        }
    }
    let requests: Vec<_> = model.requests().into_iter().map(|request| request.messages).collect();
    everything.push_str(&serde_json::to_string(&requests).expect("messages"));
    everything.push_str(&serde_json::to_string(&journal.entries()).expect("entries"));
    Out { shown, everything, report: last.expect("the end is told") }
}

#[tokio::test]
async fn pieces_pass_as_they_come() {
    let out = stream(&Script::new().stream(["he", "llo"]).thinking("hm"), |_| {}).await;
    assert_eq!((&*out.shown, &*out.report.text), ("hello", "hello"));
    assert!(out.everything.contains(r#""channel":"reasoning","text":"hm""#));
}

#[tokio::test]
async fn a_rewritten_piece_is_rewritten_everywhere() {
    let model = Script::new().stream(["the code is ", "SECRET", " ok"]).say("never mind");
    let out = stream(&model, |b| {
        b.on(InferenceDelta, async |cx| {
            cx.text = cx.text.replace("SECRET", "***");
            proceed()
        });
        b.on(ShouldContinue, async |cx| if cx.at.step == 1 { go_on("and?") } else { proceed() });
    })
    .await;
    assert_eq!(out.shown, "the code is *** oknever mind");
    assert!(!out.everything.contains("SECRET"), "{}", out.everything);
}

#[tokio::test]
async fn a_piece_held_back_comes_again_with_the_next_one() {
    let log = Log::default();
    let told = log.clone();
    let out = stream(&Script::new().stream(["a SEC", "RET b", "!"]), move |b| {
        b.on(InferenceDelta, async move |cx| {
            told.add(format!("{:?} {}", cx.text, cx.last));
            if cx.text.ends_with("SEC") && !cx.last {
                return hold();
            }
            cx.text = cx.text.replace("SECRET", "***");
            proceed()
        });
    })
    .await;
    log.check(&[r#""a SEC" false"#, r#""a SECRET b" false"#, r#""!" false"#, r#""" true"#]);
    assert_eq!((&*out.shown, &*out.report.text), ("a *** b!", "a *** b!"));
    assert!(!out.everything.contains("SECRET"));
}

#[tokio::test]
async fn what_is_still_held_at_the_end_is_dropped() {
    let out = stream(&Script::new().stream(["public ", "SECRET"]), |b| {
        b.on(InferenceDelta, async |cx| if cx.text.contains("SECRET") { hold() } else { proceed() });
    })
    .await;
    assert_eq!((&*out.shown, &*out.report.text), ("public ", "public "));
    assert!(!out.everything.contains("SECRET"), "{}", out.everything);
}

#[tokio::test]
async fn what_is_held_may_pass_at_the_end() {
    let out = stream(&Script::new().stream(["a", "b"]), |b| {
        b.on(InferenceDelta, async |cx| if cx.last { proceed() } else { hold() });
    })
    .await;
    assert_eq!((&*out.shown, &*out.report.text), ("ab", "ab"));
}

#[tokio::test]
async fn a_halt_closes_the_stream_and_nothing_comes_after_it() {
    let log = Log::default();
    let told = log.clone();
    let out = stream(&Script::new().stream(["fine ", "SECRET", "more"]), move |b| {
        b.guard(InferenceDelta.named("dam"), async move |cx| {
            told.add(&*cx.text);
            if cx.text.contains("SECRET") { halt("leak") } else { proceed() }
        });
    })
    .await;
    assert_eq!((&*out.shown, &*out.report.text), ("fine ", "fine "));
    assert_eq!(ending(&out.report), "stopped (requested) by dam: leak");
    assert!(!out.everything.contains("SECRET") && !out.everything.contains("more"), "{}", out.everything);
    log.check(&["fine ", "SECRET"]);
}

#[tokio::test]
async fn the_calls_of_a_halted_answer_are_not_made() {
    use vertebra::{Deltas, Model, ModelError, ModelId, Request, Response, ToolCall};
    /// Streams a word and asks for a tool.
    struct Talker;
    impl Model for Talker {
        fn id(&self) -> ModelId {
            ModelId::new("talker", "t-1")
        }
        async fn infer(&self, _: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
            let calls = vec![ToolCall::from_text("c", "ls", "{}")];
            let _ = out.text("bad").await;
            Ok(Response { text: "bad".to_owned(), calls, ..Response::default() })
        }
    }
    let ls = RecordingTool::new("ls");
    let mut builder = Agent::builder(Talker);
    builder.tool(ls.clone()).on(InferenceDelta.named("dam"), async |_| halt("no"));
    let report = run(&mut builder).await;
    assert_eq!((ending(&report).as_str(), ls.calls().len()), ("stopped (requested) by dam: no", 0));
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_on_a_piece_halts_it() {
    for kind in ["panic", "hang", "error"] {
        let out = stream(&Script::new().stream(["SECRET"]), |b| {
            b.on(InferenceDelta.named("dam"), async move |_| match kind {
                "panic" => panic!("oh"),
                "hang" => pending().await,
                _ => Err(HookError::new("no")),
            });
        })
        .await;
        assert_eq!((out.shown.as_str(), out.report.stop.source.as_str()), ("", "dam"), "{kind}");
        assert!(!out.everything.contains("SECRET"), "{kind}");
    }
}

#[tokio::test]
async fn holding_for_ever_is_bounded() {
    let piece = "x".repeat(100 * 1024);
    let out = stream(&Script::new().stream([piece.clone(), piece.clone(), piece.clone(), piece]), |b| {
        b.on(InferenceDelta.named("hoarder"), async |_| hold());
    })
    .await;
    assert_eq!(ending(&out.report), "stopped (requested) by hoarder: more than 262144 bytes were held back");
}

#[tokio::test]
async fn thoughts_can_be_withheld_too() {
    let out = stream(&Script::new().stream(["ok"]).thinking("SECRET plan"), |b| {
        b.on(InferenceDelta, async |cx| if cx.channel == Channel::Reasoning { hold() } else { proceed() });
    })
    .await;
    assert_eq!(out.report.text, "ok");
    assert!(!out.everything.contains("SECRET"), "{}", out.everything);
}

/// Logs how answers ended.
fn endings(builder: &mut AgentBuilder) -> Log {
    let log = Log::default();
    let told = log.clone();
    builder.watch(InferenceDelta, async move |cx| {
        assert!(cx.end.is_none() || cx.last, "only a last piece says how the answer ended");
        match cx.end.as_deref() {
            None => told.add(format!("{:?}", cx.text)),
            Some(AnswerEnd::Finished { reason, calls }) => {
                let calls: Vec<&str> = calls.iter().map(|call| &*call.tool).collect();
                told.add(format!("{:?} finished {reason:?} {calls:?}", cx.text));
            }
            Some(AnswerEnd::BrokenOff { error }) => told.add(format!("{:?} broke off: {error}", cx.text)),
        }
        Ok(())
    });
    log
}

#[tokio::test]
async fn the_last_piece_of_an_answer_says_how_it_ended_streamed_or_not() {
    let stop = |text: &str| Response { finish: "stop".to_owned(), ..Response::text(text) };
    let calls = || ("ls", r#"{"a": 1}"#);
    let cases = [
        ("streamed", Script::new().stream(["a", "b"]), vec![r#""a""#, r#""b""#, r#""" finished "" []"#]),
        ("whole", Script::new().turn(stop("ab")), vec![r#""ab" finished "stop" []"#]),
        (
            "calls alone",
            Script::new().calls([calls()]).say("x"),
            vec![r#""" finished "" ["ls"]"#, r#""x" finished "" []"#],
        ),
        (
            "written calls",
            Script::new().calls([calls()]).written_in(4).say("x"),
            vec![r#""{\"a\"""#, r#"":1}""#, r#""" finished "" ["ls"]"#, r#""x" finished "" []"#],
        ),
        ("nothing", Script::new().turn(stop("")), vec![r#""" finished "stop" []"#]),
        ("an error", Script::new().fail(rejected()), vec![r#""" broke off: the model rejected the request: too rude"#]),
    ];
    for (case, model, expected) in cases {
        let mut builder = agent(&model);
        let log = endings(builder.tool(RecordingTool::new("ls")));
        run(&mut builder).await;
        assert_eq!(log.lines(), expected, "{case}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_says_so_behind_its_pieces() {
    let mut builder =
        agent(&Script::new().stream(["half of"]).breaking_off(ModelError::Broken { message: "gone".to_owned() }));
    let log = endings(builder.error_policy(vertebra::ErrorPolicy::stop()));
    run(&mut builder).await;
    log.check(&[r#""half of""#, r#""" broke off: the answer broke off: gone"#]);
}

#[tokio::test]
async fn a_hook_can_halt_an_answer_for_the_calls_at_its_end() {
    let ls = RecordingTool::new("ls");
    let out = stream(&Script::new().call("ls", "{}"), |b| {
        b.tool(ls.clone()).guard(InferenceDelta.named("dam"), async |cx| match cx.end.as_deref() {
            Some(AnswerEnd::Finished { calls, .. }) if !calls.is_empty() => halt("no tools today"),
            _ => proceed(),
        });
    })
    .await;
    assert_eq!(ending(&out.report), "stopped (requested) by dam: no tools today");
    assert_eq!(ls.calls().len(), 0);
}

#[tokio::test]
async fn arguments_are_seen_as_the_model_writes_them_and_the_call_is_made_whole() {
    let model = Script::new().calls([("ls", r#"{"path": "src"}"#), ("ls", r#"{"path": "docs"}"#)]).written_in(4);
    let (ls, seen) = (RecordingTool::new("ls"), Log::default());
    let pieces = seen.clone();
    let out = stream(&model.say("done"), |b| {
        b.tool(ls.clone()).watch(InferenceDelta, async move |cx| {
            let Some(call) = &cx.call else { return Ok(()) };
            pieces.add(format!("{} {}: {}", call.index, call.tool, cx.text));
            Ok(())
        });
    })
    .await;
    assert_eq!(seen.lines()[..3], [r#"0 ls: {"pa"#, r#"0 ls: th":"#, r#"0 ls: "src"#]);
    assert!(out.everything.contains(r#""channel":"call","text":"th\":","index":1,"tool":"ls""#), "{}", out.everything);
    assert_eq!(ls.calls().len(), 2);
}

#[tokio::test]
async fn a_call_can_be_halted_while_it_is_written_and_withheld_from_people() {
    let model = Script::new().call("bash", r#"{"command": "rm -rf SECRET"}"#).written_in(6);
    let bash = RecordingTool::new("bash");
    let out = stream(&model, |b| {
        b.tool(bash.clone()).on(
            InferenceDelta,
            async |cx| {
                if cx.text.contains("rm -rf") { halt("not that") } else { hold() }
            },
        );
    })
    .await;
    assert_eq!(out.report.stop.message, "not that");
    assert!(bash.calls().is_empty(), "a halted answer asks for nothing");
    assert!(!out.everything.contains("SECRET"), "{}", out.everything);
}

#[tokio::test]
async fn a_front_end_sees_steps_tools_hooks_questions_and_the_end_also_of_children() {
    let child = agent(&Script::new().say("seen")).name("child").build().expect("a child");
    let model = Script::new().calls([("ls", "{}"), ("helper", r#"{"prompt": "look"}"#)]).costing(5, 2).stream(["done"]);
    let mut builder = agent(&model);
    builder.tool(RecordingTool::new("ls")).tool(vertebra::AgentTool::new("helper", "helps", child));
    builder.approver(vertebra::testing::FixedApprover::yes()).on(BeforeToolUse.tool("ls"), async |_| ask("sure?"));
    let agent = builder.build().expect("an agent");
    let (mut stream, log) = (agent.stream("go"), Log::default());
    while let Some(RunEvent { agent, depth, news, .. }) = stream.next().await {
        let what = match news {
            News::Step { step } => format!("step {step}"),
            News::Delta { text, .. } => format!("says {text}"),
            News::ToolBegan { call } => format!("{} begins", call.tool),
            News::ToolSays { text, .. } => format!("tool says {text}"),
            News::ToolEnded { call, result } => format!("{} ends: {}", call.tool, result.output),
            News::Hooks { record, subject, call_id } => {
                format!("{} on {subject} ({}): {}", record.point, call_id.unwrap_or_default(), record.verdict)
            }
            News::Used { usage } => format!("used {}", usage.total_tokens()),
            News::Asked { approval } => format!("asks: {}", approval.reason),
            News::Decided { .. } => "decided".to_owned(),
            News::Notice { message, .. } | News::Retry { message, .. } => message,
            News::Missed { events } => format!("missed {events}"),
            News::Ended { report } => format!("ended {}", report.status),
            other => format!("{other:?}"),
        };
        log.add(format!("{depth} {agent} {what}"));
    }
    log.check(&[
        "0 tester step 1",
        "0 tester used 7",
        "0 tester BeforeToolUse on ls (call-1): asked",
        "0 tester asks: sure?",
        "0 tester decided",
        "0 tester ls begins",
        "0 tester ls ends: ok",
        "0 tester helper begins",
        "1 child step 1",
        "1 child used 0",
        "1 child says seen",
        "1 child ended completed",
        "0 tester helper ends: seen",
        "0 tester step 2",
        "0 tester says done",
        "0 tester used 0",
        "0 tester ended completed",
    ]);
}

#[tokio::test]
async fn a_slow_front_end_misses_events_and_never_blocks_the_run() {
    let mut builder = agent(&Script::new().call("chatty", "{}").say("done"));
    builder.tool(tool("chatty", "talks", async |_: serde_json::Value, invocation| {
        for line in 0..10_000 {
            invocation.say(format!("line {line}"));
        }
        Ok("ok")
    }));
    let (tell, mut ended) = tokio::sync::mpsc::unbounded_channel();
    builder.watch(SessionEnd, async move |_| Ok(tell.send(())?));
    let agent = builder.build().expect("an agent");
    let mut stream = agent.stream("go");
    // Nobody reads until it is all over.
    ended.recv().await.expect("the session ends");
    let first = stream.next().await.expect("a notice").news;
    let mut rest = 0;
    let mut last = None;
    while let Some(event) = stream.next().await {
        rest += 1;
        last = Some(event.news);
    }
    let News::Missed { events } = first else { panic!("{first:?}") };
    assert_eq!((events + rest > 10_000, rest), (true, 4096));
    assert!(matches!(last, Some(News::Ended { .. })), "{last:?}");
}

#[tokio::test]
async fn finish_waits_for_the_end_without_looking() {
    let agent = agent(&Script::new().stream(["a", "b"])).build().expect("an agent");
    assert_eq!(report(agent.stream("go").finish().await).text, "ab");
}

#[tokio::test]
async fn the_end_of_a_piece_can_be_kept_for_the_next_one() {
    let log = Log::default();
    let told = log.clone();
    let out = stream(&Script::new().stream(["ab SEC", "RET cd"]), move |b| {
        b.on(InferenceDelta, async move |cx| {
            told.add(format!("{:?} after {:?}", cx.text, cx.follows));
            cx.text = cx.text.replace("SECRET", "***");
            if let Some(begun) = cx.text.find("SEC").filter(|_| !cx.last) {
                cx.keep_from(begun);
            }
            proceed()
        });
        // Another one sees what is left, and keeps something in front of what the first has kept.
        b.on(InferenceDelta, async |cx| {
            let end = cx.text.trim_end().len();
            if !cx.last {
                cx.keep_from(end);
            }
            proceed()
        });
    })
    .await;
    log.check(&[r#""ab SEC" after None"#, r#"" SECRET cd" after Some('b')"#, r#""" after Some('d')"#]);
    assert_eq!((&*out.shown, &*out.report.text), ("ab *** cd", "ab *** cd"));
    assert!(!out.everything.contains("SEC"), "{}", out.everything);
}

#[tokio::test]
async fn what_a_hook_keeps_at_the_end_or_without_end_is_never_shown() {
    let out = stream(&Script::new().stream(["public ", "SECRET"]), |b| {
        b.on(InferenceDelta, async |cx| {
            let secret = cx.text.find("SECRET").unwrap_or(cx.text.len());
            cx.keep_from(secret);
            proceed()
        });
    })
    .await;
    assert_eq!((&*out.shown, &*out.report.text), ("public ", "public "));
    let big = "x".repeat(100 * 1024);
    let out = stream(&Script::new().stream([&big[..], &big, &big]), |b| {
        b.on(InferenceDelta, async |cx| {
            cx.keep_from(0);
            proceed()
        });
    })
    .await;
    assert_eq!(ending(&out.report), "stopped (requested) by a hook: more than 262144 bytes were held back");
}

#[tokio::test]
async fn what_a_capability_asks_a_model_passes_the_hooks_but_is_not_said_to_front_ends() {
    let log = Log::default();
    let told = log.clone();
    let model = Script::new().stream(["the ", "answer"]).stream(["not bad"]);
    let out = stream(&model, move |b| {
        b.watch(InferenceDelta, async move |cx| {
            told.add(&*cx.text);
            Ok(())
        });
        b.on(ShouldContinue, async |cx| {
            let (run, request) = (cx.scope().clone(), cx.scope().request());
            run.infer(cx.state_mut(), "critique", request).await;
            proceed()
        });
    })
    .await;
    assert_eq!(out.shown, "the answer");
    log.check(&["the ", "answer", "", "not bad", ""]);
}

/// A model around another that says everything loudly.
struct Loud(Script);

struct Raised<'o, 'd>(&'o mut Deltas<'d>);

impl DeltaReader for Raised<'_, '_> {
    async fn read(&mut self, channel: Channel, call: Option<&CallInSight>, piece: &str) -> Result<(), Halted> {
        let piece = piece.to_uppercase();
        match (channel, call) {
            (Channel::Call, Some(call)) => self.0.call(call.index + 1, &call.tool, &piece).await,
            (Channel::Reasoning, _) => self.0.reasoning(&piece).await,
            (Channel::Text | Channel::Call, _) => self.0.text(&piece).await,
        }
    }
}

impl Model for Loud {
    fn id(&self) -> ModelId {
        self.0.id()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        self.0.infer(request, &mut Deltas::to(&mut Raised(out))).await
    }
}

#[tokio::test]
async fn a_model_around_another_translates_its_pieces_before_hooks_see_them() {
    let log = Log::default();
    let seen = log.clone();
    let script = Script::new().call("ls", r#"{"a": "b"}"#).written_in(5).stream(["he", "llo", " you"]).thinking("hm");
    let mut builder = Agent::builder(Loud(script));
    builder.tool(RecordingTool::new("ls")).on(InferenceDelta, async move |cx| {
        let call = cx.call.as_ref().map(|call| call.index);
        seen.add(format!("{call:?} {}", cx.text));
        if cx.text == "LLO" { halt("too loud") } else { proceed() }
    });
    let report = builder.build().expect("an agent").run("go").await.expect("a run");
    assert_eq!(report.text, "HE");
    log.check(&[r#"Some(1) {"A":"#, r#"Some(1) "B"}"#, "Some(1) ", "None HM", "None HE", "None LLO"]);
}
