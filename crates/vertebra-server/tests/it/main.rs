//! A real server on a real socket, and clients made from the contract.

mod approvals;
mod hooks;
mod registered;
mod sessions;
mod world;
