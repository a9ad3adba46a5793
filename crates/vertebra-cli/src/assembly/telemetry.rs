//! Telemetry, if somebody wants it, beside whatever journal an agent has.
//!
//! Only the command line and the environment switch it on. No file of settings can: a folder must not be able to send
//! elsewhere what happens in it.

use anyhow::Context as _;
use vertebra::{AgentBuilder, Journal};
use vertebra_journal::telemetry::{Settings, SettingsError, Telemetry};

use super::World;

/// What is wanted: by a person who `asked`, or by the usual variables.
pub(crate) fn settings(asked: Option<&str>, world: &World) -> Result<Option<Settings>, SettingsError> {
    Settings::read(asked, |name| world.variables.get(name).cloned())
}

/// Starts it. What a person asks for and cannot have is an error; variables are often meant for other programs, so what
/// cannot be honoured of them is a warning, and the run goes on without.
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
            warnings.push(format!("no telemetry: {error}"));
            Ok(None)
        }
        started => started.context("--otlp"),
    }
}

/// Gives an agent its journal, with telemetry beside it.
pub(super) fn keep(builder: &mut AgentBuilder, journal: impl Journal, telemetry: Option<&Telemetry>) {
    match telemetry {
        Some(telemetry) => builder.journal(telemetry.beside(journal)),
        None => builder.journal(journal),
    };
}
