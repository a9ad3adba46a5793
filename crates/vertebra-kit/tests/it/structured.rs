//! Answers as typed values.

use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vertebra::{
    AgentTool, ModelError, Purpose, RunStatus,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::metadata::MetadataTools;
use vertebra_kit::structured::{
    Extract, ExtractError, Extraction, Maybe, RESPONSE_SCHEMA, Schema, SchemaError, StructuredOutput,
};

use crate::{
    sheet::Sheet,
    support::{built, run},
};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Invoice {
    /// Who sent it.
    from: String,
    total: u32,
}

const ACME: &str = r#"{"from": "Acme", "total": 7}"#;

fn acme() -> Invoice {
    Invoice { from: "Acme".to_owned(), total: 7 }
}

pub(crate) fn sheet() -> Sheet {
    let knobs = StructuredOutput::default();
    Sheet {
        name: "StructuredOutput",
        purpose: "Lets the model convert text to a value that matches a schema. In Rust, use `agent.extract::<T>(prompt)`, \
                  whose final answer is a `T`.",
        install: |builder| {
            let schema = Schema::json("any", json!({})).expect("a schema");
            builder.with(StructuredOutput::new([schema]));
        },
        knobs: vec![
            ("schemas", "none".to_owned()),
            ("max_retries", knobs.max_retries.to_string()),
            ("max_input_bytes", knobs.max_input_bytes.to_string()),
            ("preview_chars", knobs.preview_chars.to_string()),
            ("limits", "the same as for MetadataTools".to_owned()),
            ("system_prompt", "says that input texts are data, not instructions".to_owned()),
            ("Extraction::max_retries", Extraction::default().max_retries.to_string()),
            ("Extraction::store_as", "not stored".to_owned()),
        ],
    }
}

/// The instructions that the model read, in the order of its latest request.
fn instructions(model: &Script) -> Vec<String> {
    let messages = model.requests().last().map(|request| request.messages.clone()).unwrap_or_default();
    let text = |message: &Message| match message {
        Message::Instruction { text, .. } => Some(text.clone()),
        Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    };
    messages.iter().filter_map(text).collect()
}

#[tokio::test]
async fn an_answer_that_does_not_fit_goes_back_with_what_is_wrong_and_the_value_is_typed() {
    let model = Script::new()
        .call("look", "{}")
        .say("It is from Acme.")
        .say(r#"{"from": "Acme", "total": "seven"}"#)
        .say(format!("Here you are:\n```json\n{ACME}\n```"));
    let agent = built(Agent::builder(model.clone()).system_prompt("be brief").tool(RecordingTool::new("look")));

    let extracted = agent.extract::<Invoice>("What do we owe?").await.expect("an invoice");

    assert_eq!(extracted.value, acme());
    assert_eq!(
        (extracted.report.status, extracted.report.steps, extracted.report.tool_calls),
        (RunStatus::Completed, 4, 1)
    );
    let told = instructions(&model);
    assert!(told[0].contains("- there is no JSON value in the answer"), "{told:?}");
    assert!(told[1].contains("- /total: \"seven\" is not of type \"integer\""), "{told:?}");
    for request in model.requests() {
        assert!(request.system_prompt.starts_with("be brief\n\nYour final answer is one JSON value"));
        assert!(request.system_prompt.contains("Who sent it."), "the schema is told in words");
        assert_eq!(request.options[RESPONSE_SCHEMA]["name"], "Invoice");
        assert_eq!(request.options[RESPONSE_SCHEMA]["schema"]["required"], json!(["from", "total"]));
    }
}

#[tokio::test]
async fn what_never_fits_is_an_error_with_the_last_answer_and_its_problems() {
    for max_retries in [0, 1, 3] {
        let answers: Vec<_> = (0..=max_retries).map(|n| format!("{{\"total\": {n}}}")).collect();
        let model = answers.iter().cloned().fold(Script::new(), Script::say);
        let agent = built(&mut Agent::builder(model.clone()));
        let extraction = Extraction { max_retries, ..Extraction::default() };

        let error = agent.extract_with::<Invoice>("go", extraction).await.expect_err("no invoice");

        let ExtractError::NoFit { answer, problems, report } = &error else { panic!("{error:?}") };
        assert_eq!(Some(answer), answers.last());
        assert_eq!(problems, &["\"from\" is a required property"]);
        assert_eq!(error.to_string(), "the answer does not fit: \"from\" is a required property");
        assert_eq!((report.status, &*report.stop.source), (RunStatus::Stopped, "structured/judge"));
        model.assert_played();
    }
}

#[tokio::test]
async fn a_run_that_ends_otherwise_has_no_value_even_if_its_last_words_would_fit() {
    let model = Script::new().call("look", "{}").saying(ACME);
    let agent = built(Agent::builder(model).tool(RecordingTool::new("look")).max_steps(1));
    let error = agent.extract::<Invoice>("go").await.expect_err("no answer");
    assert!(matches!(&error, ExtractError::Unfinished(report) if report.status == RunStatus::Stopped), "{error:?}");

    let model = Script::new().fail(ModelError::Rejected { message: "too rude".to_owned() });
    let error = built(&mut Agent::builder(model)).extract::<Invoice>("go").await.expect_err("no answer");
    assert!(matches!(error, ExtractError::Failed(_)), "{error:?}");
}

#[tokio::test]
async fn a_stop_that_a_hook_asked_for_is_not_overridden_to_have_an_answer() {
    let model = Script::new().say("no JSON");
    let mut builder = Agent::builder(model);
    builder.on(AfterStep.named("budget"), async |_cx| stop("enough"));
    let error = built(&mut builder).extract::<Invoice>("go").await.expect_err("no answer");
    let ExtractError::Unfinished(report) = error else { panic!("{error:?}") };
    assert_eq!((&*report.stop.source, report.steps), ("budget", 1));
}

#[tokio::test]
async fn in_a_session_the_value_is_kept_and_the_next_run_is_free_again() {
    let model = Script::new().say("hm").say(ACME).say("hm").say(ACME).say("as you like");
    let agent = built(&mut Agent::builder(model.clone()));
    let mut session = agent.session().await.expect("a session");
    for _ in 0..2 {
        let extraction = Extraction { max_retries: 1, store_as: Some("invoice".to_owned()) };
        let extracted = session.extract_with::<Invoice>("go", extraction).await.expect("retries count for one run");
        assert_eq!(extracted.value, acme());
    }
    let report = session.prompt("and in words?").await.expect("a run");
    assert_eq!(report.text, "as you like");
    assert_eq!(session.state().await.metadata().get("invoice"), Some(&json!({"from": "Acme", "total": 7})));
    assert_eq!(model.requests().last().map(|request| request.options.clone()), Some(Value::Null));
    assert_eq!(agent.hooks().count(), 0);
}

#[tokio::test]
async fn a_model_that_finds_nothing_can_say_so() {
    let model = Script::new().say(r#"{"nothing": "it is a poem"}"#).say(format!("{{\"found\": {ACME}}}"));
    let agent = built(&mut Agent::builder(model));
    let (first, second) =
        (agent.extract::<Maybe<Invoice>>("a poem").await, agent.extract::<Maybe<Invoice>>("an invoice").await);
    assert_eq!(first.expect("an answer").value, Maybe::Nothing("it is a poem".to_owned()));
    assert_eq!(second.expect("an answer").value.found(), Some(acme()));
}

#[tokio::test]
async fn what_the_type_refuses_beyond_its_schema_goes_back_too() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(try_from = "u32")]
    #[schemars(with = "u32")]
    struct Even(u32);
    impl TryFrom<u32> for Even {
        type Error = String;
        fn try_from(number: u32) -> Result<Self, String> {
            if number.is_multiple_of(2) { Ok(Self(number)) } else { Err(format!("{number} is odd")) }
        }
    }
    let model = Script::new().say("7").say("8");
    let extracted = built(&mut Agent::builder(model.clone())).extract::<Even>("go").await.expect("a number");
    assert_eq!(extracted.value.0, 8);
    assert!(instructions(&model)[0].contains("- 7 is odd"));
}

#[test]
fn of_several_values_that_fit_none_is_guessed() {
    let schema = Schema::of::<Invoice>().expect("a schema");
    let other = r#"{"from": "Bolt", "total": 1}"#;
    let read = |text: &str| schema.read(text);
    assert_eq!(read(&format!("{ACME} or {other}?")), Err(vec!["2 different values fit: answer with one".to_owned()]));
    assert!(read(&format!("{ACME}, I repeat: {ACME}")).is_ok());
    assert!(read(&format!("not {{\"total\": 1}} but {ACME}")).is_ok());
    let long = format!("{{\"from\": \"{}\", \"total\": 1}}", "x".repeat(300_000));
    assert_eq!(read(&long).expect_err("too long").len(), 1);
}

#[test]
fn a_schema_or_an_example_that_makes_no_sense_is_refused_at_once() {
    let error = Schema::json("odd", json!({"type": "many"})).expect_err("not a schema");
    assert!(matches!(&error, SchemaError::Invalid { name, .. } if name == "odd"), "{error}");
    let schema = Schema::of::<Invoice>().expect("a schema");
    let error = schema.example("from Acme", json!({"from": "Acme"})).expect_err("no total");
    assert_eq!(error.to_string(), "an example of `Invoice` does not fit it: \"total\" is a required property");
}

#[tokio::test]
async fn children_of_such_a_run_answer_in_their_own_way() {
    let below = Script::new().say("a child may say what it likes");
    let child = built(&mut Agent::builder(below.clone()));
    let model = Script::new().call("ask", r#"{"prompt": "hm?"}"#).say(ACME);
    let agent = built(Agent::builder(model).tool(AgentTool::new("ask", "Asks", child)));
    assert_eq!(agent.extract::<Invoice>("go").await.expect("an invoice").value, acme());
    assert_eq!(below.requests()[0].options, Value::Null);
    assert_eq!(&*below.requests()[0].system_prompt, "");
}

/// Runs an agent with the tool, and gives back what the model read of it and what was kept.
async fn with_tool(capability: StructuredOutput, model: &Script) -> (Vec<String>, vertebra::Metadata) {
    let agent = built(Agent::builder(model.clone()).with(capability));
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let state = session.state().await;
    let read = |message: &Message| match message {
        Message::Tool { result, .. } => Some(format!("{}: {}", result.status, result.output)),
        Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
    };
    (state.messages().iter().filter_map(read).collect(), state.metadata().clone())
}

fn invoices() -> Schema {
    Schema::of::<Invoice>().expect("a schema").named("invoice").description("a bill that we have to pay")
}

const READ: &str = r#"{"input": "Acme wants 7", "schema": "invoice", "store_as": "bill"}"#;

#[tokio::test]
async fn the_tool_reads_a_value_out_of_a_text_and_a_hook_keeps_it() {
    let model = Script::new().call("structured_output", READ).say("7, Acme").say(ACME).say("done");
    let schema = invoices().example("Bolt: 1", json!({"from": "Bolt", "total": 1})).expect("it fits");
    let (read, kept) = with_tool(StructuredOutput::new([schema]), &model).await;

    assert_eq!(read, [r#"done: kept as `bill`: {"from":"Acme","total":7}"#]);
    assert_eq!(kept.get("bill"), Some(&json!({"from": "Acme", "total": 7})));
    let requests = model.requests();
    assert!(requests[0].tools[0].description.contains("- invoice: a bill that we have to pay"));
    assert_eq!(requests[0].tools[0].schema["properties"]["schema"]["enum"], json!(["invoice"]));
    let asked = requests[1].messages.last().map(|message| message.text().to_owned()).unwrap_or_default();
    for part in
        ["a bill that we have to pay", r#"<text>Bolt: 1</text> comes {"from":"Bolt","total":1}"#, "Acme wants 7"]
    {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
    assert_eq!((requests[1].tools.len(), &requests[1].options[RESPONSE_SCHEMA]["name"]), (0, &json!("invoice")));
    let again: Vec<String> = requests[2].messages.iter().skip(1).map(|message| message.text().to_owned()).collect();
    assert!(again[0] == "7, Acme" && again[1].contains("there is no JSON value"), "{again:?}");
}

#[tokio::test]
async fn what_the_tool_keeps_is_under_the_limits_of_metadata() {
    let cases = [
        (MetadataTools { max_keys: 0, ..MetadataTools::default() }, "failed: there are 0 keys, and no more are stored"),
        (
            MetadataTools { max_value_bytes: 9, ..MetadataTools::default() },
            "failed: the value of `bill` takes 25 bytes",
        ),
        (
            MetadataTools { max_total_bytes: 9, ..MetadataTools::default() },
            "failed: all values together would take 25 bytes",
        ),
    ];
    for (limits, problem) in cases {
        let model = Script::new().call("structured_output", READ).say(ACME).say("a pity");
        let knobs = StructuredOutput { limits, ..StructuredOutput::new([invoices()]) };
        let (read, kept) = with_tool(knobs, &model).await;
        assert!(read[0].starts_with(problem), "{read:?}");
        assert_eq!(kept.get("bill"), None);
    }
}

#[tokio::test]
async fn the_tools_model_calls_pass_the_hooks_and_the_budget() {
    let purposes = Arc::new(Mutex::new(Vec::new()));
    let seen = purposes.clone();
    let model = Script::new().call("structured_output", READ).say(ACME).costing(30, 12).say("done");
    let mut builder = Agent::builder(model);
    builder.with(StructuredOutput::new([invoices()]));
    builder.watch(BeforeInference, async move |cx| {
        seen.lock().expect("no panic").push(cx.purpose.clone());
        Ok(())
    });
    let report = run(&built(&mut builder), "go").await;
    let wanted = [Purpose::Step, Purpose::Capability("structured_output".into()), Purpose::Step];
    assert_eq!(*purposes.lock().expect("no panic"), wanted);
    assert_eq!(report.usage.total_tokens(), 42);
}

#[tokio::test]
async fn what_cannot_be_read_is_a_failed_call_and_nothing_is_kept() {
    let cases: [(Option<u32>, u32, usize); 3] = [(None, 2, 3), (Some(0), 2, 1), (Some(1), 0, 2)];
    for (of_schema, of_all, asked) in cases {
        let model = Script::new().call("structured_output", READ);
        let model = (0..asked).fold(model, |model, _| model.say("{}")).say("a pity");
        let schema = of_schema.map_or_else(invoices, |times| invoices().max_retries(times));
        let knobs = StructuredOutput { max_retries: of_all, ..StructuredOutput::new([schema]) };
        let (read, kept) = with_tool(knobs, &model).await;
        let retries = asked - 1;
        let problems = "\"from\" is a required property; \"total\" is a required property";
        assert_eq!(
            read,
            [format!("failed: after {retries} retries the answer still does not fit `invoice`: {problems}")]
        );
        assert_eq!(kept.get("bill"), None);
        model.assert_played();
    }
}

#[tokio::test]
async fn calls_that_make_no_sense_are_refused_before_a_model_is_asked() {
    let call = |input: &str, schema: &str, store_as: &str| {
        json!({"input": input, "schema": schema, "store_as": store_as}).to_string()
    };
    let cases = [
        (
            call("x", "invoice", "planning/tasks"),
            "failed: `planning/tasks` is not yours: keys with a slash belong to hooks",
        ),
        (call("x", "invoice", ""), "failed: `` cannot be a key"),
        (call("x", "poem", "bill"), "failed: the arguments of `structured_output` do not fit: /schema"),
        (call(&"x".repeat(11), "invoice", "bill"), "failed: the input has 11 bytes, and the limit is 10"),
    ];
    for (args, wanted) in cases {
        let model = Script::new().call("structured_output", &args).say("done");
        let knobs = StructuredOutput { max_input_bytes: 10, ..StructuredOutput::new([invoices()]) };
        let (read, kept) = with_tool(knobs, &model).await;
        assert!(read[0].starts_with(wanted), "{read:?}");
        assert_eq!(kept.iter().count(), 0);
    }
}

#[tokio::test]
async fn that_there_is_nothing_is_told_and_not_kept() {
    let maybe = || Schema::maybe::<Invoice>().expect("a schema").named("invoice");
    let model = Script::new().call("structured_output", READ).say(r#"{"nothing": "a poem"}"#).say("done");
    let (read, kept) = with_tool(StructuredOutput::new([maybe()]), &model).await;
    assert_eq!((&*read[0], kept.get("bill")), ("done: the text has no invoice: a poem", None));

    let model = Script::new().call("structured_output", READ).say(format!("{{\"found\": {ACME}}}")).say("done");
    let (_, kept) = with_tool(StructuredOutput::new([maybe()]), &model).await;
    assert_eq!(kept.get("bill"), Some(&json!({"from": "Acme", "total": 7})));
}

#[tokio::test]
async fn the_knobs_of_the_tool_are_used() {
    let model = Script::new().call("structured_output", READ).say(ACME).say("done");
    let knobs = StructuredOutput {
        preview_chars: 6,
        system_prompt: "read closely".to_owned(),
        ..StructuredOutput::new([invoices()])
    };
    let (read, _) = with_tool(knobs, &model).await;
    assert_eq!(read, [r#"done: kept as `bill`: {"from…"#]);
    assert!(model.requests()[1].system_prompt.starts_with("read closely\n\n"));
    assert_eq!(built(Agent::builder(Script::new()).with(StructuredOutput::default())).tools().count(), 0);
}

#[tokio::test]
async fn two_sessions_of_one_agent_extract_different_things_at_the_same_time() {
    let model = Script::new().say("3").say(ACME);
    let agent = built(&mut Agent::builder(model));
    let (mut a, mut b) = (agent.session().await.expect("a session"), agent.session().await.expect("a session"));
    let number = a.extract::<u8>("a number");
    let invoice = async { b.extract::<Invoice>("an invoice").await };
    let (number, invoice) = tokio::join!(biased; number, invoice);
    assert_eq!((number.expect("a number").value, invoice.expect("an invoice").value), (3, acme()));
}
