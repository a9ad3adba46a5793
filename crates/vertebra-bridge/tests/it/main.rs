//! What comes from outside the process, with real processes, sockets and files.

mod handlers;
