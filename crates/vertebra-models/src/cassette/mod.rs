//! Recordings of what a model was asked and answered, and a model that plays them back.
//!
//! ```no_run
//! use vertebra::{Agent, testing::Script};
//! use vertebra_models::{Player, Recorder};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let model = Recorder::new(Script::new().say("hello"), "hello.cassette")?;
//! Agent::builder(model).build()?.run("hi").await?;
//!
//! let player = Player::open("hello.cassette")?;
//! Agent::builder(player.clone()).build()?.run("hi").await?;
//! player.assert_played();
//! # Ok(())
//! # }
//! ```
//!
//! A cassette is a file of JSON lines: a head with the version, then exchanges, and before each the parts of its request
//! that were not written before. Messages, system prompts and lists of tools are parts, so that a file grows as its
//! conversation does, although a conversation is sent anew with every request.
//!
//! ```text
//! {"head":{"version":1,"model":{"provider":"anthropic","name":"claude-opus-5-5"}}}
//! {"part":{"number":0,"is":"be brief"}}
//! {"part":{"number":1,"is":{"role":"user","text":"hi"}}}
//! {"exchange":{"request":{"system_prompt":0,"messages":[1],…},"pieces":[{"text":"hel"},…],"outcome":{"response":{…}}}}
//! ```
//!
//! A request is recorded as far as a model reads it: not how long a tool took, nor the data it keeps from the model.

mod difference;
mod player;
mod recorder;
mod tape;
mod wording;

use std::{io, path::PathBuf};

pub use self::{player::Player, recorder::Recorder};

/// What is wrong with a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be read or written.
    #[error("the recording {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is there already; a recording is never written over another file.
    #[error("{} is there already; record into a new file", path.display())]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// A line of the file is not what it should be.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
}
