//! The server: what all services share, and how it begins and ends.

use std::{any::Any, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use tokio::{
    sync::{OnceCell, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic::{Status, service::interceptor::InterceptedService, transport};
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};
use tower::util::MapResponseLayer;
use vertebra::{Agent, BoxFuture};
use vertebra_journal::Store;

use crate::{
    Limits, Listener, Questions,
    clients::{Clients, Rates},
    door::Door,
    lanes::{Full, Lane, Lanes, Permit},
    listen::Lobby,
    metrics::Metrics,
    proto::{
        self, Draining, approvals_server::ApprovalsServer, hooks_server::HooksServer, records_server::RecordsServer,
        server_frame::Frame, sessions_server::SessionsServer,
    },
    routes::{Route, Routes},
    sessions::Table,
};

/// How often a connection is asked whether it still is one.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// How long it may take to say so.
const KEEP_ALIVE_LIMIT: Duration = Duration::from_secs(10);

/// How long whoever still reads has to hear the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How many registrations are read at once.
const REGISTERING: usize = 2;

/// What is told of as well or not: all of the server, and each service.
const SERVICES: [&str; 5] =
    ["", "vertebra.v1.Sessions", "vertebra.v1.Hooks", "vertebra.v1.Approvals", "vertebra.v1.Records"];

/// Whoever makes the agents of sessions.
pub trait Agents: Send + Sync + 'static {
    /// Makes the agent of a session. Its questions go to `questions`, and its journal is the server's.
    fn make<'a>(&'a self, wanted: &'a Wanted, questions: Questions) -> BoxFuture<'a, Result<Made, Refusal>>;
}

/// The agent of a session.
pub struct Made {
    /// The agent.
    pub agent: Agent,
    /// What has to be there as long as the agent is.
    pub besides: Box<dyn Any + Send + Sync>,
}

/// What a client wants of a session's agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The folder that is worked in; none is the server's own.
    pub folder: Option<String>,
    /// What models are told besides.
    pub system_prompt: Option<String>,
}

/// Why there is no agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// What was asked for cannot be had.
    #[error("{0}")]
    Wrong(String),
    /// Something is not as it has to be here.
    #[error("{0}")]
    Failed(String),
}

/// A server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

/// What all services share.
pub(crate) struct Inner {
    pub(crate) agents: Box<dyn Agents>,
    pub(crate) journal: Option<Store>,
    pub(crate) limits: Limits,
    pub(crate) lanes: Lanes,
    pub(crate) sessions: Table,
    pub(crate) clients: Clients,
    pub(crate) rates: Rates,
    /// Registrations are read by few threads at once, and those that answer requests are not among them.
    pub(crate) registering: Semaphore,
    pub(crate) questions: Questions,
    /// An agent that nobody gets: what it has, others have.
    sample: OnceCell<Made>,
    pub(crate) metrics: Metrics,
    health: HealthReporter,
    /// Nothing new begins.
    pub(crate) draining: CancellationToken,
    /// Nobody is listened to any more.
    closed: CancellationToken,
}

impl Server {
    /// A server of these agents. What they record, they record in this journal.
    pub fn new(agents: impl Agents, journal: Option<Store>, limits: Limits) -> Self {
        Self(Arc::new(Inner {
            agents: Box::new(agents),
            lanes: Lanes::new(&limits),
            sessions: Table::default(),
            clients: Clients::default(),
            rates: Rates::new(limits.refused),
            registering: Semaphore::new(REGISTERING),
            questions: Questions::new(journal.clone()),
            journal,
            limits,
            sample: OnceCell::new(),
            metrics: Metrics::default(),
            health: HealthReporter::new(),
            draining: CancellationToken::new(),
            closed: CancellationToken::new(),
        }))
    }

