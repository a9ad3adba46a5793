//! Where a server listens, and whom each place lets in.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, bail, ensure};
use nix::unistd::User;
use tokio::net::TcpListener;
use vertebra_server::{
    Address, Listener, Tls,
    door::{Door, Known},
};

use crate::assembly::World;

/// Where to listen, and whom to let in.
#[derive(clap::Args)]
pub(super) struct DoorOptions {
    /// Where to listen, as `tcp://127.0.0.1:7777`, `unix:///run/vertebra.sock` or, in a virtual machine, `vsock://any:7777`;
    /// may be repeated [default: a socket of your own]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,
    /// A file with a token on each line, or with a `[[client]]` for each that has a name
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Another user who may come in by a Unix socket, and governs what they own; may be repeated
    #[arg(long, value_name = "NAME|UID")]
    allow_user: Vec<String>,
    /// The certificate that TCP clients are shown, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Who signs the certificates of TCP clients, as PEM: each has to show one, and is known by the name in it
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// Listen where other machines can reach it without TLS: whoever is on the way can read along
    #[arg(long)]
    plain: bool,
    /// Where to tell numbers to Prometheus, as `tcp://127.0.0.1:9000`: at `/metrics`, to whoever asks
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<Address>,
}

/// All doors, and the place that tells numbers.
pub(super) struct Doors {
    pub(super) open: Vec<(Listener, Door)>,
    pub(super) metrics: Option<TcpListener>,
}

impl DoorOptions {
    /// Opens all doors, or none.
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
        ensure!(others.is_empty() || listen.iter().any(is_unix), "--allow-user is for Unix sockets, and there is none");
        ensure!(tls.is_none() || listen.iter().any(is_tcp), "--tls-cert is for TCP: write `--listen tcp://…` too");
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
                "{address} can be reached from other machines, and who is on the way could read along: write \
                 `--tls-cert FILE --tls-key FILE`, or `--plain` if somebody else sees to that"
            );
        }
        if self.client_ca.is_some() && matches!(address, Address::Tcp(_)) {
            return Ok(Door::Certificate(known.cloned().unwrap_or_default()));
        }
        match known {
            Some(known) if known.has_tokens() => Ok(Door::Token(known.clone())),
            _ => bail!("{address} lets in whoever finds it: write `--token-file FILE` with a token in it"),
        }
    }

    async fn bind_metrics(&self, address: &Address) -> anyhow::Result<TcpListener> {
        let Address::Tcp(port) = address else { bail!("--metrics {address}: Prometheus asks over TCP") };
        ensure!(
            address.is_local() || self.plain,
            "{address} tells numbers to whoever finds it: write a loopback address, or `--plain`"
        );
        TcpListener::bind(port).await.with_context(|| format!("cannot listen on {address}"))
    }
}

/// A user, by name or number.
fn uid(user: &str) -> anyhow::Result<u32> {
    if let Ok(uid) = user.parse() {
        return Ok(uid);
    }
    let found = User::from_name(user).with_context(|| format!("--allow-user {user}"))?;
    Ok(found.with_context(|| format!("--allow-user {user}: there is no such user"))?.uid.as_raw())
}

/// A socket of this user's own.
fn own_socket(world: &World) -> anyhow::Result<Address> {
    let runtime = world.variables.get("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = runtime.or_else(|| world.state.clone());
    let folder = folder.context("there is no folder for a socket: write `--listen unix:///…`")?;
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(Address::Unix(folder.join("vertebra.sock")))
}
