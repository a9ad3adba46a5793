//! `vertebra completions`: scripts that complete the command line in a shell.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

/// The options of `vertebra completions`.
#[derive(clap::Args)]
#[command(after_help = "\
bash  add to ~/.bashrc:  source <(vertebra completions bash)
zsh   add to ~/.zshrc:   source <(vertebra completions zsh)
fish  run:  vertebra completions fish > ~/.config/fish/completions/vertebra.fish")]
pub(crate) struct Options {
    /// Print the script for this shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Prints the completion script.
pub(crate) fn run(options: &Options, mut command: clap::Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "vertebra", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
