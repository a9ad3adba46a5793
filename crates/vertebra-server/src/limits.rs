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
    /// Bytes of a message from a client.
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
            message_bytes: 4 << 20,
            prompt_bytes: 1 << 20,
            answer_bytes: 1 << 20,
            kept_events: 4096,
            kept_bytes: 4 << 20,
            streams: 1024,
            grace: Duration::from_secs(10),
            drain: Duration::from_secs(20),
        }
    }
}
