//! A server on a port, and clients of every kind.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};
use tonic::{
    Request, Status, Streaming,
    metadata::MetadataValue,
    service::{Interceptor, interceptor::InterceptedService},
    transport::{self, Channel, Endpoint},
};
use vertebra::{
    Agent, Attach as _, BeforeToolUse, HookOptions as _, MatchAttribute as _,
    testing::{RecordingTool, Script},
};
use vertebra_journal::{Options, Store};
use vertebra_server::{
    Address, Agents, BoxFuture, Limits, Listener, Made, Questions, Refusal, Server, Tls, Wanted,
    door::{Door, Known},
    proto::{
        Answer, ClientFrame, CreateSessionRequest, Event, Hello, Hook, PromptRequest, Register, Role, Scope,
        ServerFrame, SessionEvent, answer, approvals_client::ApprovalsClient, client_frame::Frame as Said,
        hooks_client::HooksClient, records_client::RecordsClient, server_frame::Frame, sessions_client::SessionsClient,
    },
};

/// The token of everybody who has no other.
pub(crate) const TOKEN: &str = "a-token-of-some-length";

/// A server, and what its agents did.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    pub(crate) serving: JoinHandle<Result<(), transport::Error>>,
    pub(crate) journal: Store,
    tool: RecordingTool,
    _folder: TempDir,
}

struct Scripted {
    commands: Vec<String>,
    tool: RecordingTool,
    journal: Store,
}

impl Agents for Scripted {
    fn make<'a>(&'a self, _: &'a Wanted, questions: Questions) -> BoxFuture<'a, Result<Made, Refusal>> {
        Box::pin(async move {
            let call =
                |script: Script, command: &String| script.call("bash", &json!({ "command": command }).to_string());
            let script = self.commands.iter().fold(Script::new(), call).say("done").may_end_early();
            let mut builder = Agent::builder(script);
            builder.tool(self.tool.clone()).approver(questions).journal(self.journal.clone());
            builder.guard(BeforeToolUse.command("^ask").named("careful"), async |_| vertebra::ask("may I?"));
            let agent = builder.build().map_err(|error| Refusal::Failed(error.to_string()))?;
            Ok(Made { agent, besides: Box::new(()) })
        })
    }
}

/// How long anything here may take that has a bound. What has none hangs for ever.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it takes no longer than that")
}

/// Limits that are reached sooner.
pub(crate) fn limits() -> Limits {
    Limits { patience: Duration::from_mins(1), grace: Duration::from_millis(300), ..Limits::default() }
}

impl World {
    pub(crate) async fn new(limits: Limits) -> Self {
        Self::running(&[], limits).await
    }

    /// A server whose agents run these commands, one after the other. Somebody is asked about those that begin with `ask`.
    pub(crate) async fn running(commands: &[&str], limits: Limits) -> Self {
        Self::behind(commands, limits, Door::Token(Known::one(TOKEN).into()), None).await
    }

    pub(crate) async fn behind(commands: &[&str], limits: Limits, door: Door, tls: Option<Tls>) -> Self {
        let tool = RecordingTool::new("bash");
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Store::open(folder.path().join("journal.db"), &Options::default()).expect("a journal");
        let commands = commands.iter().map(|&command| command.to_owned()).collect();
        let agents = Scripted { commands, tool: tool.clone(), journal: journal.clone() };
        let server = Server::new(agents, Some(journal.clone()), limits);
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = Listener::bind(&Address::Tcp(any)).await.expect("a port");
        let listener = tls.into_iter().fold(listener, Listener::covered);
        let Ok(Address::Tcp(address)) = listener.address() else { panic!("it is a port") };
        let serving = server.clone();
        let serving = tokio::spawn(async move { serving.serve(listener, door).await });
        Self { server, address, serving, journal, tool, _folder: folder }
    }

    /// A connection that nothing was said on.
    pub(crate) async fn channel(&self) -> Channel {
        self.endpoint().connect().await.expect("a connection")
    }

    /// One that takes little at once.
    pub(crate) async fn narrow_channel(&self) -> Channel {
        self.endpoint().initial_stream_window_size(1 << 16).connect().await.expect("a connection")
    }

    fn endpoint(&self) -> Endpoint {
        Channel::from_shared(format!("http://{}", self.address)).expect("an address")
    }

    pub(crate) async fn sessions(&self) -> SessionsClient<Guest> {
        self.sessions_of(TOKEN).await
    }

    pub(crate) async fn sessions_of(&self, token: &'static str) -> SessionsClient<Guest> {
        SessionsClient::with_interceptor(self.channel().await, Bearer(token))
    }

