//! A server in a folder of its own, and a client of it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tonic::{
    Status, Streaming,
    transport::{Channel, Endpoint},
};
use vertebra::{
    Agent, AgentBuilder,
    testing::{RecordingTool, Script},
};
use vertebra_journal::{Options, Store};
use vertebra_server::{
    Address, Agents, BoxFuture, Limits, Listener, Made, Questions, Refusal, Server, Wanted,
    door::Door,
    proto::{
        Answer, ClientFrame, CreateSessionRequest, Event, Hello, Hook, ListHooksRequest, Matcher, PromptRequest,
        Register, Role, Scope, ServerFrame, SessionEvent, answer, approvals_client::ApprovalsClient, client_frame,
        hooks_client::HooksClient, records_client::RecordsClient, server_frame, sessions_client::SessionsClient,
    },
};

/// A server that runs, and what its agents did.
pub(crate) struct World {
    tool: RecordingTool,
    socket: PathBuf,
    folder: TempDir,
}

struct Scripted {
    script: Box<dyn Fn() -> Script + Send + Sync>,
    more: fn(&mut AgentBuilder),
    tool: RecordingTool,
    journal: Store,
}

impl Agents for Scripted {
    fn make<'a>(&'a self, wanted: &'a Wanted, questions: Questions) -> BoxFuture<'a, Result<Made, Refusal>> {
        Box::pin(async move {
            if let Some(folder) = &wanted.folder {
                return Err(Refusal::Wrong(format!("there is no folder `{folder}`")));
            }
            let mut builder = Agent::builder((self.script)());
            builder.tool(self.tool.clone()).approver(questions).journal(self.journal.clone());
            (self.more)(&mut builder);
            let agent = builder.build().map_err(|error| Refusal::Failed(error.to_string()))?;
            Ok(Made { agent, besides: Box::new(()) })
        })
    }
}

/// Limits with times for tests that wait for them.
pub(crate) fn limits() -> Limits {
    Limits { grace: Duration::from_millis(300), ..Limits::default() }
}

impl World {
    pub(crate) async fn new(script: impl Fn() -> Script + Send + Sync + 'static) -> Self {
        Self::with(script, |_| {}, limits()).await
    }

    pub(crate) async fn with(
        script: impl Fn() -> Script + Send + Sync + 'static,
        more: fn(&mut AgentBuilder),
        limits: Limits,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("v.sock");
        let journal = Store::open(folder.path().join("journal.db"), &Options::default()).expect("a journal");
        let tool = RecordingTool::new("bash");
        let agents = Scripted { script: Box::new(script), more, tool: tool.clone(), journal: journal.clone() };
        let server = Server::new(agents, Some(journal.clone()), limits);
        let listener = Listener::bind(&Address::Unix(socket.clone())).await.expect("a socket");
        tokio::spawn(async move { server.serve(listener, Door::SameUser).await });
        Self { tool, socket, folder }
    }

    async fn channel(&self) -> Channel {
        let to = format!("unix://{}", self.socket.display());
        Endpoint::from_shared(to).expect("an address").connect().await.expect("a connection")
    }

    pub(crate) async fn sessions(&self) -> SessionsClient<Channel> {
        SessionsClient::new(self.channel().await)
    }

    pub(crate) async fn approvals(&self) -> ApprovalsClient<Channel> {
        ApprovalsClient::new(self.channel().await)
    }

    pub(crate) async fn records(&self) -> RecordsClient<Channel> {
        RecordsClient::new(self.channel().await)
    }

    pub(crate) async fn hooks(&self) -> HooksClient<Channel> {
        HooksClient::new(self.channel().await)
    }

    /// An agent that shares the journal and nothing else, as one in another process would.
    pub(crate) fn elsewhere(&self) -> Agent {
        let journal = Store::open(self.folder.path().join("journal.db"), &Options::default()).expect("a journal");
        Agent::builder(Script::new()).journal(journal).build().expect("an agent")
    }

    /// Waits until every client with hooks is gone for longer than the grace time.
    pub(crate) async fn hears_of_no_hooks(&self) {
        let mut hooks = self.hooks().await;
        let none = async {
            while !hooks.list(ListHooksRequest::default()).await.expect("a list").into_inner().hooks.is_empty() {}
        };
        tokio::time::timeout(Duration::from_secs(5), none).await.expect("they are gone after the grace time");
    }

    /// The arguments that the tool was used with.
    pub(crate) fn calls(&self) -> Vec<Value> {
        self.tool.calls().into_iter().map(|args| serde_json::to_value(args).expect("arguments are JSON")).collect()
    }

    /// Opens a session.
    pub(crate) async fn open(&self) -> String {
        let opened = self.sessions().await.create(CreateSessionRequest::default()).await;
        opened.expect("a session").into_inner().id
    }

    /// Runs a prompt to its end.
    pub(crate) async fn run(&self, session_id: &str) -> Vec<Value> {
        let request = PromptRequest { session_id: session_id.to_owned(), text: "go".to_owned() };
        let events = self.sessions().await.prompt(request).await.expect("a run").into_inner();
        read(events).await
    }

