//! Measures a real `vertebra serve`: how long a guard in another process takes, and a thousand sessions at once whose
//! guards are all there. Prints a line of JSON for each row.

mod guard;
mod server;

use std::{path::PathBuf, time::Instant};

use anyhow::{Context as _, ensure};
use clap::Parser as _;
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tonic::transport::Channel;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use vertebra_server::proto::{CreateSessionRequest, PromptRequest, sessions_client::SessionsClient};

use crate::{
    guard::Guard,
    server::{Served, Transport},
};

/// How many connections the sessions share.
const CONNECTIONS: usize = 8;

#[derive(clap::Parser)]
struct Options {
    /// The program
    #[arg(long)]
    server: PathBuf,
    /// How many sessions at once
    #[arg(long, default_value_t = 1000)]
    sessions: usize,
    /// How many calls each makes
    #[arg(long, default_value_t = 5)]
    calls: usize,
    /// How many calls one session makes when nobody else is there
    #[arg(long, default_value_t = 500)]
    alone: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    for transport in [Transport::Unix, Transport::Tcp] {
        let name = transport.name();
        let server = Served::start(&options.server, transport, options.alone).await?;
        let mut bare = bare(&server, options.alone).await?;
        tell(&format!("a bare call, {name}"), &mut bare);
        let _guard = Guard::stand(&server).await?;
        let mut alone = session(server.channel().await?).await?;
        tell(&format!("a guard in another process, {name}"), &mut alone);
    }
    for transport in [Transport::Unix, Transport::Tcp] {
        crowd(&options, transport).await?;
    }
    Ok(())
}

/// The least that a call to a server can take: whether it is well.
async fn bare(server: &Served, times: usize) -> anyhow::Result<Vec<u64>> {
    let mut health = HealthClient::new(server.channel().await?);
    let mut took = Vec::with_capacity(times);
    for turn in 0..=times {
        let began = Instant::now();
        health.check(server::admitted(HealthCheckRequest::default())).await?;
        // The first finds nothing warm.
        if turn > 0 {
            took.push(u64::try_from(began.elapsed().as_nanos())?);
        }
    }
    Ok(took)
}

/// A thousand sessions at once: every call is refused with an answer that names it, and each reads its own.
async fn crowd(options: &Options, transport: Transport) -> anyhow::Result<()> {
    let Options { sessions, calls, .. } = *options;
    let name = transport.name();
    let server = Served::start(&options.server, transport, calls).await?;
    let guard = Guard::stand(&server).await?;
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(server.channel().await?);
    }
    let began = Instant::now();
    let all = (0..sessions).map(|at| session(channels[at % CONNECTIONS].clone()));
    let mut took: Vec<u64> = try_join_all(all).await?.into_iter().flatten().collect();
    let seconds = began.elapsed().as_secs_f64();
    ensure!(took.len() == sessions * calls, "{} of {} answers came", took.len(), sessions * calls);
    ensure!(guard.answered() == sessions * calls, "{} were asked for", guard.answered());
    tell(&format!("a guard of {sessions} sessions at once, {name}"), &mut took);
    let events = num(sessions * calls) / seconds;
    println!("{}", json!({ "row": format!("guarded calls per second, {sessions} sessions, {name}"), "count": events }));
    println!("{}", json!({ "row": format!("most memory of the server, {name}"), "bytes": server.most_memory()? }));
    Ok(())
}

/// Runs one session to its end; answers with how long its guard took, each time.
async fn session(channel: Channel) -> anyhow::Result<Vec<u64>> {
    let mut sessions = SessionsClient::new(channel);
    let session_id = sessions.create(server::admitted(CreateSessionRequest::default())).await?.into_inner().id;
    let prompt = PromptRequest { session_id: session_id.clone(), text: "go".to_owned() };
    let mut events = sessions.prompt(server::admitted(prompt)).await?.into_inner();
    let mut took = Vec::new();
    while let Some(event) = events.message().await? {
        let event: Value = serde_json::from_str(&event.json)?;
        match event["event"].as_str() {
            Some("hooks") => {
                let traces = event["record"]["hooks"].as_array().context("a record has hooks")?;
                took.extend(traces.iter().filter(|trace| trace["hook"] == guard::NAME).map(|trace| {
                    let part = |key: &str| trace["took"][key].as_u64().unwrap_or_default();
                    part("secs") * 1_000_000_000 + part("nanos")
                }));
            }
            Some("tool_ended") => {
                let meant = guard::answer(&session_id, event["call"]["id"].as_str().unwrap_or_default());
                let read = event["result"]["output"].as_str().unwrap_or_default();
                ensure!(read.ends_with(&meant), "a session read `{read}`, which is not its answer `{meant}`");
            }
            _ => {}
        }
    }
    Ok(took)
}

/// Prints the median and the slowest of a hundred.
fn tell(row: &str, took: &mut [u64]) {
    took.sort_unstable();
    for (what, part) in [("median", 50), ("p99", 99)] {
        let at = (took.len() * part / 100).min(took.len().saturating_sub(1));
        println!("{}", json!({ "row": format!("{row}, {what}"), "ns": took.get(at) }));
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn num(count: usize) -> f64 {
    count as f64
}
