//! Vertebra served: sessions over gRPC, and hooks that live in clients and govern them.
//!
//! A [`Server`] gets its agents from whoever composes them ([`Agents`]), admits clients at its doors ([`door`]), and keeps
//! to its [`Limits`]: what does not fit is refused, never queued without end.

#![warn(missing_docs)]

mod approvals;
mod clients;
mod codec;
pub mod door;
mod hooks;
mod lanes;
mod limits;
mod listen;
mod log;
mod metrics;
pub mod proto;
mod records;
mod routes;
mod server;
mod sessions;

/// What [`Agents::make`] returns its agent in.
pub use vertebra::BoxFuture;

pub use self::{
    approvals::Questions,
    lanes::Lane,
    limits::{Limits, Places, Refused},
    listen::{Address, AddressError, Listener, Machine, MachinePort, Tls, TlsError, bridge},
    server::{Agents, Made, Refusal, Server, Wanted},
};
