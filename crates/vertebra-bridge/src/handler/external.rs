//! A handler as a hook, a guard or a watch.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use vertebra::{AgentState, Answer, BoxFuture, Cx, Event as _, Guard, Hook, HookError, Run, Seen, Watch};

use super::{Ask, Handler};
use crate::wire::{Outside, Reply};

/// A handler registered at a point. The record contains the exchange with it.
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

    async fn ask<P: Outside>(&self, cx: &Cx<'_, P>, event: Value) -> Result<Reply, HookError> {
        let (told, reply) = self.put(Question::of(cx, event)).await?;
        cx.account(told);
        reply
    }

    /// What the record is told of the exchange, and the reply.
    fn put<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Result<(Value, Answered), HookError>> {
        Box::pin(async move {
            let Question { point, event, paths, run, state } = question;
            let file = only_file(paths);
            let (hook, limit) = (&*self.hook, self.limit);
            let ask = Ask { hook, point, event: &event, file: file.as_deref(), limit, run, state };
            let answered = self.handler.ask(ask).await;
            let mut told = serde_json::to_value(answered.exchange.for_record())?;
            if let (Some(told), Some(origin)) = (told.as_object_mut(), &self.origin) {
                told.insert("origin".to_owned(), (&**origin).into());
            }
            Ok((told, answered.reply.map(Reply::readable).map_err(HookError::new)))
        })
    }
}

type Answered = Result<Reply, HookError>;

/// What a handler is asked at a point. It has no type of the point's, so that asking is compiled once for all points.
struct Question<'a> {
    point: &'static str,
    event: Value,
    paths: Vec<String>,
    run: &'a Run,
    state: &'a AgentState,
}

impl<'a> Question<'a> {
    fn of<P: Outside>(cx: &'a Cx<'_, P>, event: Value) -> Self {
        let paths = cx
            .attribute("path")
            .map(|paths| paths.several().iter().map(|path| path.clone().into_owned()).collect())
            .unwrap_or_default();
        Self { point: P::NAME, event, paths, run: cx.scope(), state: cx.state() }
    }
}

/// Returns the path that an event is about, if there is exactly one. Events list each path in its relative form too.
fn only_file(paths: Vec<String>) -> Option<String> {
    let mut paths: Vec<String> = paths.into_iter().filter(|path| path.starts_with('/')).collect();
    paths.dedup();
    let only = paths.pop();
    only.filter(|_| paths.is_empty())
}

impl<P: Outside> Hook<P> for External {
    async fn run(&self, cx: &mut Cx<'_, P>) -> Answer<P> {
        self.ask(cx, (P::code().event_to_json)(&**cx)?).await?.apply(cx)
    }
}

impl<P: Outside> Guard<P> for External {
    async fn check(&self, cx: &Cx<'_, P>) -> Answer<P> {
        Ok(self.ask(cx, (P::code().event_to_json)(&**cx)?).await?.judge::<P>()?)
    }
}

impl<P: Outside> Watch<P> for External {
    async fn see(&self, cx: &Cx<'_, P>) -> Seen {
        let mut event = (P::code().event_to_json)(&**cx)?;
        if let Some(event) = event.as_object_mut() {
            let record = cx.record();
            let (verdict, decided_by, reason) = (record.verdict(), record.decided_by(), record.reason());
            event.insert(
                "decision".to_owned(),
                json!({ "verdict": verdict, "decided_by": decided_by, "reason": reason }),
            );
        }
        self.ask(cx, event).await.map(drop)
    }
}
