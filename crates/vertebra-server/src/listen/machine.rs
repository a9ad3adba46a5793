//! Ports of virtual machines: reached from outside, and bridged to a socket that every client can use.
//!
//! Clients in other languages know Unix sockets and no vsock. Some machines have no vsock of the kernel's either, but one
//! Unix socket, where whoever connects says which port is meant: Firecracker, Cloud Hypervisor, vhost-device-vsock.

use std::{io, path::PathBuf, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::UnixStream,
    task::JoinSet,
    time::timeout,
};
use tokio_vsock::{VsockAddr, VsockStream};

use super::{Io, Listener, lobby::AFTER_FAILURE};

/// How long a machine may take to say that somebody listens.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a line of a machine may be: `OK 1073741824`.
const LONGEST_LINE: usize = 32;

/// How many connections a bridge carries at once.
const AT_ONCE: usize = 256;

/// A port of a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachinePort {
    /// Which machine.
    pub machine: Machine,
    /// Its port.
    pub port: u32,
}

/// How a virtual machine is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Machine {
    /// By its number.
    Cid(u32),
    /// By its Unix socket, which is told the port.
    Socket(PathBuf),
}

impl MachinePort {
    /// Connects to whoever listens there.
    async fn connect(&self) -> io::Result<Box<dyn Io>> {
        let connected = timeout(PATIENCE, async {
            match &self.machine {
                Machine::Cid(cid) => {
                    let there = VsockStream::connect(VsockAddr::new(*cid, self.port)).await;
                    there.map(|stream| Box::new(stream) as Box<dyn Io>).map_err(super::explained)
                }
                Machine::Socket(path) => {
                    let mut stream = UnixStream::connect(path).await?;
                    ask_for(&mut stream, self.port).await?;
                    Ok(Box::new(stream) as Box<dyn Io>)
                }
            }
        });
        connected.await.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the machine says nothing")))
    }
}

/// Says which port is meant, and hears whether somebody listens. Not a byte more is read.
async fn ask_for(stream: &mut UnixStream, port: u32) -> io::Result<()> {
    stream.write_all(format!("CONNECT {port}\n").as_bytes()).await?;
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await {
            Ok(b'\n') => break,
            Ok(byte) if line.len() < LONGEST_LINE => line.push(byte),
            Ok(_) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "this is not the socket of a virtual machine"));
            }
            Err(_) => {
                let message = format!("nobody in the machine listens on port {port}");
                return Err(io::Error::new(io::ErrorKind::ConnectionRefused, message));
            }
        }
    }
    if line.starts_with(b"OK ") {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "the socket did not answer `OK`: this is not the socket of a virtual machine",
    ))
}

/// Carries connections between a Unix socket of this user's and a port of a machine, as long as it is not dropped. Of
/// those that cannot be carried, somebody is told.
pub async fn bridge(listener: Listener, to: MachinePort, told: impl Fn(io::Error)) {
    let own = rustix::process::geteuid().as_raw();
    let mut carried = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if carried.len() < AT_ONCE => accepted,
            Some(done) = carried.join_next() => {
                if let Ok(Err(error)) = done {
                    told(error);
                }
                continue;
            }
        };
        match accepted {
            Ok((mut here, user)) if user == Some(own) => {
                let to = to.clone();
                carried.spawn(async move {
                    let mut there = to.connect().await?;
                    // How one of them hangs up is for them to know.
                    let _ = copy_bidirectional(&mut here, &mut there).await;
                    Ok(())
                });
            }
            Ok(_) => told(io::Error::new(io::ErrorKind::PermissionDenied, "another user came, and was sent away")),
            Err(error) => {
                told(error);
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    /// What comes of it when the socket of a machine answers like this.
    async fn answered(with: &'static [u8]) -> io::Result<Vec<u8>> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vm.sock");
        let socket = UnixListener::bind(&path).expect("a socket");
        tokio::spawn(async move {
            let (mut stream, _) = socket.accept().await.expect("somebody comes");
            let mut asked = [0; 13];
            stream.read_exact(&mut asked).await.expect("a line");
            assert_eq!(&asked, b"CONNECT 9000\n");
            stream.write_all(with).await.expect("it is read");
        });
        let mut there = MachinePort { machine: Machine::Socket(path), port: 9000 }.connect().await?;
        let mut rest = Vec::new();
        there.read_to_end(&mut rest).await?;
        Ok(rest)
    }

    #[tokio::test]
    async fn a_socket_of_a_machine_is_told_the_port_and_what_follows_its_ok_is_the_peers() {
        assert_eq!(answered(b"OK 1073741824\nPRI * HTTP/2.0").await.expect("it is there"), b"PRI * HTTP/2.0");
        let told = |error: io::Result<_>| error.expect_err("nobody is there").to_string();
        assert_eq!(told(answered(b"").await), "nobody in the machine listens on port 9000");
        assert!(told(answered(b"HTTP/1.1 400 Bad Request\r\n").await).contains("did not answer `OK`"));
        assert!(told(answered(&[b'x'; 100]).await).contains("not the socket of a virtual machine"));
    }
}
