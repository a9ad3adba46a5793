//! `vertebra demo`: a complete agent in a temporary folder, with a hook, a guard and a watch.
//!
//! The model follows a script, so the demo needs no API key and no network. Everything else is real.

mod scene;

use std::{
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
};

use vertebra::{News, RunEvent, RunStatus};

use crate::tree::Tree;

/// The options of `vertebra demo`.
#[derive(clap::Args)]
#[command(after_help = "\
The demo runs a complete agent in a temporary folder, with real file and shell
tools. The model follows a script: it needs no API key and no network.

A hook adds a timeout to every command. A guard denies `rm`, even inside
`bash -c`. A watch writes every tool call to an audit file.")]
pub(crate) struct Options {
    /// Print one JSON object per event
    #[arg(long)]
    json: bool,
    /// Do not pause between steps (the default in a pipe)
    #[arg(long)]
    fast: bool,
}

/// Runs the demo.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let folder = tempfile::Builder::new().prefix("vertebra-demo-").tempdir()?;
    scene::furnish(folder.path())?;
    let pauses = !options.fast && !options.json && std::io::stdout().is_terminal();
    let agent = scene::agent(folder.path(), pauses)?;
    let mut stream = agent.stream(scene::PROMPT);
    stop_on_ctrl_c(stream.token());

    let mut out = anstream::stdout();
    let mut tree = if options.json { None } else { Some(Tree::begin(&mut out, scene::PROMPT, folder.path())?) };
    let mut status = RunStatus::Failed;
    while let Some(event) = stream.next().await {
        if let RunEvent { news: News::Ended { report }, depth: 0, .. } = &event {
            status = report.status;
        }
        match &mut tree {
            Some(tree) => tree.show(&mut out, &event)?,
            None => writeln!(out, "{}", crate::programs::escaped(&serde_json::to_string(&event)?))?,
        }
    }
    if let Some(tree) = tree {
        tree.epilogue(&mut out, folder.path())?;
    }
    Ok(if status == RunStatus::Completed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Stops the run at the first Ctrl-C, and the process at the second.
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
