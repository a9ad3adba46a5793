//! What comes from outside, from outside: real files, real processes, real sockets.

mod claude;
mod handlers;
mod points;
mod policy;
