//! ReAct through whole agents: hooks, streams and people see a model that calls tools.

use serde_json::{Value, json};
use vertebra::{
    AgentBuilder, CallInSight, Channel, ErrorClass, ErrorPolicy, ModelError, News, OnFailure, Request, RunReport,
    RunStatus,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::structured::Extract;
use vertebra_models::{RESPONSE_SCHEMA, React};

const CALL: &str = r#"{"thought": "I look.", "tool": "bash", "arguments": {"command": "ls"}}"#;
const ANSWER: &str = r#"{"thought": "I know.", "answer": "Two\nfiles."}"#;

fn bash() -> RecordingTool {
    RecordingTool::new("bash").replying("a.txt b.txt").with(|spec| {
        spec.schema(json!({
            "type": "object",
            "properties": { "command": { "type": "string" } },
            "required": ["command"],
        }))
    })
}

fn agent(model: &Script, tool: &RecordingTool) -> AgentBuilder {
    let mut builder = Agent::builder(React::over(model.clone()));
    builder.tool(tool.clone());
    builder
}

/// In pieces of so many characters, as a server streams it.
fn cut(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// What front ends see of a run: the pieces by channel, and the end.
#[derive(Default)]
struct Seen {
    text: Vec<String>,
    reasoning: String,
    calls: Vec<(u32, String)>,
    report: Option<RunReport>,
}

async fn watch(builder: &mut AgentBuilder) -> Seen {
    let mut stream = builder.build().expect("an agent").stream("What is here?");
    let mut seen = Seen::default();
    while let Some(event) = stream.next().await {
        match event.news {
            News::Delta { text, channel: Channel::Text, .. } => seen.text.push(text),
            News::Delta { text, channel: Channel::Reasoning, .. } => seen.reasoning.push_str(&text),
            News::Delta { text, channel: Channel::Call, call } => {
                let CallInSight { index, .. } = call.expect("a call");
                match seen.calls.last_mut().filter(|(last, _)| *last == index) {
                    Some((_, so_far)) => so_far.push_str(&text),
                    None => seen.calls.push((index, text)),
                }
            }
            News::Ended { report } => seen.report = Some(*report),
            _ => {}
        }
    }
    seen
}

#[tokio::test]
async fn thoughts_arguments_and_the_answer_are_streamed_as_they_are_written_and_never_the_json() {
    for size in [1, 2, 7, 1000] {
        let (model, tool) = (Script::new().stream(cut(CALL, size)).stream(cut(ANSWER, size)), bash());
        let seen = watch(&mut agent(&model, &tool)).await;
        let report = seen.report.expect("an end");
        assert_eq!((seen.text.concat(), report.text.as_str()), ("Two\nfiles.".to_owned(), "Two\nfiles."));
        assert_eq!(seen.reasoning, "I look.I know.");
        assert_eq!(seen.calls, [(0, r#"{"command": "ls"}"#.to_owned())]);
        assert_eq!(tool.calls()[0].text("command"), Some("ls"));
        assert_eq!(report.status, RunStatus::Completed);
        if size == 1 {
            assert_eq!(seen.text.len(), "Two\nfiles.".len(), "each letter as it came");
        }
    }
}

#[tokio::test]
async fn an_answer_that_comes_whole_is_shown_too() {
    let (model, tool) = (Script::new().say(CALL).say("Final Answer: done"), bash());
    let seen = watch(&mut agent(&model, &tool)).await;
    assert_eq!((seen.text.concat(), seen.reasoning), ("done".to_owned(), "I look.".to_owned()));
}

#[tokio::test]
async fn hooks_and_guards_stand_before_its_tools_as_before_any() {
    let (model, tool) = (Script::new().say(CALL).say(ANSWER), bash());
    let mut builder = agent(&model, &tool);
    builder.guard(BeforeToolUse.command(r"\bls\b").named("blind"), async |_| deny("no looking"));
    let report = builder.build().expect("an agent").run("What is here?").await.expect("a run");
    assert_eq!((report.text.as_str(), tool.calls().len()), ("Two\nfiles.", 0));
    let last = model.requests().pop().expect("a request");
    let told = last.messages.last().map(Message::text).unwrap_or_default().to_owned();
    assert_eq!(told, "Result of bash (blocked): blocked by blind: no looking");
}

#[tokio::test]
async fn a_halted_stream_ends_the_answer_and_is_not_asked_again() {
    let model = Script::new().stream(cut(r#"{"thought": "t", "answer": "the SECRET is out"}"#, 3));
    let mut builder = agent(&model, &bash());
    builder.on(InferenceDelta, async |cx| if cx.text.contains('S') { halt("not for people") } else { proceed() });
    let seen = watch(&mut builder).await;
    assert_eq!(seen.text.concat(), seen.report.expect("an end").text);
    assert!(!seen.text.concat().contains('S'));
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_understood_is_asked_again_with_the_reason_and_all_attempts_are_paid_for() {
    let unknown = r#"{"thought": "hm", "tool": "bassh", "arguments": {"command": "ls"}}"#;
    let model = Script::new().say("{").costing(10, 1).say(unknown).costing(20, 2).say(CALL).costing(30, 3).say(ANSWER);
    let tool = bash();
    let seen = watch(&mut agent(&model, &tool)).await;
    let (report, requests) = (seen.report.expect("an end"), model.requests());
    assert_eq!((report.usage.input_tokens, report.usage.output_tokens, report.steps), (60, 6, 2));
    assert_eq!(tool.calls().len(), 1);
    let told = |request: &Request| request.messages.last().map(|message| message.text().to_owned()).unwrap_or_default();
    assert_eq!(
        told(&requests[1]),
        "That could not be used: there is no JSON object with a tool or an answer in it. Answer again with one JSON \
         object and nothing else."
    );
    assert!(told(&requests[2]).contains("there is no tool `bassh`; did you mean `bash`?"), "{}", told(&requests[2]));
    assert_eq!(told(&requests[3]), "Result of bash: a.txt b.txt");
    assert_eq!(seen.reasoning, "\nhm\nI look.I know.");
}

#[tokio::test]
async fn after_its_retries_a_call_goes_to_the_runtime_as_it_is_and_nonsense_is_an_error() {
    let wrong = r#"{"tool": "bash", "arguments": [1]}"#;
    let (model, tool) = (Script::new().say(wrong).say(wrong).say(wrong).say(ANSWER), bash());
    let report = agent(&model, &tool).build().expect("an agent").run("go").await.expect("a run");
    assert_eq!((report.text.as_str(), tool.calls().len()), ("Two\nfiles.", 0));
    let last = model.requests().pop().expect("a request");
    assert!(last.messages.last().is_some_and(|message| message.text().starts_with("Result of bash (failed): ")));

    let model = Script::new().say("{}").costing(10, 1).say("{}").costing(20, 2);
    let mut builder = Agent::builder(React::over(model).retries(1));
    builder.error_policy(ErrorPolicy::default().on(ErrorClass::Broken, OnFailure::Stop));
    let failed = builder.tool(bash()).build().expect("an agent").run("go").await.expect_err("no answer");
    assert!(failed.to_string().contains("2 answers could not be understood"), "{failed}");
    assert_eq!(failed.0.usage.total_tokens(), 33, "what came to nothing is paid for as well");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_what_people_have_read_of_it() {
    let model = Script::new().stream([r#"{"thought": "t", "answer": "Once upon a"#]);
    let seen = watch(&mut agent(&model, &bash())).await;
    assert_eq!(seen.report.expect("an end").text, "Once upon a");
}

#[tokio::test]
async fn errors_of_the_model_behind_are_its_own() {
    let model = Script::new().fail(ModelError::TooLong { message: "no".to_owned() });
    let mut builder = agent(&model, &bash());
    builder.error_policy(ErrorPolicy::default().on(ErrorClass::TooLong, OnFailure::Stop));
    let failed = builder.build().expect("an agent").run("go").await.expect_err("too long");
    assert!(failed.to_string().contains("too long"), "{failed}");
}

#[tokio::test]
async fn the_model_behind_is_offered_no_tools_and_held_to_a_schema_of_them_unless_told_otherwise() {
    let ask = async |react: fn(React<Script>) -> React<Script>| {
        let model = Script::new().say(ANSWER);
        let mut builder = Agent::builder(react(React::over(model.clone())));
        builder.tool(bash()).build().expect("an agent").run("go").await.expect("a run");
        model.requests().remove(0)
    };
    let request = ask(|react| react).await;
    assert!(request.tools.is_empty());
    let branches = &request.options[RESPONSE_SCHEMA]["schema"]["anyOf"];
    assert_eq!(branches[0]["properties"]["tool"], json!({ "const": "bash" }));
    assert_eq!(branches[1]["required"], json!(["thought", "answer"]));

    let request = ask(|react| react.unconstrained().examples(0)).await;
    assert_eq!((request.options, request.messages.len()), (Value::Null, 1));
    assert!(
        request.system_prompt.contains("- bash(command: string): remembers its calls"),
        "{}",
        request.system_prompt
    );
}

#[tokio::test]
async fn without_tools_the_model_behind_is_asked_as_it_is() {
    let model = Script::new().stream(["plain ", "words"]);
    let mut builder = Agent::builder(React::over(model.clone()));
    let seen = watch(&mut builder).await;
    assert_eq!(seen.text, ["plain ", "words"]);
    assert_eq!(model.requests()[0].options, Value::Null);
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Listing {
    files: u32,
}

#[tokio::test]
async fn an_answer_of_a_certain_schema_may_use_tools_first() {
    assert_eq!(RESPONSE_SCHEMA, vertebra_kit::structured::RESPONSE_SCHEMA);
    let model = Script::new().say(CALL).say(r#"{"thought": "I count.", "answer": {"files": 2}}"#);
    let tool = bash();
    let agent = agent(&model, &tool).build().expect("an agent");
    let listing = agent.extract::<Listing>("How many files?").await.expect("a value");
    assert_eq!((listing.value.files, tool.calls().len()), (2, 1));
    let answer = &model.requests()[0].options[RESPONSE_SCHEMA]["schema"]["anyOf"][1]["properties"]["answer"];
    assert_eq!(answer["properties"]["files"], json!({ "type": "integer" }));
}

#[tokio::test]
async fn calls_of_one_conversation_have_different_names() {
    let (model, tool) = (Script::new().say(CALL).say(CALL).say(ANSWER), bash());
    let agent = agent(&model, &tool).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let state = session.state().await;
    let ids: Vec<String> = state
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool { call_id, .. } => Some(call_id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["react-1", "react-2"]);
    session.close().await;
}
