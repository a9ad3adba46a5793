//! How a program is to be started so that it is held, and what came of trying.

use std::path::Path;

use vertebra::ToolError;

use super::{HELD, NO_LAYERS, NO_MOUNTS, NO_SPACE, NO_SUPERVISOR, engine::Tried};

/// How bubblewrap begins what it has to say.
const BUBBLEWRAP: &str = "bwrap: ";

/// How a program is to be started.
pub(in crate::bash) struct Start {
    prefix: Option<Prefix>,
    /// What holds it, in a few words.
    pub(in crate::bash) state: String,
    /// What whoever reads the output has to know.
    pub(in crate::bash) remark: Option<String>,
}

/// What stands before the program.
pub(super) struct Prefix {
    pub(super) launcher: std::path::PathBuf,
    /// What the launcher is asked to do.
    pub(super) word: &'static str,
    /// The rules that it takes from its input.
    pub(super) rules: Option<String>,
    /// Whether the rules ask for a supervisor of files.
    pub(super) minded: bool,
    /// Whether they ask for layers over caches.
    pub(super) layered: bool,
    /// Whether they ask for a private network.
    pub(super) private: bool,
    /// What may fail to begin, and leave another way open.
    pub(super) chance: Chance,
}

/// What may fail before anything of a command has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chance {
    /// The launcher's own mounts.
    OwnMounts,
    /// Bubblewrap.
    Bubblewrap,
    /// Seeing to the end of a command that nothing holds.
    Attended,
    /// Nothing that there is another way for.
    None,
}

impl Start {
    pub(super) fn bare(state: String, remark: Option<String>) -> Self {
        Self { prefix: None, state, remark }
    }

    pub(super) fn held(prefix: Prefix, state: String, remark: Option<String>) -> Self {
        Self { prefix: Some(prefix), state, remark }
    }

    /// The command that starts the program.
    pub(in crate::bash) fn command(&self, program: &Path) -> tokio::process::Command {
        match &self.prefix {
            None => tokio::process::Command::new(program),
            Some(Prefix { launcher, word, .. }) => {
                let mut command = tokio::process::Command::new(launcher);
                command.arg(word).arg(program);
                command
            }
        }
    }

    /// What the launcher takes from its input before anything else.
    pub(in crate::bash) fn rules(&self) -> Option<&str> {
        self.prefix.as_ref()?.rules.as_deref()
    }

    /// Whether the person's caches have layers.
    pub(in crate::bash) fn has_layers(&self) -> bool {
        self.prefix.as_ref().is_some_and(|prefix| prefix.layered)
    }

    /// Whether rules hold it.
    pub(in crate::bash) fn is_held(&self) -> bool {
        self.prefix.as_ref().is_some_and(|prefix| prefix.chance != Chance::Attended)
    }

    /// Whether a launcher speaks first.
    pub(in crate::bash) fn is_launched(&self) -> bool {
        self.prefix.is_some()
    }

    /// Whether the launcher failed, before anything ran, in a way that leaves another to try. It is then kept in mind.
    pub(in crate::bash) fn try_another(&self, word: &str, tried: &mut Tried) -> bool {
        let chance = self.prefix.as_ref().map_or(Chance::None, |prefix| prefix.chance);
        if let (Some(Prefix { minded: true, .. }), Some(why)) = (&self.prefix, word.strip_prefix(NO_SUPERVISOR)) {
            tried.supervisor = Some(why.to_owned());
            return true;
        }
        if let (Some(Prefix { private: true, .. }), Some(why)) = (&self.prefix, word.strip_prefix(NO_SPACE)) {
            tried.space = Some(why.to_owned());
            return true;
        }
        if let (Some(Prefix { layered: true, .. }), Some(why)) = (&self.prefix, word.strip_prefix(NO_LAYERS)) {
            tried.layers = Some(why.to_owned());
            return true;
        }
        match (chance, word.strip_prefix(NO_MOUNTS)) {
            (Chance::OwnMounts, Some(why)) => tried.own = Some(why.to_owned()),
            (Chance::Bubblewrap, _) if word.starts_with(BUBBLEWRAP) => tried.bubblewrap = Some(word.to_owned()),
            (Chance::Attended, _) if word != HELD => tried.attended = Some(word.to_owned()),
            (Chance::OwnMounts | Chance::Bubblewrap | Chance::Attended | Chance::None, _) => return false,
        }
        true
    }

    /// Takes the launcher at its word. One that is none does not say that the rules hold.
    pub(in crate::bash) fn check(&self, word: &str) -> Result<(), ToolError> {
        if self.prefix.is_none() || word == HELD {
            return Ok(());
        }
        let why = if word.is_empty() { "the launcher did not say that it holds" } else { word };
        Err(ToolError::new(format!("the command was not run, because the sandbox failed: {why}")))
    }
}
