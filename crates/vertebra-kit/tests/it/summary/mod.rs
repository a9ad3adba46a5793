//! Conversations made shorter.

mod offload;
mod property;

use std::sync::{Arc, Mutex};

use vertebra::{
    AgentBuilder, Compactor, Limits, Messages, ModelError, Purpose, RunStatus, ToolCall, ToolSpec,
    prelude::*,
    testing::{RecordingTool, Script, scope},
};
use vertebra_kit::summary::{Counter, Material, Offload, OnFailure, Repeated, Summarisation, Summariser, Trigger};

use crate::{
    sheet::Sheet,
    support::{built, run},
};

pub(crate) fn sheet() -> Sheet {
    let (knobs, offload) = (Summarisation::default(), Offload::default());
    Sheet {
        name: "Summarisation",
        purpose: "Keeps conversations short: moves long results to files, removes repeated and old results, then has a model \
                  update a summary.",
        install: |builder| {
            builder.with(Summarisation::default());
        },
        knobs: vec![
            ("trigger", format!("{:?}", knobs.trigger)),
            ("target", knobs.target.to_string()),
            ("repeated", format!("{:?}", knobs.repeated)),
            ("keep_tool_results", format!("{:?}", knobs.keep_tool_results)),
            ("keep_recent", knobs.keep_recent.to_string()),
            ("max_summary_tokens", knobs.max_summary_tokens.to_string()),
            ("max_input_tokens", knobs.max_input_tokens.to_string()),
            ("on_failure", format!("{:?}", knobs.on_failure)),
            ("summariser", format!("{:?}", knobs.summariser)),
            ("counter", format!("{:?}", knobs.counter)),
            ("offload.over_bytes", offload.over_bytes.to_string()),
            ("offload.preview_chars", offload.preview_chars.to_string()),
            ("offload.page_bytes", offload.page_bytes.to_string()),
            ("offload.max_total_bytes", offload.max_total_bytes.to_string()),
            ("offload.folder", "a temporary folder".to_owned()),
        ],
    }
}

/// A summariser that remembers what it was given, and numbers its summaries.
#[derive(Clone, Default)]
struct Scribe(Arc<Mutex<Vec<Material>>>);

impl Scribe {
    fn summariser(&self) -> Summariser {
        let seen = self.0.clone();
        Summariser::by(async move |material: Material| {
            let mut seen = seen.lock().expect("no panic");
            seen.push(material);
            Ok(format!("summary {}", seen.len()))
        })
    }

    fn given(&self) -> Vec<Material> {
        self.0.lock().expect("no panic").clone()
    }
}

/// Makes conversations of more than 2000 tokens shorter, to 1000.
fn small(scribe: &Scribe) -> Summarisation {
    Summarisation {
        trigger: Trigger::Tokens(2000),
        summariser: scribe.summariser(),
        offload: None,
        ..Default::default()
    }
}

/// A tool that says a number and then a lot; each call says another number, or all say the same.
fn talkative(words: usize, varied: bool) -> RecordingTool {
    let count = Arc::new(Mutex::new(0));
    RecordingTool::new("talk").by(move |_| {
        let mut count = count.lock().expect("no panic");
        *count += usize::from(varied);
        Ok(format!("{count}: {}", "blah ".repeat(words)).into())
    })
}

/// A model that has the tool talk so often, and then says something.
fn listener(times: usize) -> Script {
    (0..times).fold(Script::new(), |model, _| model.call("talk", "{}")).say("enough")
}

fn unlimited(builder: &mut AgentBuilder) -> &mut AgentBuilder {
    builder.limits(Limits::none())
}

