//! The same request gets the same answer.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use vertebra::{AgentState, Kind, Request, Response, Run, prelude::*};

use super::store::{Key, Room, Store};

/// Answers a request that was asked before with the answer it got: at once and for nothing. It is kept as the
/// model gave it, and passes [`AfterInference`] like any other. A clone is another handle to the same cache.
///
/// While the metadata key [`ResponseCache::BUST`] is `true`, models are asked, and what they answer takes the old answers'
/// place. An answer that a hook has asked again about is forgotten.
#[derive(Debug, Clone, Default)]
pub struct ResponseCache {
    policy: CachePolicy,
    store: Arc<Mutex<Store>>,
}

/// What is kept, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct CachePolicy {
    /// How long an answer is good.
    pub ttl: Duration,
    /// How many answers are kept.
    pub max_entries: usize,
    /// How many bytes they may take, together.
    pub max_bytes: usize,
    /// Who shares answers.
    pub scope: CacheScope,
    /// Whether an answer that asks for tools is kept.
    pub tool_calls: ToolCalls,
}

/// Who shares answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheScope {
    /// The runs of one session.
    Session,
    /// All sessions of all agents that this cache is given to.
    Shared,
}

/// Whether an answer that asks for tools is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolCalls {
    /// It is not: the same answer would use the same tools again.
    NotKept,
    /// It is.
    Kept,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            ttl: Duration::from_mins(5),
            max_entries: 256,
            max_bytes: 8 << 20,
            scope: CacheScope::Session,
            tool_calls: ToolCalls::NotKept,
        }
    }
}

impl ResponseCache {
    /// The metadata key by which a run has its models asked all the same.
    pub const BUST: &str = "response-cache/bust";

    /// An empty cache.
    pub fn new(policy: CachePolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Forgets all answers.
    pub fn clear(&self) {
        self.store().clear();
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_up(&self, run: &Run, state: &AgentState, request: &Request) -> Result<Option<Response>, HookError> {
        let key = self.key(run, request)?;
        let mut store = self.store();
        if state.metadata().get(Self::BUST) == Some(&true.into()) {
            store.remove(&key);
        }
        Ok(store.get(&key, run.clock().elapsed()))
    }

    fn keep(&self, run: &Run, request: &Request, response: &Response) -> Result<(), HookError> {
        // Hooks that halt a stream say so in place of the provider's word. Half an answer is not the answer.
        let is_whole = !response.finish.starts_with("halted by ");
        if is_whole && (response.calls.is_empty() || self.policy.tool_calls == ToolCalls::Kept) {
            let free = Response { usage: vertebra::Usage::default(), request_id: None, ..response.clone() };
            let room = Room { entries: self.policy.max_entries, bytes: self.policy.max_bytes };
            let now = run.clock().elapsed();
            self.store().put(self.key(run, request)?, free, now, now.saturating_add(self.policy.ttl), room);
        }
        Ok(())
    }

    /// Everything that goes out, and nothing else.
    fn key(&self, run: &Run, request: &Request) -> Result<Key, HookError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&serde_json::to_vec(request)?);
        if self.policy.scope == CacheScope::Session {
            hasher.update(run.info().session_id.as_bytes());
        }
        Ok(hasher.finalize().into())
    }
}

impl Capability for ResponseCache {
    fn install(self, kit: &mut Kit) {
        let cache = self.clone();
        // Last, when the request has its final form.
        kit.on(BeforeInference.named("response-cache/answer").priority(1000).fail_open(), async move |cx| match cache
            .look_up(cx.scope(), cx.state(), &cx.request)?
        {
            Some(response) => replace(response),
            None => proceed(),
        });
        let cache = self.clone();
        // First, as the model said it: what hooks make of an answer, they make of it again.
        kit.on(AfterInference.named("response-cache/keep").priority(1).fail_open(), async move |cx| {
            cache.keep(cx.scope(), &cx.request, &cx.response)?;
            proceed()
        });
        kit.watch(AfterInference.named("response-cache/forget"), async move |cx| {
            if cx.record().verdict() == Kind::Retry {
                let key = self.key(cx.scope(), &cx.request)?;
                self.store().remove(&key);
            }
            Ok(())
        });
    }
}
