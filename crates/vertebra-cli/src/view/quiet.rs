//! The view for `--quiet`: the answer, and the closing line if the run did not succeed.

use vertebra::{Approval, News, RunEvent, RunStatus};

use super::{About, Aside, Canvas, Showing, Unapproved, View, ending, plain, rows::lines};
use crate::{markdown::Markdown, surface::Surface};

/// Prints the answer.
pub(crate) struct Quiet {
    canvas: Canvas,
    colour: bool,
    unapproved: Unapproved,
}

impl Quiet {
    pub(crate) fn new(showing: &Showing) -> Self {
        Self { canvas: showing.canvas, colour: showing.colour, unapproved: showing.unapproved.clone() }
    }
}

impl View for Quiet {
    fn begin(&mut self, about: &About<'_>, surface: &mut dyn Surface) {
        let warnings = ending::warning_rows(about.warnings, surface.width());
        if !warnings.is_empty() {
            surface.write(&lines(&warnings, self.colour));
        }
    }

    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface) {
        let RunEvent { news: News::Ended { report }, depth: 0, .. } = event else { return };
        if self.canvas == Canvas::Terminal {
            let mut markdown = Markdown::new(self.colour);
            let mut rows = markdown.push(&report.text, surface.width());
            rows.extend(markdown.finish(surface.width()));
            surface.answer(&lines(&rows, self.colour));
        } else {
            plain::answer(&report.text, surface);
        }
        let unapproved = self.unapproved.count();
        if report.status != RunStatus::Completed || unapproved > 0 {
            surface.write(&lines(&ending::rows(report, report.usage, unapproved, surface.width()), self.colour));
        }
    }

    fn asked(&mut self, _: &Approval) {}

    fn tick(&mut self, _: &mut dyn Surface) {}

    fn aside(&mut self, _: Aside, _: &mut dyn Surface) {}

    fn end(&mut self, _: &mut dyn Surface) {}
}
