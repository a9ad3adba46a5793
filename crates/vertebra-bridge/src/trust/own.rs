//! The administrator's settings and the user's: what of them is in force if they cannot be read as a whole.

use std::path::Path;

use vertebra_kit::bash::sandbox::Fixed;

use super::remains::{By, refuses, refusing, unreadable};
use crate::settings::{
    AboutHooks, InstructionSettings, JournalSettings, Level, McpSettings, Mode, Need, NetworkAccess,
    PermissionSettings, Salvaged, SandboxSettings, Settings, SettingsError, merge, salvage_file,
};

/// How many errors are reported one by one.
const MAX_ERRORS: usize = 10;

/// The managed settings and the user's, as far as they can be read.
///
/// If a file is not whole, what it refuses and what it chooses (the model, limits, instructions) still counts, and nothing
/// that would allow more than by default. If the managed file is not whole, the same holds for every other level: the bound
/// that the administrator set may be the part that is missing.
#[derive(Debug, Default)]
pub struct Own {
    managed: Salvaged,
    user: Salvaged,
}

impl Own {
    /// Reads the managed file and the user's file. A missing file sets nothing.
    pub fn read(managed: &Path, user: Option<&Path>) -> Self {
        let user = user.map(|path| salvage_file(path, Level::User)).unwrap_or_default();
        Self { managed: salvage_file(managed, Level::Managed), user }
    }

    /// Returns why calls that may change something need a person's approval, if a file is not whole.
    pub fn missing(&self) -> Option<String> {
        let mut errors = self.errors();
        let first = errors.next()?;
        let more = match errors.count() {
            0 => String::new(),
            more => format!("\n(errors after this one: {more})"),
        };
        Some(unreadable(&format!("{first}{more}")))
    }

    /// Returns what to tell a person about files that are not whole: all errors, as far as they are few.
    pub fn warnings(&self) -> Vec<String> {
        let Some(missing) = self.missing() else { return Vec::new() };
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
        let Self { managed, user } = self;
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
        let Self { managed, user } = self;
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
        journal: level.journal,
    }
}
