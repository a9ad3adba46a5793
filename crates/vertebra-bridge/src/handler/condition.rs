//! `if`: a permission rule of Claude Code under which something outside is asked at all.

use std::sync::Arc;

use super::{Answered, Ask, BoxFuture, Handler, HandlerError};
use crate::{claude::contract::Condition, wire::Reply};

/// A handler that is asked about some calls only.
pub(super) struct Conditional {
    pub(super) handler: Arc<dyn Handler>,
    pub(super) condition: Condition,
}

impl Handler for Conditional {
    fn shown(&self) -> String {
        self.handler.shown()
    }

    fn fits(&self, point: &'static str) -> Result<(), HandlerError> {
        if !Condition::is_about(point) {
            return Err(HandlerError::NoCall { point });
        }
        self.handler.fits(point)
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        if self.condition.holds(ask.point.name, ask.event) {
            return self.handler.ask(ask);
        }
        let passed_over = format!("{} (not started: its `if` is about other calls)", self.shown());
        Box::pin(async { Answered { reply: Ok(Reply::default()), ..Answered::not_asked(passed_over, String::new()) } })
    }
}
