//! Recordings: what whole agents do with a recorded model, and with the recording.

use std::{borrow::Cow, fs, io::Write, panic::AssertUnwindSafe, path::PathBuf, time::Duration};

use futures_util::FutureExt;
use vertebra::{
    AgentBuilder, AgentTool, Deltas, ModelError, ModelId, Request, Response, RunReport, SharedModel,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script, SequentialIds},
};
use vertebra_kit::redaction::Redaction;
use vertebra_models::{Player, Recorder, Secret};

/// A folder of its own for a test, with one recording in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn tape(&self) -> PathBuf {
        self.0.path().join("run.cassette")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.tape()).expect("a recording")
    }

    fn record(&self, model: impl Model) -> Recorder<SharedModel> {
        Recorder::new(SharedModel::new(model), self.tape()).expect("a recorder")
    }

    fn play(&self) -> Player {
        Player::open(self.tape()).expect("a recording")
    }
}

/// An agent with a tool and a child, both on this model.
fn agent(model: impl Model) -> AgentBuilder {
    agent_with(model, RecordingTool::new("ls").by(|_| Ok("a.rs b.rs".into())))
}

fn agent_with(model: impl Model, tool: RecordingTool) -> AgentBuilder {
    let model = SharedModel::new(model);
    let child = Agent::builder(model.clone()).name("child").system_prompt("help").build().expect("a child");
    let mut builder = Agent::builder(model);
    builder.name("tester").system_prompt("be brief").working_directory("/repo");
    builder.clock(FakeClock::new()).ids(SequentialIds::default());
    builder.tool(tool).tool(AgentTool::new("ask", "asks a child", child));
    builder
}

