//! A handler as a hook, a guard or a watch.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use vertebra::{AgentState, AnyCx, AnyHook, AnySight, AnyVerdict, BoxFuture, HookError, PointInfo, Run, Seen};

use super::{Ask, Handler};
use crate::wire::Reply;

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

    async fn ask(&self, cx: &dyn AnySight, event: Value) -> Result<Reply, HookError> {
        let question = Question { point: cx.point(), event, paths: cx.paths(), run: cx.run(), state: cx.state() };
        let (told, reply) = self.put(question).await?;
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

/// What a handler is asked at a point.
struct Question<'a> {
    point: &'static PointInfo,
    event: Value,
    paths: Vec<String>,
    run: &'a Run,
    state: &'a AgentState,
}

/// Returns the path that an event is about, if there is exactly one. Events list each path in its relative form too.
fn only_file(paths: Vec<String>) -> Option<String> {
    let mut paths: Vec<String> = paths.into_iter().filter(|path| path.starts_with('/')).collect();
    paths.dedup();
    let only = paths.pop();
    only.filter(|_| paths.is_empty())
}

impl AnyHook for External {
    fn run<'a>(&'a self, cx: &'a mut dyn AnyCx) -> BoxFuture<'a, Result<AnyVerdict, HookError>> {
        Box::pin(async move {
            let event = cx.event()?;
            self.ask(cx.sight(), event).await?.apply(cx)
        })
    }

    fn check<'a>(&'a self, cx: &'a dyn AnySight) -> BoxFuture<'a, Result<AnyVerdict, HookError>> {
        Box::pin(async move { Ok(self.ask(cx, cx.event()?).await?.judge(cx.point())?) })
    }

    fn see<'a>(&'a self, cx: &'a dyn AnySight) -> BoxFuture<'a, Seen> {
        Box::pin(async move {
            let mut event = cx.event()?;
            if let Some(event) = event.as_object_mut() {
                event.insert("decision".to_owned(), cx.decision());
            }
            self.ask(cx, event).await.map(drop)
        })
    }
}