/// Each message in a few words.
fn outline(messages: &Messages) -> Vec<String> {
    let start = |text: &str| text.chars().take(36).collect::<String>();
    let line = |message: &Message| match message {
        Message::User { text, .. } => format!("user: {}", start(text)),
        Message::Instruction { text, from } => format!("{from}: {}", start(text)),
        Message::Assistant { text, calls, .. } => format!("model: {text}{}", "<call>".repeat(calls.len())),
        Message::Tool { result, .. } => format!("tool: {}", start(&result.output)),
    };
    messages.iter().map(line).collect()
}

#[tokio::test]
async fn repeated_results_go_first_and_no_model_is_asked() {
    let scribe = Scribe::default();
    let model = listener(5);
    let mut builder = Agent::builder(model.clone());
    unlimited(&mut builder)
        .tool(talkative(500, false))
        .with(Summarisation { keep_tool_results: None, ..small(&scribe) });
    run(&built(&mut builder), "listen").await;
    let requests = model.requests();
    let pointer = "tool: [the same as a later result of talk,";
    let pointers = outline(&requests[4].messages).iter().filter(|line| pointer.starts_with(&***line)).count();
    assert_eq!(pointers, 3, "{:?}", outline(&requests[4].messages));
    assert!(requests[4].messages.last().is_some_and(|message| message.text().len() > 2000), "the latest is whole");
    assert_eq!(scribe.given(), []);
}

#[tokio::test]
async fn old_results_go_next_and_the_newest_stay_whole() {
    let scribe = Scribe::default();
    let model = listener(5);
    let mut builder = Agent::builder(model.clone());
    let talk = talkative(300, true).with(ToolSpec::read_only);
    unlimited(&mut builder).tool(talk).with(Summarisation {
        trigger: Trigger::Share { window: 4000, share: 0.4 },
        target: 0.8,
        keep_tool_results: Some(2),
        ..small(&scribe)
    });
    run(&built(&mut builder), "listen").await;
    let last = outline(&model.requests()[5].messages);
    let results: Vec<_> = last.iter().filter(|line| line.starts_with("tool")).map(|line| &line[..15]).collect();
    assert_eq!(
        results,
        ["tool: [cleared ", "tool: [cleared ", "tool: [cleared ", "tool: 4: blah b", "tool: 5: blah b"]
    );
    let cleared = model.requests()[5].messages.get(2).map(|message| message.text().to_owned());
    let wanted = "[cleared to save room: 1503 bytes from talk; call it again with the same arguments if you need it]";
    assert_eq!(cleared.as_deref(), Some(wanted));
    assert_eq!(scribe.given(), []);
}

/// Keeps neither cheap way, so that every shortening is a summary.
fn only_summaries(scribe: &Scribe) -> Summarisation {
    Summarisation { repeated: Repeated::Keep, keep_tool_results: None, keep_recent: 3, ..small(scribe) }
}

#[tokio::test]
async fn the_summary_stands_in_front_of_what_is_recent_and_is_no_message_of_the_user() {
    let scribe = Scribe::default();
    let model = listener(9);
    let mut builder = Agent::builder(model.clone());
    unlimited(&mut builder).tool(talkative(200, true)).with(only_summaries(&scribe));
    run(&built(&mut builder), "listen").await;
    let requests = model.requests().into_iter().map(|request| outline(&request.messages));
    let shortened = requests.into_iter().find(|lines| lines.iter().any(|line| line.starts_with("summary")));
    let wanted = [
        "user: listen",
        "summary/so-far: Summary of the conversation so far:\n",
        "model: <call>",
        "tool: 8: blah blah blah blah blah blah bla",
    ];
    assert_eq!(shortened.unwrap_or_default(), wanted);
}

#[tokio::test]
async fn a_summary_is_updated_with_what_came_since_and_never_summarised_as_something_said() {
    let scribe = Scribe::default();
    let mut builder = Agent::builder(listener(20));
    unlimited(&mut builder).tool(talkative(200, true)).with(only_summaries(&scribe));
    run(&built(&mut builder), "listen").await;
    let given = scribe.given();
    assert!(given.len() >= 2, "{}", given.len());
    assert_eq!(given[0].before, None);
    assert_eq!(given[1].before.as_deref(), Some("summary 1"));
    assert!(given.iter().all(|material| !material.since.contains("summary")), "{given:?}");
    assert!(given.iter().all(|material| !material.since.contains("user: listen")), "the task stays as it is");
    assert!(given[1].since.contains("assistant: talk{}\ntalk (done): "), "{}", given[1].since);
}

