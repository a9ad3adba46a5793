//! The service for hooks that live in clients.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt as _};
use serde_json::Value;
use tokio::{runtime::Handle, task::spawn_blocking, time::timeout};
use tonic::{Request, Response, Status, Streaming};
use vertebra::{Agent, HookInfo as Info, Points, point_named};
use vertebra_bridge::{
    policy::{self, Trial},
    wire::Happened,
};

use crate::{
    Made, Server,
    clients::{Client, Governance, Link, outbox, role},
    door::{Principal, principal},
    lanes::Lane,
    metrics::plainly,
    proto::{
        ClientFrame, FireRequest, FireResponse, Hello, HookInfo, ListHooksRequest, ListHooksResponse, Register,
        Registered, ServerFrame, Unregister, Unregistered, Welcome, answer::Answer, client_frame::Frame as Said,
        hooks_server::Hooks, server_frame::Frame,
    },
    server::Inner,
};

/// How long the name of a client may be.
const LONGEST_NAME: usize = 200;

/// Frames that wait to be sent besides the events in flight.
const SPARE: usize = 64;

type Frames = Pin<Box<dyn Stream<Item = Result<ServerFrame, Status>> + Send>>;

#[tonic::async_trait]
impl Hooks for Server {
    type AttachStream = Frames;

    async fn attach(&self, request: Request<Streaming<ClientFrame>>) -> Result<Response<Frames>, Status> {
        let principal = principal(&request)?;
        let mut said = request.into_inner();
        let inner = self.inner();
        inner.is_open()?;
        let hello = hello(&mut said, inner.limits.patience).await?;
        // It may have taken its time.
        inner.is_open()?;
        let limits = &inner.limits;
        let (out, frames) = outbox(limits.in_flight + SPARE, limits.event_bytes);
        let name = principal.name.to_string();
        let (client, link, resumed) = inner.clients.attach(principal, &hello.client_id, out, limits)?;
        let number = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        client.tell(Frame::Welcome(Welcome {
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            principal: name,
            grace_ms: u32::try_from(limits.grace.as_millis()).unwrap_or(u32::MAX),
            max_in_flight: number(limits.in_flight),
            max_answer_bytes: number(limits.answer_bytes),
            resumed,
        }));
        let this = self.clone();
        tokio::spawn(async move { this.hear(link, said).await });
        Ok(Response::new(frames.boxed()))
    }

    async fn fire(&self, request: Request<FireRequest>) -> Result<Response<FireResponse>, Status> {
        let principal = principal(&request)?;
        let FireRequest { event_json, session_id } = request.into_inner();
        let _place = self.inner().enter(Lane::Execute, &principal.name).await?;
        let this = self.clone();
        // An event may be large and its matchers many: the threads that answer others do not wait for that.
        let tried =
            aside(move || Handle::current().block_on(this.inner().try_event(&event_json, &session_id, &principal)));
        tried.await?.map(Response::new)
    }

    async fn list(&self, request: Request<ListHooksRequest>) -> Result<Response<ListHooksResponse>, Status> {
        let principal = principal(&request)?;
        let id = request.into_inner().session_id;
        let inner = self.inner();
        let _place = inner.enter(Lane::Query, &principal.name).await?;
        let hooks = if id.is_empty() {
            listed(&own(inner, &principal).await?)
        } else {
            listed(&inner.sessions.find(&id, &principal)?.governance)
        };
        Ok(Response::new(ListHooksResponse { hooks }))
    }
}

impl Server {
    /// Hears a client out. When it is gone for longer than the grace time, it is lost.
    async fn hear(&self, link: Link, mut said: Streaming<ClientFrame>) {
        let client = link.client().clone();
        loop {
            match said.message().await {
                Ok(Some(_)) if !link.is_latest() => return,
                Ok(Some(frame)) => {
                    let registers = match &frame.frame {
                        Some(Said::Register(register)) => register.hook.as_ref().map(|hook| hook.name.clone()),
                        _ => None,
                    };
                    if let Some(reply) = self.inner().take(&link, frame).await {
                        link.reply(reply).await;
                    }
                    // What waits for a hook is put again once its client knows that it stands.
                    if let Some(name) = registers {
                        client.put_again(&name);
                    }
                }
                Ok(None) => break,
                Err(status) => {
                    link.end(plainly(status));
                    break;
                }
            }
        }
        drop(link);
        if client.stays_away().await && self.inner().clients.forget(&client) {
            self.inner().lose(&client);
        }
    }
}

impl Inner {
    /// Does what a client says, and answers where an answer is waited for.
    async fn take(&self, link: &Link, frame: ClientFrame) -> Option<Frame> {
        let client = link.client();
        let word = |done: Result<(), String>| done.err().unwrap_or_default();
        match frame.frame {
            // It has said so already.
            Some(Said::Hello(_)) | None => None,
            Some(Said::Register(register)) => {
                let request = register.request;
                let error = word(self.register(client, register).await);
                Some(Frame::Registered(Registered { request, error }))
            }
            Some(Said::Unregister(Unregister { request, name })) => {
                let (client, lives) = (client.clone(), self.sessions.all());
                let error = word(self.change_hooks(move || client.unregister(&name, &lives)).await);
                Some(Frame::Unregistered(Unregistered { request, error }))
            }
            Some(Said::Answer(answer)) => {
                let said = match answer.answer {
                    Some(Answer::Json(said) | Answer::Failed(said)) if said.len() > self.limits.answer_bytes => {
                        Err(format!("the answer of the client is larger than {} bytes", self.limits.answer_bytes))
                    }
                    Some(Answer::Json(json)) => Ok(json),
                    Some(Answer::Failed(message)) => Err(message),
                    None => Ok(String::new()),
                };
                link.answer(answer.id, said);
                None
            }
        }
    }

