//! A server goes down, and another one goes on: nothing is lost, and nothing is done twice.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    sync::{Notify, mpsc},
    task::JoinHandle,
};
use tonic::{
    Code, Streaming,
    transport::{Channel, Endpoint},
};
use vertebra::{prelude::*, testing::Script};
use vertebra_journal::{Options, Status, Store, Wanted as Rows};
use vertebra_server::{
    Address, Agents, BoxFuture, Limits, Listener, Made, Questions, Refusal, Server, Wanted,
    door::Door,
    proto::{
        AnswerApprovalRequest, ClientFrame, CreateSessionRequest, GetSessionRequest, Hello, Hook, ListApprovalsRequest,
        ListHooksRequest, PromptRequest, Register, ResumeRequest, Role, SessionEvent, SessionStatus, WhenLost,
        answer_approval_request::Decision, approval_event::Event, approvals_client::ApprovalsClient,
        client_frame::Frame as Said, hooks_client::HooksClient, sessions_client::SessionsClient,
    },
};

/// What stands outside of all servers: a tool with an effect, that takes as long as the test wants.
#[derive(Clone, Default)]
struct Outside {
    effects: Arc<AtomicUsize>,
    begun: Arc<Notify>,
    open: Arc<AtomicBool>,
    opened: Arc<Notify>,
    /// Whether somebody has to be asked first.
    asks: bool,
}

impl Outside {
    async fn work(&self) {
        self.effects.fetch_add(1, Ordering::AcqRel);
        self.begun.notify_one();
        loop {
            let opened = self.opened.notified();
            if self.open.load(Ordering::Acquire) {
                return;
            }
            opened.await;
        }
    }

    fn let_go(&self) {
        self.open.store(true, Ordering::Release);
        self.opened.notify_waiters();
    }
}

/// Agents that work once, then say that they are done.
struct Workers {
    outside: Outside,
    journal: Store,
    turns: fn() -> Script,
}

impl Agents for Workers {
    fn make<'a>(&'a self, _: &'a Wanted, questions: Questions) -> BoxFuture<'a, Result<Made, Refusal>> {
        Box::pin(async move {
            let outside = self.outside.clone();
            let mut builder = Agent::builder((self.turns)());
            builder.journal(self.journal.clone()).approver(questions);
            if outside.asks {
                builder.on(BeforeToolUse, async |_| ask("sure?"));
            }
            builder.tool(tool("work", "has an effect", async move |_: Value, _| {
                outside.work().await;
                Ok("it is done".to_owned())
            }));
            let agent = builder.build().map_err(|error| Refusal::Failed(error.to_string()))?;
            Ok(Made { agent, besides: Box::new(()) })
        })
    }
}

/// A server, as a process would have it.
struct Process {
    server: Server,
    journal: Store,
    channel: Channel,
    serving: JoinHandle<()>,
}

impl Process {
    async fn start(folder: &Path, outside: &Outside, turns: fn() -> Script, limits: Limits) -> Self {
        let journal = Store::open(folder.join("journal.db"), &Options::default()).expect("a journal");
        let agents = Workers { outside: outside.clone(), journal: journal.clone(), turns };
        let server = Server::new(agents, Some(journal.clone()), limits);
        let socket = folder.join("v.sock");
        let listener = Listener::bind(&Address::Unix(socket.clone())).await.expect("a socket");
        let running = server.clone();
        let serving = tokio::spawn(async move { running.serve(listener, Door::SameUser).await.expect("it serves") });
        let to = format!("unix://{}", socket.display());
        let channel = Endpoint::from_shared(to).expect("an address").connect().await.expect("a connection");
        Self { server, journal, channel, serving }
    }

    fn sessions(&self) -> SessionsClient<Channel> {
        SessionsClient::new(self.channel.clone())
    }

    async fn open(&self, when_lost: WhenLost) -> String {
        let request = CreateSessionRequest { when_lost: when_lost.into(), ..CreateSessionRequest::default() };
        self.sessions().create(request).await.expect("a session").into_inner().id
    }

    async fn prompt(&self, session_id: &str) -> Streaming<SessionEvent> {
        let request = PromptRequest { session_id: session_id.to_owned(), text: "go".to_owned() };
        self.sessions().prompt(request).await.expect("a run").into_inner()
    }

    async fn resume(&self, session_id: &str) -> Streaming<SessionEvent> {
        let request = ResumeRequest { session_id: session_id.to_owned() };
        self.sessions().resume(request).await.expect("it waits").into_inner()
    }

