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
}

impl External {
    /// This handler, which has so long to answer.
    pub fn new(handler: Arc<dyn Handler>, limit: Duration) -> Self {
        Self { handler, limit }
    }

    async fn ask<P: Outside>(&self, cx: &Cx<'_, P>) -> Result<Reply, HookError> {
        let event = serde_json::to_value(&**cx)?;
        let answered =
            self.handler.ask(Ask { point: P::NAME, event: &event, limit: self.limit, run: cx.scope() }).await;
        account(serde_json::to_value(&answered.exchange)?);
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
