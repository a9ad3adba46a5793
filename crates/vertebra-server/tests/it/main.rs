//! A real server on a real socket, and clients made from the contract.
//!
//! All tests are in one program, because each program links the whole server again.

mod approvals;
mod conformance;
mod delays;
mod drain;
mod hooks;
mod hostile;
mod own_points;
mod registered;
mod sessions;
mod world;
