//! `vertebra serve`: sessions for clients, governed by the hooks that live in them.

mod agents;
mod doors;

use std::process::ExitCode;

use futures_util::{FutureExt as _, future::try_join_all};
use tokio::signal::unix::{SignalKind, signal};
use vertebra_server::{Limits, Server};

use self::{agents::BuiltIn, doors::DoorOptions};
use crate::{
    assembly::{World, open_journal},
    options::AgentOptions,
};

/// Where to listen, whom to let in, and which agent they get.
#[derive(clap::Args)]
#[command(after_help = "\
Clients speak gRPC: the TypeScript and Python packages, or anything made from proto/vertebra/v1. A Unix socket lets in
whoever runs as the same user; a TCP port needs a token, or a certificate that --client-ca has signed. A file of tokens
has one on each line, or tables that say who has it and what they govern, their own sessions or everything:

  [[client]]
  name = \"ci\"
  token_hash = \"…\"       what `b3sum` prints of it; or token, or certificate with the name in one
  governs = \"own\"

SIGTERM suspends runs to the journal, where they wait to be resumed.

Examples:
  vertebra serve                                             a Unix socket for this user
  vertebra serve --listen tcp://127.0.0.1:7777 --token-file token
  vertebra serve --listen tcp://0.0.0.0:7777 --tls-cert cert.pem --tls-key key.pem --client-ca ca.pem
  vertebra serve --listen unix:///run/v.sock --model script:turns.jsonl --mode accept-edits")]
pub(crate) struct Options {
    #[command(flatten)]
    doors: DoorOptions,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Serves until it is told to end.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let doors = options.doors.open(&world).await?;
    for (listener, _) in &doors.open {
        println!("listening on {}", listener.address()?);
    }
    if let Some(metrics) = &doors.metrics {
        println!("numbers at http://{}/metrics", metrics.local_addr()?);
    }
    let (journal, warnings) = open_journal(&options.agent, &world)?;
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    let agents = BuiltIn::new(options.agent, world, journal.clone())?;
    let server = Server::new(agents, journal, Limits::default());
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let numbers = doors.metrics.map(|metrics| server.tell_metrics(metrics).map(Ok).boxed());
    let all = doors.open.into_iter().map(|(listener, door)| server.serve(listener, door).boxed());
    let all = try_join_all(all.chain(numbers));
    let ends = async {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
        eprintln!("going down: runs are suspended");
        server.shut_down().await
    };
    tokio::pin!(all);
    let left = tokio::select! {
        done = &mut all => {
            done?;
            0
        }
        left = ends => {
            // Whoever still reads has a moment to hear the end.
            all.await?;
            left
        }
    };
    if left > 0 {
        eprintln!("{left} runs had not come to rest: they are resumed as after a crash");
    }
    Ok(ExitCode::SUCCESS)
}