#[tokio::test]
async fn the_task_and_the_latest_prompt_are_kept_however_long_the_run() {
    let scribe = Scribe::default();
    let model = Script::new().say("yes");
    let model = (0..12).fold(model, |model, _| model.call("talk", "{}")).say("done");
    let mut builder = Agent::builder(model.clone());
    unlimited(&mut builder).tool(talkative(200, true)).with(only_summaries(&scribe));
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("you listen to talk").await.expect("a run");
    session.prompt("now listen closely").await.expect("a run");
    let last = model.requests().last().map(|request| outline(&request.messages)).unwrap_or_default();
    assert_eq!(last[0], "user: you listen to talk");
    assert!(last[1].starts_with("summary/so-far: "), "{last:?}");
    assert_eq!(last[2], "user: now listen closely");
}

#[tokio::test]
async fn the_points_fire_their_instructions_reach_the_summariser_and_a_refusal_holds() {
    let scribe = Scribe::default();
    let told = Arc::new(Mutex::new(Vec::new()));
    let (before, after) = (told.clone(), told.clone());
    let mut builder = Agent::builder(listener(20));
    unlimited(&mut builder).tool(talkative(200, true)).with(only_summaries(&scribe));
    builder.on(BeforeCompact, async move |cx| {
        cx.instructions = "names of files".to_owned();
        before.lock().expect("no panic").push(cx.tokens);
        proceed()
    });
    builder.watch(AfterCompact, async move |cx| {
        after.lock().expect("no panic").push(cx.tokens);
        Ok(())
    });
    run(&built(&mut builder), "listen").await;
    assert!(scribe.given().iter().all(|material| material.instructions == "names of files"));
    let told = told.lock().expect("no panic").clone();
    assert!(told.len() == 2 * scribe.given().len() && told.len() >= 4, "{told:?}");
    assert!(told.chunks(2).all(|pair| pair[0] > 2000 && pair[1] <= 1000), "{told:?}");

    let scribe = Scribe::default();
    let mut builder = Agent::builder(listener(9));
    unlimited(&mut builder).tool(talkative(200, true)).with(only_summaries(&scribe));
    builder.on(BeforeCompact, async |_cx| deny("not now"));
    run(&built(&mut builder), "listen").await;
    assert_eq!(scribe.given(), []);
}

#[tokio::test]
async fn the_model_writes_the_summary_between_the_hooks_and_out_of_the_budget() {
    let purposes = Arc::new(Mutex::new(Vec::new()));
    let seen = purposes.clone();
    let model = (0..7).fold(Script::new(), |model, _| model.call("talk", "{}"));
    let model = model.say("they talked").costing(700, 77).call("talk", "{}").say("enough");
    let mut builder = Agent::builder(model.clone());
    unlimited(&mut builder).system_prompt("be patient").tool(talkative(250, true));
    builder.with(Summarisation { summariser: Summariser::model(), ..only_summaries(&Scribe::default()) });
    builder.watch(BeforeInference.when(|asked| asked.purpose != Purpose::Step), async move |cx| {
        seen.lock().expect("no panic").push(cx.purpose.clone());
        Ok(())
    });
    let report = run(&built(&mut builder), "listen").await;
    assert_eq!(*purposes.lock().expect("no panic"), [Purpose::Capability("summary".into())]);
    assert_eq!((report.status, report.usage.total_tokens()), (RunStatus::Completed, 777));
    let asked = &model.requests()[7];
    let prompt = asked.messages.get(0).map(|message| message.text().to_owned()).unwrap_or_default();
    assert!(prompt.starts_with("<since>\nassistant: talk{}\ntalk (done): 1: blah"), "{prompt}");
    assert!(asked.tools.is_empty() && !asked.system_prompt.contains("be patient"));
    assert_eq!(asked.max_output_tokens, Some(125), "no longer than its share of the target");
    let after = outline(&model.requests()[8].messages);
    assert_eq!(after[..2], ["user: listen", "summary/so-far: Summary of the conversation so far:\n"]);
}

