//! Where a server listens.

mod lobby;
mod machine;
mod tls;

use std::{
    fmt, fs, io,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::PathBuf,
    str::FromStr,
};

use rustix::io::Errno;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio_vsock::{VMADDR_CID_ANY, VsockAddr, VsockListener};

use self::lobby::Io;
pub(crate) use self::lobby::{Counted, Lobby, Visit};
pub use self::{
    machine::{Machine, MachinePort, bridge},
    tls::{Tls, TlsError},
};

/// `tcp://127.0.0.1:7777`, `unix:///run/vertebra.sock`, `vsock://any:7777`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port of a virtual machine, which its host reaches: the number of the machine, and the port.
    Vsock(u32, u32),
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid address `{text}`: write `tcp://127.0.0.1:7777`, `unix:///run/vertebra.sock` or `vsock://any:7777`")]
pub struct AddressError {
    text: String,
}

impl Address {
    /// Whether only this machine can reach it, or the host that it runs in and that reads its memory in any case.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) | Self::Vsock(..) => true,
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError { text: text.to_owned() };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        match scheme {
            "tcp" => rest.parse().map(Self::Tcp).map_err(|_| wrong()),
            "unix" if rest.starts_with('/') => Ok(Self::Unix(rest.into())),
            "vsock" => {
                let (cid, port) = rest.split_once(':').ok_or_else(wrong)?;
                let cid = if cid == "any" { VMADDR_CID_ANY } else { cid.parse().map_err(|_| wrong())? };
                Ok(Self::Vsock(cid, port.parse().map_err(|_| wrong())?))
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Vsock(VMADDR_CID_ANY, port) => write!(f, "vsock://any:{port}"),
            Self::Vsock(cid, port) => write!(f, "vsock://{cid}:{port}"),
        }
    }
}

/// A place where clients can come in.
#[derive(Debug)]
pub enum Listener {
    /// A port, and what covers its connections.
    Tcp(TcpListener, Option<Tls>),
    /// A socket in the file system, which goes when this does.
    Unix(UnixListener, Socket),
    /// A port of a virtual machine.
    Vsock(VsockListener),
}

/// A socket in the file system.
#[derive(Debug)]
pub struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        // Somebody else may have taken it away.
        _ = fs::remove_file(&self.0);
    }
}

impl Listener {
    /// Listens.
    pub async fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => TcpListener::bind(address).await.map(|tcp| Self::Tcp(tcp, None)),
            Address::Unix(path) => {
                // A socket that nobody answers was left by a server that is gone.
                let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
                if is_socket && UnixStream::connect(path).await.is_err() {
                    fs::remove_file(path)?;
                }
                let listener = UnixListener::bind(path)?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
                Ok(Self::Unix(listener, Socket(path.clone())))
            }
            Address::Vsock(cid, port) => {
                VsockListener::bind(VsockAddr::new(*cid, *port)).map(Self::Vsock).map_err(explained)
            }
        }
    }

    /// Covers the connections to a port.
    #[must_use]
    pub fn covered(self, by: Tls) -> Self {
        match self {
            Self::Tcp(tcp, _) => Self::Tcp(tcp, Some(by)),
            other @ (Self::Unix(..) | Self::Vsock(_)) => other,
        }
    }

    /// Lets other users reach a socket. Who of them comes in is for the door to say.
    pub fn open_to_users(&self) -> io::Result<()> {
        match self {
            Self::Tcp(..) | Self::Vsock(_) => Ok(()),
            Self::Unix(_, Socket(path)) => fs::set_permissions(path, fs::Permissions::from_mode(0o666)),
        }
    }

    /// Where it listens, with the port that was found.
    pub fn address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener, _) => listener.local_addr().map(Address::Tcp),
            Self::Unix(_, Socket(path)) => Ok(Address::Unix(path.clone())),
            Self::Vsock(listener) => listener.local_addr().map(|found| Address::Vsock(found.cid(), found.port())),
        }
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        match self {
            Self::Tcp(_, tls) => tls.as_ref(),
            Self::Unix(..) | Self::Vsock(_) => None,
        }
    }

    /// Waits for somebody; where it can be known, which user they are.
    async fn accept(&self) -> io::Result<(Box<dyn Io>, Option<u32>)> {
        match self {
            Self::Tcp(tcp, _) => {
                let (connection, _) = tcp.accept().await?;
                connection.set_nodelay(true)?;
                Ok((Box::new(connection), None))
            }
            Self::Unix(unix, _) => {
                let (connection, _) = unix.accept().await?;
                let user = connection.peer_cred().ok().map(|peer| peer.uid());
                Ok((Box::new(connection), user))
            }
            // Which machine it is says nothing: a host may pass anybody on.
            Self::Vsock(vsock) => {
                vsock.accept().await.map(|(connection, _)| (Box::new(connection) as Box<dyn Io>, None))
            }
        }
    }
}