    /// Goes down, and is gone. Answers with how many runs did not come to rest.
    async fn ends(self) -> usize {
        let left = self.server.shut_down().await;
        // Gone as its process would be, socket and all.
        self.serving.abort();
        let _ = self.serving.await;
        left
    }
}

/// How a run ended.
async fn ended(mut events: Streaming<SessionEvent>) -> Value {
    let mut last = Value::Null;
    while let Some(event) = events.message().await.expect("an event") {
        last = serde_json::from_str(&event.json).expect("JSON");
    }
    assert_eq!(last["event"], "ended", "{last}");
    last["report"].clone()
}

fn works() -> Script {
    Script::new().call("work", "{}").say("all done").may_end_early()
}

fn is_done() -> Script {
    Script::new().say("all done")
}

fn world() -> (TempDir, Outside) {
    (tempfile::tempdir().expect("a folder"), Outside::default())
}

#[tokio::test]
async fn a_run_that_is_under_way_when_a_server_goes_down_is_finished_by_the_next_one() {
    let (folder, outside) = world();
    let first = Process::start(folder.path(), &outside, works, Limits::default()).await;
    let id = first.open(WhenLost::Unspecified).await;
    let events = first.prompt(&id).await;
    outside.begun.notified().await;
    let (sessions, journal, server) = (first.sessions(), first.journal.clone(), first.server.clone());
    let going = tokio::spawn(first.ends());
    // It goes down as soon as the tool has ended, which the test decides.
    while !server.is_going_down() {
        tokio::task::yield_now().await;
    }
    let refused = sessions.clone().create(CreateSessionRequest::default()).await.expect_err("it goes down");
    assert_eq!(refused.code(), Code::Unavailable);
    outside.let_go();
    let report = ended(events).await;
    assert_eq!((&report["status"], &report["stop"]["source"]), (&"suspended".into(), &"caller".into()));
    assert_eq!(going.await.ok(), Some(0));
    let rows = journal.sessions(&Rows::default()).expect("the journal");
    assert_eq!(rows.iter().map(|row| row.status).collect::<Vec<_>>(), [Status::Suspended]);

    let second = Process::start(folder.path(), &outside, is_done, Limits::default()).await;
    let report = ended(second.resume(&id).await).await;
    assert_eq!((&report["status"], &report["text"]), (&"completed".into(), &"all done".into()));
    let told = second.sessions().get(GetSessionRequest { session_id: id }).await.expect("it is here").into_inner();
    assert_eq!((told.status(), told.unfinished_run.as_str()), (SessionStatus::Idle, ""));
    assert_eq!(outside.effects.load(Ordering::Acquire), 1);
    assert_eq!(second.ends().await, 0);
}

#[tokio::test]
async fn a_question_that_waits_when_a_server_goes_down_is_answered_at_the_next_one() {
    let (folder, outside) = world();
    let outside = Outside { asks: true, ..outside };
    outside.let_go();
    let first = Process::start(folder.path(), &outside, works, Limits::default()).await;
    let id = first.open(WhenLost::Unspecified).await;
    let mut events = first.prompt(&id).await;
    while events.message().await.expect("an event").is_none_or(|event| event.kind != "asked") {}
    let of = ListApprovalsRequest { session_id: id.clone() };
    let mut news = ApprovalsClient::new(first.channel.clone()).watch(of).await.expect("news").into_inner();
    let mut heard = async || news.message().await.expect("news").and_then(|event| event.event).expect("more news");
    while !matches!(heard().await, Event::Asked(asked) if !asked.suspended) {}
    assert_eq!(first.ends().await, 0);
    let settled = heard().await;
    assert!(matches!(&settled, Event::Settled(settled) if settled.decision == "later"), "it still waits: {settled:?}");
    assert_eq!(ended(events).await["status"], "suspended");

    let second = Process::start(folder.path(), &outside, is_done, Limits::default()).await;
    let mut approvals = ApprovalsClient::new(second.channel.clone());
    let of = ListApprovalsRequest { session_id: id.clone() };
    let waiting = approvals.list(of).await.expect("a list").into_inner().approvals;
    let [asked] = &waiting[..] else { panic!("{waiting:?}") };
    assert!(asked.suspended);
    let decision = Some(Decision::ApproveDigest(asked.digest.clone()));
    let answer = AnswerApprovalRequest { session_id: id.clone(), call_id: asked.call_id.clone(), decision };
    approvals.answer(answer).await.expect("it is asked");
    assert_eq!(ended(second.resume(&id).await).await["status"], "completed");
    assert_eq!(outside.effects.load(Ordering::Acquire), 1);
}

