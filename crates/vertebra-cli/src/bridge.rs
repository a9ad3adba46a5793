//! `vertebra bridge`: a socket of this user's own that leads to a server in a virtual machine.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, ensure};
use tokio::signal::unix::{SignalKind, signal};
use vertebra_server::{Address, Listener, Machine, MachinePort, bridge};

use crate::view::text::visible;

/// Where to listen, and which port of which machine is meant.
#[derive(clap::Args)]
#[command(after_help = "\
Clients know Unix sockets; a server in a virtual machine listens on vsock. A bridge stands between them, on the host. Whoever
runs as the same user can use it; the server asks for their token as ever.

Examples:
  vertebra bridge --listen unix:///run/user/1000/vm.sock --cid 3 --port 7777
  vertebra bridge --listen unix:///run/user/1000/vm.sock --vm-socket /run/firecracker/v.sock --port 7777")]
pub(crate) struct Options {
    /// Where clients come in, as `unix:///run/vertebra.sock`
    #[arg(long, value_name = "ADDRESS")]
    listen: Address,
    /// The Unix socket of the machine: Firecracker, Cloud Hypervisor, vhost-device-vsock
    #[arg(long, value_name = "FILE", conflicts_with = "cid", required_unless_present = "cid")]
    vm_socket: Option<PathBuf>,
    /// The number of the machine, if it has a vsock of the kernel
    #[arg(long)]
    cid: Option<u32>,
    /// The port in the machine that the server listens on
    #[arg(long)]
    port: u32,
}

/// Carries connections until it is told to end.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let Options { listen, vm_socket, cid, port } = options;
    ensure!(matches!(listen, Address::Unix(_)), "--listen {listen}: a bridge begins at a Unix socket, as `unix:///…`");
    let machine = vm_socket.map(Machine::Socket).or(cid.map(Machine::Cid)).context("which machine?")?;
    let listener = Listener::bind(&listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    println!("listening on {listen}");
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let told = |error: std::io::Error| eprintln!("warning: {}", visible(&error.to_string()));
    tokio::select! {
        () = bridge(listener, MachinePort { machine, port }, told) => {}
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    Ok(ExitCode::SUCCESS)
}
