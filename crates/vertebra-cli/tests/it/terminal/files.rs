//! Files in a real terminal: secrets that survive an edit, and questions only about what can succeed.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use serde_json::{Value, json};

use super::pty::{Person, Place, say};

const VALUE: &str = "test-abcdef0123456789";
const CONFIG: &str = "name: demo\napi_key: \"test-abcdef0123456789\"\ndebug: false\n";

fn call(tool: &str, args: &Value) -> Value {
    json!({ "call": { "tool": tool, "args": args } })
}

/// A model whose answers depend on what it reads: it is given how often it was asked and the last result of a tool.
fn model(place: &Place, answer: impl Fn(usize, &str) -> Value + Send + 'static) -> &'static str {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    place.settings(&format!("[model.provider.compatible]\nbase_url = \"http://127.0.0.1:{port}/v1/\"\n"));
    thread::spawn(move || {
        let mut asked = 0;
        for stream in socket.incoming().flatten() {
            let Some(request) = request(&stream) else { continue };
            let messages = request["messages"].as_array().cloned().unwrap_or_default();
            let last = messages.iter().rev().find(|message| message["role"] == "tool");
            let text = last.and_then(|message| message["content"].as_str()).unwrap_or_default();
            reply(&stream, &answer(asked, text));
            asked += 1;
        }
    });
    "compatible:played"
}

/// The body of a request, if it asks for an answer.
fn request(stream: &TcpStream) -> Option<Value> {
    let (mut reader, mut length) = (BufReader::new(stream), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// Streams one answer: `{"say": …}` or `{"call": {"tool": …, "args": …}}`.
fn reply(mut stream: &TcpStream, answer: &Value) {
    let (delta, finish) = match answer.get("call") {
        Some(call) => {
            let function = json!({"name": call["tool"], "arguments": call["args"].to_string()});
            (
                json!({"tool_calls": [{"index": 0, "id": "call", "type": "function", "function": function}]}),
                "tool_calls",
            )
        }
        None => (json!({"content": answer["say"]}), "stop"),
    };
    let piece = |delta: &Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "1", "model": "played", "choices": [choice]}))
    };
    let body = format!("{}{}data: [DONE]\n\n", piece(&delta, Value::Null), piece(&json!({}), finish.into()));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
}

/// The file in a page of `read_file`.
fn unnumbered(page: &str) -> String {
    page.lines().filter_map(|line| line.split_once('\t')).flat_map(|(_, line)| [line, "\n"]).collect()
}

#[test]
fn a_secret_survives_an_edit_of_another_line_and_is_on_no_screen() {
    let place = Place::new();
    place.write("config.yml", CONFIG);
    let model = model(&place, |asked, read| match asked {
        0 => call("read_file", &json!({"path": "config.yml"})),
        1 => {
            let content = unnumbered(read).replace("false", "true");
            call("write_file", &json!({"path": "config.yml", "content": content}))
        }
        _ => say("All done."),
    });
    let mut person = Person::sit(&place.command_on("run", model, &["turn it on"]));
    person.is_asked();
    assert!(person.sees().contains("+ debug: true"), "{}", person.sees());
    assert!(!person.sees().contains(VALUE) && !person.sees().contains("- api_key"), "{}", person.sees());
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert_eq!(place.read("config.yml"), CONFIG.replace("false", "true"));
    assert!(!person.sees().contains(VALUE), "{}", person.sees());
}

#[test]
fn a_session_that_goes_on_in_another_process_loses_no_secret() {
    let place = Place::new();
    place.write("config.yml", CONFIG);
    let (page, last) = (Arc::new(Mutex::new(String::new())), Arc::new(Mutex::new(String::new())));
    let (kept, refused) = (page.clone(), last.clone());
    let put = |to: &Mutex<String>, text: &str| text.clone_into(&mut to.lock().unwrap_or_else(PoisonError::into_inner));
    let model = model(&place, move |asked, read| match asked {
        0 => call("read_file", &json!({"path": "config.yml"})),
        1 => {
            put(&kept, read);
            say("I have read it.")
        }
        2 => {
            let read = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let content = unnumbered(&read).replace("false", "true");
            call("write_file", &json!({"path": "config.yml", "content": content}))
        }
        _ => {
            put(&refused, read);
            say("I left it.")
        }
    });
    let mut person = Person::sit(&place.command_on("run", model, &["look"]));
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let mut person = Person::sit(&place.command_on("chat", model, &["--continue"]));
    person.waits_for("/help");
    person.types("turn it on\r");
    person.waits_for("I left it.");
    person.waits_for("/help");
    assert!(!person.sees().contains("wants to use"), "nobody is asked: {}", person.sees());
    person.types("\x04");
    assert_eq!(person.waits_for_the_end(), 0);
    assert_eq!(place.read("config.yml"), CONFIG);
    let said = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(said.contains("read the file again with read_file"), "{said}");
}

#[test]
fn only_calls_that_can_succeed_are_asked_about_and_a_yes_counts() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let settings = json!({"path": ".vscode/settings.json", "content": "{}\n", "create_parents": true});
    let turns = [
        call("edit_file", &json!({"path": "a.txt", "old_string": "one", "new_string": "two"})),
        call("write_file", &json!({"path": "vertebra.toml", "content": "x"})),
        json!({"expect": "stays closed", "call": {"tool": "write_file", "args": settings}}),
        say("All done."),
    ];
    let mut person = place.sits("run", &turns, &["set it up"]);
    person.is_asked();
    let seen = person.sees();
    assert!(seen.contains("settings.json") && seen.matches("┌ ").count() == 1, "{seen}");
    assert!(!seen.contains("always"), "no rule would allow it: {seen}");
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    assert_eq!(place.read(".vscode/settings.json"), "{}\n");
    assert_eq!((place.read("a.txt").as_str(), place.path("vertebra.toml").exists()), ("one\n", false));
}
