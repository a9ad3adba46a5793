//! A handler as a hook, a guard or a watch.

use std::{sync::Arc, time::Duration};

use vertebra::{Answer, Cx, Guard, Hook, HookError, Seen, Watch, account};

use super::{Ask, Handler};
use crate::wire::{Outside, Reply};

/// A handler that stands at a point. The record tells of the exchange.
#[derive(Clone)]
pub struct External {
    handler: Arc<dyn Handler>,
    limit: Duration,
    origin: Option<Arc<str>>,
}

impl External {
    /// This handler, which has so long to answer.
    pub fn new(handler: Arc<dyn Handler>, limit: Duration) -> Self {
        Self { handler, limit, origin: None }
    }

    /// Tells the record where the hook is written.
    #[must_use]
    pub fn written_at(self, origin: impl Into<Arc<str>>) -> Self {
        Self { origin: Some(origin.into()), ..self }
    }

    async fn ask<P: Outside>(&self, cx: &Cx<'_, P>) -> Result<Reply, HookError> {
        let event = serde_json::to_value(&**cx)?;
        let answered =
            self.handler.ask(Ask { point: P::NAME, event: &event, limit: self.limit, run: cx.scope() }).await;
        let mut told = serde_json::to_value(&answered.exchange)?;
        if let (Some(told), Some(origin)) = (told.as_object_mut(), &self.origin) {
            told.insert("origin".to_owned(), (&**origin).into());
        }
        account(told);
        answered.reply.map_err(HookError::new)
    }
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
        self.ask(cx).await.map(drop)
    }
}
