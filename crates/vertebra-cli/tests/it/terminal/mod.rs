//! `vertebra run` and `vertebra chat` at a real terminal.

mod always;
mod approval;
mod chat;
mod drawing;
mod files;
mod granting;
mod pipes;
pub(crate) mod pty;
mod steering;
mod stopping;
mod surviving;
