//! The administrator's settings and the user's: what of them is in force if they cannot be read as a whole.

use std::path::Path;

use vertebra_kit::bash::sandbox::Fixed;

use super::{
    Store,
    remains::{By, refuses, refusing, unreadable},
};
use crate::{
    settings::{
        AboutHooks, InstructionSettings, JournalSettings, Level, McpSettings, Mode, Need, NetworkAccess,
        PermissionSettings, Salvaged, SandboxSettings, Settings, SettingsError, merge, salvage, salvage_file,
    },
    shown,
};

/// How many errors are reported one by one.
const MAX_ERRORS: usize = 10;

/// The managed settings and the user's, as far as they can be read.
///
/// If a file is not whole, what it refuses and what it chooses (the model, limits, instructions) still counts, and nothing
/// that would allow more than by default. If the managed file is not whole, the same holds for every other level: the bound
/// that the administrator set may be the part that is missing.
///
/// If the user's file set something when it was last read, and is deleted or sets nothing now, what it refused stays in force.
#[derive(Debug, Default)]
pub struct Own {
    managed: Salvaged,
    user: Salvaged,
    /// Why the user's settings are those of an earlier time, if they are.
    lost: Option<String>,
}

impl Own {
    /// Reads the managed file and the user's file. A missing file sets nothing. The store tells whether the user's file set
    /// something before.
    pub fn read(managed: &Path, user: Option<&Path>, store: Option<&Store>) -> Self {
        let managed = salvage_file(managed, Level::Managed);
        let Some(path) = user else { return Self { managed, ..Self::default() } };
        let user = salvage_file(path, Level::User);
        let before = store.filter(|_| user.sets_nothing()).and_then(Store::own_settings);
        let Some(before) = before else { return Self { managed, user, lost: None } };
        let place = shown(&path.to_string_lossy());
        let settings = refusing(&salvage(&before, Level::User, &place).settings, By::Trusted);
        let lost = format!(
            "your settings {place} were deleted or emptied. What they refused stays in force, and calls that change \
             something need your approval. Restore them, or run `vertebra trust` to go on without them"
        );
        Self { managed, user: Salvaged { settings, errors: Vec::new() }, lost: Some(lost) }
    }

    /// Remembers what the user's file says, if it sets something, so that its loss is noticed.
    pub fn remember(&self, user: &Path, store: &Store) {
        if self.lost.is_some() || !self.user.errors.is_empty() || self.user.sets_nothing() {
            return;
        }
        if let Ok(text) = std::fs::read_to_string(user) {
            store.remember_own_settings(&text);
        }
    }

    /// Returns whether a file cannot be read as a whole.
    pub fn is_broken(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Returns why calls that may change something need a person's approval, if a file is not whole.
    pub fn missing(&self) -> Option<String> {
        let mut errors = self.errors();
        let Some(first) = errors.next() else { return self.lost.clone() };
        let more = match errors.count() {
            0 => String::new(),
            more => format!("\n(errors after this one: {more})"),
        };
        Some(unreadable(&format!("{first}{more}")))
    }

    /// Returns what to tell a person about files that are not whole: all errors, as far as they are few.
    pub fn warnings(&self) -> Vec<String> {
        let Some(missing) = self.missing() else { return Vec::new() };
        if !self.is_broken() {
            return vec![missing];
        }
        let what = if self.managed.errors.is_empty() {
            "until your settings are fixed, rules that allow something, and what could not be read, do not count"
        } else {
            "until the managed settings are fixed, nothing that allows more than by default counts, on any level"
        };
        let more = self.errors().skip(1).take(MAX_ERRORS - 1).map(ToString::to_string);
        [missing].into_iter().chain(more).chain([what.to_owned()]).collect()
    }

    /// Returns the managed settings and the user's, or the first error.
    pub fn whole(self) -> Result<(Settings, Settings), SettingsError> {
        let Self { managed, user, lost: _ } = self;
        match user.errors.into_iter().chain(managed.errors).next() {
            Some(error) => Err(error),
            None => Ok((managed.settings, user.settings)),
        }
    }

    /// Returns what of the sandbox is the administrator's to decide. All of it, if the managed file is not whole.
    pub fn fixed(&self) -> Fixed {
        let Self { managed: Salvaged { settings, errors, .. }, .. } = self;
        let is_broken = !errors.is_empty();
        Fixed {
            network: is_broken || settings.sandbox.network.is_some(),
            write: is_broken || !settings.sandbox.write.is_empty(),
        }
    }

    /// Merges them with more specific levels, the most specific last. Returns what [`merge`] does.
    pub fn merge(self, others: impl IntoIterator<Item = Settings>) -> (Settings, Vec<String>) {
        let Self { managed, user, lost: _ } = self;
        let levels = |user: Settings| std::iter::once(user).chain(others);
        match (managed.errors.is_empty(), user.errors.is_empty()) {
            (true, true) => merge(managed.settings, levels(user.settings)),
            (true, false) => merge(managed.settings, levels(narrowed(user.settings))),
            (false, _) => {
                let bounded = |level| Settings {
                    mcp: McpSettings::default(),
                    journal: JournalSettings::default(),
                    ..narrowed(level)
                };
                let levels = levels(user.settings).map(bounded).collect::<Vec<_>>();
                merge(narrowed(managed.settings), levels)
            }
        }
    }

    fn errors(&self) -> impl Iterator<Item = &SettingsError> {
        self.managed.errors.iter().chain(&self.user.errors)
    }
}

/// Returns a level without anything that allows more than by default. What it chooses and refuses is kept.
fn narrowed(level: Settings) -> Settings {
    let Settings { permissions, sandbox, .. } = refusing(&level, By::Trusted);
    let is_own = |level| matches!(level, Level::Managed | Level::User | Level::CommandLine);
    Settings {
        permissions: PermissionSettings {
            mode: level.permissions.mode.filter(|said| said.value <= Mode::Ask),
            ..permissions
        },
        sandbox: SandboxSettings {
            need: level.sandbox.need.filter(|said| said.value == Need::Required),
            network: level.sandbox.network.filter(|said| said.value == NetworkAccess::default()),
            ..sandbox
        },
        instructions: InstructionSettings {
            project: level.instructions.project.filter(|said| !said.value),
            ..level.instructions
        },
        // A hook of one's own that changes a call may be what makes it harmless.
        hooks: level
            .hooks
            .into_iter()
            .filter(|hook| is_own(hook.origin.level) || refuses(&hook.value, By::Trusted))
            .collect(),
        about_hooks: AboutHooks { disable: Vec::new(), project: level.about_hooks.project.filter(|said| !said.value) },
        model: level.model,
        limits: level.limits,
        mcp: level.mcp,
        tools: level.tools,
        points: level.points,
        journal: level.journal,
    }
}
