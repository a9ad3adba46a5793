//! `vertebra completions` and `vertebra man`: completion scripts and manual pages.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context as _;

/// The options of `vertebra completions`.
#[derive(clap::Args)]
#[command(after_help = "\
bash  add to ~/.bashrc:  source <(vertebra completions bash)
zsh   add to ~/.zshrc:   source <(vertebra completions zsh)
fish  run:  vertebra completions fish > ~/.config/fish/completions/vertebra.fish")]
pub(crate) struct Completions {
    /// Print the script for this shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// The options of `vertebra man`.
#[derive(clap::Args)]
#[command(after_help = "To read the page: vertebra man | man -l -")]
pub(crate) struct Man {
    /// Write one page per command into this folder
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

/// Prints the completion script.
pub(crate) fn completions(options: &Completions, mut command: clap::Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "vertebra", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page, or writes one page per command.
pub(crate) fn man(options: &Man, command: clap::Command) -> anyhow::Result<ExitCode> {
    match &options.dir {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder))
                .with_context(|| folder.display().to_string())?;
        }
        None => clap_mangen::Man::new(command).render(&mut io::stdout())?,
    }
    Ok(ExitCode::SUCCESS)
}
