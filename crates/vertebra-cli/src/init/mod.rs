//! `vertebra init`: a settings file to start from.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use vertebra_bridge::settings::FILE_NAME;

use crate::assembly::World;

/// The file. Every setting in it is commented out.
pub(crate) const TEMPLATE: &str = include_str!("vertebra.toml");

/// The options of `vertebra init`.
#[derive(clap::Args)]
#[command(after_help = "\
The file lists every setting with a short explanation. All settings are commented
out, so nothing changes until you remove a `#`. `vertebra doctor` checks the file.")]
pub(crate) struct Options {
    /// Create your user settings, which apply in every folder
    #[arg(long)]
    user: bool,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let path = if options.user {
        World::of_process().user_settings().context("cannot find your home folder; set HOME or XDG_CONFIG_HOME")?
    } else {
        PathBuf::from(FILE_NAME)
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    let write = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(TEMPLATE.as_bytes())?;
        // Other users can read a project's settings, like its other files.
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
            let mut out = std::io::stdout();
            writeln!(out, "Wrote {}. All settings are commented out; remove a `#` to enable one.", path.display())?;
            writeln!(out, "To check the file: vertebra doctor")?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let user = if options.user { " --user" } else { "" };
            bail!("{} already exists; run `vertebra init{user} --force` to overwrite it", path.display())
        }
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use vertebra_bridge::settings::{Level, parse};

    use super::TEMPLATE;

    #[test]
    fn every_example_is_valid_once_it_is_uncommented() {
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
