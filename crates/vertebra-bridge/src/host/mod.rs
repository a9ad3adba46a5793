//! Other coding agents: the events that each one sends, and the answers that it accepts.
//!
//! A [`Host`] is a row of data (`rows/`): how to detect it, its moments and our points, its tool names and ours, the format
//! of every answer, and where it reads hooks from. [`read()`] and [`answer()`] contain no code for a single host. If a host
//! cannot apply part of an answer, that part is never dropped silently: a question or a rewrite becomes a denial, and anything
//! else is reported in [`HostAnswer::lost`]. The rows are tested against `cases/`, and [`matrix`] shows the result.

mod answer;
mod args;
mod config;
pub mod install;
pub mod matrix;
mod patch;
mod read;
mod row;
mod rows;

pub(crate) use self::row::{claude_name, claude_tools};
pub use self::{
    answer::{HostAnswer, answer, unread},
    config::{Config, Form, Spot},
    read::{Environment, HostError, HostEvent, find, looks_like, named, read},
    row::{Ask, Fields, Host, Moment, NOTHING, Refusal, Rewrite, Sign, Source, Takes},
    rows::HOSTS,
};

#[cfg(test)]
mod tests;
