//! The journal of an agent: its path, options and retention.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use vertebra::{AgentBuilder, JournalError, NoJournal};
use vertebra_bridge::settings::{self, JournalSettings, Settings, Sync};
use vertebra_journal::{Options, Retention, Store, telemetry::Telemetry};
use vertebra_kit::bash::Outputs;

use super::{World, outputs_folder, telemetry};

/// The default file name.
const FILE: &str = "journal.db";

/// Returns the journal settings. Only the managed level and the user can set them. Commands that read or delete sessions do
/// nothing with settings that cannot be read as a whole: the journal may be elsewhere.
pub(crate) fn journal_settings(world: &World) -> anyhow::Result<JournalSettings> {
    let (managed, user) = world.own_settings().whole()?;
    Ok(settings::merge(managed, [user, Settings::default()]).0.journal)
}

/// Returns the path of the journal.
pub(crate) fn journal_path(settings: &JournalSettings, world: &World) -> anyhow::Result<PathBuf> {
    let Some(said) = &settings.path else {
        let state = world.state.as_ref();
        return Ok(state.context("cannot find a folder for the journal: set HOME or XDG_STATE_HOME")?.join(FILE));
    };
    match said.value.strip_prefix("~/") {
        None => Ok(said.value.clone().into()),
        Some(rest) => {
            let home = world.variables.get("HOME").with_context(|| format!("{}: HOME is not set", said.origin))?;
            Ok(PathBuf::from(home).join(rest))
        }
    }
}

/// Returns the journal options. The chain is on by default: it is cheap, and a session cannot be verified without it.
pub(crate) fn journal_options(settings: &JournalSettings) -> Options {
    let sync = match settings.sync.as_ref().map_or(Sync::Power, |said| said.value) {
        Sync::Power => vertebra_journal::Sync::Power,
        Sync::Process => vertebra_journal::Sync::Process,
    };
    Options { sync, chain: settings.chain.as_ref().is_none_or(|said| said.value) }
}

/// Returns what is kept at this time, or `None` if everything is.
pub(crate) fn retention(settings: &JournalSettings, now: Timestamp) -> Option<Retention> {
    let JournalSettings { keep, max_sessions, max_bytes, .. } = settings;
    let retention = Retention {
        since: keep.as_ref().map(|said| now.checked_sub(said.value).unwrap_or(Timestamp::MIN)),
        sessions: max_sessions.as_ref().map(|said| usize::try_from(said.value).unwrap_or(usize::MAX)),
        bytes: max_bytes.as_ref().map(|said| said.value),
    };
    (retention != Retention::default()).then_some(retention)
}

/// Opens the journal and prunes it, unless it is turned off. If it cannot be opened, the run does not start.
pub(super) fn open(
    settings: &JournalSettings,
    world: &World,
    warnings: &mut Vec<String>,
) -> anyhow::Result<Option<Store>> {
    const WITHOUT: &str = "use --no-journal to run without recording";
    if settings.enabled.as_ref().is_some_and(|said| !said.value) {
        return Ok(None);
    }
    let path = journal_path(settings, world).map_err(|error| anyhow!("{error:#}; {WITHOUT}"))?;
    let store = Store::open(&path, &journal_options(settings)).map_err(|error| anyhow!("{error}; {WITHOUT}"))?;
    if let Some(retention) = retention(settings, Timestamp::now()) {
        match store.prune(&retention) {
            Ok(pruned) => {
                let outputs = outputs_folder(world).map(Outputs::in_folder);
                for (outputs, row) in
                    outputs.iter().flat_map(|outputs| pruned.sessions.iter().map(move |row| (outputs, row)))
                {
                    if let Err(error) = outputs.forget(&row.session_id) {
                        warnings.push(format!("cannot delete the outputs of an old session: {error}"));
                    }
                }
            }
            Err(JournalError { message, .. }) => {
                warnings.push(format!("cannot delete old sessions from the journal: {message}"));
            }
        }
    }
    Ok(Some(store))
}

/// Gives an agent its journal and telemetry.
pub(super) fn keep(builder: &mut AgentBuilder, store: Option<&Store>, telemetry: Option<&Telemetry>) {
    match store {
        Some(store) => telemetry::keep(builder, store.clone(), telemetry),
        None => telemetry::keep(builder, NoJournal, telemetry),
    }
}
