//! What a person or a program sees of a run.

pub(crate) mod rows;
pub(crate) mod text;

mod block;
mod call;
mod calls;
mod diff;
mod ending;
mod hooks;
mod result;

mod footer;
mod json;
mod people;
mod plain;
mod quiet;

use std::{path::Path, sync::Arc};

use vertebra::{Clock, ModelId, RunEvent};

pub(crate) use self::{call::on_one_row as call_row, hooks::changed};
use crate::surface::Surface;

/// One way to show runs. The views are told everything and draw on a surface; they read no clock and no terminal but
/// those they are given.
pub(crate) trait View: Send {
    /// Says who is about to work, where and with which rights. Once, before the first run.
    fn begin(&mut self, about: &About<'_>, surface: &mut dyn Surface);

    /// Shows one event.
    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface);

    /// Time has passed, or the width has changed: whatever moves, moves on.
    fn tick(&mut self, surface: &mut dyn Surface);

    /// Takes what is shown under the rest until something else is.
    fn aside(&mut self, aside: Aside, surface: &mut dyn Surface);

    /// A run's events are over: what is left is written, and nothing moves any more. The next run may come.
    fn end(&mut self, surface: &mut dyn Surface);
}

/// Who works, where, with which rights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// The model.
    pub(crate) model: &'a ModelId,
    /// The folder.
    pub(crate) folder: &'a Path,
    /// What happens to calls that no rule speaks of, in a word.
    pub(crate) mode: &'a str,
    /// What a person should know before it begins.
    pub(crate) notices: &'a [String],
    /// What nobody may overlook: what was to hold and does not.
    pub(crate) warnings: &'a [String],
}

impl About<'_> {
    /// The model as people write it: `anthropic:claude-sonnet-4-5`.
    fn model(&self) -> String {
        format!("{}:{}", self.model.provider, self.model.name)
    }
}

/// What whoever drives a view has to say under it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Aside {
    /// The keys that do something now: `esc cancels`.
    pub(crate) keys: String,
    /// What the person said that the model has not read yet, oldest first.
    pub(crate) waiting: Vec<String>,
}

/// What a run is shown as.
#[derive(clap::ValueEnum, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Text for people
    #[default]
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object per event, then the one at the end
    StreamJson,
}

/// What there is to draw on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Canvas {
    /// A terminal that can draw over a few lines.
    Terminal,
    /// A terminal that only writes on.
    Dumb,
    /// A pipe or a file: the answer goes to standard output, the rest to standard error.
    Pipe,
}

/// How runs are to be shown.
#[derive(Clone)]
pub(crate) struct Showing {
    /// As what.
    pub(crate) output: Output,
    /// Whether only the answer is of interest.
    pub(crate) quiet: bool,
    /// On what.
    pub(crate) canvas: Canvas,
    /// Whether with colours and bold letters.
    pub(crate) colour: bool,
    /// What tells how long things take.
    pub(crate) clock: Arc<dyn Clock>,
}

/// The view that is wanted.
pub(crate) fn for_output(showing: &Showing) -> Box<dyn View> {
    match (showing.output, showing.canvas) {
        (Output::Json, _) => Box::new(json::Json::at_the_end()),
        (Output::StreamJson, _) => Box::new(json::Json::streaming()),
        (Output::Text, _) if showing.quiet => Box::new(quiet::Quiet::new(showing)),
        (Output::Text, Canvas::Terminal) => Box::new(people::People::new(showing)),
        (Output::Text, Canvas::Dumb | Canvas::Pipe) => Box::new(plain::Plain::new(showing)),
    }
}

#[cfg(test)]
mod tests;
