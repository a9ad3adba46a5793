//! A server whose policy was lost, before it started or while it runs, or whose settings are broken: as in `vertebra run`, what
//! was refused is refused, and other changes are asked about.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use tonic::transport::{Channel, Endpoint};
use vertebra_server::proto::{
    AnswerApprovalRequest, Approval, CreateSessionRequest, ListApprovalsRequest, PromptRequest,
    answer_approval_request::Decision, approval_event::Event, approvals_client::ApprovalsClient,
    sessions_client::SessionsClient,
};

use super::{
    Machine, bash,
    lost::{trusted, ways},
    say,
};

/// A server of the program, which ends with this.
struct Server {
    child: Child,
    address: String,
    log: std::path::PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(machine: &Machine, turns: &[Value]) -> Self {
        let script: Vec<String> = turns.iter().map(ToString::to_string).collect();
        machine.write("script.jsonl", &script.join("\n"));
        let model = format!("--model=script:{}", machine.path("script.jsonl").display());
        let address = format!("unix://{}", machine.path("v.sock").display());
        let log = machine.path("log");
        let mut command = machine.command(&["serve", "--listen", &address, "--mode=bypass", &model]);
        command.stderr(fs::File::create(&log).expect("a log"));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        assert!(line.starts_with("listening on"), "{line}{}", fs::read_to_string(&log).unwrap_or_default());
        Self { child, address, log }
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// What a client of a server saw in a run.
#[derive(Default)]
struct Seen {
    events: String,
    asked: Vec<Approval>,
}

impl Seen {
    fn asked_about(&self, command: &str) -> Vec<&str> {
        let about = |asked: &&Approval| asked.args_json.contains(command);
        self.asked.iter().filter(about).map(|asked| asked.reason.as_str()).collect()
    }
}

/// A client with one session, which refuses whatever it is asked.
struct Client {
    runtime: tokio::runtime::Runtime,
    channel: Channel,
    session: String,
}

impl Client {
    fn of(server: &Server) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (channel, session) = runtime.block_on(async {
            let endpoint = Endpoint::from_shared(server.address.clone()).expect("an address");
            let channel = endpoint.connect().await.expect("a connection");
            let session = SessionsClient::new(channel.clone()).create(CreateSessionRequest::default()).await;
            (channel, session.expect("a session").into_inner().id)
        });
        Self { runtime, channel, session }
    }

    fn prompts(&self) -> Seen {
        self.runtime.block_on(async {
            let mut approvals = ApprovalsClient::new(self.channel.clone());
            let mut questions =
                approvals.watch(ListApprovalsRequest::default()).await.expect("it watches").into_inner();
            let go = PromptRequest { session_id: self.session.clone(), text: "go".to_owned() };
            let mut events = SessionsClient::new(self.channel.clone()).prompt(go).await.expect("a run").into_inner();
            let mut seen = Seen::default();
            loop {
                tokio::select! {
                    event = events.message() => match event.expect("an event") {
                        Some(event) => seen.events += &event.json,
                        None => return seen,
                    },
                    question = questions.message() => {
                        if let Some(Event::Asked(asked)) = question.expect("news").and_then(|news| news.event) {
                            let decision = Some(Decision::DenyReason("not now".to_owned()));
                            let (session_id, call_id) = (asked.session_id.clone(), asked.call_id.clone());
                            let answer = AnswerApprovalRequest { session_id, call_id, decision };
                            approvals.answer(answer).await.expect("it is taken");
                            seen.asked.push(asked);
                        }
                    }
                }
            }
        })
    }
}

fn made(machine: &Machine, name: &str) -> bool {
    ["project", "moved", "other"].iter().any(|folder| machine.path(folder).join(name).exists())
}

#[test]
fn a_server_asks_about_every_change_after_its_policy_was_lost() {
    let read = json!({ "call": { "tool": "read_file", "args": { "path": "there.txt" } } });
    for (way, is_readable, lose) in ways() {
        let machine = trusted();
        lose(&machine);
        machine.write("project/there.txt", "can be read");
        let server = Server::start(&machine, &[bash("touch made"), bash("touch refused"), read.clone(), say("done")]);
        let seen = Client::of(&server).prompts();
        assert!(!made(&machine, "made") && !made(&machine, "refused"), "{way}: {}", seen.events);
        assert!(seen.events.contains("can be read"), "{way}: reading goes on: {}", seen.events);
        let reasons = seen.asked_about("touch made");
        assert!(matches!(reasons[..], [why] if why.contains("vertebra trust")), "{way}: {reasons:?}");
        let expected = usize::from(!is_readable);
        assert_eq!(seen.asked_about("touch refused").len(), expected, "{way}: it is denied: {}", seen.events);
        assert!(server.log().contains("vertebra trust"), "{way}: {}", server.log());
    }
}

#[test]
fn a_server_asks_about_every_change_once_its_policy_is_lost() {
    for (way, _, lose) in ways() {
        let machine = trusted();
        let turns = [bash("touch before"), say("one"), bash("touch made"), bash("touch refused"), say("two")];
        let server = Server::start(&machine, &turns);
        let client = Client::of(&server);
        let seen = client.prompts();
        assert!(machine.path("project/before").exists() && seen.asked.is_empty(), "{way}: {}", seen.events);
        lose(&machine);
        // A file that became empty a moment ago may be one that somebody is about to write.
        if let Ok(file) = fs::File::options().write(true).open(machine.path("project/vertebra.toml")) {
            file.set_modified(SystemTime::now() - Duration::from_secs(9)).expect("ours");
        }
        let seen = client.prompts();
        assert!(!made(&machine, "made") && !made(&machine, "refused"), "{way}: {}", seen.events);
        assert_eq!(seen.asked_about("touch made").len(), 1, "{way}: {}", seen.events);
        assert!(seen.asked_about("touch refused").is_empty(), "{way}: it is denied: {}", seen.events);
    }
}

#[test]
fn a_server_asks_about_every_change_while_its_settings_are_broken() {
    let rules = "[permissions]\ndeny = [\"Bash(touch refused*)\"]\nallow = [\"Bash(touch *)\"]\n";
    let broken = format!("{rules}dney = []\n");
    for when in ["before", "while"] {
        let machine = Machine::new();
        machine.user_settings(if when == "before" { &broken } else { rules });
        let turns =
            [say("one"), bash("touch made"), bash("touch refused"), say("two"), bash("touch after"), say("three")];
        let server = Server::start(&machine, &turns);
        let client = Client::of(&server);
        client.prompts();
        machine.user_settings(&broken);
        let seen = client.prompts();
        assert!(!made(&machine, "made") && !made(&machine, "refused"), "{when}: {}", seen.events);
        let reasons = seen.asked_about("touch made");
        assert!(matches!(reasons[..], [why] if why.contains("line 4") && why.contains("dney")), "{when}: {reasons:?}");
        assert!(seen.asked_about("touch refused").is_empty(), "{when}: it is denied: {}", seen.events);
        if when == "before" {
            assert!(server.log().contains("dney"), "{}", server.log());
        }
        machine.user_settings(rules);
        let seen = client.prompts();
        assert!(made(&machine, "after") && seen.asked.is_empty(), "{when}: fixed settings count: {}", seen.events);
    }
}
