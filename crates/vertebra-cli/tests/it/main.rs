//! The `vertebra` command as a person or a pipe sees it.

mod demo;
mod explain;
#[cfg(target_os = "linux")]
mod hardening;
mod processes;
mod setup;
mod terminal;
