//! A provider that breaks off, is busy or is not there: nothing is lost, nothing is done twice, and the task goes on.

use std::{
    collections::VecDeque,
    io::Write as _,
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use super::{super::question, Machine};
use crate::terminal::pty::Person;

/// What the provider does when it is asked.
#[derive(Clone)]
enum Reply {
    Says(&'static str),
    /// Asks for this command.
    Calls(&'static str),
    /// Says so much and closes the connection.
    Half(&'static str),
    /// Closes the connection at once.
    Nothing,
    /// Is busy, and asks to be asked again after so many seconds.
    Busy(u32),
}

/// A provider on this machine that speaks like OpenAI's. The last reply is repeated.
struct Provider {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Provider {
    fn new(machine: &Machine, settings: &str, replies: &[Reply]) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let (asked, replies) = (Arc::new(AtomicUsize::new(0)), Mutex::new(VecDeque::from(replies.to_vec())));
        let counted = asked.clone();
        thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                let asks = question(&stream);
                // Some clients look at the list of models first.
                if !asks.starts_with("POST") {
                    continue;
                }
                counted.fetch_add(1, Ordering::AcqRel);
                let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
                let reply = if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
                answer(&stream, &reply.expect("a reply"));
            }
        });
        let provider = Self { port, asked };
        provider.serves(machine, settings);
        provider
    }

    /// The machine's settings name this provider.
    fn serves(&self, machine: &Machine, settings: &str) {
        let url = format!("http://127.0.0.1:{}/v1/", self.port);
        machine.user_settings(&format!("{settings}\n[model.provider.compatible]\nbase_url = \"{url}\"\n"));
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Acquire)
    }
}

fn answer(mut stream: &TcpStream, reply: &Reply) {
    let piece = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let begins = piece(json!({ "role": "assistant", "content": "" }), Value::Null);
    let text = |text: &str| begins.clone() + &piece(json!({ "content": text }), Value::Null);
    let end = |why: &str| piece(json!({}), json!(why)) + "data: [DONE]\n\n";
    let (status, more, body, whole) = match reply {
        Reply::Says(words) => ("200 OK", String::new(), text(words) + &end("stop"), true),
        Reply::Half(words) => ("200 OK", String::new(), text(words), false),
        Reply::Calls(command) => {
            let arguments = json!({ "command": command }).to_string();
            let call = json!({ "index": 0, "id": "call-1", "type": "function",
                "function": { "name": "bash", "arguments": arguments } });
            let calls = piece(json!({ "tool_calls": [call] }), Value::Null);
            ("200 OK", String::new(), begins + &calls + &end("tool_calls"), true)
        }
        Reply::Busy(seconds) => ("429 Too Many Requests", format!("retry-after: {seconds}\r\n"), "{}".to_owned(), true),
        Reply::Nothing => return,
    };
    let kind = if status.starts_with("200") { "text/event-stream" } else { "application/json" };
    // A body without its last chunk has broken off.
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n{more}\r\n");
    let _ = write!(stream, "{head}{:x}\r\n{body}\r\n", body.len());
    if whole {
        let _ = write!(stream, "0\r\n\r\n");
    }
}

const MODEL: &[&str] = &["--model=compatible:m", "--driver=native", "--mode=bypass"];

/// The command that the program says continues the task.
fn continues(told: &str) -> Vec<String> {
    let line = told.lines().find_map(|line| line.split_once("continue with: vertebra "));
    let (_, words) = line.unwrap_or_else(|| panic!("no command: {told}"));
    words.split_whitespace().map(str::to_owned).collect()
}

