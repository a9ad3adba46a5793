//! What answers for a hook of a project: it has a say, and passes over nobody.

use std::sync::Arc;

use serde_json::Value;

use super::{Answered, Ask, BoxFuture, Handler, HandlerError};

/// A handler whose `skip` is a failure. It would end the hooks of everybody, those of whoever manages the machine and what
/// keeps secrets from a model among them.
pub(crate) struct OfProject(pub(crate) Arc<dyn Handler>);

impl Handler for OfProject {
    fn shown(&self) -> String {
        self.0.shown()
    }

    fn fits(&self, point: &'static str) -> Result<(), HandlerError> {
        self.0.fits(point)
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        Box::pin(async move {
            let mut answered = self.0.ask(ask).await;
            let verdict = answered.reply.as_ref().ok().and_then(|reply| reply.verdict.as_ref()?.get("verdict"));
            if verdict.and_then(Value::as_str) == Some("skip") {
                let why = "`skip` passes over the hooks of others, which a hook of a project cannot";
                answered.reply = Err(why.to_owned());
            }
            answered
        })
    }
}
