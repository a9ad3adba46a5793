//! `vertebra serve`: the gRPC server that runs sessions for clients.

mod agents;
mod doors;

use std::{io::Write as _, process::ExitCode};

use futures_util::{FutureExt as _, future::try_join_all};
use tokio::signal::unix::{SignalKind, signal};
use vertebra_server::{Limits, Server};

use self::{agents::BuiltIn, doors::DoorOptions};
use crate::{
    assembly::{World, open_journal},
    options::AgentOptions,
};

/// The options of `vertebra serve`.
#[derive(clap::Args)]
#[command(after_help = "\
Clients use the TypeScript or Python SDK, or any gRPC client for proto/vertebra/v1.

A Unix socket accepts processes of the same user. A TCP or vsock address needs a token,
or a client certificate signed by --client-ca. A token file has one token per line, or
one table per named client:

  [[client]]
  name = \"ci\"
  token_hash = \"…\"    # output of `b3sum`; or `token`, or `certificate` with its name
  governs = \"own\"     # its own sessions; or \"everything\"

SIGTERM suspends all runs to the journal; resume them later.

Examples:
  vertebra serve
  vertebra serve --listen tcp://127.0.0.1:7777 --token-file token
  vertebra serve --listen tcp://0.0.0.0:7777 --tls-cert cert.pem --tls-key key.pem --client-ca ca.pem
  vertebra serve --listen unix:///run/v.sock --model script:turns.jsonl --mode accept-edits")]
pub(crate) struct Options {
    #[command(flatten)]
    doors: DoorOptions,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Runs the command until a signal ends it.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let doors = options.doors.open(&world).await?;
    for (listener, _) in &doors.open {
        // The server also serves if no one reads this.
        let _ = writeln!(std::io::stdout(), "listening on {}", listener.address()?);
    }
    if let Some(metrics) = &doors.metrics {
        let _ = writeln!(std::io::stdout(), "metrics at http://{}/metrics", metrics.local_addr()?);
    }
    let (journal, warnings) = open_journal(&options.agent, &world)?;
    for warning in &warnings {
        eprintln!("warning: {}", crate::view::text::visible(warning));
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
        let mut down = std::pin::pin!(server.shut_down());
        // From here on no run begins another step, and then it is said.
        let done = down.as_mut().now_or_never();
        eprintln!("shutting down: suspending all runs");
        match done {
            Some(left) => left,
            None => down.await,
        }
    };
    tokio::pin!(all);
    let left = tokio::select! {
        done = &mut all => {
            done?;
            0
        }
        left = ends => {
            // Connected clients have a moment to receive the end.
            all.await?;
            left
        }
    };
    if left > 0 {
        eprintln!("{left} runs could not be suspended in time; resume them as after a crash");
    }
    Ok(ExitCode::SUCCESS)
}
