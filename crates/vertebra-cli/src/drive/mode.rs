//! The permission mode of the session: shown beside the prompt, and changed by `/mode` and Shift-Tab.

use std::sync::Arc;

use vertebra_kit::permissions::{Mode, Rules};

use super::Desk;

/// The modes that Shift-Tab goes through.
const CYCLE: [Mode; 4] = [Mode::Ask, Mode::AcceptEdits, Mode::Sandboxed, Mode::Plan];

/// The mode of one session.
pub(super) struct Modes {
    rules: Rules,
    session: Arc<str>,
}

impl Modes {
    fn mode(&self) -> Mode {
        self.rules.mode(&self.session)
    }

    /// Changes the mode. Returns a line for the user.
    fn set(&self, mode: Mode) -> Result<String, String> {
        if self.rules.holds_mode() {
            return Err(format!("the mode stays `{}`: the managed settings set it", name(self.mode())));
        }
        if mode == Mode::Sandboxed && !self.rules.has_sandbox() {
            return Err("the mode `sandboxed` is not available: the settings turn the sandbox off".to_owned());
        }
        match self.rules.set_mode(&self.session, mode) {
            Ok(()) => Ok(format!("mode: {} ({})", name(mode), meaning(mode))),
            Err(_) => Err("start the chat with `--mode bypass` to bypass all questions".to_owned()),
        }
    }
}

impl Desk {
    /// Shows and changes the mode of this session from now on.
    pub(crate) fn follow_mode(&mut self, rules: &Rules, session: &str) {
        self.modes = Some(Modes { rules: rules.clone(), session: session.into() });
    }

    /// Returns the mode for the status line.
    pub(super) fn mode_shown(&self) -> Option<&'static str> {
        self.modes.as_ref().map(|modes| name(modes.mode()))
    }

    /// Switches to the next mode.
    pub(super) fn next_mode(&mut self) {
        let Some(modes) = &self.modes else { return };
        let cycle: Vec<Mode> =
            CYCLE.into_iter().filter(|mode| *mode != Mode::Sandboxed || modes.rules.has_sandbox()).collect();
        let at = cycle.iter().position(|mode| *mode == modes.mode());
        let next = cycle[at.map_or(0, |at| (at + 1) % cycle.len())];
        // The status line shows the new mode.
        if let Err(complaint) = modes.set(next) {
            self.complain(&complaint);
        }
    }

    /// Shows the mode, or changes it to the one with this name.
    pub(crate) fn choose_mode(&mut self, named: Option<&str>) {
        let Some(modes) = &self.modes else { return };
        let told = match named {
            None => Ok(format!("mode: {} ({})", name(modes.mode()), meaning(modes.mode()))),
            Some(named) => match parsed(named) {
                Some(mode) => modes.set(mode),
                None => Err(format!(
                    "unknown mode `{named}`; write /mode ask, /mode accept-edits, /mode sandboxed or /mode plan"
                )),
            },
        };
        match told {
            Ok(told) => self.tell(&told),
            Err(complaint) => self.complain(&complaint),
        }
    }
}

fn parsed(name: &str) -> Option<Mode> {
    match &*name.to_lowercase().replace('_', "-") {
        "default" | "ask" => Some(Mode::Ask),
        "accept-edits" => Some(Mode::AcceptEdits),
        "sandboxed" => Some(Mode::Sandboxed),
        "plan" => Some(Mode::Plan),
        "bypass" => Some(Mode::Bypass),
        _ => None,
    }
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Ask => "ask",
        Mode::AcceptEdits => "accept-edits",
        Mode::Sandboxed => "sandboxed",
        Mode::Plan => "plan",
        Mode::Bypass => "bypass",
    }
}

fn meaning(mode: Mode) -> &'static str {
    match mode {
        Mode::Ask => "reading is free; everything else is asked about",
        Mode::AcceptEdits => "reading and edits in the folder are free",
        Mode::Sandboxed => "reading, edits in the folder and harmless commands in the sandbox are free",
        Mode::Plan => "only reading; everything else is denied",
        Mode::Bypass => "nothing is asked about",
    }
}
