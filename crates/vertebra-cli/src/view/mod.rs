//! What a person or a program sees of a run.

use vertebra::RunEvent;

use crate::surface::Surface;

/// One way to show a run.
pub(crate) trait View: Send {
    /// Shows one event.
    fn show(&mut self, event: &RunEvent, surface: &mut dyn Surface);

    /// Time has passed: whatever moves, moves on.
    fn tick(&mut self, surface: &mut dyn Surface);
}
