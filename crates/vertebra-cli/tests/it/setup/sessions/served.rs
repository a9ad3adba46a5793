//! A server is told to go down in the middle of a run, and another process finishes it.

use std::{
    io::{BufRead as _, BufReader, Read},
    process::Stdio,
    thread,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tonic::transport::Endpoint;
use vertebra_server::proto::{CreateSessionRequest, PromptRequest, sessions_client::SessionsClient};

use super::{Gate, Machine, say};

const BYPASS: &str = "--mode=bypass";

/// Runs a prompt in a session of its own, and answers with the last that is told of it.
fn prompt(address: String) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let channel = Endpoint::from_shared(address).expect("an address").connect().await.expect("a connection");
        let mut sessions = SessionsClient::new(channel);
        let session = sessions.create(CreateSessionRequest::default()).await.expect("a session").into_inner();
        let go = PromptRequest { session_id: session.id, text: "go".to_owned() };
        let mut events = sessions.prompt(go).await.expect("a run").into_inner();
        let mut last = Value::Null;
        while let Some(event) = events.message().await.expect("an event") {
            last = serde_json::from_str(&event.json).expect("JSON");
        }
        last
    })
}

/// Waits until a process says this.
fn says(lines: &mut BufReader<impl Read>, words: &str) {
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(lines.read_line(&mut line).expect("a line") > 0, "it never said `{words}`");
    }
}

#[test]
fn a_run_that_is_under_way_when_a_server_is_terminated_is_finished_by_another_process() {
    let machine = Machine::new();
    let gate = machine.gate();
    let address = format!("unix://{}", machine.path("v.sock").display());
    let model = machine.model(&[Gate::command(), say("never")]);
    let mut command = machine.command(&["serve", "--listen", &address, BYPASS, &model]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut out = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut err = BufReader::new(server.stderr.take().expect("a pipe"));
    says(&mut out, "listening on");
    let client = thread::spawn(move || prompt(address));
    gate.wait();
    kill_process(Pid::from_child(&server), Signal::TERM).expect("a process");
    says(&mut err, "shutting down");
    // What has begun ends, and nothing more begins.
    gate.open();
    assert!(server.wait().expect("an end").success());
    let last = client.join().expect("the run came to rest");
    assert_eq!((&last["event"], &last["report"]["status"]), (&json!("ended"), &json!("suspended")), "{last}");
    assert_eq!(machine.sessions()[0]["status"], "suspended");

    let told = machine.on(&[say("All is done.")], &["sessions", "resume", "last", BYPASS]);
    assert_eq!((told.code, &*told.out), (0, "All is done.\n"), "{}", told.err);
    assert_eq!(machine.read("project/effects"), "once\n");
    let shown = machine.json(&["sessions", "show", "last"]);
    assert_eq!(shown["runs"][0]["steps"][0]["calls"][0]["state"], "ended");
    assert_eq!((&shown["session"]["status"], &shown["runs"][0]["status"]), (&json!("ended"), &json!("completed")));
}
