//! The views of a run, for people and for programs.

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

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use vertebra::{Approval, Clock, ModelId, RunEvent};

pub(crate) use self::{call::on_one_row as call_row, hooks::changed, json::Events, people::MAX_TEXT};
use crate::surface::Surface;

/// One way to show runs. A view receives all events and draws on a surface. It uses only the clock and the surface that it
/// is given.
pub(crate) trait View: Send {
    /// Shows the model, folder and permission mode. Called once, before the first run.
    fn begin(&mut self, about: &About<'_>, surface: &mut dyn Surface);

    /// Shows one event.
    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface);

    /// Notes that the question about a call is on the screen, so that the view need not show the call again.
    fn asked(&mut self, approval: &Approval);

    /// Redraws the footer after time has passed or the width has changed.
    fn tick(&mut self, surface: &mut dyn Surface);

    /// Sets what the footer shows besides the run.
    fn aside(&mut self, aside: Aside, surface: &mut dyn Surface);

    /// Writes what is left after the last event of a run and clears the footer.
    fn end(&mut self, surface: &mut dyn Surface);
}

/// The model, folder and permission mode of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// The model.
    pub(crate) model: &'a ModelId,
    /// The folder.
    pub(crate) folder: &'a Path,
    /// The permission mode.
    pub(crate) mode: &'a str,
    /// Notices for the user.
    pub(crate) notices: &'a [String],
    /// Warnings: protections that were configured and are not in force.
    pub(crate) warnings: &'a [String],
}

impl About<'_> {
    /// Returns the model as `PROVIDER:NAME`.
    fn model(&self) -> String {
        format!("{}:{}", self.model.provider, self.model.name)
    }
}

/// What the front end shows in the footer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Aside {
    /// The keys that work now, such as `esc to stop`.
    pub(crate) keys: String,
    /// The messages that the model has not read yet, oldest first.
    pub(crate) waiting: Vec<String>,
}

/// The output format of a run.
#[derive(clap::ValueEnum, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Print text for people
    #[default]
    Text,
    /// Print one JSON object at the end
    Json,
    /// Print one JSON object per event, then the one at the end
    StreamJson,
}

/// The kind of output device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Canvas {
    /// A terminal that can move its cursor.
    Terminal,
    /// A terminal that cannot.
    Dumb,
    /// A pipe or a file: the answer goes to standard output, the rest to standard error.
    Pipe,
}

/// How runs are shown.
#[derive(Clone)]
pub(crate) struct Showing {
    /// The output format.
    pub(crate) output: Output,
    /// Whether only the answer is printed.
    pub(crate) quiet: bool,
    /// Which events are printed in `stream-json`.
    pub(crate) events: Events,
    /// Whether the session is recorded, so that it can be resumed.
    pub(crate) resumable: bool,
    /// The output device.
    pub(crate) canvas: Canvas,
    /// Whether to use colours and bold text.
    pub(crate) colour: bool,
    /// The clock that durations are measured with.
    pub(crate) clock: Arc<dyn Clock>,
    /// The calls that no one could approve.
    pub(crate) unapproved: Unapproved,
}

/// Counts the calls that were denied because no one could approve them. Clones share the count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unapproved(Arc<AtomicU32>);

impl Unapproved {
    /// Counts one more call.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of calls so far.
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Creates the view for an output format and device.
pub(crate) fn for_output(showing: &Showing) -> Box<dyn View> {
    match (showing.output, showing.canvas) {
        (Output::Json, _) => Box::new(json::Json::new(Events::None, showing.resumable)),
        (Output::StreamJson, _) => Box::new(json::Json::new(showing.events, showing.resumable)),
        (Output::Text, _) if showing.quiet => Box::new(quiet::Quiet::new(showing)),
        (Output::Text, Canvas::Terminal) => Box::new(people::People::new(showing)),
        (Output::Text, Canvas::Dumb | Canvas::Pipe) => Box::new(plain::Plain::new(showing)),
    }
}

#[cfg(test)]
mod tests;