    /// Serves the clients that connect to this listener, until the server is shut down.
    ///
    /// Health checks are open to every client; all other services, reflection included, need a principal.
    pub fn serve(&self, listener: Listener, door: Door) -> BoxFuture<'_, Result<(), transport::Error>> {
        Box::pin(self.served(listener, door))
    }

    async fn served(&self, listener: Listener, door: Door) -> Result<(), transport::Error> {
        let Self(inner) = self;
        let limits = &inner.limits;
        if inner.is_open().is_ok() {
            inner.tell_health(ServingStatus::Serving).await;
        }
        // A contract that was compiled into this program can be read.
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTOR)
            .build_v1()
            .ok();
        let refusals = inner.metrics.refusals.clone();
        let mut server = transport::Server::builder()
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE_LIMIT))
            .http2_max_header_list_size(limits.header_bytes)
            .max_concurrent_streams(limits.streams)
            .layer(MapResponseLayer::new(move |answer| refusals.look(answer)));
        if let Some(tls) = listener.tls() {
            server = tls.cover(server)?;
        }
        let most = limits.message_bytes;
        let sessions = SessionsServer::new(self.clone()).max_decoding_message_size(most);
        let hooks = HooksServer::new(self.clone()).max_decoding_message_size(most);
        let approvals = ApprovalsServer::new(self.clone()).max_decoding_message_size(most);
        let records = RecordsServer::new(self.clone()).max_decoding_message_size(most);
        let mut routes = vec![
            Route::to(HealthServer::new(HealthService::from_health_reporter(inner.health.clone()))),
            Route::to(InterceptedService::new(sessions, door.clone())),
            Route::to(InterceptedService::new(hooks, door.clone())),
            Route::to(InterceptedService::new(approvals, door.clone())),
            Route::to(InterceptedService::new(records, door.clone())),
        ];
        routes.extend(reflection.map(|service| Route::to(InterceptedService::new(service, door))));
        let lobby = Lobby::new(limits.connections, limits.patience, inner.metrics.connections.clone());
        let closed = inner.closed.clone().cancelled_owned();
        let incoming = lobby.clone().incoming(listener).boxed();
        let serving = server.serve_with_incoming_shutdown(Routes::new(routes), incoming, closed);
        let last_words = async {
            inner.closed().await;
            sleep(LAST_WORDS).await;
        };
        tokio::pin!(serving);
        tokio::select! {
            done = &mut serving => return done,
            () = last_words => lobby.close(),
        }
        serving.await
    }

    /// Goes down in order: nothing new begins, runs come to rest in the journal, then nobody is listened to any more.
    /// Answers with how many runs were still under way when the time was over; those are as after a crash.
    pub async fn shut_down(&self) -> usize {
        let Self(inner) = self;
        inner.draining.cancel();
        let within_ms = u32::try_from(inner.limits.drain.as_millis()).unwrap_or(u32::MAX);
        for client in inner.clients.all() {
            client.tell(Frame::Draining(Draining { within_ms }));
        }
        inner.questions.put_off();
        inner.sessions.suspend_all();
        // Last of all, because it waits: runs are to be suspended as soon as this is called.
        inner.tell_health(ServingStatus::NotServing).await;
        let _ = timeout(inner.limits.drain, inner.sessions.at_rest()).await;
        let left = inner.sessions.running();
        let _ = timeout(inner.limits.drain, inner.sessions.leave_all()).await;
        inner.closed.cancel();
        left
    }

    /// Whether it goes down, and nothing new begins.
    pub fn is_going_down(&self) -> bool {
        self.0.draining.is_cancelled()
    }

    /// How many commands are under way in a lane.
    pub fn under_way(&self, lane: Lane) -> usize {
        self.0.lanes.under_way(lane)
    }

    /// How many commands wait for a place in a lane.
    pub fn waiting(&self, lane: Lane) -> usize {
        self.0.lanes.waiting(lane)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

impl Inner {
    async fn tell_health(&self, status: ServingStatus) {
        for service in SERVICES {
            self.health.set_service_status(service, status).await;
        }
    }

    /// Waits until nobody is listened to any more.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Waits for a place in a lane.
    pub(crate) async fn enter(&self, lane: Lane, key: &str) -> Result<Permit, Status> {
        self.lanes.enter(lane, key).await.map_err(|Full| Status::resource_exhausted("too many wait already"))
    }

    /// An agent that nobody gets: what it has, others have.
    pub(crate) async fn sample(&self) -> Result<&Agent, Refusal> {
        let wanted = Wanted::default();
        let made = self.sample.get_or_try_init(|| self.agents.make(&wanted, self.questions.clone())).await?;
        Ok(&made.agent)
    }

    /// Whether something new may begin.
    pub(crate) fn is_open(&self) -> Result<(), Status> {
        if self.draining.is_cancelled() { Err(Status::unavailable("the server is going down")) } else { Ok(()) }
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Wrong(message) => Self::invalid_argument(message),
            Refusal::Failed(message) => Self::failed_precondition(message),
        }
    }
}
