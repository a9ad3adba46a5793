//! The way out of a private network: a forward proxy for one command. It listens inside, connects outside, and decides by
//! the name of the host. Names are resolved here, so a command needs no name lookups, and addresses that do not belong to
//! the public internet are refused.
//!
//! The namespace enforces it: whatever does not go through the proxy reaches nothing.

mod head;
mod upstream;

use std::{
    collections::BTreeSet,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use self::head::{Head, Target};
pub(super) use self::upstream::Upstream;
use super::sandbox::{Network, Private};
use crate::is_public;

/// How many connections a command may have through the proxy at once.
const CONNECTIONS: usize = 128;

/// How long a client may take to say where it wants to go.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// How long a connection to one address may take.
const CONNECT_TIME: Duration = Duration::from_secs(20);

/// How long nothing is accepted if nothing can be.
const AGAIN: Duration = Duration::from_millis(20);

/// The beginning of the reason why a host outside of the public internet is refused.
pub(super) const PRIVATE: &str = "it has the private address";

/// How many hosts that were refused are remembered.
const REFUSED: usize = 64;

/// A proxy for one command. It ends when this is dropped, and so do all of its connections.
pub(super) struct Proxy {
    pub(super) port: u16,
    shared: Arc<Shared>,
    _serving: Serving,
}

struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Shared {
    allowed: Network,
    upstream: Upstream,
    refused: Mutex<BTreeSet<String>>,
}

/// Why a connection was not made.
enum NotMade {
    /// It is not allowed.
    Refused(String),
    /// It is, but failed.
    Failed(io::Error),
}

impl From<io::Error> for NotMade {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Proxy {
    /// Starts a proxy that commands in a private network can reach.
    pub(super) async fn start(private: &Private, allowed: Network, upstream: Upstream) -> io::Result<Self> {
        let listener = listening(private, 0).await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared { allowed, upstream, refused: Mutex::default() });
        let serving = shared.clone();
        let attend = move |client| {
            let shared = serving.clone();
            async move { shared.attend(client).await }
        };
        Ok(Self { port, shared, _serving: Serving(tokio::spawn(serve(listener, attend))) })
    }

    /// The hosts that were refused, each with its port.
    pub(super) fn refused(&self) -> Vec<String> {
        self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Attends to every connection, each by itself.
async fn serve<A: Future<Output = io::Result<()>> + Send + 'static>(
    listener: TcpListener,
    attend: impl Fn(TcpStream) -> A,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        // What has ended is forgotten.
        while connections.try_join_next().is_some() {}
        let Ok((client, _)) = listener.accept().await else {
            // All file descriptors are in use: some will be free soon.
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let attended = attend(client);
        connections.spawn(async move {
            // A client that breaks off needs no answer.
            _ = attended.await;
            drop(place);
        });
    }
}

async fn listening(private: &Private, port: u16) -> io::Result<TcpListener> {
    let listener = private.listen(port).await?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

impl Shared {
    async fn attend(&self, mut client: TcpStream) -> io::Result<()> {
        let head = match timeout(HEAD_TIME, Head::read(&mut client)).await {
            Ok(Ok(head)) => head,
            Ok(Err(error)) => return answer(&mut client, "400 Bad Request", &error.to_string()).await,
            Err(_) => return answer(&mut client, "408 Request Timeout", "the request did not arrive in time").await,
        };
        let mut server = match self.connect(&head.target, head.is_tunnel).await {
            Ok(server) => server,
            Err(NotMade::Refused(why)) => {
                self.note(format!("{}{why}", head.target));
                let text = format!("the sandbox blocked network access to {}{why}", head.target);
                return answer(&mut client, "403 Forbidden", &text).await;
            }
            Err(NotMade::Failed(error)) => {
                let text = format!("{} cannot be reached: {error}", head.target);
                return answer(&mut client, "502 Bad Gateway", &text).await;
            }
        };
        if head.is_tunnel {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            server.write_all(&head.rest).await?;
            copy_bidirectional(&mut client, &mut server).await?;
            return Ok(());
        }
        server.write_all(&self.upstream.forwarded(&head)).await?;
        // One request for each connection: a second one could name another host.
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        let body = async {
            let left = head.body.saturating_sub(head.rest.len() as u64);
            let sent = usize::try_from(head.body).unwrap_or(usize::MAX).min(head.rest.len());
            to_server.write_all(&head.rest[..sent]).await?;
            copy(&mut (&mut from_client).take(left), &mut to_server).await?;
            // What the server says decides when this is over.
            std::future::pending::<io::Result<()>>().await
        };
        tokio::select! {
            sent = body => sent,
            read = copy(&mut from_server, &mut to_client) => read.map(|_| ()),
        }
    }

    fn note(&self, host: String) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSED {
            refused.insert(host);
        }
    }

    async fn connect(&self, target: &Target, is_tunnel: bool) -> Result<TcpStream, NotMade> {
        if !self.allowed.covers(&target.host) {
            return Err(NotMade::Refused(String::new()));
        }
        if let Some(proxy) = self.upstream.of(target, is_tunnel) {
            return Ok(timeout(CONNECT_TIME, proxy.connect(target, is_tunnel)).await.map_err(late)??);
        }
        let found: Vec<SocketAddr> = tokio::net::lookup_host((&*target.host, target.port)).await?.collect();
        let public: Vec<SocketAddr> = found.iter().copied().filter(|address| is_public(address.ip())).collect();
        if let ([], Some(private)) = (&*public, found.first()) {
            return Err(NotMade::Refused(format!(" ({PRIVATE} {})", private.ip())));
        }
        let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        for address in public {
            match timeout(CONNECT_TIME, TcpStream::connect(address)).await {
                Ok(Ok(server)) => return Ok(server),
                Ok(Err(error)) => last = error,
                Err(elapsed) => last = late(elapsed),
            }
        }
        Err(NotMade::Failed(last))
    }
}

fn late(_: tokio::time::error::Elapsed) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time")
}

async fn answer(client: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n");
    client.write_all(format!("{head}Connection: close\r\n\r\n{text}\n").as_bytes()).await?;
    client.shutdown().await
}

/// Forwards a port of the private network to the same port of this machine. It ends when this is dropped.
pub(super) struct Forward {
    _serving: Serving,
}

impl Forward {
    pub(super) async fn start(private: &Private, port: u16) -> io::Result<Self> {
        let listener = listening(private, port).await?;
        let forward = move |mut client: TcpStream| async move {
            let mut server = TcpStream::connect(("localhost", port)).await?;
            copy_bidirectional(&mut client, &mut server).await.map(|_| ())
        };
        Ok(Self { _serving: Serving(tokio::spawn(serve(listener, forward))) })
    }
}
