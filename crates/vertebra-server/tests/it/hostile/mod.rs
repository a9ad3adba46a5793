//! Clients that are not let in, are broken, or mean ill: a real server on real sockets, which goes on for everybody else.

mod connections;
mod doors;
mod frames;
mod hooks;
mod lanes;
mod limits;
mod machine;
mod owners;
mod records;
mod told;
mod world;
