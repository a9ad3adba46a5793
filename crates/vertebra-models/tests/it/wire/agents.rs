//! Drivers in whole agents: what is asked again, of which model, and what is kept of it.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
    time::Duration,
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use vertebra::{
    AgentBuilder, MemoryJournal, ModelId, RunReport,
    prelude::*,
    testing::{FakeClock, RecordingTool},
};
use vertebra_kit::{
    resilience::{ModelFallback, ModelRetry},
    skills::Skills,
};
use vertebra_models::{Drivers, Secret};

use super::{
    formats::{Format, KEY, MODEL, Say, WIRES, Wire, formats},
    requests::model_of,
    server::{Reply, Server},
};

const HELLO: &[Say] = &[Say::Text("Hello.")];

async fn run(builder: &mut AgentBuilder) -> RunReport {
    let agent = builder.build().expect("an agent");
    match agent.run("go").await {
        Ok(report) => report,
        Err(failed) => *failed.0,
    }
}

/// An agent on this provider, and the clock it sleeps by.
fn agent(wire: Wire, server: &Server) -> (AgentBuilder, FakeClock) {
    let clock = FakeClock::new();
    let mut builder = Agent::builder(wire.driver(server));
    builder.clock(clock.clone());
    (builder, clock)
}

fn models(server: &Server) -> Vec<String> {
    server.received().iter().map(model_of).collect()
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_after_the_wait_it_asks_for() {
    for wire in formats() {
        let busy = Reply::status(429, &[("retry-after", "7")], "{}");
        let server = Server::start([busy, Reply::nothing(), wire.reply(HELLO)]).await;
        let (mut builder, clock) = agent(wire, &server);
        let report = run(builder.with(ModelRetry::default())).await;
        assert_eq!(report.text, "Hello.", "{}", wire.name);
        assert_eq!(clock.sleeps().first(), Some(&Duration::from_secs(7)), "{}", wire.name);
        assert_eq!(server.received().len(), 3, "{}", wire.name);
    }
}

#[tokio::test]
async fn what_will_never_succeed_is_not_asked_again() {
    for status in [400, 401, 404, 413] {
        let server = Server::start([Reply::status(status, &[], "{}")]).await;
        let (mut builder, clock) = agent(WIRES[0], &server);
        run(builder.with(ModelRetry::default())).await;
        assert_eq!((server.received().len(), clock.sleeps().len()), (1, 0), "{status}");
    }
}

/// A reply that breaks off behind its first text.
fn half(wire: Wire) -> Reply {
    let events = wire.events(&[Say::Text("Hel"), Say::Text("lo.")]);
    let text = events.iter().position(|event| event.contains("Hel")).expect("the text");
    // Anthropic has the text in the event behind the start of its block.
    Reply::stream(wire.content_type(), vec![events[..=text].concat().into_bytes()]).then_cut()
}

#[tokio::test]
async fn an_answer_whose_connection_breaks_begins_again() {
    for wire in formats() {
        let server = Server::start([half(wire), Reply::nothing(), wire.reply(HELLO)]).await;
        let (mut builder, clock) = agent(wire, &server);
        let report = run(builder.with(ModelRetry::default())).await;
        assert_eq!((server.received().len(), report.text.as_str()), (3, "Hello."), "{}", wire.name);
        assert_eq!(clock.sleeps().len(), 2, "{}", wire.name);
    }
}

#[tokio::test]
async fn a_model_that_a_hook_names_is_the_one_that_is_sent() {
    for wire in formats() {
        let server = Server::start([wire.reply(HELLO)]).await;
        let (mut builder, _) = agent(wire, &server);
        builder.on(BeforeInference, async |cx| {
            cx.request.model.name = "chosen-by-a-hook".into();
            proceed()
        });
        run(&mut builder).await;
        assert_eq!(models(&server), ["chosen-by-a-hook"], "{}", wire.name);
    }
}

#[tokio::test]
async fn a_model_that_a_fallback_names_is_the_one_that_is_sent() {
    for wire in formats() {
        let server = Server::start([Reply::status(503, &[], ""), wire.reply(HELLO)]).await;
        let (mut builder, _) = agent(wire, &server);
        let report = run(builder.with(ModelFallback::to([ModelId::new(wire.name, "the-other")]))).await;
        assert_eq!(report.text, "Hello.", "{}", wire.name);
        assert_eq!(models(&server), [MODEL, "the-other"], "{}", wire.name);
    }
}

#[tokio::test]
async fn a_fallback_to_another_provider_is_sent_there_in_its_format_and_with_its_key() {
    const THINKS_AND_CALLS: &[Say] = &[Say::Think("Hm."), Say::Calls(&[("read", &["{\"path\":\"a\"}"])])];
    for (first, second) in formats().zip(formats().skip(1).chain(formats())) {
        let busy = Reply::status(529, &[], "");
        let (here, there) =
            (Server::start([first.reply(THINKS_AND_CALLS), busy]).await, Server::start([second.reply(HELLO)]).await);
        let other = second.driver(&there).key(Secret::new("the-other-key"));
        let mut builder = Agent::builder(Drivers::new(first.driver(&here)).and(other));
        builder.tool(RecordingTool::new("read").replying("it says so"));
        builder.with(ModelFallback::to([ModelId::new(second.name, "the-other")]));
        let report = run(&mut builder).await;
        assert_eq!(report.text, "Hello.", "{} then {}", first.name, second.name);
        let received = there.last();
        assert_eq!(model_of(&received), "the-other");
        let told = received.body.to_string();
        assert!(told.contains("it says so") && !told.contains("sealed"), "no foreign signature: {told}");
        assert!(!format!("{:?}", received.headers).contains(KEY), "each key goes to its own provider");
    }
}

#[tokio::test]
async fn a_provider_without_a_driver_is_named() {
    let server = Server::start([WIRES[0].reply(HELLO)]).await;
    let mut builder = Agent::builder(Drivers::new(WIRES[0].driver(&server)));
    builder.on(BeforeInference, async |cx| {
        cx.request.model.provider = "nobody".into();
        proceed()
    });
    let report = run(&mut builder).await;
    assert!(report.stop.message.contains("no driver for `nobody`, only for openai"), "{}", report.stop.message);
    assert!(server.received().is_empty());
}

const LOAD: &[Say] = &[Say::Calls(&[("load_skill", &["{\"skill_name\":\"fast\"}"])])];

#[tokio::test]
async fn a_model_that_a_skill_names_is_the_one_that_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("fast")).expect("a folder");
    std::fs::write(
        folder.path().join("fast/SKILL.md"),
        "---\nname: fast\ndescription: Fast\nmodel: small\n---\nBe fast.\n",
    )
    .expect("a skill");
    for wire in formats() {
        let server = Server::start([wire.reply(LOAD), wire.reply(HELLO)]).await;
        let (mut builder, _) = agent(wire, &server);
        let report = run(builder.with(Skills::new().folder(folder.path()))).await;
        assert_eq!(report.text, "Hello.", "{}", wire.name);
        assert_eq!(models(&server), [MODEL, "small"], "{}", wire.name);
    }
}

