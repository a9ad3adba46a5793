//! `vertebra trust`: look at what a folder brings, and say whether it counts.

use std::{io::IsTerminal as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use vertebra_bridge::trust::{Project, Standing, Store};

use crate::assembly::{World, agrees, show};

/// Which folder, and what about it.
#[derive(clap::Args)]
#[command(after_help = "\
Settings (vertebra.toml), instructions (AGENTS.md, CLAUDE.md), skills and agents that come with a folder count only once
you trust them: they could allow commands or send your requests elsewhere. Trust holds for the files as they are. When one
changes, you are asked again.")]
pub(crate) struct Options {
    /// The folder
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Trust it without being asked
    #[arg(long, conflicts_with_all = ["forget", "show"])]
    yes: bool,
    /// Trust it no longer
    #[arg(long, conflicts_with = "show")]
    forget: bool,
    /// Only show what it brings and how it stands
    #[arg(long)]
    show: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let state = world.state.as_deref().context("there is no folder to remember it in: set HOME or XDG_STATE_HOME")?;
    let store = Store::in_folder(state);
    let project = Project::look(&options.folder).with_context(|| options.folder.display().to_string())?;
    let root = vertebra_bridge::shown(&project.root.to_string_lossy());
    if options.forget {
        let known = store.forget(&project.root)?;
        println!("{root} {}", if known { "is not trusted any longer." } else { "was not trusted." });
        return Ok(ExitCode::SUCCESS);
    }
    let standing = store.standing(&project)?;
    if options.show || matches!(standing, Standing::Empty | Standing::Trusted) {
        show(&mut std::io::stdout().lock(), &project, &standing)?;
        return Ok(ExitCode::SUCCESS);
    }
    let agreed = if options.yes {
        show(&mut std::io::stdout().lock(), &project, &standing)?;
        true
    } else if std::io::stdin().is_terminal() {
        agrees(&project, &standing)?
    } else {
        show(&mut std::io::stderr().lock(), &project, &standing)?;
        bail!("nobody is there to be asked; to trust all of this: vertebra trust --yes");
    };
    if !agreed {
        println!("Not trusted.");
        return Ok(ExitCode::FAILURE);
    }
    store.trust(&project)?;
    println!("Trusted, as it is now.");
    Ok(ExitCode::SUCCESS)
}
