//! Where a server listens.

use std::{
    fmt, fs, io,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::PathBuf,
    str::FromStr,
};

use tokio::net::{TcpListener, UnixListener, UnixStream};

/// `tcp://127.0.0.1:7777`, `unix:///run/vertebra.sock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address: write `tcp://127.0.0.1:7777` or `unix:///run/vertebra.sock`")]
pub struct AddressError {
    text: String,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError { text: text.to_owned() };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        match scheme {
            "tcp" => rest.parse().map(Self::Tcp).map_err(|_| wrong()),
            "unix" if rest.starts_with('/') => Ok(Self::Unix(rest.into())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// A place where clients can come in.
#[derive(Debug)]
pub enum Listener {
    /// A port.
    Tcp(TcpListener),
    /// A socket in the file system, which goes when this does.
    Unix(UnixListener, Socket),
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
            Address::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
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
        }
    }

    /// Where it listens, with the port that was found.
    pub fn address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp),
            Self::Unix(_, Socket(path)) => Ok(Address::Unix(path.clone())),
        }
    }
}
