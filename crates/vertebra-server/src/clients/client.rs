//! One client: its connection, its hooks, and the events that wait for its answers.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};
use tonic::Status;
use vertebra_bridge::settings::Stand;

use super::{ClientKey, Governed};
use crate::{
    door::Principal,
    limits::Limits,
    proto::{Event, ServerFrame, Withdrawn, server_frame::Frame},
};

/// A client, there or lost.
pub(crate) struct Client {
    pub(crate) key: ClientKey,
    pub(crate) principal: Principal,
    state: Mutex<State>,
    presence: watch::Sender<Presence>,
    next_event: AtomicU64,
    grace: Duration,
    max_in_flight: usize,
    max_hooks: usize,
}

/// Whether a client is there.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Presence {
    There,
    LostAt(Instant),
}

#[derive(Default)]
struct State {
    /// Where frames go, while somebody is there.
    out: Option<mpsc::Sender<Result<ServerFrame, Status>>>,
    /// How often somebody came.
    visits: u64,
    waiting: HashMap<u64, Waiting>,
    hooks: Vec<Hooked>,
}

/// An event that waits for its answer.
struct Waiting {
    event: Event,
    answer: oneshot::Sender<Result<String, String>>,
}

/// A hook of a client.
#[derive(Clone)]
pub(crate) struct Hooked {
    pub(crate) stand: Arc<Stand>,
    pub(crate) governs: Governed,
}

/// A visit of a client: what it says counts as long as it is the latest.
pub(crate) struct Link {
    client: Arc<Client>,
    visit: u64,
}

impl Client {
    pub(super) fn new(key: ClientKey, principal: Principal, limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            key,
            principal,
            state: Mutex::default(),
            presence: watch::Sender::new(Presence::There),
            next_event: AtomicU64::new(1),
            grace: limits.grace,
            max_in_flight: limits.in_flight,
            max_hooks: limits.hooks,
        })
    }

    pub(super) fn link(self: &Arc<Self>, out: mpsc::Sender<Result<ServerFrame, Status>>) -> Link {
        let mut state = self.lock();
        if let Some(before) = state.out.replace(out) {
            // It must not come back: it would only take the name away again.
            let _ = before.try_send(Err(Status::already_exists("another client came under this name")));
        }
        state.visits += 1;
        self.presence.send_replace(Presence::There);
        Link { client: self.clone(), visit: state.visits }
    }

    /// Its hooks, in the order they were registered.
    pub(crate) fn hooks(&self) -> Vec<Hooked> {
        self.lock().hooks.clone()
    }

    /// Puts a list of hooks in place of the one there is, if it is not too long. Whoever waits for the answer of one that
    /// is not in it is told.
    pub(super) fn set_hooks(&self, hooks: Vec<Hooked>) -> Result<(), String> {
        if hooks.len() > self.max_hooks {
            return Err(format!("a client has at most {} hooks", self.max_hooks));
        }
        let mut state = self.lock();
        state.hooks = hooks;
        let State { hooks, waiting, .. } = &mut *state;
        let gone = waiting.extract_if(|_, waiting| hooks.iter().all(|hooked| hooked.stand.name != waiting.event.hook));
        for (_, waiting) in gone {
            let _ = waiting.answer.send(Err("the hook was unregistered".to_owned()));
        }
        Ok(())
    }

    /// Puts an event to the client. It is taken back when the ticket is dropped.
    pub(super) fn ask(self: &Arc<Self>, event: Event) -> Result<Ticket, String> {
        let (sender, answer) = oneshot::channel();
        let id = self.next_event.fetch_add(1, Ordering::Relaxed);
        let event = Event { id, ..event };
        let mut state = self.lock();
        if state.waiting.len() >= self.max_in_flight {
            return Err(format!("{} events wait for its answers already", self.max_in_flight));
        }
        if let Some(out) = &state.out {
            let frame = ServerFrame { frame: Some(Frame::Event(event.clone())) };
            if let Err(mpsc::error::TrySendError::Full(_)) = out.try_send(Ok(frame)) {
                return Err("it does not read its events".to_owned());
            }
        }
        state.waiting.insert(id, Waiting { event, answer: sender });
        Ok(Ticket { client: self.clone(), id, answer })
    }

    /// Puts the events again that wait for a hook, after its client came back.
    pub(crate) fn put_again(&self, name: &str) {
        let state = self.lock();
        let Some(out) = &state.out else { return };
        for waiting in state.waiting.values().filter(|waiting| waiting.event.hook == name) {
            let _ = out.try_send(Ok(ServerFrame { frame: Some(Frame::Event(waiting.event.clone())) }));
        }
    }

    /// Whether somebody is there.
    pub(crate) fn is_there(&self) -> bool {
        *self.presence.borrow() == Presence::There
    }

    /// Waits until the client has been lost for longer than the grace time.
    pub(crate) async fn gone(&self) {
        let mut presence = self.presence.subscribe();
        loop {
            let now = *presence.borrow_and_update();
            match now {
                Presence::There => _ = presence.changed().await,
                Presence::LostAt(when) => tokio::select! {
                    () = sleep_until(when + self.grace) => return,
                    _ = presence.changed() => {}
                },
            }
        }
    }

    /// Sends something that is no event.
    pub(crate) fn tell(&self, frame: Frame) {
        if let Some(out) = &self.lock().out {
            let _ = out.try_send(Ok(ServerFrame { frame: Some(frame) }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Whether nobody came later under the same name.
    pub(crate) fn is_latest(&self) -> bool {
        self.client.lock().visits == self.visit
    }

    /// An answer. One that nobody waits for is none.
    pub(crate) fn answer(&self, id: u64, answer: Result<String, String>) {
        let mut state = self.client.lock();
        if state.visits == self.visit
            && let Some(waiting) = state.waiting.remove(&id)
        {
            let _ = waiting.answer.send(answer);
        }
    }
}

/// The client is lost, unless it has come back already.
impl Drop for Link {
    fn drop(&mut self) {
        let mut state = self.client.lock();
        if state.visits == self.visit {
            state.out = None;
            self.client.presence.send_replace(Presence::LostAt(Instant::now()));
        }
    }
}

/// An event that was put to a client.
pub(super) struct Ticket {
    client: Arc<Client>,
    id: u64,
    answer: oneshot::Receiver<Result<String, String>>,
}

impl Ticket {
    /// Waits for the answer.
    pub(super) async fn answer(&mut self) -> Result<String, String> {
        (&mut self.answer).await.unwrap_or_else(|_| Err("nobody answers any more".to_owned()))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let still_waits = self.client.lock().waiting.remove(&self.id).is_some();
        if still_waits {
            self.client.tell(Frame::Withdrawn(Withdrawn { id: self.id }));
        }
    }
}
