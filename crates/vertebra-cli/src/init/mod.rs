//! `vertebra init`: a file of settings to fill in.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use vertebra_bridge::settings::FILE_NAME;

use crate::assembly::World;

/// The file, with every setting as a comment.
pub(crate) const TEMPLATE: &str = include_str!("vertebra.toml");

/// Where to write it.
#[derive(clap::Args)]
#[command(after_help = "\
Every setting stands in the file as a comment, with what it is for. Nothing changes until you take away a `#`.
`vertebra doctor` checks what you wrote.")]
pub(crate) struct Options {
    /// Write your own settings, for all folders, instead of those of this one
    #[arg(long)]
    user: bool,
    /// Write it even if there is one already
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let path = if options.user {
        World::of_process().user_settings().context("there is no home folder: set HOME or XDG_CONFIG_HOME")?
    } else {
        PathBuf::from(FILE_NAME)
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    let write = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(TEMPLATE.as_bytes())?;
        // Others may read a project's settings, as they read its other files.
        let mode = if options.user { 0o600 } else { 0o644 };
        file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
        if options.force {
            file.persist(&path).map(drop).map_err(|error| error.error)
        } else {
            file.persist_noclobber(&path).map(drop).map_err(|error| error.error)
        }
    };
    match write() {
        Ok(()) => {
            println!("{} is there. Every setting in it is a comment: take away a `#` to use a line.", path.display());
            println!("Then: vertebra doctor");
            Ok(ExitCode::SUCCESS)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("{} is there already; to write it anew: vertebra init --force", path.display())
        }
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use vertebra_bridge::settings::{Level, parse};

    use super::TEMPLATE;

    #[test]
    fn every_example_is_valid_once_its_mark_is_taken_away() {
        assert!(parse(TEMPLATE, Level::Project, "template").expect("comments").entries.is_empty());
        let is_example = |line: &&str| line.starts_with('#') && line.chars().nth(1).is_some_and(|c| c != ' ');
        let filled: String = TEMPLATE
            .lines()
            .map(|line| if is_example(&line) { &line[1..] } else { line })
            .flat_map(|line| [line, "\n"])
            .collect();
        let sheet = parse(&filled, Level::User, "template").expect("every example is valid");
        let examples = TEMPLATE.lines().filter(is_example).filter(|line| line.contains('=')).count();
        let mut lines: Vec<usize> = sheet.entries.iter().map(|entry| entry.line).collect();
        lines.dedup();
        assert_eq!(lines.len(), examples, "every example sets something: {:#?}", sheet.entries);
    }
}
