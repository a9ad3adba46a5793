//! `vertebra install`, `vertebra uninstall`: another agent is told to ask the policy, or no longer.

use std::process::ExitCode;

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

/// Which agent, and for whom.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The agent, as `vertebra hosts` names it; may be repeated
    #[arg(long, value_name = "NAME", required = true)]
    host: Vec<String>,
    /// In your own settings, for all projects [default]
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// In the settings of this project
    #[arg(long)]
    project: bool,
    /// Only show what would change
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
            host::find(name).with_context(|| format!("there is no agent `{name}` here; there are {names}"))
        };
        self.host.iter().map(known).collect()
    }
}

/// Where things are here.
pub(crate) fn place<'a>(world: &'a World, environment: host::Environment<'a>) -> anyhow::Result<Place<'a>> {
    let folder = std::env::current_dir()?;
    let home = world.variables.get("HOME").map(Into::into).filter(|home: &std::path::PathBuf| home.is_absolute());
    Ok(Place { home, project: project_root(&folder).to_owned(), state: world.state.clone(), environment })
}

/// Tells the agents.
pub(crate) fn install(options: &Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let variable = |name: &str| world.variables.get(name).cloned();
    let place = place(&world, &variable)?;
    let program = std::env::current_exe().context("where this program is")?;
    ensure!(place.state.is_some(), "there is no folder to keep what was there before: set HOME or XDG_STATE_HOME");
    for host in options.hosts()? {
        // What is known of such a file is not the same everywhere, so a person has to look.
        if let Some(rival) = install::rival(host, options.scope(), &place) {
            let rival = shown(&rival.to_string_lossy());
            println!("{rival} is there, and {} may read it in place of what is written here: see with it", host.title);
            println!("whether a call is denied, or move what it says into the other file and remove it.");
        }
        if let Some(file) = install::off_in(host, options.scope(), &place)? {
            let file = shown(&file.to_string_lossy());
            println!(
                "All hooks of {} are switched off in {file}: until that is taken back it asks nobody.",
                host.title
            );
        }
        let edits = install::plan(host, options.scope(), &place, &program)?;
        if edits.is_empty() {
            println!("{} asks the policy already.", host.title);
            continue;
        }
        show(&edits, options.dry_run);
        if !options.dry_run {
            install::apply(&edits, &place)?;
            println!("{} asks the policy from now on.", host.title);
        }
        if !host.remark.is_empty() {
            println!("{}", host.remark);
        }
    }
    let others = [world.managed.clone(), place.project.join(FILE_NAME)];
    let own = world.user_settings().filter(|own| !own.is_file());
    if let Some(own) = own.filter(|_| !others.iter().any(|file| file.is_file())) {
        println!("There is no policy yet: write {}.", shown(&own.to_string_lossy()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells them no longer.
pub(crate) fn uninstall(options: &Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let variable = |name: &str| world.variables.get(name).cloned();
    let place = place(&world, &variable)?;
    for host in options.hosts()? {
        let edits = install::unplan(host, options.scope(), &place)?;
        if edits.is_empty() {
            println!("{} did not ask the policy.", host.title);
            continue;
        }
        show(&edits, options.dry_run);
        if !options.dry_run {
            install::take_back(&edits, &place)?;
            println!("{} does not ask the policy any longer.", host.title);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(edits: &[Edit], only: bool) {
    for edit in edits {
        let path = shown(&edit.path.to_string_lossy());
        let verb = match (&edit.before, &edit.after) {
            (_, None) => "removed",
            (None, Some(_)) => "made",
            (Some(_), Some(_)) => "changed",
        };
        println!("{} {path}", if only { format!("would be {verb}:") } else { format!("{verb}:") });
        if only {
            let (before, after) =
                (edit.before.as_deref().unwrap_or_default(), edit.after.as_deref().unwrap_or_default());
            for change in similar::TextDiff::from_lines(before, after).unified_diff().context_radius(1).iter_hunks() {
                print!("{}", visible(&change.to_string()));
            }
        }
    }
}
