//! A run for dumb terminals and pipes: nothing moves, nothing is coloured.

use vertebra::{News, RunEvent};

use super::{About, Aside, Showing, View};
use crate::surface::Surface;

/// Writes lines.
pub(crate) struct Plain {}

impl Plain {
    pub(crate) fn new(_showing: &Showing) -> Self {
        Self {}
    }
}

impl View for Plain {
    fn begin(&mut self, about: &About<'_>, surface: &mut dyn Surface) {
        surface.write(&format!("{} in {} ({})\n", about.model(), about.folder.display(), about.mode));
        for notice in about.notices {
            surface.write(&format!("{}\n", super::text::on_one_line(notice)));
        }
    }

    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface) {
        match &event.news {
            News::ToolBegan { call } => surface.write(&format!("{}\n", super::text::on_one_line(&call.tool))),
            News::Ended { report } if event.depth == 0 => {
                surface.answer(&format!("{}\n", super::text::visible(&report.text)));
                surface.write(&format!("{}: {}\n", report.status, report.stop));
            }
            _ => {}
        }
    }

    fn tick(&mut self, _: &mut dyn Surface) {}

    fn aside(&mut self, _: Aside, _: &mut dyn Surface) {}

    fn end(&mut self, _: &mut dyn Surface) {}
}
