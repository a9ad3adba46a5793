//! `vertebra serve`: sessions for clients, governed by the hooks that live in them.

mod agents;

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail, ensure};
use futures_util::future::try_join_all;
use tokio::signal::unix::{SignalKind, signal};
use vertebra_server::{
    Address, Limits, Listener, Server,
    door::{Door, Tokens},
};

use self::agents::BuiltIn;
use crate::{
    assembly::{World, open_journal},
    options::AgentOptions,
};

/// How many bytes a file of tokens may have.
const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// How short a token may be.
const SHORTEST_TOKEN: usize = 16;

/// Where to listen, whom to let in, and which agent they get.
#[derive(clap::Args)]
#[command(after_help = "\
Clients speak gRPC: the TypeScript and Python packages, or anything made from proto/vertebra/v1. A Unix socket lets in
whoever runs as the same user; a TCP port needs a token. SIGTERM suspends runs to the journal, where they wait to be
resumed.

Examples:
  vertebra serve                                             a Unix socket for this user
  vertebra serve --listen tcp://127.0.0.1:7777 --token-file token
  vertebra serve --listen unix:///run/v.sock --model script:turns.jsonl --mode accept-edits")]
pub(crate) struct Options {
    /// Where to listen, as `tcp://127.0.0.1:7777` or `unix:///run/vertebra.sock`; may be repeated [default: a socket of
    /// your own]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,
    /// A file with the token that TCP clients send
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Serves until it is told to end.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let tokens = options.token_file.as_deref().map(read_token).transpose()?.map(Arc::new);
    let listen = match options.listen {
        listen if listen.is_empty() => vec![own_socket(&world)?],
        listen => listen,
    };
    let mut doors = Vec::new();
    for address in &listen {
        let door = match (address, &tokens) {
            (Address::Unix(_), _) => Door::SameUser,
            (Address::Tcp(_), Some(tokens)) => Door::Token(tokens.clone()),
            (Address::Tcp(_), None) => bail!("{address} lets in whoever finds it: write `--token-file FILE`"),
        };
        let listener = Listener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        println!("listening on {}", listener.address()?);
        doors.push((listener, door));
    }
    let (journal, warnings) = open_journal(&options.agent, &world)?;
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let agents = BuiltIn::new(options.agent, world, journal.clone())?;
    let server = Server::new(agents, journal, Limits::default());
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let all = try_join_all(doors.into_iter().map(|(listener, door)| server.serve(listener, door)));
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

/// A socket of this user's own.
fn own_socket(world: &World) -> anyhow::Result<Address> {
    let runtime = world.variables.get("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = runtime.or_else(|| world.state.clone());
    let folder = folder.context("there is no folder for a socket: write `--listen unix:///…`")?;
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(Address::Unix(folder.join("vertebra.sock")))
}

fn read_token(path: &Path) -> anyhow::Result<Tokens> {
    let shown = path.display();
    let mut text = String::new();
    let file = File::open(path).with_context(|| format!("--token-file {shown}"))?;
    file.take(MAX_TOKEN_BYTES).read_to_string(&mut text).with_context(|| format!("--token-file {shown}"))?;
    let token = text.trim();
    ensure!(token.len() >= SHORTEST_TOKEN, "{shown}: a token has at least {SHORTEST_TOKEN} characters");
    Ok(Tokens::one(token))
}