#[tokio::test]
async fn tools_are_used_and_their_results_are_sent_back() {
    const CALL: &[Say] = &[Say::Calls(&[("read", &["{\"path\":", "\"a\"}"]), ("read", &["{\"path\":\"b\"}"])])];
    for wire in formats() {
        let server = Server::start([wire.reply(CALL), wire.reply(HELLO)]).await;
        let (mut builder, _) = agent(wire, &server);
        let read = RecordingTool::new("read").replying("it says so");
        let report = run(builder.tool(read.clone())).await;
        assert_eq!((report.text.as_str(), read.calls().len()), ("Hello.", 2), "{}", wire.name);
        let results = server.last().body.to_string().matches("it says so").count();
        assert_eq!(results, 2, "{}", wire.name);
    }
}

#[tokio::test]
async fn a_stream_that_a_hook_halts_is_closed_and_what_was_said_is_kept() {
    let wire = WIRES[0];
    let mut server = Server::start([wire.reply(&[Say::Text("one "), Say::Text("two")]).then_wait()]).await;
    let (mut builder, _) = agent(wire, &server);
    builder.on(InferenceDelta, async |cx| if cx.text == "two" { halt("enough") } else { proceed() });
    let report = run(&mut builder).await;
    server.a_client_goes().await;
    assert_eq!(report.text, "one ");
}

/// Everything that is logged, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn write(&self, line: impl FnOnce(&mut Line)) {
        let mut text = Line::default();
        line(&mut text);
        self.0.lock().expect("a log").push(text.0);
    }
}

#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{field}={value:?} ").expect("a string");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.write(|line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, values: &Record<'_>) {
        self.write(|line| values.record(line));
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.write(|line| event.record(line));
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// Everything that providers can do to make us tell the key.
fn tellers(wire: Wire) -> Vec<Reply> {
    let echo = format!("your key {KEY} is wrong");
    let error = |status| Reply::status(status, &[("request-id", KEY), ("retry-after", KEY)], echo.clone());
    let event = match wire.format {
        Format::Ollama => format!("{{\"error\":\"{echo}\"}}\n"),
        Format::Anthropic => format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{KEY}\",\"message\":\"{echo}\"}}}}\n\n"
        ),
        Format::Chat | Format::Responses | Format::Gemini => {
            format!("data: {{\"error\":{{\"message\":\"{echo}\",\"code\":\"{KEY}\"}}}}\n\n")
        }
    };
    let unknown = match wire.format {
        Format::Ollama => format!("{{\"{KEY}\":1}}\n"),
        _ => format!("event: {KEY}\ndata: {{\"type\":\"{KEY}\"}}\n\n"),
    };
    let torn = format!("{}{KEY}\n\n", if wire.format == Format::Ollama { "" } else { "data: " });
    let streams = [event, unknown, torn].map(|body| Reply::stream(wire.content_type(), vec![body.into_bytes()]));
    [400, 401, 403, 404, 429, 500].map(error).into_iter().chain(streams).collect()
}

#[test]
fn a_key_is_in_no_error_record_log_or_debug_output() {
    let log = Log::default();
    // For all threads: connections have tasks of their own.
    tracing::subscriber::set_global_default(log.clone()).expect("one log in this process");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        for wire in formats() {
            for reply in tellers(wire).into_iter().chain([wire.reply(HELLO)]) {
                let server = Server::start([reply]).await;
                let journal = MemoryJournal::default();
                let (mut builder, _) = agent(wire, &server);
                let retry = ModelRetry { patience: Duration::from_secs(3), ..ModelRetry::default() };
                let report = run(builder.journal(journal.clone()).with(retry)).await;
                let told = format!("{report:?} {:?} {:?}", journal.entries(), wire.driver(&server));
                assert!(!told.contains(KEY), "{}: {told}", wire.name);
                assert!(!serde_json::to_string(&journal.entries()).expect("a record").contains(KEY), "{}", wire.name);
            }
        }
    });
    let lines = log.0.lock().expect("a log").clone();
    assert!(lines.len() > 100, "the log has what the network does: {lines:?}");
    assert_eq!(lines.iter().find(|line| line.contains(KEY)), None, "the key is in the log");
}