    pub(crate) async fn hooks(&self) -> HooksClient<Guest> {
        self.hooks_of(TOKEN).await
    }

    pub(crate) async fn hooks_of(&self, token: &'static str) -> HooksClient<Guest> {
        HooksClient::with_interceptor(self.channel().await, Bearer(token))
    }

    pub(crate) async fn approvals_of(&self, token: &'static str) -> ApprovalsClient<Guest> {
        ApprovalsClient::with_interceptor(self.channel().await, Bearer(token))
    }

    pub(crate) async fn records_of(&self, token: &'static str) -> RecordsClient<Guest> {
        RecordsClient::with_interceptor(self.channel().await, Bearer(token))
    }

    pub(crate) async fn client(&self, client_id: &str) -> Client {
        Client::attach(self.hooks().await, client_id).await.expect("it is let in")
    }

    /// The server still serves whoever behaves.
    pub(crate) async fn serves(&self) {
        soon(async { self.sessions().await.create(CreateSessionRequest::default()).await.expect("a session") }).await;
    }

    /// Runs all commands in a session of its own, and tells what the model read of each.
    pub(crate) async fn run(&self) -> Vec<String> {
        let mut sessions = self.sessions().await;
        let session_id = open(&mut sessions).await;
        results(prompt(&mut sessions, &session_id).await.expect("a run")).await
    }

    /// Runs commands in a session of its own until somebody is asked. The session, and what happens from then on.
    pub(crate) async fn asks(&self, token: &'static str) -> (String, Streaming<SessionEvent>) {
        let mut sessions = self.sessions_of(token).await;
        let session_id = open(&mut sessions).await;
        let mut events = prompt(&mut sessions, &session_id).await.expect("a run");
        while soon(events.message()).await.expect("an event").expect("it asks first").kind != "asked" {}
        (session_id, events)
    }

    /// How often the tool was used.
    pub(crate) fn calls(&self) -> usize {
        self.tool.calls().len()
    }

    /// The page with the numbers.
    pub(crate) async fn tell_metrics(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let server = self.server.clone();
        tokio::spawn(async move { server.tell_metrics(listener).await });
        address
    }
}

/// Opens a session.
pub(crate) async fn open(sessions: &mut SessionsClient<Guest>) -> String {
    soon(sessions.create(CreateSessionRequest::default())).await.expect("a session").into_inner().id
}

/// Begins a run.
pub(crate) async fn prompt(
    sessions: &mut SessionsClient<Guest>,
    session_id: &str,
) -> Result<Streaming<SessionEvent>, Status> {
    let request = PromptRequest { session_id: session_id.to_owned(), text: "go".to_owned() };
    Ok(soon(sessions.prompt(request)).await?.into_inner())
}

/// What the model read of each command, until the run has ended.
pub(crate) async fn results(mut events: Streaming<SessionEvent>) -> Vec<String> {
    let mut results = Vec::new();
    while let Some(event) = soon(events.message()).await.expect("an event") {
        let event: Value = serde_json::from_str(&event.json).expect("JSON");
        if event["event"] == "tool_ended" {
            results.push(event["result"]["output"].as_str().unwrap_or_default().to_owned());
        }
    }
    results
}

/// Waits until something is so that nobody tells of.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    soon(async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Sends a token.
#[derive(Clone, Copy)]
pub(crate) struct Bearer(pub(crate) &'static str);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let value = MetadataValue::try_from(format!("Bearer {}", self.0)).expect("a header");
        request.metadata_mut().insert("authorization", value);
        Ok(request)
    }
}

/// A connection with a token.
pub(crate) type Guest = InterceptedService<Channel, Bearer>;

/// A client with hooks.
pub(crate) struct Client {
    pub(crate) out: mpsc::Sender<ClientFrame>,
    pub(crate) frames: Streaming<ServerFrame>,
    pub(crate) principal: String,
}

impl Client {
    pub(crate) async fn attach(hooks: HooksClient<Guest>, client_id: &str) -> Result<Self, Status> {
        let hello = Hello { client_id: client_id.to_owned(), agent: "test".to_owned() };
        let mut client = Self::begin(hooks, Said::Hello(hello)).await?;
        match client.frame().await? {
            Frame::Welcome(welcome) => client.principal = welcome.principal,
            other => panic!("the first frame is a welcome, not {other:?}"),
        }
        Ok(client)
    }

    /// Says something first that need not be a hello.
    pub(crate) async fn begin(mut hooks: HooksClient<Guest>, first: Said) -> Result<Self, Status> {
        let (out, said) = mpsc::channel(64);
        out.try_send(ClientFrame { frame: Some(first) }).expect("there is room");
        let said = futures_util::stream::unfold(said, async |mut said| Some((said.recv().await?, said)));
        let frames = hooks.attach(said).await?.into_inner();
        Ok(Self { out, frames, principal: String::new() })
    }

