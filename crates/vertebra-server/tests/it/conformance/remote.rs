//! The cases as hooks of a client, over a Unix socket, against a real server.

use std::path::Path;

use futures_util::stream;
use tempfile::TempDir;
use tokio::{sync::mpsc, task::JoinHandle};
use tonic::{
    Code, Streaming,
    transport::{Channel, Endpoint},
};
use vertebra::{FailurePolicy, Role};
use vertebra_server::{
    Address, Agents, BoxFuture, Limits, Listener, Made, Questions, Refusal, Server, Wanted,
    door::Door,
    proto::{
        self, Answer, ClientFrame, FireRequest, Hello, Register, ServerFrame, answer, client_frame::Frame as Say,
        hooks_client::HooksClient, server_frame::Frame,
    },
};

use super::{
    case::{Case, Does, HookCase, Outcome, Saw, check_all},
    matching,
};

#[tokio::test]
async fn hooks_of_a_client_come_to_what_the_cases_say() {
    check_all("remote", async |case: &Case, saw: &Saw| run(case, saw).await).await;
}

/// A server for hooks alone: nobody opens a session here.
struct NoAgents;

impl Agents for NoAgents {
    fn make<'a>(&'a self, _: &'a Wanted, _: Questions) -> BoxFuture<'a, Result<Made, Refusal>> {
        Box::pin(async { Err(Refusal::Failed("there are no agents here".to_owned())) })
    }
}

async fn run(case: &Case, saw: &Saw) -> Outcome {
    let folder = TempDir::new().expect("a folder");
    let socket = folder.path().join("vertebra.sock");
    let listener = Listener::bind(&Address::Unix(socket.clone())).await.expect("a socket");
    let server = Server::new(NoAgents, None, Limits::default());
    let serving = tokio::spawn(async move { server.serve(listener, Door::SameUser).await });
    let outcome = put(case, saw, &socket).await;
    serving.abort();
    outcome
}

async fn put(case: &Case, saw: &Saw, socket: &Path) -> Outcome {
    let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display())).expect("an address");
    let mut hooks = HooksClient::new(endpoint.connect().await.expect("a connection"));
    let (say, mut heard) = attach(&mut hooks).await;
    for (request, hook) in (0..).zip(&case.hooks) {
        let register = Register { request, hook: Some(on_the_wire(hook, case)), scope: None };
        say.send(frame(Say::Register(register))).await.expect("the server hears");
        match heard.message().await.expect("a stream").and_then(|frame| frame.frame) {
            Some(Frame::Registered(registered)) if registered.error.is_empty() => {}
            Some(Frame::Registered(registered)) => return Outcome::Refused(registered.error),
            other => panic!("{}: {other:?} is no answer to a registration", case.name),
        }
    }
    let answering = answer(case, saw, say, heard);
    let fire = FireRequest { event_json: case.event.to_string(), session_id: String::new() };
    let fired = hooks.fire(fire).await;
    answering.abort();
    let json = |text: &str| serde_json::from_str(text).expect("JSON");
    match fired.map(tonic::Response::into_inner) {
        Ok(fired) => Outcome::Fired { record: json(&fired.record_json), judgement: json(&fired.judgement_json) },
        Err(status) if status.code() == Code::FailedPrecondition => Outcome::Refused(status.message().to_owned()),
        Err(status) => panic!("{}: {status}", case.name),
    }
}

async fn attach(hooks: &mut HooksClient<Channel>) -> (mpsc::Sender<ClientFrame>, Streaming<ServerFrame>) {
    let (say, said) = mpsc::channel(64);
    let hello = Hello { client_id: "conformance".to_owned(), agent: "rust".to_owned() };
    say.send(frame(Say::Hello(hello))).await.expect("the stream is there");
    let said = stream::unfold(said, async |mut said| said.recv().await.map(|frame| (frame, said)));
    let mut heard = hooks.attach(Box::pin(said)).await.expect("an attached stream").into_inner();
    let welcome = heard.message().await.expect("a stream").and_then(|frame| frame.frame);
    assert!(matches!(welcome, Some(Frame::Welcome(_))), "{welcome:?}");
    (say, heard)
}

fn frame(frame: Say) -> ClientFrame {
    ClientFrame { frame: Some(frame) }
}

/// Answers as the case says, until nobody listens any more.
fn answer(case: &Case, saw: &Saw, say: mpsc::Sender<ClientFrame>, mut heard: Streaming<ServerFrame>) -> JoinHandle<()> {
    let does: Vec<(String, Does)> = case.hooks.iter().map(|hook| (hook.name.clone(), hook.does())).collect();
    let saw = saw.clone();
    tokio::spawn(async move {
        while let Ok(Some(frame_)) = heard.message().await {
            let Some(Frame::Event(event)) = frame_.frame else { continue };
            saw.note(&event.hook, serde_json::from_str(&event.json).unwrap_or_default());
            let answer = match does.iter().find(|(name, _)| *name == event.hook).map(|(_, does)| does.clone()) {
                Some(Does::Says(text)) => answer::Answer::Json(text),
                Some(Does::Fails(why)) => answer::Answer::Failed(why),
                Some(Does::Hangs) => continue,
                None => panic!("nobody registered `{}`", event.hook),
            };
            let answer = Answer { id: event.id, answer: Some(answer) };
            if say.send(frame(Say::Answer(answer))).await.is_err() {
                return;
            }
        }
    })
}

fn on_the_wire(hook: &HookCase, case: &Case) -> proto::Hook {
    let role = match hook.role {
        Role::Guard => proto::Role::Guard,
        Role::Watch => proto::Role::Watch,
        Role::Hook | Role::Around => proto::Role::Hook,
    };
    let on_failure = match hook.on_failure {
        None => proto::FailurePolicy::Unspecified,
        Some(FailurePolicy::Open) => proto::FailurePolicy::Open,
        Some(FailurePolicy::Closed) => proto::FailurePolicy::Closed,
        Some(FailurePolicy::Ask) => proto::FailurePolicy::Ask,
    };
    proto::Hook {
        name: hook.name.clone(),
        point: hook.point(case).to_owned(),
        role: role.into(),
        r#match: hook.matcher.as_ref().map(matching::on_the_wire),
        priority: hook.priority,
        before: hook.before.clone(),
        after: hook.after.clone(),
        timeout_ms: hook.timeout_ms,
        max_retries: hook.max_retries,
        on_failure: on_failure.into(),
        shadow: hook.shadow,
        detached: hook.detached,
    }
}
