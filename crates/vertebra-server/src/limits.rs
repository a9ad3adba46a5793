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
    /// Events that wait for the answers of one client.
    pub in_flight: usize,
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

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 4096,
            sessions_of_one: 2048,
            clients: 256,
            hooks: 256,
            in_flight: 4096,
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
