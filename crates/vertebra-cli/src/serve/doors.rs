//! The listeners of a server and the clients that each accepts.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, bail, ensure};
use nix::unistd::User;
use tokio::net::TcpListener;
use vertebra_server::{
    Address, Listener, Tls,
    door::{Door, Known},
};

use crate::assembly::World;

/// The options that select listeners and clients.
#[derive(clap::Args)]
pub(super) struct DoorOptions {
    /// Listen on `tcp://HOST:PORT`, `unix:///PATH` or `vsock://any:PORT` (repeatable)
    ///
    /// Without this option, the server listens on a Unix socket of the current user.
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,
    /// File with one token per line, or one `[[client]]` table per named client
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let this user connect by Unix socket and own sessions (repeatable)
    #[arg(long, value_name = "NAME|UID")]
    allow_user: Vec<String>,
    /// Use TLS on TCP with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Use this private key for the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Require client certificates signed by this CA on TCP (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// Allow addresses that other machines can reach without TLS
    #[arg(long)]
    plain: bool,
    /// Serve Prometheus metrics at /metrics on this address
    #[arg(long, value_name = "ADDR")]
    metrics: Option<Address>,
}

/// The open listeners, including the one for metrics.
pub(super) struct Doors {
    pub(super) open: Vec<(Listener, Door)>,
    pub(super) metrics: Option<TcpListener>,
}

impl DoorOptions {
    /// Opens all listeners, or none.
    pub(super) async fn open(self, world: &World) -> anyhow::Result<Doors> {
        let known = self.token_file.as_deref().map(Known::read).transpose().context("--token-file")?.map(Arc::new);
        let others = self.allow_user.iter().map(|user| uid(user)).collect::<Result<Arc<[u32]>, _>>()?;
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::read(certificate, key, self.client_ca.as_deref())?),
            _ => None,
        };
        let listen = if self.listen.is_empty() { vec![own_socket(world)?] } else { self.listen.clone() };
        let is_unix = |address: &Address| matches!(address, Address::Unix(_));
        let is_tcp = |address: &Address| matches!(address, Address::Tcp(_));
        ensure!(
            others.is_empty() || listen.iter().any(is_unix),
            "--allow-user needs a Unix socket: add `--listen unix:///…`"
        );
        ensure!(tls.is_none() || listen.iter().any(is_tcp), "--tls-cert needs a TCP address: add `--listen tcp://…`");
        let door = |address: &Address| self.door(address, known.as_ref(), &others);
        let doors = listen.iter().map(door).collect::<anyhow::Result<Vec<_>>>()?;
        let mut open = Vec::new();
        for (address, door) in listen.iter().zip(doors) {
            let listener = Listener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
            let listener = match &tls {
                Some(tls) => listener.covered(tls.clone()),
                None => listener,
            };
            if let Door::Users(_) = door {
                listener.open_to_users()?;
            }
            open.push((listener, door));
        }
        let metrics = match &self.metrics {
            Some(address) => Some(self.bind_metrics(address).await?),
            None => None,
        };
        Ok(Doors { open, metrics })
    }

    fn door(&self, address: &Address, known: Option<&Arc<Known>>, others: &Arc<[u32]>) -> anyhow::Result<Door> {
        if let Address::Unix(_) = address {
            return Ok(if others.is_empty() { Door::SameUser } else { Door::Users(others.clone()) });
        }
        if self.tls_cert.is_none() && !address.is_local() && !self.plain {
            bail!(
                "{address} can be reached from other machines, and its traffic would not be encrypted: add \
                 `--tls-cert FILE --tls-key FILE`, or `--plain` if a proxy or tunnel encrypts it"
            );
        }
        if self.client_ca.is_some() && matches!(address, Address::Tcp(_)) {
            return Ok(Door::Certificate(known.cloned().unwrap_or_default()));
        }
        match known {
            Some(known) if known.has_tokens() => Ok(Door::Token(known.clone())),
            _ => bail!("{address} would accept any client: add `--token-file FILE` with at least one token"),
        }
    }

    async fn bind_metrics(&self, address: &Address) -> anyhow::Result<TcpListener> {
        let Address::Tcp(port) = address else { bail!("--metrics {address}: Prometheus needs a TCP address") };
        ensure!(
            address.is_local() || self.plain,
            "--metrics {address}: other machines could read the metrics; use a loopback address, or add `--plain`"
        );
        TcpListener::bind(port).await.with_context(|| format!("cannot listen on {address}"))
    }
}

/// Parses a user name or number.
fn uid(user: &str) -> anyhow::Result<u32> {
    if let Ok(uid) = user.parse() {
        return Ok(uid);
    }
    let found = User::from_name(user).with_context(|| format!("--allow-user {user}"))?;
    Ok(found.with_context(|| format!("--allow-user {user}: no such user"))?.uid.as_raw())
}

/// Returns the default socket of this user.
fn own_socket(world: &World) -> anyhow::Result<Address> {
    let runtime = world.variables.get("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = runtime.or_else(|| world.state.clone());
    let folder = folder.context("cannot find a folder for the socket: add `--listen unix:///…`")?;
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(Address::Unix(folder.join("vertebra.sock")))
}
