//! `vertebra install` and `vertebra uninstall`: add the policy to another coding agent, and remove it.

use std::{fmt::Write as _, io::Write as _, process::ExitCode};

use anyhow::{Context as _, ensure};
use vertebra_bridge::{
    host::{
        self, Host,
        install::{self, Edit, Place, Scope},
    },
    settings::{FILE_NAME, project_root},
    shown,
};

use crate::{assembly::World, view::text::visible};

/// The end of `vertebra install --help`.
pub(crate) const INSTALL_HELP: &str = "\
Adds an entry to the agent's own settings, so that the agent runs `vertebra hook` at every event and your policy
(vertebra.toml) decides. Everything else in those files stays as it is. `vertebra uninstall` restores them.

Examples:
  vertebra install --host claude-code --dry-run        show the change
  vertebra install --host claude-code                  for you, in all projects
  vertebra install --host claude-code --host codex     for several agents
  vertebra install --host cursor --project             for everyone who works on this project
  vertebra hosts                                       check the result";

/// The end of `vertebra uninstall --help`.
pub(crate) const UNINSTALL_HELP: &str = "\
Removes the entries that `vertebra install` added. A file that was not changed since is restored to its old content.

Examples:
  vertebra uninstall --host claude-code --dry-run      show the change
  vertebra uninstall --host claude-code                for you, in all projects
  vertebra uninstall --host cursor --project           for this project";

/// The options of `vertebra install` and `vertebra uninstall`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Agent, as listed by `vertebra hosts`; repeat for several
    #[arg(long, value_name = "NAME", required = true)]
    host: Vec<String>,
    /// Change your own settings, for all projects [default]
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Change the settings of this project
    #[arg(long)]
    project: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Options {
    fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }

    fn hosts(&self) -> anyhow::Result<Vec<&'static Host>> {
        let known = |name: &String| {
            let names = host::HOSTS.iter().map(|host| host.name).collect::<Vec<_>>().join(", ");
            host::find(name).with_context(|| format!("unknown agent `{name}`. Known: {names}"))
        };
        self.host.iter().map(known).collect()
    }
}

/// Returns the places on this machine that an installation needs.
pub(crate) fn place<'a>(world: &'a World, environment: host::Environment<'a>) -> anyhow::Result<Place<'a>> {
    let folder = std::env::current_dir()?;
    let home = world.variables.get("HOME").map(Into::into).filter(|home: &std::path::PathBuf| home.is_absolute());
    Ok(Place { home, project: project_root(&folder).to_owned(), state: world.state.clone(), environment })
}

/// Installs the policy.
pub(crate) fn install(options: &Options) -> anyhow::Result<ExitCode> {
    printed(|out| install_all(options, out))
}

/// Prints what was done when all is done: a reader that stops early must not keep the policy from being installed.
fn printed(work: impl FnOnce(&mut String) -> anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    let mut out = String::new();
    let done = work(&mut out);
    let printed = std::io::stdout().write_all(out.as_bytes());
    done?;
    printed?;
    Ok(ExitCode::SUCCESS)
}

fn install_all(options: &Options, out: &mut String) -> anyhow::Result<()> {
    let world = World::of_process();
    let variable = |name: &str| world.variables.get(name).cloned();
    let place = place(&world, &variable)?;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    ensure!(
        place.state.is_some(),
        "cannot back up the agent's files without a state folder: set HOME or XDG_STATE_HOME"
    );
    for host in options.hosts()? {
        // Versions of the agent differ in how they treat such a file, so a person has to check.
        if let Some(rival) = install::rival(host, options.scope(), &place) {
            let rival = shown(&rival.to_string_lossy());
            writeln!(out, "{rival} exists, and {} may read it instead of the file that vertebra writes.", host.title)?;
            writeln!(out, "Check that a call is denied, or move its content into the other file and delete it.")?;
        }
        if let Some(file) = install::off_in(host, options.scope(), &place)? {
            let file = shown(&file.to_string_lossy());
            writeln!(
                out,
                "All hooks of {} are switched off in {file}. The policy has no effect until you switch them on.",
                host.title
            )?;
        }
        let edits = install::plan(host, options.scope(), &place, &program)?;
        if edits.is_empty() {
            writeln!(out, "The policy is already installed in {}.", host.title)?;
            continue;
        }
        show(&edits, options.dry_run, out)?;
        if !options.dry_run {
            install::apply(&edits, &place)?;
            writeln!(out, "The policy is now installed in {}.", host.title)?;
        }
        if !host.remark.is_empty() {
            writeln!(out, "{}", host.remark)?;
        }
    }
    if let Some(store) = world.store().filter(|_| !options.dry_run && options.scope() == Scope::User) {
        store.install()?;
    }
    let others = [world.managed.clone(), place.project.join(FILE_NAME)];
    let own = world.user_settings().filter(|own| !own.is_file());
    if let Some(own) = own.filter(|_| !others.iter().any(|file| file.is_file())) {
        writeln!(out, "You have no policy yet: create {}.", shown(&own.to_string_lossy()))?;
    }
    Ok(())
}

/// Removes the policy.
pub(crate) fn uninstall(options: &Options) -> anyhow::Result<ExitCode> {
    printed(|out| uninstall_all(options, out))
}

fn uninstall_all(options: &Options, out: &mut String) -> anyhow::Result<()> {
    let world = World::of_process();
    let variable = |name: &str| world.variables.get(name).cloned();
    let place = place(&world, &variable)?;
    for host in options.hosts()? {
        let edits = install::unplan(host, options.scope(), &place)?;
        if edits.is_empty() {
            writeln!(out, "The policy is not installed in {}.", host.title)?;
            continue;
        }
        show(&edits, options.dry_run, out)?;
        if !options.dry_run {
            install::take_back(&edits, &place)?;
            writeln!(out, "The policy is removed from {}.", host.title)?;
        }
    }
    Ok(())
}

fn show(edits: &[Edit], only: bool, out: &mut String) -> std::fmt::Result {
    for edit in edits {
        let path = shown(&edit.path.to_string_lossy());
        let verb = match (&edit.before, &edit.after) {
            (_, None) => "deleted",
            (None, Some(_)) => "created",
            (Some(_), Some(_)) => "changed",
        };
        writeln!(out, "{} {path}", if only { format!("would be {verb}:") } else { format!("{verb}:") })?;
        if only {
            let (before, after) =
                (edit.before.as_deref().unwrap_or_default(), edit.after.as_deref().unwrap_or_default());
            for change in similar::TextDiff::from_lines(before, after).unified_diff().context_radius(1).iter_hunks() {
                write!(out, "{}", visible(&change.to_string()))?;
            }
        }
    }
    Ok(())
}
