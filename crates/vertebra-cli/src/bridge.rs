//! `vertebra bridge`: forwards a local socket to a server inside a VM.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, ensure};
use tokio::signal::unix::{SignalKind, signal};
use vertebra_server::{Address, Listener, Machine, MachinePort, bridge};

use crate::view::text::visible;

/// The options of `vertebra bridge`.
#[derive(clap::Args)]
#[command(after_help = "\
A server inside a VM listens on vsock, which most clients cannot reach. Run a bridge
on the host: it accepts connections on a Unix socket and forwards them to the VM. Only
processes of the same user can connect, and the server still asks for their token.

Examples:
  vertebra bridge --listen unix:///run/user/1000/vm.sock --cid 3 --port 7777
  vertebra bridge --listen unix:///run/user/1000/vm.sock --vm-socket /run/firecracker/v.sock --port 7777")]
pub(crate) struct Options {
    /// Listen on this Unix socket, such as `unix:///run/vertebra.sock`
    #[arg(long, value_name = "ADDRESS")]
    listen: Address,
    /// Reach the VM by its vsock socket (Firecracker, Cloud Hypervisor, vhost-device-vsock)
    #[arg(long, value_name = "FILE", conflicts_with = "cid", required_unless_present = "cid")]
    vm_socket: Option<PathBuf>,
    /// Reach the VM by its CID, if the kernel provides its vsock
    #[arg(long)]
    cid: Option<u32>,
    /// Forward to this vsock port in the VM
    #[arg(long)]
    port: u32,
}

/// Runs the command until a signal ends it.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let Options { listen, vm_socket, cid, port } = options;
    ensure!(
        matches!(listen, Address::Unix(_)),
        "--listen {listen}: a bridge listens on a Unix socket; write `unix:///…`"
    );
    let machine =
        vm_socket.map(Machine::Socket).or(cid.map(Machine::Cid)).context("name the VM with --vm-socket or --cid")?;
    let listener = Listener::bind(&listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    // The bridge also forwards if no one reads this.
    let _ = writeln!(std::io::stdout(), "listening on {listen}");
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let told = |error: std::io::Error| eprintln!("warning: {}", visible(&error.to_string()));
    tokio::select! {
        () = bridge(listener, MachinePort { machine, port }, told) => {}
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    Ok(ExitCode::SUCCESS)
}
