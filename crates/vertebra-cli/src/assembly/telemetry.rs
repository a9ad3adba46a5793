//! Telemetry next to the journal.
//!
//! Only the command line and the environment turn it on. Settings files cannot: a folder must not be able to send its data
//! elsewhere.

use anyhow::Context as _;
use vertebra::{AgentBuilder, Journal};
use vertebra_journal::telemetry::{Settings, SettingsError, Telemetry};

use super::World;

/// Returns the settings from `--otlp` or from the OpenTelemetry variables.
pub(crate) fn settings(asked: Option<&str>, world: &World) -> Result<Option<Settings>, SettingsError> {
    Settings::read(asked, |name| world.variables.get(name).cloned())
}

/// Starts telemetry. A problem with `--otlp` is an error. A problem with the variables, which are often meant for other
/// programs, is a warning.
pub(super) fn start(
    asked: Option<&str>,
    world: &World,
    warnings: &mut Vec<String>,
) -> anyhow::Result<Option<Telemetry>> {
    let started = settings(asked, world)
        .map_err(anyhow::Error::from)
        .and_then(|settings| Ok(settings.as_ref().map(Telemetry::start).transpose()?));
    match started {
        Err(error) if asked.is_none() => {
            warnings.push(format!("telemetry is off: {error}"));
            Ok(None)
        }
        started => started.context("--otlp"),
    }
}

/// Gives an agent its journal and telemetry.
pub(super) fn keep(builder: &mut AgentBuilder, journal: impl Journal, telemetry: Option<&Telemetry>) {
    match telemetry {
        Some(telemetry) => builder.journal(telemetry.beside(journal)),
        None => builder.journal(journal),
    };
}
