//! Complete runs of real agents with real tools and a scripted model, as people and programs see them.

mod moving;
mod objects;
mod scenes;
mod whole;

use std::{path::Path, sync::Arc, time::Duration};

use vertebra::{ModelId, News, RunEvent, testing::FakeClock};

use super::*;

/// A surface that records what was drawn.
#[derive(Default)]
struct Paper {
    width: usize,
    all: String,
    answer: String,
    footer: Vec<String>,
}

impl Surface for Paper {
    fn write(&mut self, text: &str) {
        assert!(text.ends_with('\n'), "{text:?}");
        self.all.push_str(text);
    }

    fn answer(&mut self, text: &str) {
        self.write(text);
        self.answer.push_str(text);
    }

    fn footer(&mut self, lines: Vec<String>) {
        self.footer = lines;
    }

    fn width(&self) -> usize {
        self.width
    }
}

impl Paper {
    fn of_width(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Everything, as text that shows its escape sequences.
    fn written(&self) -> String {
        self.all.replace('\u{1b}', "^")
    }
}

/// A person at a terminal, on a clock that the test moves.
fn people(colour: bool) -> (Showing, FakeClock) {
    let clock = FakeClock::by_hand();
    let clock_of_view: Arc<dyn Clock> = Arc::new(clock.clone());
    let (output, quiet, canvas, unapproved) = (Output::Text, false, Canvas::Terminal, Unapproved::default());
    let (events, resumable) = (Events::All, true);
    let showing = Showing { output, quiet, events, resumable, canvas, colour, clock: clock_of_view, unapproved };
    (showing, clock)
}

/// Shows all of a run.
fn shown(events: &[RunEvent], showing: &Showing, width: usize) -> Paper {
    let (mut view, mut paper) = (for_output(showing), Paper::of_width(width));
    let model = ModelId::new("anthropic", "claude-sonnet-4-5");
    let about =
        About { model: &model, folder: Path::new("/home/me/project"), mode: "ask", notices: &[], warnings: &[] };
    view.begin(&about, &mut paper);
    for event in events {
        view.show(event, &mut paper);
    }
    view.end(&mut paper);
    assert!(paper.footer.is_empty(), "nothing moves after the end: {:?}", paper.footer);
    paper
}

/// Takes out of a run what is different each time: how long things took, and the sandbox of this machine.
fn steady(mut event: RunEvent) -> RunEvent {
    match &mut event.news {
        News::ToolEnded { result, .. } => {
            result.duration_ms = 0;
            let kept = result.output.lines().filter(|line| !line.starts_with("[no sandbox: "));
            result.output = kept.collect::<Vec<_>>().join("\n");
            if let Some(data) = result.data.as_object_mut() {
                data.retain(|key, _| !matches!(&**key, "duration_ms" | "sandbox"));
            }
        }
        News::Ended { report } => report.duration_ms = 41_300,
        News::Hooks { record, .. } => {
            record.took = Duration::ZERO;
            record.hooks.iter_mut().for_each(|trace| trace.took = None);
        }
        _ => {}
    }
    event
}
