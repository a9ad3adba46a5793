//! The journal: where it is, how it is kept, and what an agent has of it.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use vertebra::{AgentBuilder, JournalError, NoJournal};
use vertebra_bridge::settings::{self, JournalSettings, Settings, Sync};
use vertebra_journal::{Options, Retention, Store, telemetry::Telemetry};

use super::{World, telemetry};

/// The file, unless the settings name another.
const FILE: &str = "journal.db";

/// What the managed level and the user say about the journal. Nobody else has a say.
pub(crate) fn journal_settings(world: &World) -> anyhow::Result<JournalSettings> {
    let (managed, user) = world.own_settings()?;
    Ok(settings::merge(managed, [user, Settings::default()]).0.journal)
}

/// Where the journal is.
pub(crate) fn journal_path(settings: &JournalSettings, world: &World) -> anyhow::Result<PathBuf> {
    let Some(said) = &settings.path else {
        let state = world.state.as_ref();
        return Ok(state.context("there is no folder for the journal: set HOME or XDG_STATE_HOME")?.join(FILE));
    };
    match said.value.strip_prefix("~/") {
        None => Ok(said.value.clone().into()),
        Some(rest) => {
            let home = world.variables.get("HOME").with_context(|| format!("{}: HOME is not set", said.origin))?;
            Ok(PathBuf::from(home).join(rest))
        }
    }
}

/// How it is kept. A session that is not chained cannot be verified later, and a chain costs next to nothing.
pub(crate) fn journal_options(settings: &JournalSettings) -> Options {
    let sync = match settings.sync.as_ref().map_or(Sync::Power, |said| said.value) {
        Sync::Power => vertebra_journal::Sync::Power,
        Sync::Process => vertebra_journal::Sync::Process,
    };
    Options { sync, chain: settings.chain.as_ref().is_none_or(|said| said.value) }
}

/// What of it is kept, at this time; `None` if all is.
pub(crate) fn retention(settings: &JournalSettings, now: Timestamp) -> Option<Retention> {
    let JournalSettings { keep, max_sessions, max_bytes, .. } = settings;
    let retention = Retention {
        since: keep.as_ref().map(|said| now.checked_sub(said.value).unwrap_or(Timestamp::MIN)),
        sessions: max_sessions.as_ref().map(|said| usize::try_from(said.value).unwrap_or(usize::MAX)),
        bytes: max_bytes.as_ref().map(|said| said.value),
    };
    (retention != Retention::default()).then_some(retention)
}

/// Opens the journal for an agent, unless none is wanted, and takes away what need not be kept. A run that is to be
/// recorded and cannot be does not begin.
pub(super) fn open(
    settings: &JournalSettings,
    world: &World,
    warnings: &mut Vec<String>,
) -> anyhow::Result<Option<Store>> {
    const WITHOUT: &str = "to run without a record: --no-journal";
    if settings.enabled.as_ref().is_some_and(|said| !said.value) {
        return Ok(None);
    }
    let path = journal_path(settings, world).map_err(|error| anyhow!("{error:#}; {WITHOUT}"))?;
    let store = Store::open(&path, &journal_options(settings)).map_err(|error| anyhow!("{error}; {WITHOUT}"))?;
    if let Some(retention) = retention(settings, Timestamp::now())
        && let Err(JournalError { message, .. }) = store.prune(&retention)
    {
        warnings.push(format!("old sessions are still in the journal: {message}"));
    }
    Ok(Some(store))
}

/// Gives an agent its journal, with telemetry beside it.
pub(super) fn keep(builder: &mut AgentBuilder, store: Option<&Store>, telemetry: Option<&Telemetry>) {
    match store {
        Some(store) => telemetry::keep(builder, store.clone(), telemetry),
        None => telemetry::keep(builder, NoJournal, telemetry),
    }
}