/// What a kernel without vsock says, in words.
fn explained(error: io::Error) -> io::Error {
    if Errno::from_io_error(&error) != Some(Errno::AFNOSUPPORT) {
        return error;
    }
    let message = "this kernel has no vsock: load its module (`modprobe vmw_vsock_virtio_transport` in a virtual machine, \
                   `vhost_vsock` in its host)";
    io::Error::new(io::ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        for text in ["tcp://127.0.0.1:7777", "unix:///run/v.sock", "vsock://any:9000", "vsock://3:9000"] {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()).as_deref(), Ok(text));
        }
        for text in
            ["", "tcp://here:7777", "unix://v.sock", "vsock://9000", "vsock://all:9000", "vsock://3:-1", "x://3:1"]
        {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        let local = |text: &str| text.parse::<Address>().expect("an address").is_local();
        assert!(local("tcp://127.0.0.1:1") && local("tcp://[::1]:1") && local("tcp://[::ffff:127.0.0.1]:1"));
        assert!(!local("tcp://0.0.0.0:1") && !local("tcp://[::]:1") && !local("tcp://10.0.0.1:1"));
    }

    #[tokio::test]
    async fn a_socket_is_its_users_own_until_it_is_opened_to_others_and_goes_with_its_listener() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("v.sock");
        let mode = || fs::metadata(&path).map(|found| found.permissions().mode() & 0o777).ok();
        let listener = Listener::bind(&Address::Unix(path.clone())).await.expect("a socket");
        assert_eq!(mode(), Some(0o600));
        listener.open_to_users().expect("it is there");
        assert_eq!(mode(), Some(0o666));
        drop(listener);
        assert_eq!(mode(), None);
    }

    #[tokio::test]
    async fn a_socket_that_nobody_answers_is_taken_over_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("v.sock");
        let address = Address::Unix(path.clone());
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        let listener = Listener::bind(&address).await.expect("whoever left it is gone");
        let taken = Listener::bind(&address).await.expect_err("somebody answers");
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        let (came, accepted) = tokio::join!(UnixStream::connect(&path), listener.accept());
        assert!(came.is_ok() && accepted.is_ok(), "it goes on as before");
        drop(listener);
        fs::write(&path, "no socket").expect("it is written");
        Listener::bind(&address).await.expect_err("this is a file");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("no socket"));
    }

    #[tokio::test]
    async fn a_kernel_without_vsock_is_an_error_that_says_so() {
        let told = explained(io::Error::from_raw_os_error(Errno::AFNOSUPPORT.raw_os_error())).to_string();
        assert!(told.contains("this kernel has no vsock"), "{told}");
        // Here there is one or there is none; in both cases it is said which.
        match Listener::bind(&Address::Vsock(VMADDR_CID_ANY, 47_111)).await {
            Ok(listener) => assert_eq!(listener.address().ok(), Some(Address::Vsock(VMADDR_CID_ANY, 47_111))),
            Err(error) => assert_eq!(error.to_string(), told),
        }
    }
}