#[tokio::test]
async fn without_a_summary_nothing_is_lost_and_the_policy_says_whether_the_run_goes_on() {
    for (on_failure, status) in [(OnFailure::GoOn, RunStatus::Completed), (OnFailure::Fail, RunStatus::Failed)] {
        let notices = Arc::new(Mutex::new(Vec::new()));
        let seen = notices.clone();
        let model = listener(9).may_end_early();
        let mut builder = Agent::builder(model.clone());
        let summariser = Summariser::by(async |_: Material| Err(HookError::new("out of ink")));
        let knobs = Summarisation { summariser, on_failure, ..only_summaries(&Scribe::default()) };
        unlimited(&mut builder).tool(talkative(200, true)).with(knobs);
        builder.watch(Notification, async move |cx| {
            seen.lock().expect("no panic").push(cx.message.clone());
            Ok(())
        });
        let agent = built(&mut builder);
        let mut session = agent.session().await.expect("a session");
        let report = session.prompt("listen").await.unwrap_or_else(|failed| *failed.0);
        assert_eq!(report.status, status, "{}", report.stop);
        let results = outline(session.state().await.messages());
        let calls = results.iter().filter(|line| line.starts_with("tool: ") && line.contains("blah")).count();
        assert_eq!(calls, model.requests().len() - usize::from(status == RunStatus::Completed));
        let notices = notices.lock().expect("no panic").clone();
        match on_failure {
            OnFailure::GoOn => assert!(notices[0].ends_with("no summary: out of ink"), "{notices:?}"),
            OnFailure::Fail => assert_eq!(report.stop.message, "no summary: out of ink"),
            other => panic!("{other:?} is not tested"),
        }
    }
}

#[tokio::test]
async fn a_model_that_fails_or_says_nothing_has_written_no_summary() {
    let failing = Script::new().fail(ModelError::Rejected { message: "no".to_owned() });
    for (summary, why) in [(Script::new().say(" "), "the summary is empty"), (failing, "the model gave no answer")] {
        let told = Arc::new(Mutex::new(Vec::new()));
        let seen = told.clone();
        let knobs = Summarisation { summariser: Summariser::model(), ..only_summaries(&Scribe::default()) };
        let mut builder = Agent::builder(summary);
        builder.with(knobs).error_policy(vertebra::ErrorPolicy::stop());
        builder.watch(Notification, async move |cx| {
            seen.lock().expect("no panic").push(cx.message.clone());
            Ok(())
        });
        // A conversation that is too long from the first step on, of which most can be summarised.
        builder.on(ExecutionStart, async |cx| {
            for n in 0..20 {
                cx.state_mut().push(Message::instruction(format!("{n} {}", "word ".repeat(100)), "somebody"));
            }
            proceed()
        });
        let agent = built(&mut builder);
        let mut session = agent.session().await.expect("a session");
        // The script has one turn, which the summary took.
        session.prompt("go").await.expect_err("the script is over");
        assert!(told.lock().expect("no panic")[0].contains(why), "{told:?}");
        assert_eq!(session.state().await.messages().len(), 21);
    }
}

