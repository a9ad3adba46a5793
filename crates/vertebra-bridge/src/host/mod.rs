//! Other agents: what each tells of an event, and how it takes an answer.
//!
//! A [`Host`] is a row of data (`rows/`): what gives it away, its moments and our points, its names of tools and ours, the
//! form of every answer, and where it is told of hooks. [`read()`] and [`answer()`] know no host by name. What a host cannot
//! take is never dropped in silence: a question or a rewrite becomes a no, anything else is told in [`HostAnswer::lost`].
//! What the rows say is held against `cases/`, and [`matrix`] is what comes of that.

mod answer;
mod args;
mod config;
pub mod install;
pub mod matrix;
mod patch;
mod read;
mod row;
mod rows;

pub(crate) use self::row::claude_name;
pub use self::{
    answer::{HostAnswer, answer, unread},
    config::{Config, Form, Spot},
    read::{Environment, HostError, HostEvent, find, looks_like, named, read},
    row::{Ask, Fields, Host, Moment, NOTHING, Refusal, Rewrite, Sign, Source, Takes},
    rows::HOSTS,
};

#[cfg(test)]
mod tests;
