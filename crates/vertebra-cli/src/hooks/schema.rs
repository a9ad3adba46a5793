//! `vertebra hooks schema`: what may stand in a vertebra.toml, for editors.

use std::process::ExitCode;

use vertebra_bridge::settings::json_schema;

/// There is nothing to choose.
#[derive(clap::Args)]
#[command(after_help = "\
The schema is made by the code that reads the file. To use it:
  vertebra hooks schema > ~/.config/vertebra/schema.json
and as the first line of vertebra.toml, for editors that know Taplo or Tombi:
  #:schema file:///home/me/.config/vertebra/schema.json")]
pub(crate) struct Options {}

/// Runs the command.
pub(crate) fn run(_: &Options) -> anyhow::Result<ExitCode> {
    crate::programs::print(&json_schema())?;
    Ok(ExitCode::SUCCESS)
}
