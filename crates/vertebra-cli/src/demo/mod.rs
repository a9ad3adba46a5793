//! `vertebra demo`: a whole agent loop in a temporary folder, with real effects, under three hooks.
//!
//! The model plays a script, so that it needs no key and no network; everything else is real.

mod scene;

use std::{
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
};

use vertebra::{News, RunEvent, RunStatus};

use crate::tree::Tree;

/// How the demo is shown.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Print one JSON object per event (the default when the output is not a terminal)
    #[arg(long, conflicts_with = "tree")]
    json: bool,
    /// Print a tree for people (the default on a terminal)
    #[arg(long)]
    tree: bool,
    /// Do not pause where a model would think
    #[arg(long)]
    fast: bool,
}

/// Runs the demo.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let for_people = options.tree || (!options.json && std::io::stdout().is_terminal());
    let folder = tempfile::Builder::new().prefix("vertebra-demo-").tempdir()?;
    scene::furnish(folder.path())?;
    let agent = scene::agent(folder.path(), options.fast)?;
    let mut stream = agent.stream(scene::PROMPT);
    stop_on_ctrl_c(stream.token());

    let mut tree = for_people.then(|| Tree::begin(scene::PROMPT, folder.path()));
    let mut status = RunStatus::Failed;
    while let Some(event) = stream.next().await {
        if let RunEvent { news: News::Ended { report }, depth: 0, .. } = &event {
            status = report.status;
        }
        match &mut tree {
            Some(tree) => tree.show(&event),
            None => writeln!(std::io::stdout(), "{}", serde_json::to_string(&event)?)?,
        }
    }
    if let Some(tree) = tree {
        tree.epilogue(folder.path())?;
    }
    Ok(if status == RunStatus::Completed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The first Ctrl-C ends the run, hooks and all; the second ends the process.
fn stop_on_ctrl_c(cancel: vertebra::CancellationToken) {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    });
}
