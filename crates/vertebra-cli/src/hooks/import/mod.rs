//! `vertebra hooks import`: hooks and permissions of Claude Code, as a `vertebra.toml` says them.

mod command;
mod matcher;
mod reading;
mod writing;

use std::{
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

/// How large a file of settings may be.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What to read, and where it goes.
#[derive(clap::Args)]
#[command(after_help = "\
Every hook becomes a [[hook]] with `contract = \"claude-code\"`: the script is not changed, and sees and says what it is used
to. Permissions become rules. What is in vertebra.toml stays. What cannot be carried over is told, line by line, and the exit
code is 0 all the same: nothing of it was lost where it was.

A project's .claude/settings.json works here as it is, once it is trusted; import it to have one policy for every agent. The
hooks/hooks.json of a plugin can be read, too.")]
pub(crate) struct Options {
    /// The settings of Claude Code
    #[arg(long, value_name = "FILE", default_value = ".claude/settings.json")]
    from: PathBuf,
    /// The file that they go to
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    to: PathBuf,
    /// Only show what would be written
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
        .context("what would be written cannot be used; nothing was changed")?;
    made.left.extend(moved(options, &world));
    tell(&made);
    if options.dry_run {
        print!("{}", made.text);
        return Ok(ExitCode::SUCCESS);
    }
    if made.carried.is_empty() {
        anstream::eprintln!("{DIM}Nothing to carry over.{DIM:#}");
        return Ok(ExitCode::SUCCESS);
    }
    replace(&options.to, &made.text)?;
    anstream::eprintln!("{BOLD}{}{BOLD:#} has them now. See: vertebra hooks list", shown(&place));
    anstream::eprintln!(
        "{DIM}What stays in {} runs from there, too: take out there what is to run once.{DIM:#}",
        shown(&options.from.display().to_string())
    );
    anstream::eprintln!(
        "{DIM}Commands get a short environment here (PATH, HOME, …): what else one needs, its `run` names: env = \
         [\"NAME\"].{DIM:#}"
    );
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let shown = || path.display().to_string();
    if path.metadata().with_context(shown)?.len() > MAX_BYTES {
        bail!("{}: settings have at most {MAX_BYTES} bytes", shown());
    }
    let text = std::fs::read_to_string(path).with_context(shown)?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).with_context(|| format!("{} is not JSON", shown()))
}

/// Whether a file that says this can be read and put to work: what cannot would keep every later command from working.
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

/// What changes for hooks that go to another folder than that of their project.
fn moved(options: &Options, world: &World) -> Option<String> {
    let claude = folder_of(&options.from);
    let project = claude.parent().filter(|_| claude.file_name().is_some_and(|name| name == ".claude"))?;
    // A person's own settings are for every project.
    let home = world.variables.get("HOME").and_then(|home| Path::new(home).canonicalize().ok());
    let to = folder_of(&options.to);
    if home.as_deref() == Some(project) || to == project {
        return None;
    }
    Some(format!(
        "these hooks were written for {}: from {} they run in the folder of that file or of the session, and that is \
         CLAUDE_PROJECT_DIR to them; mend their paths",
        project.display(),
        options.to.display(),
    ))
}

/// The folder a file is in, as far as it is there.
fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}
