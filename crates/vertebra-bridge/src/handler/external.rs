//! A handler as a hook, a guard or a watch.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use vertebra::{Answer, Cx, Event, Guard, Hook, HookError, Record, Seen, Watch, account};

use super::{Ask, Handler};
use crate::wire::{Outside, Reply};

/// A handler that stands at a point. The record tells of the exchange.
#[derive(Clone)]
pub struct External {
    handler: Arc<dyn Handler>,
    limit: Duration,
    hook: Arc<str>,
    origin: Option<Arc<str>>,
}

impl External {
    /// This handler, which has so long to answer.
    pub fn new(handler: Arc<dyn Handler>, limit: Duration) -> Self {
        Self { handler, limit, hook: "".into(), origin: None }
    }

    /// Tells the handler which hook it answers for.
    #[must_use]
    pub fn answering_for(self, hook: impl Into<Arc<str>>) -> Self {
        Self { hook: hook.into(), ..self }
    }

    /// Tells the record where the hook is written.
    #[must_use]
    pub fn written_at(self, origin: impl Into<Arc<str>>) -> Self {
        Self { origin: Some(origin.into()), ..self }
    }

    async fn ask<P: Outside>(&self, cx: &Cx<'_, P>) -> Result<Reply, HookError> {
        self.put(cx, serde_json::to_value(&**cx)?).await
    }

    async fn put<P: Outside>(&self, cx: &Cx<'_, P>, event: Value) -> Result<Reply, HookError> {
        let file = only_file(&**cx);
        let ask = Ask {
            hook: &self.hook,
            point: P::NAME,
            event: &event,
            file: file.as_deref(),
            limit: self.limit,
            run: cx.scope(),
            state: cx.state(),
        };
        let answered = self.handler.ask(ask).await;
        let mut told = serde_json::to_value(answered.exchange.for_record())?;
        if let (Some(told), Some(origin)) = (told.as_object_mut(), &self.origin) {
            told.insert("origin".to_owned(), (&**origin).into());
        }
        account(told);
        answered.reply.map(Reply::readable).map_err(HookError::new)
    }
}

/// The path that an event is about, if it is one. Facts have each path as it is written from the folder, too.
fn only_file(event: &impl Event) -> Option<String> {
    let mut paths: Vec<String> = event.paths().into_iter().filter(|path| path.starts_with('/')).collect();
    paths.dedup();
    let only = paths.pop();
    only.filter(|_| paths.is_empty())
}

impl<P: Outside> Hook<P> for External {
    async fn run(&self, cx: &mut Cx<'_, P>) -> Answer<P> {
        self.ask(cx).await?.apply(cx)
    }
}

impl<P: Outside> Guard<P> for External {
    async fn check(&self, cx: &Cx<'_, P>) -> Answer<P> {
        Ok(self.ask(cx).await?.judge::<P>()?)
    }
}

impl<P: Outside> Watch<P> for External {
    async fn see(&self, cx: &Cx<'_, P>) -> Seen {
        let mut event = serde_json::to_value(&**cx)?;
        if let Some(event) = event.as_object_mut() {
            let Record { verdict, decided_by, reason, .. } = cx.record();
            event.insert(
                "decision".to_owned(),
                json!({ "verdict": verdict, "decided_by": decided_by, "reason": reason }),
            );
        }
        self.put(cx, event).await.map(drop)
    }
}
