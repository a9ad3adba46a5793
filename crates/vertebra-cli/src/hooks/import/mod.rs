//! `vertebra hooks import`: converts hooks and permissions of Claude Code to a `vertebra.toml`.

mod command;
mod matcher;
mod reading;
mod writing;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use serde_json::Value;
use vertebra_bridge::{
    policy::{Policy, permissions},
    settings::{FILE_NAME, Level, parse},
    shown,
    trust::Seals,
};

use self::{
    command::Plugin,
    reading::Import,
    writing::{Made, written},
};
use super::{
    file::{replace, text_of},
    trial::services,
};
use crate::{
    assembly::World,
    view::rows::{BOLD, DIM, GREEN, YELLOW},
};

/// The largest size of a settings file, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The options of `vertebra hooks import`.
#[derive(clap::Args)]
#[command(after_help = "\
Each hook becomes a [[hook]] with `contract = \"claude-code\"`, so its script works unchanged: it gets the same input and gives
the same answers. Permissions become rules. Existing entries in vertebra.toml are kept. Each entry that cannot be imported
is listed with the reason; the exit code is still 0, because the source file is not changed.

You do not have to import: a trusted .claude/settings.json also works as it is. Import it to have one policy for every
agent. The hooks/hooks.json of a plugin can be imported too.")]
pub(crate) struct Options {
    /// Read this settings file
    #[arg(long, value_name = "FILE", default_value = ".claude/settings.json")]
    from: PathBuf,
    /// Write to this file
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    to: PathBuf,
    /// Print the result and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let settings = read(&options.from)?;
    let before = text_of(&options.to)?;
    let place = options.to.display().to_string();
    let known = parse(&before, Level::User, &place)?;
    let taken = known.settings.hooks.iter().map(|hook| hook.value.stand.name.clone()).collect();
    let import = Import::of(&settings, Plugin::of(&options.from), taken);
    let mut made = written(import, &before)?;
    usable(&made.text, &place, &folder_of(&options.to), &world)
        .context("the result would be invalid, so nothing was changed")?;
    made.left.extend(moved(options, &world));
    tell(&made);
    if options.dry_run {
        std::io::stdout().write_all(made.text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if made.carried.is_empty() {
        anstream::eprintln!("{DIM}Nothing to import.{DIM:#}");
        return Ok(ExitCode::SUCCESS);
    }
    replace(&options.to, &made.text)?;
    anstream::eprintln!("Wrote {BOLD}{}{BOLD:#}. See the hooks with `vertebra hooks list`.", shown(&place));
    anstream::eprintln!(
        "{DIM}The hooks in {} still run too. Remove them there, or they run twice.{DIM:#}",
        shown(&options.from.display().to_string())
    );
    anstream::eprintln!(
        "{DIM}Commands get only a few environment variables (PATH, HOME, …). Add others with `env = [\"NAME\"]` in \
         `run`.{DIM:#}"
    );
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let shown = || path.display().to_string();
    if path.metadata().with_context(shown)?.len() > MAX_BYTES {
        bail!("{}: a settings file can have at most {MAX_BYTES} bytes", shown());
    }
    let text = std::fs::read_to_string(path).with_context(shown)?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).with_context(|| format!("{} is not JSON", shown()))
}

/// Checks that the resulting file is valid. An invalid file would break every later command.
fn usable(text: &str, place: &str, folder: &Path, world: &World) -> anyhow::Result<()> {
    let settings = parse(text, Level::User, place)?.settings;
    permissions(&settings, None)?;
    Policy::new(&settings, &services(folder, Seals::default(), world))?;
    Ok(())
}

fn tell(made: &Made) {
    for line in &made.carried {
        anstream::eprintln!("{GREEN}✓{GREEN:#} {}", shown(line));
    }
    for line in &made.left {
        anstream::eprintln!("{YELLOW}!{YELLOW:#} {}", shown(line));
    }
}

/// Warns about hooks that move to a folder other than that of their project.
fn moved(options: &Options, world: &World) -> Option<String> {
    let claude = folder_of(&options.from);
    let project = claude.parent().filter(|_| claude.file_name().is_some_and(|name| name == ".claude"))?;
    // The user's own settings apply to every project.
    let home = world.variables.get("HOME").and_then(|home| Path::new(home).canonicalize().ok());
    let to = folder_of(&options.to);
    if home.as_deref() == Some(project) || to == project {
        return None;
    }
    Some(format!(
        "these hooks were written for {}: in {} they run in the folder of that file or of the session, which is also \
         their CLAUDE_PROJECT_DIR; check their paths",
        project.display(),
        options.to.display(),
    ))
}

/// Returns the folder that contains a file, canonicalised if it exists.
fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}
