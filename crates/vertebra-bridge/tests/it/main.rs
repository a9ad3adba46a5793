//! What comes from outside, from outside: real files, real processes, real sockets.

mod claude;
mod handlers;
mod own_points;
mod points;
mod policy;
