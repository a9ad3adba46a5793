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
    sync::{oneshot, watch},
    time::{Instant, sleep_until},
};
use tonic::Status;
use vertebra_bridge::settings::Stand;

use super::{
    ClientKey, Governed,
    outbox::{Outbox, Unread},
};
use crate::{
    door::Principal,
    limits::Limits,
    metrics::Exchanges,
    proto::{Event, Withdrawn, server_frame::Frame},
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
    max_event: usize,
    max_bytes: usize,
    max_hooks: usize,
    pub(super) exchanges: Exchanges,
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
    out: Option<Outbox>,
    /// How often somebody came.
    visits: u64,
    waiting: HashMap<u64, Waiting>,
    /// Bytes of the events that wait.
    bytes: usize,
    hooks: Vec<Hooked>,
}

/// An event that waits for its answer.
struct Waiting {
    event: Event,
    answer: oneshot::Sender<Result<String, String>>,
}

impl State {
    fn wait(&mut self, waiting: Waiting) {
        self.bytes += waiting.event.json.len();
        self.waiting.insert(waiting.event.id, waiting);
    }

    fn take(&mut self, id: u64) -> Option<Waiting> {
        let taken = self.waiting.remove(&id)?;
        self.bytes -= taken.event.json.len();
        Some(taken)
    }
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
    pub(super) fn new(key: ClientKey, principal: Principal, limits: &Limits, exchanges: Exchanges) -> Arc<Self> {
        Arc::new(Self {
            key,
            principal,
            state: Mutex::default(),
            presence: watch::Sender::new(Presence::There),
            next_event: AtomicU64::new(1),
            grace: limits.grace,
            max_in_flight: limits.in_flight,
            max_event: limits.message_bytes,
            max_bytes: limits.event_bytes,
            max_hooks: limits.hooks,
            exchanges,
        })
    }

    pub(super) fn link(self: &Arc<Self>, out: Outbox) -> Link {
        let mut state = self.lock();
        if let Some(before) = state.out.replace(out) {
            // It must not come back: it would only take the name away again.
            before.end(Status::already_exists("another client came under this name"));
        }
        state.visits += 1;
        self.presence.send_replace(Presence::There);
        Link { client: self.clone(), visit: state.visits }
    }

    /// Its hooks, in the order they were registered.
    pub(crate) fn hooks(&self) -> Vec<Hooked> {
        self.lock().hooks.clone()
    }

    /// Whether there is room for a hook of this name.
    pub(crate) fn has_room(&self, name: &str) -> Result<(), String> {
        let state = self.lock();
        let is_known = state.hooks.iter().any(|hooked| hooked.stand.name == name);
        if is_known || state.hooks.len() < self.max_hooks { Ok(()) } else { Err(self.no_room()) }
    }

    fn no_room(&self) -> String {
        format!("a client has at most {} hooks", self.max_hooks)
    }

    /// Puts a list of hooks in place of the one there is, if it is not too long. Whoever waits for the answer of one that
    /// is not in it is told.
    pub(super) fn set_hooks(&self, hooks: Vec<Hooked>) -> Result<(), String> {
        if hooks.len() > self.max_hooks {
            return Err(self.no_room());
        }
        let mut state = self.lock();
        let gone = |waiting: &&Waiting| hooks.iter().all(|hooked| hooked.stand.name != waiting.event.hook);
        let gone: Vec<u64> = state.waiting.values().filter(gone).map(|waiting| waiting.event.id).collect();
        state.hooks = hooks;
        for id in gone {
            if let Some(waiting) = state.take(id) {
                let _ = waiting.answer.send(Err("the hook was unregistered".to_owned()));
            }
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
            return Err(format!("the client already has {} unanswered events", self.max_in_flight));
        }
        if event.json.len() > self.max_event {
            return Err(format!("the event is larger than {} bytes", self.max_event));
        }
        if state.bytes + event.json.len() > self.max_bytes {
            return Err(format!("the unanswered events of the client already take {} bytes", state.bytes));
        }
        if let Some(out) = &state.out {
            out.offer(Frame::Event(event.clone()))
                .map_err(|Unread| "the client does not read its events".to_owned())?;
        }
        state.wait(Waiting { event, answer: sender });
        Ok(Ticket { client: self.clone(), id, answer })
    }

    /// Puts the events again that wait for a hook, after its client came back.
    pub(crate) fn put_again(&self, name: &str) {
        let state = self.lock();
        let Some(out) = &state.out else { return };
        for waiting in state.waiting.values().filter(|waiting| waiting.event.hook == name) {
            // One that finds no room is not answered, and fails in time.
            let _ = out.offer(Frame::Event(waiting.event.clone()));
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

    /// Whether a client that was lost just now stays away for longer than the grace time.
    pub(crate) async fn stays_away(&self) -> bool {
        let mut presence = self.presence.subscribe();
        let now = *presence.borrow_and_update();
        match now {
            Presence::There => false,
            Presence::LostAt(when) => tokio::select! {
                () = sleep_until(when + self.grace) => true,
                _ = presence.changed() => false,
            },
        }
    }

    /// Sends something that is no event.
    pub(crate) fn tell(&self, frame: Frame) {
        if let Some(out) = &self.lock().out {
            let _ = out.offer(frame);
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

    /// Answers a request of the client, as soon as it reads.
    pub(crate) async fn reply(&self, frame: Frame) {
        if let Some(out) = self.out() {
            out.answer(frame).await;
        }
    }

    /// Says why the client is heard no more.
    pub(crate) fn end(&self, why: Status) {
        if let Some(out) = self.out() {
            out.end(why);
        }
    }

    /// What goes to this visit, and to no later one.
    fn out(&self) -> Option<Outbox> {
        let state = self.client.lock();
        state.out.clone().filter(|_| state.visits == self.visit)
    }

    /// An answer. One that nobody waits for is none.
    pub(crate) fn answer(&self, id: u64, answer: Result<String, String>) {
        let mut state = self.client.lock();
        if state.visits == self.visit
            && let Some(waiting) = state.take(id)
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
        (&mut self.answer).await.unwrap_or_else(|_| Err("the client disconnected".to_owned()))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let still_waits = self.client.lock().take(self.id).is_some();
        if still_waits {
            self.client.tell(Frame::Withdrawn(Withdrawn { id: self.id }));
        }
    }
}