#[tokio::test]
async fn a_very_long_run_stays_bounded() {
    let scribe = Scribe::default();
    let times = 300;
    let model = listener(times);
    let mut builder = Agent::builder(model.clone());
    unlimited(&mut builder).tool(talkative(60, true)).with(small(&scribe));
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("listen").await.expect("a run");
    let largest = model.requests().iter().map(|request| request.messages.estimated_tokens()).max();
    // The threshold, and one step more.
    assert!(largest.is_some_and(|tokens| tokens <= 2100), "{largest:?}");
    assert!(scribe.given().len() > 5 && scribe.given().len() < times / 10, "{}", scribe.given().len());
    assert!(session.state().await.messages().len() < 100);
}

#[tokio::test]
async fn tokens_may_be_counted_by_somebody_else() {
    let count = |messages: &Messages| messages.iter().map(|message| message.text().len() as u64).sum();
    let scribe = Scribe::default();
    let knobs = Summarisation { counter: Counter::by(count), ..only_summaries(&scribe) };
    let mut state = AgentState::default();
    state.push(Message::user("u".repeat(1990)));
    assert_eq!(knobs.due(&state), None);
    state.push(Message::assistant("said something".into()));
    assert_eq!(knobs.due(&state).as_deref(), Some("2004 tokens are more than 2000"));
    let run = scope(&Hooks::default());
    let shorter = knobs.compact(&run, &mut state, "").await.expect("a shorter conversation");
    assert!(count(&shorter) <= 1000, "{}", count(&shorter));
    assert!(shorter.get(0).is_some_and(|first| first.text().contains("characters left out")));
}

#[tokio::test]
async fn a_person_who_asks_gets_a_shorter_conversation_before_it_is_due() {
    let scribe = Scribe::default();
    let knobs = Summarisation { trigger: Trigger::Tokens(100_000), ..only_summaries(&scribe) };
    let mut state = AgentState::default();
    for n in 0..40 {
        state.push(Message::user(format!("{n} {}", "word ".repeat(100))));
    }
    assert_eq!(knobs.due(&state), None);
    let run = scope(&Hooks::default());
    let same = knobs.compact(&run, &mut state, "").await.expect("the same conversation");
    assert_eq!((same.len(), scribe.given().len()), (40, 0));
    let shorter = knobs.compact_on_request(&run, &mut state, "the names").await.expect("a shorter conversation");
    assert!(shorter.estimated_tokens() <= state.messages().estimated_tokens() / 2);
    assert_eq!(scribe.given()[0].instructions, "the names");
}

#[tokio::test]
async fn what_a_summariser_reads_has_a_limit() {
    let scribe = Scribe::default();
    let knobs = Summarisation { max_input_tokens: 100, ..only_summaries(&scribe) };
    let mut state = AgentState::default();
    for n in 0..40 {
        state.push(Message::user(format!("{n} {}", "word ".repeat(100))));
    }
    let run = scope(&Hooks::default());
    knobs.compact(&run, &mut state, "").await.expect("a shorter conversation");
    let since = &scribe.given()[0].since;
    assert!(since.len() < 500, "{} bytes", since.len());
    assert!(since.starts_with("user: 1 word"), "{since}");
}

#[tokio::test]
async fn how_much_is_kept_and_how_long_a_summary_may_be_is_as_told() {
    for (keep_recent, max_summary_tokens, tail, longest) in [(0, 10, 0, 10), (2, 50, 2, 50), (5, 5000, 5, 125)] {
        let scribe = Scribe::default();
        let knobs = Summarisation { keep_recent, max_summary_tokens, ..only_summaries(&scribe) };
        let mut state = AgentState::default();
        state.push(Message::user("the task"));
        for n in 0..60 {
            state.push(Message::assistant(format!("{n} {}", "word ".repeat(30)).into()));
        }
        let run = scope(&Hooks::default());
        let shorter = knobs.compact(&run, &mut state, "").await.expect("a shorter conversation");
        assert_eq!((shorter.len(), scribe.given()[0].max_tokens), (2 + tail, longest));
    }
}

fn call(id: &str) -> ToolCall {
    ToolCall::from_text(id, "talk", "{}")
}