    /// A client with this name.
    pub(crate) async fn client(&self, client_id: &str) -> Client {
        Client::attach(self.hooks().await, client_id).await.expect("the server lets it in")
    }
}

/// All events, as JSON.
pub(crate) async fn read(mut events: Streaming<SessionEvent>) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some(event) = events.message().await.expect("an event") {
        all.push(serde_json::from_str(&event.json).expect("JSON"));
    }
    all
}

/// The report that a run ended with.
pub(crate) fn report(events: &[Value]) -> &Value {
    let ended = events.iter().rev().find(|event| event["event"] == "ended");
    &ended.expect("the run ended")["report"]
}

/// The results of tool calls, as the model reads them.
pub(crate) fn results(events: &[Value]) -> Vec<String> {
    let ended = events.iter().filter(|event| event["event"] == "tool_ended");
    ended.map(|event| event["result"]["output"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A client with hooks.
pub(crate) struct Client {
    out: mpsc::Sender<ClientFrame>,
    frames: Streaming<ServerFrame>,
    pub(crate) resumed: bool,
    requests: u64,
}

impl Client {
    pub(crate) async fn attach(mut hooks: HooksClient<Channel>, client_id: &str) -> Result<Self, Status> {
        let (out, frames) = mpsc::channel(64);
        let hello = Hello { client_id: client_id.to_owned(), agent: "test".to_owned() };
        let hello = ClientFrame { frame: Some(client_frame::Frame::Hello(hello)) };
        out.try_send(hello).expect("there is room");
        let frames = futures_util::stream::unfold(frames, async |mut frames| Some((frames.recv().await?, frames)));
        let frames = hooks.attach(frames).await?.into_inner();
        let mut client = Self { out, frames, resumed: false, requests: 0 };
        match client.frame().await? {
            server_frame::Frame::Welcome(welcome) => client.resumed = welcome.resumed,
            other => panic!("the first frame is a welcome, not {other:?}"),
        }
        Ok(client)
    }

    pub(crate) async fn frame(&mut self) -> Result<server_frame::Frame, Status> {
        let frame = self.frames.message().await?;
        frame.and_then(|frame| frame.frame).ok_or_else(|| Status::cancelled("the stream has ended"))
    }

    pub(crate) async fn send(&self, frame: client_frame::Frame) {
        self.out.send(ClientFrame { frame: Some(frame) }).await.expect("the server reads");
    }

    /// Registers a hook; what is wrong with it comes back.
    pub(crate) async fn register(&mut self, hook: Hook) -> Result<(), String> {
        self.register_for(hook, None).await
    }

    pub(crate) async fn register_for(&mut self, hook: Hook, scope: Option<Scope>) -> Result<(), String> {
        self.requests += 1;
        let request = self.requests;
        self.send(client_frame::Frame::Register(Register { request, hook: Some(hook), scope })).await;
        loop {
            if let server_frame::Frame::Registered(registered) = self.frame().await.expect("an answer") {
                assert_eq!(registered.request, request);
                return if registered.error.is_empty() { Ok(()) } else { Err(registered.error) };
            }
        }
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Event {
        loop {
            if let server_frame::Frame::Event(event) = self.frame().await.expect("an event") {
                return event;
            }
        }
    }

    /// Answers an event.
    pub(crate) async fn answer(&self, id: u64, answer: &Value) {
        let answer = Answer { id, answer: Some(answer::Answer::Json(answer.to_string())) };
        self.send(client_frame::Frame::Answer(answer)).await;
    }

    /// Answers every event with what this says of it, as long as there are any.
    pub(crate) fn answering(mut self, say: impl Fn(&Event, Value) -> Value + Send + 'static) -> Arc<()> {
        let here = Arc::new(());
        let there = Arc::downgrade(&here);
        tokio::spawn(async move {
            while let Ok(frame) = self.frame().await {
                if there.upgrade().is_none() {
                    return;
                }
                if let server_frame::Frame::Event(event) = frame {
                    let seen = serde_json::from_str(&event.json).expect("JSON");
                    self.answer(event.id, &say(&event, seen)).await;
                }
            }
        });
        here
    }
}

/// A hook before tools.
pub(crate) fn before_tools(name: &str, role: Role) -> Hook {
    Hook { name: name.to_owned(), point: "BeforeToolUse".to_owned(), role: role.into(), ..Hook::default() }
}

/// The same for commands that match.
pub(crate) fn on_command(name: &str, role: Role, command: &str) -> Hook {
    let matcher = Matcher { command: vec![command.to_owned()], ..Matcher::default() };
    Hook { r#match: Some(matcher), ..before_tools(name, role) }
}

/// A model that asks for these commands, then is done.
pub(crate) fn commands(commands: &[&str]) -> Script {
    let script = commands
        .iter()
        .fold(Script::new(), |script, command| script.call("bash", &json!({ "command": command }).to_string()));
    script.say("done").may_end_early()
}
