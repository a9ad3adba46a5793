//! The past as events: what hooks saw, and what came of it, read from the lines that were written then.
//!
//! ```
//! use vertebra::{prelude::*, MemoryJournal, testing::Script};
//! use vertebra_journal::past::{Past, moments};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let journal = MemoryJournal::default();
//! let agent = Agent::builder(Script::new().say("hello")).journal(journal.clone()).build()?;
//! agent.run("hi").await?;
//! let past: Vec<_> = moments(journal.entries(), Past::default()).collect();
//! assert_eq!(past[0].event.point(), "PromptSubmit");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod event;
mod fold;
mod jsonl;
mod run;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use vertebra::Entry;

pub use self::{
    event::{Event, Moment},
    jsonl::{Line, Lines},
};
use self::{fold::Fold, run::Aliases};

/// What is known of the past besides its lines, and how it is read.
#[derive(Clone, Default)]
pub struct Past {
    aliases: Option<Aliases>,
}

impl Past {
    /// The other names of a tool, by its name: lines have none, and matchers ask for them.
    #[must_use]
    pub fn aliases(mut self, of: impl Fn(&str) -> Arc<[Arc<str>]> + Send + Sync + 'static) -> Self {
        self.aliases = Some(Arc::new(of));
        self
    }
}

/// What lines do not say, and how often that was asked.
pub type Unknown = BTreeMap<&'static str, u64>;

/// The moments that these lines tell of, in the order in which they are known.
pub fn moments<I: IntoIterator<Item = Entry>>(lines: I, past: Past) -> Moments<I::IntoIter> {
    Moments { lines: lines.into_iter(), fold: Fold::new(past.aliases), ready: VecDeque::new(), ended: false }
}

/// The moments that lines tell of: see [`moments`].
pub struct Moments<I> {
    lines: I,
    fold: Fold,
    ready: VecDeque<Moment>,
    ended: bool,
}

impl<I> Moments<I> {
    /// What could not be told so far.
    pub fn unknown(&self) -> &Unknown {
        self.fold.unknown()
    }
}

impl<I: Iterator<Item = Entry>> Iterator for Moments<I> {
    type Item = Moment;

    fn next(&mut self) -> Option<Moment> {
        while self.ready.is_empty() && !self.ended {
            if let Some(entry) = self.lines.next() {
                self.fold.take(entry, &mut self.ready);
            } else {
                self.ended = true;
                self.fold.finish(&mut self.ready);
            }
        }
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests;
