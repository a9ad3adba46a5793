//! A point and something outside the process: what goes over, what comes back, and what may come of it.

mod exchange;
mod happened;
mod judgement;
pub(crate) mod outside;
mod reply;

pub use self::{
    exchange::{End, Exchange},
    happened::{EventError, Happened},
    judgement::{Decision, Judgement, RanHandler},
    outside::{deliver_context, later_context, take_context},
    reply::{Reply, ReplyError},
};