fn sits(machine: &Machine, arguments: &[&str]) -> Person {
    Person::sit(machine.command(arguments).env("TERM", "xterm-256color"))
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again_and_its_task_is_done_once() {
    let machine = Machine::new();
    let replies = [Reply::Calls("echo once >> effects"), Reply::Half("The fi"), Reply::Says("The file is made.")];
    let provider = Provider::new(&machine, "", &replies);
    let told = machine.runs(&[&["run", "--output=stream-json"], MODEL, &["go"]].concat());
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    let events: Vec<Value> = told.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let retry = events.iter().find(|event| event["event"] == "retry").expect("a retry");
    assert_eq!((&retry["cut_off"], &retry["retry"]), (&json!(true), &json!(1)), "{retry}");
    let result = events.last().expect("a result");
    assert_eq!((&result["text"], &result["resume"]), (&json!("The file is made."), &Value::Null));
    assert_eq!((provider.asked(), machine.read("project/effects").as_str()), (3, "once\n"));
    assert!(!told.out.contains("\"event\":\"hooks\""), "hooks are left out unless asked for");
    assert_eq!(machine.json(&["replay", "last", "--mode=bypass"])["identical"], true);

    let replies = [Reply::Half("The fi"), Reply::Says("It is there.")];
    let _provider = Provider::new(&machine, "", &replies);
    let told = machine.runs(&[&["run"], MODEL, &["again"]].concat());
    assert_eq!((told.code, told.out.as_str()), (0, "It is there.\n"), "{}", told.err);
    assert!(told.err.contains("the answer broke off") && told.err.contains("trying again in"), "{}", told.err);
    assert!(!told.err.contains("The fi"), "{}", told.err);

    let _provider = Provider::new(&machine, "", &[Reply::Says("Fine.")]);
    let told = machine.runs(&[&["run", "--output=stream-json", "--include-hooks"], MODEL, &["again"]].concat());
    assert!(told.out.contains("\"event\":\"hooks\""), "{}", told.out);
}

#[test]
fn a_provider_that_stays_away_suspends_the_task_and_the_printed_command_finishes_it() {
    for output in [&[][..], &["--output=json"], &["--quiet"]] {
        let machine = Machine::new();
        let settings = "[model]\nretry = \"100ms\"\n";
        let replies = [Reply::Calls("echo once >> effects"), Reply::Nothing];
        let provider = Provider::new(&machine, settings, &replies);
        let told = machine.runs(&[&["run"], output, MODEL, &["make", "it"]].concat());
        assert_eq!(told.code, 5, "{output:?}: {}{}", told.out, told.err);
        assert_eq!(provider.asked(), 2);
        assert_eq!(machine.sessions()[0]["status"], "suspended");
        let command = if output == ["--output=json"] {
            let object: Value = serde_json::from_str(&told.out).expect("one object");
            assert_eq!(object["stop"]["reason"], "suspended", "{object}");
            continues(&format!("continue with: {}", object["resume"].as_str().expect("a command")))
        } else {
            continues(&told.err)
        };
        // Nobody listens at all.
        let refusing = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        Provider { port: refusing, asked: Arc::default() }.serves(&machine, settings);
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        words.push("--mode=bypass");
        let told = machine.runs(&words);
        assert_eq!(told.code, 5, "{}", told.err);
        assert!(told.err.contains("“make it” is not finished"), "{}", told.err);
        assert!(told.err.contains("the provider was not reached"), "{}", told.err);

        let _provider = Provider::new(&machine, settings, &[Reply::Says("It is made.")]);
        let told = machine.runs(&words);
        assert_eq!((told.code, told.out.as_str()), (0, "It is made.\n"), "{}", told.err);
        assert_eq!(machine.read("project/effects"), "once\n", "nothing is done twice");
        assert_eq!(machine.json(&["replay", "last", "--mode=bypass"])["identical"], true);
        assert_eq!(machine.sessions()[0]["status"], "ended");
    }
}

#[test]
fn a_terminal_counts_down_and_escape_suspends_the_task() {
    let machine = Machine::new();
    let _provider = Provider::new(&machine, "", &[Reply::Busy(50), Reply::Says("Hello again.")]);
    let mut person = sits(&machine, &[&["run"], MODEL, &["say", "hello"]].concat());
    person.waits_for("trying again in 50 s");
    person.waits_for("trying again in 48 s");
    let seen = person.sees();
    assert!(seen.contains("the model is busy") && seen.contains("esc to suspend"), "{seen}");
    person.types("\x1b");
    assert_eq!(person.waits_for_the_end(), 5, "{}", person.sees());
    let command = continues(&person.sees());
    let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
    words.push("--mode=bypass");
    let told = machine.runs(&words);
    assert_eq!((told.code, told.out.as_str()), (0, "Hello again.\n"), "{}", told.err);
}

#[test]
fn a_chat_stays_open_while_its_task_is_suspended() {
    let machine = Machine::new();
    let _provider = Provider::new(&machine, "", &[Reply::Busy(50), Reply::Says("Hello again.")]);
    let mut person = sits(&machine, &[&["chat"], MODEL, &["say", "hello"]].concat());
    person.waits_for("trying again in");
    person.types("half a li\x1b");
    person.waits_for("/continue to try again");
    person.waits_for("❯ half a li");
    person.types("\x15/continue\r");
    person.waits_for("Hello again.");
    person.waits_for("ctrl-d to quit");
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert_eq!((machine.sessions().len(), &machine.sessions()[0]["runs"]), (1, &json!(1)));
}

#[test]
fn a_terminal_marks_an_answer_that_was_cut_off() {
    let machine = Machine::new();
    let _provider = Provider::new(&machine, "", &[Reply::Half("The first half"), Reply::Says("All of it.")]);
    let mut person = sits(&machine, &[&["run"], MODEL, &["say", "it"]].concat());
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let seen = person.sees();
    let place = |words: &str| seen.find(words).unwrap_or_else(|| panic!("no {words}: {seen}"));
    assert!(place("The first half") < place("✂ cut off here"), "{seen}");
    assert!(place("✂ cut off here") < place("All of it."), "{seen}");
}
