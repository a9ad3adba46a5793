//! What a server holds at most, and how long it waits.

use std::time::Duration;

/// What a server holds at most, and how long it waits. What does not fit is answered with `RESOURCE_EXHAUSTED`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Sessions that are open at once.
    pub sessions: usize,
    /// Sessions that one principal has open at once.
    pub sessions_of_one: usize,
    /// Clients with hooks.
    pub clients: usize,
    /// Hooks of one client.
    pub hooks: usize,
    /// Registrations of one principal that are refused.
    pub refused: Refused,
    /// Events that wait for the answers of one client.
    pub in_flight: usize,
    /// Commands that are under way at once, in all lanes together. What asks models is under way for long: leave room
    /// for the rest.
    pub commands: usize,
    /// How many of them are for what ends or answers something alone, so that a full server can still be told to stop.
    pub commands_reserved: usize,
    /// Commands that end or answer something, by session.
    pub control: Places,
    /// Commands that look, by principal.
    pub query: Places,
    /// Commands that try hooks, by principal.
    pub execute: Places,
    /// Runs, by session.
    pub generate: Places,
    /// Bytes of events that wait for one client: to be read, and to be answered.
    pub event_bytes: usize,
    /// Connections to one listener.
    pub connections: usize,
    /// Bytes of the headers of a request.
    pub header_bytes: u32,
    /// Bytes of a message from a client, and of an event to one.
    pub message_bytes: usize,
    /// Bytes of a prompt.
    pub prompt_bytes: usize,
    /// Bytes of a hook's answer.
    pub answer_bytes: usize,
    /// Events that a session keeps for whoever comes back.
    pub kept_events: usize,
    /// Bytes of them.
    pub kept_bytes: usize,
    /// Requests that are open on one connection at once.
    pub streams: u32,
    /// How long a connection may take until a request on it is let in, and a client with hooks to say hello.
    pub patience: Duration,
    /// How long a lost client's hooks wait for it.
    pub grace: Duration,
    /// How long runs have to come to rest when the server goes down.
    pub drain: Duration,
}

/// How many registrations may be refused. Over that, further ones are not even read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// In a row.
    pub at_once: u32,
    /// After this time, one more.
    pub every: Duration,
}

/// How many commands of a lane there are at most. Each of them belongs to somebody, who is its key: a session or a
/// principal. Keys take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    /// Under way; at least one.
    pub at_once: usize,
    /// Under way of one key; at least one.
    pub at_once_of_one: usize,
    /// Waiting.
    pub waiting: usize,
    /// Waiting of one key.
    pub waiting_of_one: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 4096,
            sessions_of_one: 2048,
            clients: 256,
            hooks: 256,
            refused: Refused { at_once: 32, every: Duration::from_secs(1) },
            in_flight: 4096,
            commands: 1280,
            commands_reserved: 64,
            control: Places { at_once: 256, at_once_of_one: 64, waiting: 4096, waiting_of_one: 256 },
            query: Places { at_once: 64, at_once_of_one: 48, waiting: 4096, waiting_of_one: 2048 },
            execute: Places { at_once: 64, at_once_of_one: 48, waiting: 4096, waiting_of_one: 2048 },
            generate: Places { at_once: 1024, at_once_of_one: 1, waiting: 4096, waiting_of_one: 16 },
            event_bytes: 64 << 20,
            connections: 1024,
            header_bytes: 16 << 10,
            message_bytes: 4 << 20,
            prompt_bytes: 1 << 20,
            answer_bytes: 1 << 20,
            kept_events: 4096,
            kept_bytes: 4 << 20,
            streams: 1024,
            patience: Duration::from_secs(10),
            grace: Duration::from_secs(10),
            drain: Duration::from_secs(20),
        }
    }
}