/// A conversation with all that a model can do: pieces of text, thoughts and arguments, tools, a child, a failure.
fn script() -> Script {
    Script::new()
        .call("ls", r#"{"path": "."}"#)
        .thinking("hm")
        .written_in(3)
        .costing(100, 20)
        .call("ask", r#"{"prompt": "what is a.rs?"}"#)
        .stream(["a ", "file"])
        .stream(["Two ", "files", "."])
        .costing(200, 10)
}

/// Everything a front end sees of a run, one event a line.
async fn events(builder: &mut AgentBuilder) -> String {
    let mut stream = builder.build().expect("an agent").stream("look around");
    let mut lines = String::new();
    while let Some(event) = stream.next().await {
        lines += &serde_json::to_string(&event).expect("an event");
        lines.push('\n');
    }
    lines
}

async fn run(builder: &mut AgentBuilder) -> RunReport {
    builder.build().expect("an agent").run("look around").await.unwrap_or_else(|failed| *failed.0)
}

#[tokio::test]
async fn a_recording_plays_back_as_the_very_same_run() {
    let folder = Folder::new();
    let seen = events(&mut agent(folder.record(script()))).await;
    assert!(seen.contains("reasoning") && seen.contains("a file") && seen.lines().count() > 10, "{seen}");
    let player = folder.play();
    assert_eq!(events(&mut agent(player.clone())).await, seen);
    player.assert_played();
}

#[tokio::test]
async fn a_hook_that_changes_a_request_is_caught_with_what_it_changed() {
    let folder = Folder::new();
    run(&mut agent(folder.record(script()))).await;
    let player = folder.play();
    let mut builder = agent(player.clone());
    builder.on(BeforeInference, async |cx| {
        if cx.request.messages.len() > 1 {
            cx.request.system_prompt = "be verbose".into();
        }
        proceed()
    });
    let report = run(&mut builder).await;
    let told = report.stop.to_string();
    assert!(told.contains("at system_prompt\n  recorded: \"be brief\"\n  asked:    \"be verbose\""), "{told}");
    assert!(told.contains("run.cassette:"), "{told}");
    assert_eq!(player.left(), 3);
}

#[tokio::test]
async fn another_answer_of_a_tool_is_another_request() {
    let folder = Folder::new();
    run(&mut agent(folder.record(script()))).await;
    let mut builder = agent(folder.play());
    builder.on(AfterToolUse.tool("ls"), async |cx| {
        cx.result.output = "a.rs c.rs".to_owned();
        proceed()
    });
    let told = run(&mut builder).await.stop.to_string();
    assert!(
        told.contains("at messages[2].result.output\n  recorded: \"a.rs b.rs\"\n  asked:    \"a.rs c.rs\""),
        "{told}"
    );
}

#[tokio::test]
async fn what_a_model_does_not_read_may_differ() {
    let folder = Folder::new();
    let clock = FakeClock::new();
    let slow = RecordingTool::new("ls").taking(Duration::from_millis(7), &clock);
    run(agent_with(folder.record(Script::new().call("ls", "{}").say("done")), slow).clock(clock)).await;
    let report = run(&mut agent_with(folder.play(), RecordingTool::new("ls"))).await;
    assert_eq!(report.text, "done");
}

/// What a model streams and answers when it is asked this.
async fn ask(model: &impl Model, text: &str) -> (String, Result<Response, ModelError>) {
    let messages = [Message::user(text)].into_iter().collect();
    let request = vertebra::testing::request(messages).request;
    let mut deltas = Deltas::collect();
    let answer = model.infer(&request, &mut deltas).await;
    (deltas.shown().to_owned(), answer)
}

async fn told(model: &impl Model, text: &str) -> String {
    match ask(model, text).await.1 {
        Ok(response) => response.text,
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn numbers_come_back_to_the_last_digit() {
    // The last digits of these are lost by a reader of JSON that rounds twice.
    let numbers = "[0.30000000000000004, 1.7976931348623157e308, 5.4409600000000123e-7, 9007199254740993, 0.7]";
    let script = || Script::new().call("ls", &format!(r#"{{"numbers": {numbers}}}"#)).say("done");
    let folder = Folder::new();
    let (first, again) = (RecordingTool::new("ls"), RecordingTool::new("ls"));
    run(&mut agent_with(folder.record(script()), first.clone())).await;
    let report = run(&mut agent_with(folder.play(), again.clone())).await;
    assert_eq!((report.text.as_str(), again.calls()), ("done", first.calls()));
}

#[tokio::test]
async fn a_failure_is_played_as_the_failure_it_was() {
    let folder = Folder::new();
    let busy = ModelError::Busy { message: "later".to_owned(), wait: Some(Duration::from_secs(3)) };
    let broken = ModelError::Broken { message: "gone".to_owned() };
    let script = Script::new().fail(busy.clone()).stream(["half an "]).breaking_off(broken.clone());
    let recorder = folder.record(script);
    let first = [ask(&recorder, "hi").await, ask(&recorder, "hi").await];
    assert_eq!(first, [(String::new(), Err(busy)), ("half an ".to_owned(), Err(broken))]);
    let player = folder.play();
    assert_eq!([ask(&player, "hi").await, ask(&player, "hi").await], first);
}

#[tokio::test]
async fn agents_side_by_side_may_ask_in_another_order_than_they_did() {
    let folder = Folder::new();
    let recorder = folder.record(Script::new().say("one").say("two").say("one again"));
    for question in ["1", "2", "1"] {
        told(&recorder, question).await;
    }
    let player = folder.play();
    let mut answers = Vec::new();
    for question in ["2", "1", "1"] {
        answers.push(told(&player, question).await);
    }
    assert_eq!(answers, ["two", "one", "one again"]);
    let more = told(&player, "1").await;
    assert!(more.ends_with("run.cassette has been played to its end, and one more request came"), "{more}");
}

#[tokio::test]
async fn children_that_ran_at_once_play_back_whichever_asks_first() {
    let folder = Folder::new();
    let both = [("ask", r#"{"prompt": "one"}"#), ("ask", r#"{"prompt": "two"}"#)];
    let script = Script::new().calls(both).say("a").say("b").say("done");
    let first = run(&mut agent(folder.record(script))).await;
    let player = folder.play();
    let again = run(&mut agent(player.clone())).await;
    assert_eq!((first.text, first.usage), (again.text, again.usage));
    player.assert_played();
}

#[tokio::test]
async fn what_was_not_played_is_told() {
    let folder = Folder::new();
    let recorder = folder.record(Script::new().say("one").say("two"));
    told(&recorder, "1").await;
    told(&recorder, "2").await;
    let player = folder.play();
    told(&player, "1").await;
    assert_eq!(player.left(), 1);
    let checked = std::panic::catch_unwind(AssertUnwindSafe(|| player.assert_played())).expect_err("a complaint");
    let complaint = checked.downcast_ref::<String>().expect("in words");
    assert!(complaint.starts_with("1 exchanges of ") && complaint.ends_with("were not played"), "{complaint}");
}

#[tokio::test]
async fn a_request_that_nobody_waited_for_is_in_the_recording() {
    struct Endless;
    impl Model for Endless {
        fn id(&self) -> ModelId {
            ModelId::new("test", "endless")
        }
        async fn infer(&self, _: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
            let _ = out.text("well").await;
            std::future::pending().await
        }
    }
    let folder = Folder::new();
    assert!(ask(&folder.record(Endless), "hi").now_or_never().is_none());
    let player = folder.play();
    assert_eq!(player.id(), ModelId::new("test", "endless"));
    let (shown, answer) = ask(&player, "hi").await;
    assert_eq!(shown, "well");
    assert_eq!(answer, Err(ModelError::Broken { message: "it was cancelled when it was recorded".to_owned() }));
}

/// A key that was handed in, and one that is known by its shape.
const KEY: &str = "the-key-of-the-house-42";
const SHAPE: &str = "ghp_0123456789abcdefghijABCDEFGHIJ";

#[tokio::test]
async fn no_secret_is_in_the_file_and_the_run_plays_back_without_it() {
    let folder = Folder::new();
    let args = format!(r#"{{"{SHAPE}": ["{KEY}"]}}"#);
    let script = Script::new().call("ls", &args).thinking(format!("the key is {KEY}")).written_in(5).stream([
        "it is the-key-of-",
        "the-house-42, and ghp_0123",
        "456789abcdefghijABCDEFGHIJ",
    ]);
    let leaky = || RecordingTool::new("ls").by(|_| Ok(format!("{KEY} {SHAPE}").into()));
    let recorder = folder.record(script).secret(&Secret::new(KEY)).redact(Redaction::default().veil());
    run(agent_with(recorder, leaky()).system_prompt(format!("use {KEY}"))).await;
    let file = folder.text();
    for secret in [KEY, SHAPE, "the-house-42", "456789abcdefghijABCDEFGHIJ"] {
        assert!(!file.contains(secret), "{secret} in {file}");
    }
    let player = folder.play().secret(&Secret::new(KEY)).redact(Redaction::default().veil());
    let report = run(agent_with(player.clone(), leaky()).system_prompt(format!("use {KEY}"))).await;
    assert_eq!(report.text, "it is [key], and [REDACTED:github-token]");
    player.assert_played();
}

#[tokio::test]
async fn an_error_keeps_no_secret_either() {
    let folder = Folder::new();
    let error = ModelError::Unauthorised { message: format!("{KEY} is no key") };
    told(&folder.record(Script::new().fail(error)).secret(&Secret::new(KEY)), "hi").await;
    assert!(!folder.text().contains(KEY));
    assert_eq!(told(&folder.play(), "hi").await, "the provider refused our credentials: [key] is no key");
}

#[tokio::test]
async fn a_folder_may_be_another_one_when_it_is_played() {
    let folder = Folder::new();
    let recorder = folder.record(Script::new().stream(["look in /tmp/fir", "st/src"])).place("$DIR", "/tmp/first");
    told(&recorder, "what is in /tmp/first?").await;
    assert!(!folder.text().contains("/tmp/first"));
    let player = folder.play().place("$DIR", "/home/second");
    let (shown, answer) = ask(&player, "what is in /home/second?").await;
    assert_eq!((&*shown, &*answer.expect("an answer").text), ("look in /home/second/src", "look in /home/second/src"));
}

#[tokio::test]
async fn what_changes_every_time_can_be_made_equal() {
    let folder = Folder::new();
    told(&folder.record(Script::new().say("good morning")), "it is 08:00").await;
    let timeless = |text: &str| Cow::Owned(text.split(" is ").next().unwrap_or_default().to_owned());
    assert!(told(&folder.play(), "it is 09:30").await.contains("at messages[0].text"));
    assert_eq!(told(&folder.play().normalise(move |text| timeless(text)), "it is 09:30").await, "good morning");
}

#[tokio::test]
async fn each_message_is_in_the_file_once() {
    let folder = Folder::new();
    let script = Script::new().call("ls", "{}").call("ls", "{}").say("done");
    let big = "long ".repeat(1000);
    run(agent(folder.record(script)).system_prompt(&*big)).await;
    assert_eq!(folder.text().matches(&*big).count(), 1);
    assert_eq!(folder.text().matches("look around").count(), 1);
}

#[tokio::test]
async fn a_finished_exchange_survives_a_crash_and_a_broken_end_is_named() {
    let folder = Folder::new();
    // The recorder is never closed.
    let recorder = folder.record(Script::new().say("one"));
    told(&recorder, "1").await;
    assert_eq!(told(&folder.play(), "1").await, "one");
    let lines = folder.text().lines().count();
    let mut file = fs::OpenOptions::new().append(true).open(folder.tape()).expect("the file");
    file.write_all(br#"{"exchange":{"requ"#).expect("half a line");
    let error = Player::open(folder.tape()).err().expect("an error").to_string();
    let expected =
        format!("run.cassette:{}: the last line breaks off; cut it away to play what is before it", lines + 1);
    assert!(error.ends_with(&expected), "{error}");
}

#[test]
fn a_file_that_is_no_recording_is_told_with_its_line() {
    let head = r#"{"head":{"version":1,"model":{"provider":"p","name":"m"}}}"#;
    let exchange = r#"{"exchange":{"request":{"system_prompt":0,"tools":0,"messages":[7]},"outcome":"cancelled"}}"#;
    let cases = [
        (String::new(), ":1: the file is empty; a recording begins with its head"),
        ("hello\n".to_owned(), ":1: no line of a recording: expected value at line 1 column 1"),
        (head.replace('1', "9") + "\n", ":1: a recording of version 9; this program plays 1"),
        (format!("{head}\n{head}\n"), ":2: a second head"),
        (format!("{exchange}\n"), ":1: a recording begins with its head"),
        (format!("{head}\n{{\"part\":{{\"number\":3,\"is\":1}}}}\n"), ":2: part 3 where part 0 is due"),
        (format!("{head}\n{exchange}\n"), ":2: there is no part 0"),
        (
            format!("{head}\n{}\n", exchange.replace("\"outcome\"", "\"piece\":[],\"outcome\"")),
            "unknown field `piece`, expected one of `request`, `pieces`, `outcome` at line 1 column 75",
        ),
    ];
    let folder = Folder::new();
    for (text, expected) in cases {
        fs::write(folder.tape(), &text).expect("a file");
        let error = Player::open(folder.tape()).err().expect("an error").to_string();
        assert!(error.ends_with(expected), "{error}\n{text}");
    }
}

#[test]
fn a_recording_is_written_over_nothing_and_read_by_its_owner_alone() {
    let folder = Folder::new();
    drop(folder.record(Script::new()));
    let error = Recorder::new(Script::new(), folder.tape()).err().expect("an error").to_string();
    assert!(error.ends_with("run.cassette is there already; record into a new file"), "{error}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder.tape()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
