//! What happens to a call that no rule matches.

use serde::{Deserialize, Serialize};

/// The modes that a person may choose at a question, as they are recorded. No rule is written like this.
const GRANTED_MODES: [(&str, Mode); 2] =
    [("mode accept_edits", Mode::AcceptEdits), ("mode sandboxed", Mode::Sandboxed)];

/// The metadata under which an agent notes the mode of its latest call, if it is not the one that it began in.
pub(super) const NOTED: &str = "permissions/mode";

/// What happens to a call that no rule matches.
///
/// The list is closed: front ends have to name and explain each mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Allows reading and asks about everything else.
    #[default]
    Ask,
    /// Like [`Ask`](Self::Ask), but also allows edits in the working folder.
    AcceptEdits,
    /// Like [`AcceptEdits`](Self::AcceptEdits), but also allows commands that the sandbox of [`Bash`](crate::bash::Bash) holds
    /// and the [policy](crate::bash::policy) knows as harmless. Commands that throw work away or publish something still need
    /// approval, and so do those that need a network that they do not have. Needs [`Rules::sandboxed`](super::Rules::sandboxed).
    Sandboxed,
    /// Allows only reading and denies everything else, whatever rules allow.
    Plan,
    /// Allows everything except what a rule denies or asks about.
    Bypass,
}

impl Mode {
    /// Returns how the choice of this mode is recorded.
    pub(super) fn grant(self) -> Option<String> {
        GRANTED_MODES.iter().find(|(_, mode)| *mode == self).map(|(grant, _)| (*grant).to_owned())
    }

    /// Returns the mode that was recorded like this.
    pub(super) fn granted(grant: &str) -> Option<Self> {
        GRANTED_MODES.iter().find(|(recorded, _)| *recorded == grant).map(|(_, mode)| *mode)
    }
}

/// The error that bypass mode is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bypass mode is only available to permissions made with `Permissions::bypassing_questions`")]
pub struct NoBypass;
