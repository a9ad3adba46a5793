//! Allows commands that only read, such as `ls`, without asking, as the file tools do.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use vertebra::{Attach as _, BeforeToolUse, Capability, HookOptions as _, Kit, MatchAttribute as _, allow, proceed};
use vertebra_kit::bash::{
    CWD, Reading,
    policy::{Ground, only_reads},
};

/// Allows commands that only read. Ask rules and deny rules are stronger.
pub(super) struct FreeReading {
    /// The folder in which commands run.
    pub(super) ground: Ground,
}

impl Capability for FreeReading {
    fn install(self, kit: &mut Kit) {
        let ground = Arc::new(self.ground);
        // After hooks that rewrite, before the permissions.
        kit.on(BeforeToolUse.tool("bash").named("reading/free").priority(900).fail_open(), async move |cx| {
            let Some(command) = cx.command().map(str::to_owned) else { return proceed() };
            let mut ground = (*ground).clone();
            if let Ok(Some(here)) = cx.state().metadata().read(CWD) {
                ground.here = here;
            }
            // Looking for links may block on the disk.
            if spawn_blocking(move || only_reads(&command, &ground)).await? { allow() } else { proceed() }
        });
    }
}

/// Returns which commands may run at the same time as others that only read.
pub(super) fn reading(ground: &Ground) -> Reading {
    let ground = ground.clone();
    Reading::by(move |command| only_reads(command, &ground))
}