#[tokio::test]
async fn a_session_without_a_run_is_left_and_has_not_ended() {
    let (folder, outside) = world();
    let first = Process::start(folder.path(), &outside, is_done, Limits::default()).await;
    let id = first.open(WhenLost::Unspecified).await;
    assert_eq!(ended(first.prompt(&id).await).await["status"], "completed");
    let journal = first.journal.clone();
    assert_eq!(first.ends().await, 0);
    let rows = journal.sessions(&Rows::default()).expect("the journal");
    assert_eq!(rows.iter().map(|row| row.status).collect::<Vec<_>>(), [Status::Unfinished]);
    let second = Process::start(folder.path(), &outside, is_done, Limits::default()).await;
    assert_eq!(second.resume(&id).await.message().await.expect("the end"), None, "nothing is to be done");
    assert_eq!(ended(second.prompt(&id).await).await["status"], "completed", "it is open again");
    assert_eq!(second.ends().await, 0);
    let elsewhere = Store::open(folder.path().join("journal.db"), &Options::default()).expect("a journal");
    let agent = Agent::builder(is_done()).journal(elsewhere).build().expect("an agent");
    let mut session = agent.resume(&id).await.expect("it was let go");
    assert_eq!(session.prompt("more").await.expect("a run").text, "all done");
    session.close().await;
}

#[tokio::test]
async fn a_server_does_not_wait_longer_than_it_may() {
    let (folder, outside) = world();
    let limits = Limits { drain: Duration::from_millis(100), ..Limits::default() };
    let first = Process::start(folder.path(), &outside, works, limits).await;
    let id = first.open(WhenLost::Unspecified).await;
    let _events = first.prompt(&id).await;
    outside.begun.notified().await;
    assert_eq!(first.ends().await, 1);
}

#[tokio::test]
async fn a_session_whose_client_is_lost_is_suspended_if_its_owner_wants_that() {
    for (when_lost, status) in [(WhenLost::Suspend, "suspended"), (WhenLost::GoOn, "completed")] {
        let (folder, outside) = world();
        let limits = Limits { grace: Duration::from_millis(50), ..Limits::default() };
        let first = Process::start(folder.path(), &outside, works, limits).await;
        let mut hooks = HooksClient::new(first.channel.clone());
        let frames = [
            Said::Hello(Hello { client_id: "governor".to_owned(), agent: "test".to_owned() }),
            Said::Register(Register { request: 1, hook: Some(watch()), scope: None }),
        ];
        let (say, said) = mpsc::channel(frames.len());
        for frame in frames {
            say.send(ClientFrame { frame: Some(frame) }).await.expect("there is room");
        }
        let said = futures_util::stream::unfold(said, async |mut said| Some((said.recv().await?, said)));
        let mut heard = hooks.attach(said).await.expect("the server lets it in").into_inner();
        heard.message().await.expect("a welcome");
        heard.message().await.expect("it is registered");
        let id = first.open(when_lost).await;
        let events = first.prompt(&id).await;
        outside.begun.notified().await;
        drop((say, heard));
        // It is known no more when the grace time is over.
        let known = async |hooks: &mut HooksClient<Channel>| {
            let of = ListHooksRequest { session_id: String::new() };
            hooks.list(of).await.expect("a list").into_inner().hooks.len()
        };
        while known(&mut hooks).await > 0 {}
        outside.let_go();
        assert_eq!(ended(events).await["status"], status);
        let told = first.sessions().get(GetSessionRequest { session_id: id.clone() }).await.expect("it is here");
        let is_suspended = told.into_inner().status() == SessionStatus::Suspended;
        assert_eq!(is_suspended, when_lost == WhenLost::Suspend);
        assert_eq!(first.ends().await, 0);
        if is_suspended {
            let second = Process::start(folder.path(), &outside, is_done, Limits::default()).await;
            assert_eq!(ended(second.resume(&id).await).await["status"], "completed");
        }
        assert_eq!(outside.effects.load(Ordering::Acquire), 1);
    }
}

/// A hook that governs and never says anything.
fn watch() -> Hook {
    Hook { name: "onlooker".to_owned(), point: "ExecutionEnd".to_owned(), role: Role::Watch.into(), ..Hook::default() }
}
