//! Claude Code's hooks, unchanged: its settings, its contract, and a place for them in our own loop.
//!
//! [`Settings`] reads every level tolerantly, [`fire`] does with one event what Claude Code would do, and
//! `docs/claude-code.md` says where the two differ.

mod at_work;
pub(crate) mod contract;
mod effect;
mod event;
mod fill;
mod fire;
mod handler;
mod in_loop;
mod matcher;
mod means;
mod output;
mod pattern;
mod rule;
mod run;
mod settings;
mod trial;
mod verdict;

pub use self::{
    at_work::Bringer,
    fire::{Hooks, fire},
    handler::{Level, Origin, Plugin},
    in_loop::{ClaudeHooks, Follow},
    means::AskModel,
    run::Session,
    settings::{Listed, MANAGED, Places, Settings},
    trial::Trial,
};