    pub(crate) async fn frame(&mut self) -> Result<Frame, Status> {
        let frame = soon(self.frames.message()).await?;
        frame.and_then(|frame| frame.frame).ok_or_else(|| Status::cancelled("the stream has ended"))
    }

    pub(crate) async fn send(&self, frame: Said) {
        soon(self.out.send(ClientFrame { frame: Some(frame) })).await.expect("the server reads");
    }

    pub(crate) async fn register(&mut self, hook: Hook) -> Result<(), String> {
        self.register_for(hook, None).await
    }

    pub(crate) async fn register_for(&mut self, hook: Hook, scope: Option<Scope>) -> Result<(), String> {
        self.send(Said::Register(Register { request: 7, hook: Some(hook), scope })).await;
        loop {
            if let Frame::Registered(registered) = self.frame().await.expect("an answer") {
                return if registered.error.is_empty() { Ok(()) } else { Err(registered.error) };
            }
        }
    }

    pub(crate) async fn event(&mut self) -> Event {
        loop {
            if let Frame::Event(event) = self.frame().await.expect("an event") {
                return event;
            }
        }
    }

    pub(crate) async fn fail(&self, id: u64, why: &str) {
        self.send(Said::Answer(Answer { id, answer: Some(answer::Answer::Failed(why.to_owned())) })).await;
    }

    pub(crate) async fn answer(&self, id: u64, json: &str) {
        self.send(Said::Answer(Answer { id, answer: Some(answer::Answer::Json(json.to_owned())) })).await;
    }
}

/// A guard before tools.
pub(crate) fn guard(name: &str) -> Hook {
    let role = Role::Guard.into();
    Hook { name: name.to_owned(), point: "BeforeToolUse".to_owned(), role, timeout_ms: Some(200), ..Hook::default() }
}

/// The same, with all the time that a test takes.
pub(crate) fn patient_guard(name: &str) -> Hook {
    Hook { timeout_ms: Some(60_000), ..guard(name) }
}

/// The tokens of three clients: two that govern what they own, and one that governs everything.
pub(crate) const CI: &str = "the-token-of-ci-long";
pub(crate) const BOT: &str = "the-token-of-bot-long";
pub(crate) const OPS: &str = "the-token-of-ops-long";

/// A door that knows them.
pub(crate) fn three() -> Door {
    let own = |name: &str, token: &str| format!("[[client]]\nname = \"{name}\"\ntoken = \"{token}\"\n");
    let all = format!("{}{}{}governs = \"everything\"\n", own("ci", CI), own("bot", BOT), own("ops", OPS));
    Door::Token(known(&Papers::new(), &all))
}

/// Certificates, and files with them.
pub(crate) struct Papers {
    pub(crate) folder: TempDir,
    issuer: rcgen::CertifiedIssuer<'static, rcgen::KeyPair>,
}

impl Papers {
    pub(crate) fn new() -> Self {
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().expect("a key");
        let issuer = rcgen::CertifiedIssuer::self_signed(params, key).expect("a certificate");
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, issuer }
    }

    /// The certificate of who signs.
    pub(crate) fn believed(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate and its key, for a common name and other names.
    pub(crate) fn sign(&self, common: Option<&str>, others: &[&str]) -> (String, String) {
        let others = others.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut params = rcgen::CertificateParams::new(others).expect("names");
        params.distinguished_name = rcgen::DistinguishedName::new();
        if let Some(common) = common {
            params.distinguished_name.push(rcgen::DnType::CommonName, common);
        }
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("it is signed");
        (certificate.pem(), key.serialize_pem())
    }

    /// A file that only its owner can read.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        write_secret(&path, text);
        path
    }

    /// A server's own certificate, and whose it believes.
    pub(crate) fn tls(&self, believed: Option<&str>) -> Tls {
        let (certificate, key) = self.sign(None, &["localhost"]);
        let (certificate, key) = (self.file("cert.pem", &certificate), self.file("key.pem", &key));
        let believed = believed.map(|text| self.file("ca.pem", text));
        Tls::read(&certificate, &key, believed.as_deref()).expect("they fit together")
    }
}

fn write_secret(path: &Path, text: &str) {
    use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _};
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.expect("a file").write_all(text.as_bytes()).expect("it is written");
}

/// Whom a file makes known.
pub(crate) fn known(papers: &Papers, text: &str) -> Arc<Known> {
    Known::read(&papers.file("clients.toml", text)).expect("it says who is known").into()
}