    /// Registers a hook of a client.
    async fn register(&self, client: &Arc<Client>, register: Register) -> Result<(), String> {
        let principal = client.principal.name.clone();
        self.rates.admit(&principal)?;
        let hook = register.hook.as_ref();
        client.has_room(hook.map_or("", |hook| &hook.name))?;
        // What stands in sessions to come is known from one that nobody opens.
        let names_others = hook.is_some_and(|hook| !hook.before.is_empty() || !hook.after.is_empty());
        let is_own = hook.is_some_and(|hook| point_named(&hook.point).is_none());
        let sample = if names_others || is_own { self.sample().await.ok().cloned() } else { None };
        let (client, lives) = (client.clone(), self.sessions.all());
        let points = points_of(sample.as_ref().into_iter().chain(lives.iter().map(|live| &live.governance.agent)));
        let registered = self
            .change_hooks(move || {
                let mut others: Vec<&vertebra::Hooks> =
                    lives.iter().map(|live| live.governance.agent.hooks()).collect();
                others.extend(sample.as_ref().map(Agent::hooks));
                client.register(register, &lives, &others, &points)
            })
            .await;
        if registered.is_err() {
            self.rates.refused(&principal);
        }
        registered
    }

    /// Changes the hooks of a client. Patterns are compiled for that, in every session that is open.
    async fn change_hooks(&self, change: impl FnOnce() -> Result<(), String> + Send + 'static) -> Result<(), String> {
        let _turn = self.registering.acquire().await;
        aside(change).await.map_err(|status| status.message().to_owned())?
    }

    /// What the hooks of a session say of an event, or without a session those of the principal's clients.
    async fn try_event(&self, event: &str, session_id: &str, principal: &Principal) -> Result<FireResponse, Status> {
        let wrong = |error: String| Status::invalid_argument(format!("the event: {error}"));
        let event: Value = serde_json::from_str(event).map_err(|error| wrong(error.to_string()))?;
        let (own_governance, live);
        let agent = if session_id.is_empty() {
            own_governance = own(self, principal).await?;
            &own_governance.agent
        } else {
            live = self.sessions.find(session_id, principal)?;
            &live.governance.agent
        };
        let happened = Happened::among(agent.points(), &event).map_err(|error| wrong(error.to_string()))?;
        let Trial { judgement, record } = policy::fire(agent, &happened).await;
        Ok(FireResponse {
            judgement_json: serde_json::to_string(&judgement).unwrap_or_default(),
            record_json: serde_json::to_string(&record).unwrap_or_default(),
        })
    }

    /// A client was lost for too long.
    fn lose(&self, client: &Client) {
        for live in self.sessions.all() {
            if live.governance.is_governed_by(client) && live.about.when_lost == crate::proto::WhenLost::Suspend {
                live.suspend();
            }
        }
    }
}

/// Does work that takes its time on a thread that nobody else waits for.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Status> {
    spawn_blocking(work).await.map_err(|error| Status::internal(format!("the work was not finished: {error}")))
}

/// The first thing a client says.
async fn hello(said: &mut Streaming<ClientFrame>, patience: Duration) -> Result<Hello, Status> {
    let frame = timeout(patience, said.message()).await;
    let frame = frame.map_err(|_| Status::deadline_exceeded("the first frame is `hello`, and none came"))??;
    match frame.and_then(|frame| frame.frame) {
        Some(Said::Hello(hello)) if hello.client_id.is_empty() || hello.client_id.len() > LONGEST_NAME => {
            Err(Status::invalid_argument(format!("`client_id` has 1 to {LONGEST_NAME} bytes")))
        }
        Some(Said::Hello(hello)) => Ok(hello),
        _ => Err(Status::invalid_argument("the first frame is `hello`")),
    }
}

/// All points that these agents know. Of two of one name, the first counts.
fn points_of<'a>(agents: impl Iterator<Item = &'a Agent>) -> Points {
    let mut points = Points::default();
    agents.for_each(|agent| points.add_missing(agent.points()));
    points
}

/// An agent with the hooks of a principal's clients and nothing else. It knows the points of sessions to come.
async fn own(inner: &Inner, principal: &Principal) -> Result<Governance, Status> {
    let points = points_of(inner.sample().await.ok().into_iter());
    let agent = policy::bare("remote hooks", &points).map_err(|error| Status::internal(error.to_string()))?;
    let governance = Governance::new(Made { agent, besides: Box::new(()) }, principal.name.clone());
    inner.clients.govern(&governance, None).map_err(|error| Status::failed_precondition(error.to_string()))?;
    Ok(governance)
}

/// The hooks of an agent in the order they run, point by point, and whose they are.
fn listed(governance: &Governance) -> Vec<HookInfo> {
    let all = governance.agent.hooks().list();
    let agent = &governance.agent;
    let in_order = agent.points().iter().flat_map(|point| point.in_order(agent.hooks()));
    let client = |name: &str| governance.whose(name).map(|key| key.client_id.to_string()).unwrap_or_default();
    let found = in_order.filter_map(|name| all.iter().find(|hook| hook.name == name));
    found.map(|hook| told(hook, client(&hook.name))).collect()
}

fn told(hook: &Info, client_id: String) -> HookInfo {
    HookInfo {
        name: hook.name.to_string(),
        point: hook.point.to_string(),
        role: role(hook.role).into(),
        priority: hook.priority,
        client_id,
        enabled: hook.enabled,
    }
}
